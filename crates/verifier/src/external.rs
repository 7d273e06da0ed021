//! A verifier that is a program: JSON in on standard input, a JSON verdict out on standard output.
//!
//! In, one object:
//!
//! ```text
//! {"result": {"response", "tool_calls", "tool_results"}, "task", "attempt", "phase": "before"|"after",
//!  "check", "submission", "is_replay", "args", "changes": {"created", "modified", "deleted", ...},
//!  "workspace", "decision", "context"}
//! ```
//!
//! `decision` is the decision under way, null outside an envelope. `context` is the episode context
//! of seed 001: the members of the decision (`action`, `actions`, ...), and `result`, `task`, `attempt`,
//! `args` and `workspace`, which win over members of these names.
//!
//! Out, and exit code 0: `true`, `false`, or an object with `verified` and optionally `verdict`, or with
//! seed 001's `outcome` and `detail` in their place; and optionally `reason`, `code`, `criteria`,
//! `confidence` (0 to 1), `output` (with a pass only). Keys beyond these are ignored. Standard error is
//! for people.
//!
//! | Situation | Result |
//! |---|---|
//! | `true`, or `verified` is true | pass, code `ok` unless given |
//! | `false`, or `verified` is false | revise, code `not_verified` unless given |
//! | `verdict` of `revise`, `fail` or `inconclusive` beside a false `verified` | that verdict |
//! | `outcome` is `pass` | pass, code `ok` |
//! | `outcome` is `fail` | revise, code `verify_failed` |
//! | `outcome` is `inconclusive` | inconclusive, code `inconclusive` |
//! | beside `outcome`: `detail` is the text, without it `reason`; `code` is the code, without it a `reason` that is one of the words of [`reason_code`] | |
//! | not found or not executable, cannot be started or watched | fault `external_start` |
//! | another exit code, or a signal | fault `external_exit` |
//! | no JSON, neither `verified` nor `outcome`, both, an unknown word, a wrong type, `verified` against `verdict`, over 1 MiB | fault `external_output` |
//! | no end in time; it is killed with everything it started | fault `external_timeout` |
//! | the input is over 16 MiB | fault `external_input` |
//!
//! The line is run by `sh -c` in the root of the workspace with a clean environment and the names in
//! `env`. It takes part in the red run, with an empty result. Where it says
//! `"$PROBITY_PYTHON_SHIM"`, it finds [`PYTHON_SHIM`] there; [`ExternalSpec::python`] writes such a line.

use async_trait::async_trait;
use probity_core::{Code, Fault, Phase, Verdict, VerdictKind};
use probity_sandbox::{Captured, Ended, Finished, Launcher, SandboxError, Status};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::python::{PYTHON_SHIM, SHIM_VARIABLE};
use crate::spec::ExternalSpec;
use crate::stock::{read_json, shell};
use crate::workspace::key_of;
use crate::{CheckContext, Verifier, reason_code};

/// Bytes of a verdict.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// Bytes of a reason that are kept.
const MAX_REASON_BYTES: usize = 4_096;
/// Criteria of a verdict.
const MAX_CRITERIA: usize = 64;
/// Bytes of what the program said to people, in the message of a fault.
const MAX_SAID_BYTES: usize = 500;

/// An external-process verifier.
#[derive(Debug)]
pub struct External {
    spec: ExternalSpec,
    launcher: Launcher,
}

impl External {
    /// The verifier of a spec.
    #[must_use]
    pub const fn new(spec: ExternalSpec, launcher: Launcher) -> Self {
        Self { spec, launcher }
    }

    fn fault(&self, code: &str, message: String) -> Fault {
        Fault::new(code, message).at(self.spec.line.chars().take(200).collect::<String>())
    }

    fn input(&self, ctx: &CheckContext) -> Value {
        let mut context = ctx.decision.as_object().cloned().unwrap_or_default();
        context.insert("result".to_owned(), json!(&*ctx.claim));
        context.insert("task".to_owned(), ctx.task.as_ref().into());
        context.insert("attempt".to_owned(), ctx.attempt.into());
        context.insert("args".to_owned(), self.spec.args.clone().unwrap_or_default());
        context.insert("workspace".to_owned(), key_of(ctx.workspace.root()).into());
        json!({
            "result": &*ctx.claim,
            "task": &*ctx.task,
            "attempt": ctx.attempt,
            "phase": match ctx.phase { Phase::Before => "before", Phase::After => "after" },
            "check": ctx.check.as_str(),
            "submission": ctx.submission.as_ref().map(ToString::to_string),
            "is_replay": ctx.is_replay,
            "args": self.spec.args,
            "changes": &*ctx.changes(),
            "workspace": key_of(ctx.workspace.root()),
            "decision": &*ctx.decision,
            "context": context,
        })
    }

    fn judge(&self, finished: &Finished) -> Result<Verdict, Fault> {
        let said = said(&finished.stderr);
        match finished.ended {
            Ended::Cancelled => {
                return Ok(Verdict::inconclusive("cancelled", "the check was cancelled"));
            }
            Ended::TimedOut => {
                let message = format!(
                    "the verifier did not end within {} ms{said}",
                    finished.elapsed.as_millis()
                );
                return Err(self.fault("external_timeout", message));
            }
            Ended::Exited(Status::Code(0)) => {}
            Ended::Exited(Status::Code(126 | 127)) => {
                let message = format!(
                    "the verifier could not be started{said}; check its path and that it is executable"
                );
                return Err(self.fault("external_start", message));
            }
            Ended::Exited(status) => {
                let message =
                    format!("the verifier ended with {status}, expected exit status 0{said}");
                return Err(self.fault("external_exit", message));
            }
        }
        let refused = |why: String| self.fault("external_output", format!("{why}{said}"));
        if finished.stdout.truncated() {
            return Err(refused(format!(
                "the verifier wrote {} bytes, more than {MAX_OUTPUT_BYTES}",
                finished.stdout.total_bytes
            )));
        }
        let no_verdict =
            |why: String| refused(format!("the verifier's output is no verdict: {why}"));
        let value =
            read_json(&finished.stdout.head).map_err(|error| no_verdict(error.to_string()))?;
        let returned = match value {
            Value::Bool(verified) => Table { verified: Some(verified), ..Table::default() },
            Value::Object(_) => {
                serde_json::from_value(value).map_err(|error| no_verdict(error.to_string()))?
            }
            // A list of the right length would be taken for the table.
            _ => {
                let expected =
                    "expected true, false, or an object with a bool `verified` or an `outcome`";
                return Err(no_verdict(expected.to_owned()));
            }
        };
        returned.verdict().map_err(|why| refused(why.to_owned()))
    }
}

#[async_trait]
impl Verifier for External {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let input = self.input(ctx).to_string();
        let mut spawn = shell(&self.spec.line, &self.spec.env, ctx);
        if self.spec.line.contains(SHIM_VARIABLE) {
            spawn = spawn.env(SHIM_VARIABLE, PYTHON_SHIM);
        }
        let finished = spawn
            .stdin(input)
            .max_output_bytes(MAX_OUTPUT_BYTES)
            .run(&self.launcher)
            .await
            .map_err(|error| match error {
                SandboxError::StdinTooLong { .. } => {
                    self.fault("external_input", error.to_string())
                }
                _ => self.fault("external_start", error.to_string()),
            })?;
        self.judge(&finished)
    }
}

/// What the program printed.
#[derive(Default, Deserialize)]
struct Table {
    verified: Option<bool>,
    verdict: Option<VerdictKind>,
    outcome: Option<Outcome>,
    detail: Option<String>,
    reason: Option<String>,
    code: Option<Code>,
    #[serde(default)]
    criteria: Vec<Code>,
    confidence: Option<f64>,
    output: Option<Value>,
}

/// The three words of seed 001.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Pass,
    /// A revise: the delegate may try again while its budget lasts.
    Fail,
    Inconclusive,
}

impl Table {
    fn verdict(self) -> Result<Verdict, &'static str> {
        let (kind, code, reason) = match (self.verified, self.outcome) {
            (Some(_), Some(_)) => return Err("it has both `verified` and `outcome`; give one"),
            (None, None) => return Err("it has neither a bool `verified` nor an `outcome`"),
            (None, Some(outcome)) => self.of_outcome(outcome)?,
            (Some(verified), None) => self.of_verified(verified)?,
        };
        if self.criteria.len() > MAX_CRITERIA {
            return Err("`criteria` holds more than 64 keys");
        }
        let reason = match (reason.is_empty(), kind) {
            (true, VerdictKind::Revise | VerdictKind::Fail | VerdictKind::Inconclusive) => {
                "the verifier gave no reason".to_owned()
            }
            _ => cut(reason),
        };
        let mut verdict = Verdict::new(kind, self.code.unwrap_or(code), reason);
        verdict.criteria = self.criteria;
        verdict.confidence_bp = self.confidence.map(basis_points).transpose()?;
        verdict.output = self.output.filter(|_| kind == VerdictKind::Pass);
        Ok(verdict)
    }

    /// Kind, code where none is given, and reason.
    fn of_verified(&self, verified: bool) -> Result<(VerdictKind, Code, String), &'static str> {
        let default = if verified { VerdictKind::Pass } else { VerdictKind::Revise };
        let kind = self.verdict.unwrap_or(default);
        if verified != (kind == VerdictKind::Pass) {
            return Err("`verified` and `verdict` contradict each other");
        }
        let code = Code::slug(match kind {
            VerdictKind::Pass => "ok",
            VerdictKind::Inconclusive => "inconclusive",
            VerdictKind::Revise | VerdictKind::Fail => "not_verified",
        });
        Ok((kind, code, self.reason.clone().unwrap_or_default()))
    }

    /// The same for an outcome, beside which the reason may be one of the known words.
    fn of_outcome(&self, outcome: Outcome) -> Result<(VerdictKind, Code, String), &'static str> {
        if self.verdict.is_some() {
            return Err("it has both `verdict` and `outcome`; give one");
        }
        let (kind, code) = match outcome {
            Outcome::Pass => (VerdictKind::Pass, Code::slug("ok")),
            Outcome::Fail => (VerdictKind::Revise, Code::slug("verify_failed")),
            Outcome::Inconclusive => (VerdictKind::Inconclusive, Code::slug("inconclusive")),
        };
        let reason = self.reason.as_deref().unwrap_or_default();
        let detail = self.detail.as_deref().filter(|detail| !detail.is_empty());
        let code = reason_code(reason).unwrap_or(code);
        Ok((kind, code, detail.unwrap_or(reason).to_owned()))
    }
}

fn basis_points(confidence: f64) -> Result<u16, &'static str> {
    let text = format!("{:.0}", confidence * 10_000.0);
    let points = text.parse::<u16>().ok().filter(|points| *points <= 10_000);
    points.ok_or("`confidence` is not a number from 0 to 1")
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_REASON_BYTES {
        let end = (0..=MAX_REASON_BYTES).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    text
}

fn said(stderr: &Captured) -> String {
    match stderr.last_text(MAX_SAID_BYTES).as_str() {
        "" => String::new(),
        words => format!("; it said: {words}"),
    }
}
