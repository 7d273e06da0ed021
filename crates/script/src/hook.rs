//! A script as a hook: `handle(event, payload)` in place of `run(result)`.

use std::path::Path;

use probity_core::{Digest, Fault};
use probity_verifier::CheckContext;
use serde_json::Value as Json;

use crate::answer::HookAnswer;
use crate::fault;
use crate::host::Host;
use crate::interpreter::{Entry, Product};
use crate::limits::Limits;
use crate::runner::{Execution, Runner};
use crate::script::Script;

/// A Starlark script that answers events with allow, block or modify. It has the same built-ins and
/// the same bounds as a verifier.
#[derive(Debug)]
pub struct ScriptHook {
    runner: Runner,
}

impl ScriptHook {
    /// A hook from a script, the `args` it sees and what it may reach. Runs nothing yet.
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
        let runner = Runner::new(Entry::Handle, script, args, host, limits, execution)?;
        Ok(Self { runner })
    }

    /// SHA-256 of the script.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.runner.script.digest()
    }

    /// The file the script was read from; `None` for a script given as text.
    #[must_use]
    pub fn source_path(&self) -> Option<&Path> {
        self.runner.script.source_path()
    }

    /// Compiles the script and runs its top level.
    ///
    /// # Errors
    /// The [`Fault`] that every call would end in too.
    pub async fn check(&self) -> Result<(), Fault> {
        self.runner.check().await
    }

    /// Answers one event. The context gives the workspace, the time and the bounds; its claim is
    /// not looked at.
    ///
    /// # Errors
    /// A [`Fault`] when the hook itself broke or returned something that is no answer.
    pub async fn handle(
        &self,
        ctx: &CheckContext,
        event: &str,
        payload: Json,
    ) -> Result<HookAnswer, Fault> {
        match self.runner.run(ctx, event, payload).await?.0 {
            Product::Answer(answer) => Ok(answer),
            Product::Unreachable(reason) => Ok(HookAnswer::Inconclusive { reason }),
            Product::Decision(_) => {
                Err(Fault::new(fault::WORKER, "the worker answered for a verifier"))
            }
        }
    }
}
