//! `probity mcp`: what other agents may ask of it, and what they may not.

mod client;

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{HONEST, LIAR, REPENTANT, World, alter};
use client::Client;

const TASK: &str = "write hello to out.txt";

/// A workspace whose operator configured a delegate and what it has to do.
fn configured(delegate: &[&str], more: &str) -> World {
    let world = World::new();
    configure(&world, delegate, more);
    world
}

fn configure(world: &World, delegate: &[&str], more: &str) {
    let checks = "expect = [\"file:out.txt,created,contains=hello\"]";
    let text = format!("command = {}\n{checks}\n{more}\n", json!(delegate));
    world.write(".probity/probity.toml", &text);
    assert_eq!(world.probity(["trust"]).code, 0);
}

fn outcome(world: &World, run: &str) -> Value {
    world.probity(["log", "show", run, "--json"]).json()["outcome"].clone()
}

/// Not verified, said first in words and in the object, and not an error of the tool.
fn assert_refused(result: &Value, outcome: &str) {
    assert_eq!(result["isError"], false, "{result}");
    let told = &result["structuredContent"];
    assert_eq!((&told["verified"], &told["outcome"]), (&false.into(), &outcome.into()), "{result}");
    assert!(told.to_string().starts_with(r#"{"verified":false"#), "{told}");
    assert!(told.get("response").is_none(), "its own word is not handed on: {told}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("NOT VERIFIED: {outcome} [")), "{text}");
}

fn assert_error(result: &Value, code: &str) {
    assert_eq!(result["isError"], true, "{code}: {result}");
    assert_eq!(result["structuredContent"]["error"]["code"], code, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("error [{code}]: ")), "{text}");
}

#[test]
fn a_lie_is_sent_back_and_what_is_true_is_handed_on() {
    let world = configured(&REPENTANT, "");
    let mut client = Client::start(&world, &[]);
    let result = client.call("delegate", json!({"task": TASK}));
    let told = &result["structuredContent"];
    assert_eq!((&result["isError"], &told["verified"]), (&false.into(), &true.into()), "{result}");
    assert_eq!((&told["attempts"], &told["response"]), (&2.into(), &"Done.".into()), "{told}");
    let check = json!({"id": "file_out.txt", "by": "operator", "verdict": "pass", "code": "ok",
        "discriminating": true});
    assert_eq!((&told["checks"], &told["sealed"]), (&json!([check]), &true.into()), "{told}");
    assert_eq!(world.read("out.txt"), "hello\n");
    let run = told["run_id"].as_str().unwrap();
    let steps = client.steps();
    assert!(steps.iter().any(|step| step.contains(run)), "{steps:?}");
    assert_eq!(outcome(&world, run), "verified");
    client.end();
}

#[test]
fn a_liar_uses_its_attempts_up_and_the_caller_may_give_it_fewer() {
    let world = configured(&LIAR, "max_verify_retries = 3");
    let mut client = Client::start(&world, &[]);
    for (arguments, attempts) in [
        (json!({"task": TASK}), 4),
        (json!({"task": TASK, "max_attempts": 2}), 2),
        (json!({"task": TASK, "max_attempts": 1, "expect": []}), 1),
    ] {
        let result = client.call("delegate", arguments);
        assert_refused(&result, "exhausted");
        let told = &result["structuredContent"];
        assert_eq!(told["attempts"], attempts, "{told}");
        let reason = told["reasons"][0].as_str().unwrap();
        assert!(reason.starts_with("check file_out.txt: revise [file_missing]: "), "{told}");
        assert_eq!(told["checks"].as_array().map(Vec::len), Some(1), "{told}");
    }
    client.end();
}

#[test]
fn time_that_runs_out_is_no_success() {
    let world = configured(&["sleep", "600"], "");
    let mut client = Client::start(&world, &[]);
    let result = client.call("delegate", json!({"task": TASK, "timeout_ms": 300}));
    assert_eq!(result["structuredContent"]["verified"], false, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("NOT VERIFIED: "), "{text}");
    client.end();
}

#[test]
fn a_verifier_that_breaks_is_told_as_one() {
    let world = World::new();
    world.write("check.star", "def run(result):\n    fail(\"broken\")\n");
    configure(&world, &HONEST, "verify_files = [\"check.star\"]");
    let mut client = Client::start(&world, &[]);
    let result = client.call("delegate", json!({"task": TASK}));
    assert_refused(&result, "faulted");
    client.end();
}

#[test]
fn a_cancelled_call_and_a_client_that_goes_leave_sealed_records() {
    let world = configured(&["sleep", "600"], "");
    let mut client = Client::start(&world, &[]);
    let call = client.begin("delegate", json!({"task": TASK}));
    let run = client.opened("");
    client.notify("notifications/cancelled", json!({"requestId": call, "reason": "enough"}));
    // Another call waits for its place in the workspace, so the first one is over by then.
    let more = client.begin("delegate", json!({"task": TASK}));
    let next = client.opened(&run);
    assert_eq!(outcome(&world, &run), "cancelled");
    let left = client.end();
    assert_eq!(outcome(&world, &next), "cancelled");
    let audited = world.probity(["audit", &next, "--json"]);
    assert_eq!(audited.code, 0, "sealed: {audited:?}");
    assert!(left.iter().all(|message| message["id"] != call), "{left:?}");
    // What was under way when the client went is answered, should it still listen.
    let last = left.iter().find(|message| message["id"] == more);
    assert!(last.is_none_or(|message| message["result"]["structuredContent"]["verified"] == false));
}

#[test]
fn nobody_but_the_operator_says_what_is_the_operators() {
    let world = configured(&LIAR, "");
    let elsewhere = world.beside("elsewhere");
    let mut client = Client::start(&world, &[]);
    for (key, value) in [
        ("workspace", json!(elsewhere)),
        ("store", json!("memory")),
        ("command", json!(["true"])),
        ("no_project", json!(true)),
        ("ignore", json!(["**"])),
        ("may_change", json!(["**"])),
        ("red_first", json!("off")),
        ("max_verify_retries", json!(9)),
        ("verify_args", json!({})),
        ("hooks", json!([])),
        ("expect", json!(null)),
        ("expect", json!("file:out.txt")),
        ("expect", json!(["nonsense"])),
        ("expect", json!(["file:../out.txt"])),
        ("expect", json!(["file:/etc/passwd"])),
        ("expect", json!([{"json": "a.json", "schema": "../schema.json"}])),
        ("expect", json!(vec!["file:out.txt"; 33])),
        ("max_attempts", json!(0)),
        ("max_attempts", json!(-1)),
        ("task", json!("  ")),
    ] {
        let mut arguments = json!({"task": TASK});
        arguments[key] = value;
        assert_error(&client.call("delegate", arguments), "mcp_arguments");
    }
    assert_error(
        &client.call("run_status", json!({"run_id": "x", "store": "memory"})),
        "mcp_arguments",
    );
    for (key, value) in [("max_attempts", 4), ("timeout_ms", 3_600_001)] {
        let raised = client.call("delegate", json!({"task": TASK, key: value}));
        assert_error(&raised, "mcp_bound_raised");
    }
    assert_eq!(world.probity(["log", "list"]).stdout.lines().count(), 0, "no run was opened");
    client.end();
}

#[test]
fn bounds_of_the_operator_are_not_raised() {
    let world = configured(&LIAR, "max_tokens = 10\nmax_tool_calls = 3\ntimeout = \"5s\"");
    let mut client = Client::start(&world, &[]);
    for (key, value) in [("max_tokens", 11), ("max_tool_calls", 4), ("timeout_ms", 5001)] {
        let raised = client.call("delegate", json!({"task": TASK, key: value}));
        assert_error(&raised, "mcp_bound_raised");
    }
    client.end();
}

#[test]
fn checks_of_a_caller_are_added_and_take_nothing_away() {
    let world = configured(&HONEST, "");
    world.write("kept.txt", "as it was\n");
    let mut client = Client::start(&world, &[]);
    let names = |told: &Value, by: &str| -> Vec<String> {
        let checks = told["checks"].as_array().unwrap().iter();
        let checks = checks.filter(|check| check["by"] == by);
        checks.map(|check| check["id"].as_str().unwrap().to_owned()).collect()
    };
    let more = json!(["file:out.txt,created,contains=hello", {"file": "kept.txt", "id": "kept"}]);
    let result = client.call("delegate", json!({"task": TASK, "expect": more}));
    let told = &result["structuredContent"];
    assert_eq!(told["verified"], true, "{result}");
    assert_eq!(names(told, "operator"), ["file_out.txt"]);
    assert_eq!(names(told, "caller"), ["file_out.txt-2", "kept"]);
    // One that holds does not make up for one of the operator's that does not.
    let again = client.call("delegate", json!({"task": TASK, "max_attempts": 1, "expect": more}));
    assert_refused(&again, "exhausted");
    // The name of one of the operator's is not to be had, whether it was given or comes of itself.
    let taking = json!([{"file": "kept.txt", "id": "file_out.txt"}]);
    let taken = client.call("delegate", json!({"task": TASK, "expect": taking}));
    assert_error(&taken, "mcp_check_taken");
    client.end();
}

#[test]
fn a_name_that_the_operator_gave_is_taken() {
    let world = World::new();
    world.write("strict.star", "def run(result):\n    return False\n");
    let toml = "command = [\"true\"]\nexpect = [{ file = \"out.txt\", id = \"mine\" }]\n\
                verify_files = [\"strict.star\"]\n";
    world.write(".probity/probity.toml", toml);
    assert_eq!(world.probity(["trust"]).code, 0);
    let mut client = Client::start(&world, &[]);
    for (id, code) in [("mine", "spec_duplicate_id"), ("strict.star", "mcp_check_taken")] {
        let expect = json!([{"file": "x", "id": id}]);
        let taken = client.call("delegate", json!({"task": TASK, "expect": expect}));
        assert_error(&taken, code);
    }
    client.end();
}

#[test]
fn what_runs_commands_or_asks_others_is_the_operators_to_add() {
    let world = configured(&HONEST, "");
    let kinds = [
        json!("command:touch pwned"),
        json!("external:touch pwned"),
        json!({"read_after_write": {"command": "touch pwned"}, "equals": 1}),
        json!({"agent": {"command": ["touch", "pwned"]}, "criteria": {"a": "b"}}),
        json!("human:Ada"),
    ];
    let mut client = Client::start(&world, &[]);
    for check in kinds {
        let result = client.call("delegate", json!({"task": TASK, "expect": [check]}));
        let code = &result["structuredContent"]["error"]["code"];
        assert!(*code == "mcp_check_kind" || *code == "mcp_arguments", "{check}: {result}");
    }
    client.end();
    let mut client = Client::start(&world, &["--allow-commands"]);
    let human = client.call("delegate", json!({"task": TASK, "expect": ["human:Ada"]}));
    assert_error(&human, "mcp_check_kind");
    let weakens = json!(["command:sh check.sh,may_change=check.sh"]);
    let weakens = client.call("delegate", json!({"task": TASK, "expect": weakens}));
    assert_error(&weakens, "mcp_check_weakens");
    assert!(!world.at("pwned").exists());
    let allowed =
        client.call("delegate", json!({"task": TASK, "expect": ["command:test -f out.txt"]}));
    assert_eq!(allowed["structuredContent"]["verified"], true, "{allowed}");
    client.end();
}

#[test]
fn a_link_out_of_the_workspace_is_not_followed() {
    let world = configured(&HONEST, "");
    std::fs::write(world.beside("secret"), "the secret").unwrap();
    symlink(world.beside("secret"), world.at("link")).unwrap();
    let mut client = Client::start(&world, &[]);
    let expect = json!(["file:link,contains=the secret"]);
    let result =
        client.call("delegate", json!({"task": TASK, "max_attempts": 1, "expect": expect}));
    assert_eq!(result["structuredContent"]["verified"], false, "{result}");
    client.end();
}

#[test]
fn only_agents_that_the_operator_lets_callers_name_are_asked() {
    let world = World::new();
    for name in ["strict", "loose"] {
        let profile =
            format!("---\nkind: x\ncommand: ['true']\nexpect: ['file:{name}.txt']\n---\nDo.\n");
        world.write(&format!(".probity/agents/{name}.md"), &profile);
    }
    world.write(".probity/probity.toml", "agent = \"strict\"\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    let mut client = Client::start(&world, &[]);
    let agents = |client: &mut Client| {
        let tools = client.ask("tools/list", json!({}));
        tools["tools"][0]["inputSchema"]["properties"]["agent"]["enum"].clone()
    };
    assert_eq!(agents(&mut client), json!(["strict"]));
    let denied = client.call("delegate", json!({"task": TASK, "agent": "loose"}));
    assert_error(&denied, "mcp_agent_denied");
    let denied = client.call("verify", json!({"claim": "x", "agent": "loose"}));
    assert_error(&denied, "mcp_agent_denied");
    let strict = client.call("delegate", json!({"task": TASK, "max_attempts": 1}));
    assert_eq!(strict["structuredContent"]["checks"][0]["id"], "file_strict.txt", "{strict}");
    client.end();
    let mut client = Client::start(&world, &["--agent", "loose", "--agent", "nobody"]);
    assert_eq!(agents(&mut client), json!(["loose", "nobody"]));
    let loose = client.call("delegate", json!({"task": TASK, "agent": "loose", "max_attempts": 1}));
    assert_refused(&loose, "exhausted");
    let nobody = client.call("delegate", json!({"task": TASK, "agent": "nobody"}));
    assert_error(&nobody, "profile_missing");
    client.end();
}

#[test]
fn a_project_that_nobody_trusts_decides_nothing_and_is_not_told_of() {
    let world = World::new();
    world.write(".probity/agents/liar.md", "---\nkind: x\ncommand: ['true']\n---\nDo.\n");
    let mut client = Client::start(&world, &[]);
    let tools = client.ask("tools/list", json!({}));
    assert!(!tools.to_string().contains("liar"), "{tools}");
    for (tool, arguments) in [
        ("delegate", json!({"task": TASK})),
        ("delegate", json!({"task": TASK, "agent": "liar"})),
        ("verify", json!({"claim": "done"})),
    ] {
        let result = client.call(tool, arguments);
        assert_error(&result, "project_untrusted");
        assert!(!result.to_string().contains("probity trust"), "not for a model to do: {result}");
    }
    client.end();
}

#[test]
fn a_claim_is_verified_against_the_world_and_nothing_checks_nothing() {
    let world = World::new();
    world.write("out.txt", "hello\n");
    let mut client = Client::start(&world, &[]);
    let result = client.call("verify", json!({"claim": "x"}));
    assert_refused(&result, "unverified");
    let words = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    let result = client.call("verify", json!({"claim": "x", "expect": ["file:out.txt"]}));
    assert!(words(&result).contains("All of them are yours"), "{result}");
    world.write(".probity/probity.toml", "expect = [\"file:out.txt,contains=hello\"]\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    let true_claim = json!({"response": "hello is in it", "output": {"bytes": 6}});
    let result =
        client.call("verify", json!({"claim": true_claim, "expect": ["text:contains=hello"]}));
    let said = words(&result);
    assert!(said.contains("(yours): pass") && !said.contains("All of them"), "{said}");
    let told = &result["structuredContent"];
    assert_eq!(
        (&told["verified"], &told["output"]["bytes"]),
        (&true.into(), &6.into()),
        "{result}"
    );
    let result =
        client.call("verify", json!({"claim": "x", "expect": ["file:out.txt,contains=bye"]}));
    assert_refused(&result, "exhausted");
    for expect in ["file:out.txt,created", "changes_only:none"] {
        let result = client.call("verify", json!({"claim": "x", "expect": [expect]}));
        assert_error(&result, "mcp_compares");
    }
    assert_error(&client.call("verify", json!({"claim": 7})), "mcp_arguments");
    assert_error(&client.call("verify", json!({"claim": {"text": "x"}})), "mcp_arguments");
    client.end();
}

#[test]
fn a_run_of_this_workspace_is_told_of_and_no_other() {
    let world = configured(&REPENTANT, "");
    let mut client = Client::start(&world, &[]);
    let run = client.call("delegate", json!({"task": TASK}))["structuredContent"]["run_id"].clone();
    let status = client.call("run_status", json!({"run_id": run}));
    let told = &status["structuredContent"];
    assert_eq!((&told["verified"], &told["attempts"]), (&true.into(), &2.into()), "{status}");
    assert_eq!(told["history"][0]["verdict"], "revise", "{status}");
    for content in ["Done.", "hello", "reasons"] {
        assert!(!status.to_string().contains(content), "{content}: {status}");
    }
    client.end();
    let mut telling = Client::start(&world, &["--content"]);
    let status = telling.call("run_status", json!({"run_id": run}));
    assert_eq!(status["structuredContent"]["history"][0]["response"], "Done.", "{status}");
    telling.end();

    std::fs::create_dir(world.beside("other")).unwrap();
    let mut others =
        Client::start(&world, &["--workspace", world.beside("other").to_str().unwrap()]);
    for tool in ["run_status", "audit"] {
        assert_error(&others.call(tool, json!({"run_id": run})), "run_missing");
        assert_error(&others.call(tool, json!({"run_id": "nothing-like-it"})), "run_missing");
        assert_error(&others.call(tool, json!({"run_id": "../x"})), "name");
    }
    others.end();
}

#[test]
fn a_record_is_proved_or_what_is_wrong_with_it_is_told() {
    let world = configured(&LIAR, "");
    let store = world.beside("runs.db");
    let url = format!("sqlite:{}", store.display());
    let mut client = Client::start(&world, &["--store", &url]);
    let run = client.call("delegate", json!({"task": TASK}))["structuredContent"]["run_id"].clone();
    let audited = client.call("audit", json!({"run_id": run}));
    let told = &audited["structuredContent"];
    assert_eq!((&told["valid"], &told["findings"]), (&true.into(), &json!([])), "{audited}");
    client.end();
    assert!(alter(&store, "\"exhausted\"", "\"exhausteD\"") > 0);
    let mut client = Client::start(&world, &["--store", &url]);
    let audited = client.call("audit", json!({"run_id": run}));
    let told = &audited["structuredContent"];
    assert_eq!((&audited["isError"], &told["valid"]), (&false.into(), &false.into()), "{audited}");
    assert!(!told["findings"].as_array().unwrap().is_empty(), "{audited}");
    let text = audited["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("NOT VALID: "), "{text}");
    let status = client.call("run_status", json!({"run_id": run}));
    assert_eq!(
        (&status["isError"], &status["structuredContent"]["verified"]),
        (&true.into(), &false.into())
    );
    client.end();
}

#[test]
fn every_answer_fits_its_schema() {
    let world = configured(&REPENTANT, "");
    let mut client = Client::start(&world, &["--content"]);
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["delegate", "verify", "run_status", "audit"]);
    let run = client.call("delegate", json!({"task": TASK}))["structuredContent"]["run_id"].clone();
    for (tool, arguments) in [
        ("delegate", json!({"task": TASK, "expect": ["file:out.txt"], "max_attempts": 1})),
        ("delegate", json!({"task": 7})),
        ("verify", json!({"claim": "x"})),
        ("run_status", json!({"run_id": run})),
        ("audit", json!({"run_id": run})),
        ("audit", json!({"run_id": "none"})),
    ] {
        let result = client.call(tool, arguments);
        let schema = &tools.iter().find(|it| it["name"] == tool).unwrap()["outputSchema"];
        assert_fits(&result["structuredContent"], schema, tool);
    }
    client.end();
}

/// What a schema of this server says, and nothing more: every key is listed, of the type that is said, and
/// those that are required are there.
fn assert_fits(value: &Value, schema: &Value, at: &str) {
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{at}: {value} of {schema}");
    }
    match value {
        Value::Object(members) if schema.get("properties").is_some() => {
            for key in schema["required"].as_array().unwrap_or(&Vec::new()) {
                assert!(members.contains_key(key.as_str().unwrap()), "{at}: {key} of {value}");
            }
            for (key, member) in members {
                let of = &schema["properties"][key];
                assert!(of.is_object(), "{at}: `{key}` is not in the schema");
                assert_fits(member, of, &format!("{at}/{key}"));
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| assert_fits(item, &schema["items"], at))
        }
        _ => {
            let is = match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "integer",
                Value::String(_) => "string",
                _ => "object",
            };
            let types = schema["type"].to_string();
            assert!(types.contains(&format!("\"{is}\"")), "{at}: {value} is no {types}");
        }
    }
}

#[test]
fn over_http_a_key_is_asked_for() {
    let world = configured(&LIAR, "");
    for (args, code) in [
        (&["--http", "127.0.0.1:0"][..], "no API key"),
        (&["--http", "0.0.0.0:0", "--no-key"], "loopback"),
        (&["--no-key"], "--http"),
        (&["--allow-origin", "https://a.example"], "--http"),
    ] {
        let mut command = world.command(["mcp"].iter().chain(args));
        let ran = command.env_remove("PROBITY_API_KEY").output().unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert_eq!((ran.status.code(), ran.stdout.is_empty()), (Some(64), true), "{args:?}");
        assert!(stderr.contains(code), "{args:?}: {stderr}");
    }
    let missing = world.probity(["mcp", "--workspace", "nowhere"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (64, ""), "{missing:?}");
}

/// The client of the protocol's own makers, where it is installed: `npm install` in `examples/mcp`.
#[test]
fn a_client_that_others_made_drives_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mcp");
    if !std::path::Path::new(folder).join("node_modules/@modelcontextprotocol/sdk").is_dir() {
        eprintln!("skipped: no node_modules in examples/mcp; tests install nothing from a network");
        return;
    }
    for transport in ["stdio", "http"] {
        let mut node = Command::new("node");
        node.args(["drive.mjs", transport]).current_dir(folder).stdin(Stdio::null());
        let ran = node.env("PROBITY", env!("CARGO_BIN_EXE_probity")).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success() && !said.contains("FAIL"), "{transport}: {ran:?}");
    }
}
