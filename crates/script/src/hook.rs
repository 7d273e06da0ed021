//! A script as a hook: `handle(event, payload)` in place of `run(result)`.

use std::path::Path;

use probity_core::{Code, Digest, Fault};
use probity_verifier::CheckContext;
use serde_json::{Map, Value as Json};

use crate::answer::HookAnswer;
use crate::data;
use crate::fault::{self, cut};
use crate::host::Host;
use crate::interpreter::{Product, Role};
use crate::limits::Limits;
use crate::returned::MAX_REASON_BYTES;
use crate::runner::{Execution, Runner};
use crate::script::Script;
use crate::session::Missed;

/// The largest payload a hook is given or may leave behind, as JSON text, in bytes.
pub const MAX_PAYLOAD_BYTES: u64 = 16 << 20;

/// A Starlark script that answers events with allow, block or modify. It has the same built-ins and
/// the same bounds as a verifier; `args` is empty.
#[derive(Debug)]
pub struct ScriptHook {
    runner: Runner,
}

impl ScriptHook {
    /// A hook from a script and what it may reach. `when` is a Starlark expression over `event` and
    /// `payload`, at most 4 KiB: where it is False, the hook is not called. Runs nothing yet.
    ///
    /// # Errors
    /// A [`Fault`] `script_limits` when a limit is out of its range.
    pub fn new(
        script: Script,
        when: Option<String>,
        host: Host,
        limits: Limits,
        execution: Execution,
    ) -> Result<Self, Fault> {
        let args = Json::Object(Map::new());
        let runner = Runner::new(Role::Hook, script, args, when, host, limits, execution)?;
        Ok(Self { runner })
    }

    /// SHA-256 of the script. The `when` is not part of it.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.runner.script.digest()
    }

    /// The file the script was read from; `None` for a script given as text.
    #[must_use]
    pub fn source_path(&self) -> Option<&Path> {
        self.runner.script.source_path()
    }

    /// The script itself.
    #[must_use]
    pub const fn script(&self) -> &Script {
        &self.runner.script
    }

    /// Compiles the script and its `when`, and runs its top level.
    ///
    /// # Errors
    /// The [`Fault`] that every call would end in too.
    pub async fn check(&self) -> Result<(), Fault> {
        self.runner.check().await
    }

    /// Answers one event. The context gives the workspace, the changes, the time and the bounds;
    /// its claim is not looked at. Dropping the future ends the script.
    ///
    /// [`HookAnswer::Modify`] holds the whole payload: what the hook gave replaces the top-level
    /// keys of that name, the others are those of `payload`. No key can be removed.
    ///
    /// # Errors
    /// A [`Fault`] when the hook itself broke or returned something that is no answer: hooks fail
    /// closed. `hook_payload_too_large` when the payload, given or merged, is larger than
    /// [`MAX_PAYLOAD_BYTES`] or nested more than 120 deep.
    pub async fn handle(
        &self,
        ctx: &CheckContext,
        event: &str,
        payload: Map<String, Json>,
    ) -> Result<HookAnswer, Fault> {
        self.fits(&payload)?;
        match self.runner.run(ctx, event, Json::Object(payload.clone())).await?.0 {
            Product::Answer(HookAnswer::Modify { payload: given }) => {
                let mut payload = payload;
                payload.extend(given);
                self.fits(&payload)?;
                Ok(HookAnswer::Modify { payload })
            }
            Product::Answer(answer) => Ok(answer),
            Product::Unreachable(Missed { reason, is_late }) => {
                let code = if is_late { "hook_unreachable_timeout" } else { "hook_unreachable" };
                let code = Code::slug(code);
                Ok(HookAnswer::Inconclusive { code, reason: cut(&reason, MAX_REASON_BYTES) })
            }
            Product::Decision(_) | Product::Output(_) | Product::Assertion(_) => {
                Err(Fault::new(fault::WORKER, "the worker answered for something else"))
            }
        }
    }

    fn fits(&self, payload: &Map<String, Json>) -> Result<(), Fault> {
        let Some(excess) = data::excess(payload, MAX_PAYLOAD_BYTES) else { return Ok(()) };
        let message = format!("the payload is too large: {excess}");
        Err(Fault::new(fault::PAYLOAD, message).at(self.runner.script.name()))
    }
}
