//! A script as a [`Verifier`].

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Digest, Evidence, Fault, Verdict};
use probity_verifier::{CheckContext, Verifier};
use serde_json::Value as Json;

use crate::data;
use crate::fault;
use crate::host::Host;
use crate::interpreter::{Product, Role};
use crate::limits::Limits;
use crate::runner::{Execution, Runner};
use crate::script::Script;

/// The largest claim, and the largest decision, that a script is given, as JSON text, in bytes.
const MAX_INPUT_BYTES: u64 = 16 << 20;
/// Before the delegate starts, for scripts that may ask the network.
const RED_TIMEOUT: Duration = Duration::from_secs(1);

/// One call with what it cost, for people who write scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What [`Verifier::verify`] would return.
    pub verdict: Verdict,
    /// Calls and loop turns: the same on every run of the same script on the same input.
    pub ticks: u64,
    /// What the script printed.
    pub printed: String,
}

/// A Starlark script that judges claims: by `run(result)` as in seed 000, or by `verify(context)` as
/// in seed 001, where `context` is [`CheckContext::decision`] with `result`, `task`, `attempt` and
/// `args` added.
#[derive(Debug)]
pub struct ScriptVerifier {
    runner: Runner,
}

impl ScriptVerifier {
    /// A verifier from a script, the `args` it sees and what it may reach. Runs nothing yet: a
    /// script that does not compile faults in [`ScriptVerifier::check`] and in every call.
    ///
    /// # Errors
    /// A [`Fault`] `script_limits` when a limit is out of its range.
    pub fn new(
        script: Script,
        args: Json,
        host: Host,
        limits: Limits,
        execution: Execution,
    ) -> Result<Self, Fault> {
        let runner = Runner::new(Role::Verifier, script, args, None, host, limits, execution)?;
        Ok(Self { runner })
    }

    /// SHA-256 of the script: the hash of the judge.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.runner.script.digest()
    }

    /// The file the script was read from: a judge file that the delegate must not touch. `None` for
    /// a script given as text.
    #[must_use]
    pub fn source_path(&self) -> Option<&Path> {
        self.runner.script.source_path()
    }

    /// The script itself.
    #[must_use]
    pub const fn script(&self) -> &Script {
        &self.runner.script
    }

    /// Compiles the script, runs its top level and its `accepts` and `rejects` examples.
    ///
    /// # Errors
    /// The [`Fault`] that every call would end in too.
    pub async fn check(&self) -> Result<(), Fault> {
        self.runner.check().await
    }

    /// As [`Verifier::verify`], with what the call cost.
    ///
    /// # Errors
    /// As [`Verifier::verify`].
    pub async fn call(&self, ctx: &CheckContext) -> Result<Call, Fault> {
        let claim = serde_json::to_value(&*ctx.claim).map_err(|error| {
            Fault::new(fault::WORKER, format!("the claim has no JSON form: {error}"))
        })?;
        self.fits(&claim, ctx)?;
        let (product, ticks, printed) = self.runner.run(ctx, "", claim).await?;
        let mut verdict = match product {
            Product::Decision(decision) => Verdict::from(decision),
            Product::Unreachable(missed) => Verdict::inconclusive(missed.code(), missed.reason),
            Product::Answer(_) | Product::Output(_) | Product::Assertion(_) => {
                return Err(Fault::new(fault::WORKER, "the worker answered for something else"));
            }
        };
        let script = &self.runner.script;
        let ran = Evidence::new(format!("script:{}", script.name()), format!("{ticks} ticks"));
        verdict.evidence.push(ran.with_digest(script.digest()));
        Ok(Call { verdict, ticks, printed })
    }

    /// Whether a script can be given the claim and the decision.
    fn fits(&self, claim: &Json, ctx: &CheckContext) -> Result<(), Fault> {
        let bad = |message: String| Fault::new(fault::INPUT, message).at(self.script().name());
        for (name, value) in [("claim", claim), ("decision", &*ctx.decision)] {
            match value {
                Json::Null => {}
                Json::Object(fields) => {
                    if let Some(excess) = data::excess(fields, MAX_INPUT_BYTES) {
                        return Err(bad(format!("the {name} is too large for a script: {excess}")));
                    }
                }
                _ => return Err(bad(format!("the {name} must be a JSON object"))),
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Verifier for ScriptVerifier {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        self.call(ctx).await.map(|call| call.verdict)
    }

    /// At most a second for a script that may ask the network or polls: what it looks for may not
    /// be there yet.
    fn red_timeout(&self, timeout: Duration) -> Duration {
        let source = self.runner.script.source();
        let waits = ["http.", "read_after_write", "invariant_check"];
        if waits.iter().any(|word| source.contains(word)) {
            timeout.min(RED_TIMEOUT)
        } else {
            timeout
        }
    }
}
