//! What the tools are called, what they do, and the shapes of what goes in and comes out.

use probity_mcp::serve::Offered;
use serde_json::{Map, Value, json};

use super::McpOptions;
use super::arguments::{MAX_CHECKS, MAX_TASK_BYTES};

/// What a model should know before it uses any of the tools.
pub(super) const INSTRUCTIONS: &str = "\
Probity hands tasks to other agents and lets only a verified result through. An agent's own word is not \
taken: checks look at the world. Only `verified: true` means that the work is done; in every other case say \
so, and do not report the work as done. The operator's project decides which agent works, what is checked \
and how much it may cost. You may add checks and lower bounds; you cannot remove or weaken what the operator \
asks for. A `run_id` names the record of what happened.";

const EXPECT: &str = "\
Checks to make beside the operator's: each a text KIND:TARGET[,key=value]... or an object of the same keys. \
Kinds: file, dir, text, json, git, sqlite, port, process, http, changes_only, citations, read_after_write, \
invariant_check. Paths are relative to the workspace. Examples: \"file:out.txt,created,contains=hello\", \
\"json:report.json,pointer=/ok,equals=true\", \"changes_only:src/**\". Ask for what would not be there had \
the work not been done.";

/// The tools, with the names that a caller may give.
pub(super) fn tools(agents: &[String], options: &McpOptions) -> Vec<Offered> {
    vec![delegate(agents, options), verify(agents, options), run_status(options), audit()]
}

fn delegate(agents: &[String], options: &McpOptions) -> Offered {
    let mut properties = object(json!({
        "task": {
            "type": "string", "minLength": 1, "maxLength": MAX_TASK_BYTES,
            "description": "What is to be done, in words, with everything that the agent must know.",
        },
        "agent": agent(agents),
        "expect": expect(options),
    }));
    properties.extend(bounds());
    Offered {
        name: "delegate",
        title: "Delegate and verify",
        description: "Have an agent that the operator configured do a task in the workspace. Its answer is \
                      checked against the world; where a check does not pass, it is sent back with the \
                      reason, until its attempts are used up. The result is handed on only if it is \
                      verified. This can take long."
            .to_owned(),
        input: input(properties, &["task"]),
        output: told("Whether every check passed. Anything but true: the work is not done."),
        is_read_only: false,
    }
}

fn verify(agents: &[String], options: &McpOptions) -> Offered {
    let claim = json!({
        "description": "What is claimed: a text, or an object with `response` or `output`.",
        "anyOf": [{"type": "string"}, {"type": "object"}],
    });
    let task = json!({"type": "string", "maxLength": MAX_TASK_BYTES,
        "description": "What was to be done, for the record and for checks that read it."});
    let properties = object(json!({
        "claim": claim, "task": task, "agent": agent(agents), "expect": expect(options),
    }));
    Offered {
        name: "verify",
        title: "Verify a claim",
        description: "Check a claim against the world as it is now, with the operator's checks and those \
                      that you add. No agent is run. Checks that compare with the time before the work \
                      (created, changed, changes_only) cannot be made here."
            .to_owned(),
        input: input(properties, &["claim"]),
        output: told("Whether every check passed. Anything but true: the claim does not stand."),
        // The operator's checks may run what they like.
        is_read_only: false,
    }
}

fn run_status(options: &McpOptions) -> Offered {
    let content = match options.shows_content {
        true => "",
        false => " What was said is not told: the operator keeps it.",
    };
    Offered {
        name: "run_status",
        title: "Status of a run",
        description: format!(
            "What a run in this workspace came to: outcome, attempts, verdict of every check.{content}"
        ),
        input: input(run_id(), &["run_id"]),
        output: told("Whether the run ended verified."),
        is_read_only: true,
    }
}

fn audit() -> Offered {
    let output = object(json!({
        "type": "object",
        "properties": {
            "valid": {"type": "boolean", "description": "Whether the record is whole and sealed, and its \
                      outcome follows from it."},
            "verdict": {"type": "string", "enum": ["valid", "invalid", "malformed", "limit_exceeded",
                "integrity_only", "accepted_by_compat"]},
            "run_id": {"type": "string"},
            "findings": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "code": {"type": "string"},
                    "severity": {"type": "string", "enum": ["note", "warning", "error"]},
                    "message": {"type": "string"},
                },
                "required": ["code", "severity", "message"],
            }},
            "error": error(),
        },
        "required": ["valid"],
    }));
    Offered {
        name: "audit",
        title: "Audit a run",
        description: "Prove the record of a run in this workspace from its bytes: the chain of its events, \
                      its seal, the content that they name, and whether the outcome follows from them."
            .to_owned(),
        input: input(run_id(), &["run_id"]),
        output,
        is_read_only: true,
    }
}

fn agent(agents: &[String]) -> Value {
    let mut schema = object(json!({
        "type": "string",
        "description": "An agent by the name that the operator gave it. Left out: the operator's default.",
    }));
    if !agents.is_empty() {
        schema.insert("enum".to_owned(), json!(agents));
    }
    Value::Object(schema)
}

fn expect(options: &McpOptions) -> Value {
    let more = match options.allows_commands {
        true => {
            " The operator also lets you add the kinds command and external, which run command lines."
        }
        false => " Checks that run command lines are the operator's alone.",
    };
    json!({
        "type": "array", "maxItems": MAX_CHECKS, "description": format!("{EXPECT}{more}"),
        "items": {"anyOf": [{"type": "string"}, {"type": "object"}]},
    })
}

fn bounds() -> Map<String, Value> {
    let bound = |least: u32, of: &str| {
        let description = format!("{of}. May only be lower than the operator's.");
        json!({"type": "integer", "minimum": least, "description": description})
    };
    object(json!({
        "max_attempts": bound(1, "How often the agent may try, the first time included"),
        "timeout_ms": bound(1, "Wall time of the whole, in milliseconds"),
        "max_tokens": bound(0, "Model tokens of all attempts together, as far as the agent reports them"),
        "max_tool_calls": bound(0, "Tool calls of all attempts together, as far as the agent reports them"),
    }))
}

fn run_id() -> Map<String, Value> {
    let description = "The run, by the whole name that a tool gave.";
    object(json!({"run_id": {"type": "string", "minLength": 1, "description": description}}))
}

fn input(properties: Map<String, Value>, required: &[&str]) -> Map<String, Value> {
    object(json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    }))
}

/// What a run is told as.
fn told(verified: &str) -> Map<String, Value> {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    object(json!({
        "type": "object",
        "properties": {
            "verified": {"type": "boolean", "description": verified},
            "outcome": {
                "type": "string",
                "enum": ["verified", "exhausted", "rejected", "inconclusive", "unverified", "faulted",
                    "delegate_failed", "cancelled", "escalated", "running"],
            },
            "code": {"type": ["string", "null"], "description": "Why, in one word."},
            "reasons": texts,
            "run_id": {"type": "string"},
            "attempts": {"type": "integer"},
            "max_attempts": {"type": "integer"},
            "checks": {"type": "array", "items": check()},
            "history": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "turn": {"type": "integer"},
                    "verdict": {"type": "string"},
                    "code": {"type": "string"},
                    "counted": {"type": "boolean"},
                    "response": {"type": "string"},
                },
                "required": ["turn", "verdict", "code", "counted"],
            }},
            "response": {"type": "string", "description": "The agent's answer. Only if it is verified, or \
                         the operator lets content be told."},
            "output": {"description": "The agent's typed answer, where it gave one and it is verified."},
            "warnings": texts,
            "sealed": {"type": "boolean", "description": "Whether the record is closed."},
            "waived": {"type": "boolean", "description": "A named human overrode a refusal: not verified."},
            "error": error(),
        },
        "required": ["verified"],
    }))
}

fn check() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "by": {"type": "string", "enum": ["operator", "caller"]},
            "verdict": {"type": "string", "enum": ["pass", "revise", "fail", "inconclusive", "fault",
                "not_applicable", "not_run"]},
            "code": {"type": "string"},
            "discriminating": {"type": "boolean", "description": "Whether it failed before the work, so \
                               that a pass means something."},
        },
        "required": ["id", "verdict"],
    })
}

fn error() -> Value {
    json!({
        "type": "object",
        "description": "The tool did nothing, and why.",
        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        "required": ["code", "message"],
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
