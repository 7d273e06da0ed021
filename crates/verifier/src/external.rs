//! A verifier that is a program: JSON in on standard input, a JSON verdict out on standard output.
//!
//! In, one object:
//!
//! ```text
//! {"result": {"response", "tool_calls", "tool_results"}, "task", "attempt", "phase": "before"|"after",
//!  "check", "submission", "is_replay", "args", "changes": {"created", "modified", "deleted", ...},
//!  "workspace"}
//! ```
//!
//! Out, and exit code 0: `true`, `false`, or an object with `verified` and optionally `verdict`,
//! `reason`, `code`, `criteria`, `confidence` (0 to 1), `output` (with a pass only); keys beyond these
//! are ignored. Standard error is for people.
//!
//! | Situation | Result |
//! |---|---|
//! | `true`, or `verified` is true | pass, code `ok` unless given |
//! | `false`, or `verified` is false | revise, code `not_verified` unless given |
//! | `verdict` of `revise`, `fail` or `inconclusive` beside a false `verified` | that verdict |
//! | not found or not executable, cannot be started or watched | fault `external_start` |
//! | another exit code, or a signal | fault `external_exit` |
//! | no JSON, no `verified`, a wrong type, `verified` against `verdict`, over 1 MiB | fault `external_output` |
//! | no end in time; it is killed with everything it started | fault `external_timeout` |
//! | the input is over 16 MiB | fault `external_input` |
//!
//! The line is run by `sh -c` in the root of the workspace with a clean environment and the names in
//! `env`. It takes part in the red run, with an empty result.

use async_trait::async_trait;
use probity_core::{Code, Fault, Phase, Verdict, VerdictKind};
use probity_sandbox::{Captured, Ended, Finished, Launcher, SandboxError, Status};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::spec::ExternalSpec;
use crate::stock::{read_json, shell};
use crate::workspace::key_of;
use crate::{CheckContext, Verifier};

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
            Value::Bool(verified) => Table { verified, ..Table::default() },
            Value::Object(_) => {
                serde_json::from_value(value).map_err(|error| no_verdict(error.to_string()))?
            }
            // A list of the right length would be taken for the table.
            _ => {
                let expected = "expected true, false, or an object with a bool `verified`";
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
        let finished = shell(&self.spec.line, &self.spec.env, ctx)
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
    verified: bool,
    verdict: Option<VerdictKind>,
    #[serde(default)]
    reason: String,
    code: Option<Code>,
    #[serde(default)]
    criteria: Vec<Code>,
    confidence: Option<f64>,
    output: Option<Value>,
}

impl Table {
    fn verdict(self) -> Result<Verdict, &'static str> {
        let default = if self.verified { VerdictKind::Pass } else { VerdictKind::Revise };
        let kind = self.verdict.unwrap_or(default);
        if self.verified != (kind == VerdictKind::Pass) {
            return Err("`verified` and `verdict` contradict each other");
        }
        if self.criteria.len() > MAX_CRITERIA {
            return Err("`criteria` holds more than 64 keys");
        }
        let code = self.code.unwrap_or_else(|| {
            Code::slug(match kind {
                VerdictKind::Pass => "ok",
                VerdictKind::Inconclusive => "inconclusive",
                VerdictKind::Revise | VerdictKind::Fail => "not_verified",
            })
        });
        let reason = match (self.reason.is_empty(), kind) {
            (true, VerdictKind::Revise | VerdictKind::Fail | VerdictKind::Inconclusive) => {
                "the verifier gave no reason".to_owned()
            }
            _ => cut(self.reason),
        };
        let mut verdict = Verdict::new(kind, code, reason);
        verdict.criteria = self.criteria;
        verdict.confidence_bp = self.confidence.map(basis_points).transpose()?;
        verdict.output = self.output.filter(|_| kind == VerdictKind::Pass);
        Ok(verdict)
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
