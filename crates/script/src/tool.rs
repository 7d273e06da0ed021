//! A script as a tool of a chat agent: `run(args)`, and `verify(args, result)` where it has one.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use probity_core::{Digest, Fault};
use probity_verifier::{Workspace, WorkspaceWriter};
use serde_json::{Map, Value as Json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_util::sync::CancellationToken;

use crate::data;
use crate::fault;
use crate::hands::Hands;
use crate::host::Host;
use crate::interpreter::{Product, Role};
use crate::limits::Limits;
use crate::output::ScriptToolOutput;
use crate::runner::{Execution, Runner, Site};
use crate::script::Script;
use crate::session::Input;

/// The largest arguments, and the largest result, that a tool is given, as JSON text, in bytes.
const MAX_INPUT_BYTES: u64 = 16 << 20;
/// Faults of a call that are its result: the model asked for what cannot be had, and can ask for
/// something else.
const TOLD: [&str; 7] = [
    fault::RAISE,
    fault::PATH,
    fault::ESCAPE,
    fault::WRITE,
    fault::EGRESS,
    fault::EXEC,
    fault::ENV,
];

/// A Starlark script that a model may call. It has the bounds and the built-ins of a verifier, and
/// those that write to the workspace: [`Host::protected`] says where they may not.
#[derive(Debug)]
pub struct ScriptTool {
    runner: Runner,
    writer: Arc<WorkspaceWriter>,
}

impl ScriptTool {
    /// A tool from a script, what it may reach, and the workspace it works in. Runs nothing yet: a
    /// script that does not compile faults in [`ScriptTool::check`] and in every call.
    ///
    /// # Errors
    /// A [`Fault`] `script_limits` when a limit is out of its range; the code of a
    /// [`probity_verifier::PathError`] when something protected is no path.
    pub fn new(
        script: Script,
        host: Host,
        limits: Limits,
        execution: Execution,
        workspace: Arc<Workspace>,
    ) -> Result<Self, Fault> {
        let writer = WorkspaceWriter::new(workspace, &host.protected)
            .map_err(|error| Fault::new(error.code(), error.to_string()).at(script.name()))?;
        let args = Json::Object(Map::new());
        let runner = Runner::new(Role::Tool, script, args, None, host, limits, execution)?;
        Ok(Self { runner, writer: Arc::new(writer) })
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

    /// The script itself.
    #[must_use]
    pub const fn script(&self) -> &Script {
        &self.runner.script
    }

    /// Whether the script may define `verify`: the word occurs in it. Where this is false,
    /// [`ScriptTool::verify`] has nothing to say.
    #[must_use]
    pub fn defines_verify(&self) -> bool {
        self.runner.script.source().contains("verify")
    }

    /// Compiles the script and runs its top level.
    ///
    /// # Errors
    /// The [`Fault`] that every call would end in too.
    pub async fn check(&self) -> Result<(), Fault> {
        self.runner.check().await
    }

    /// Carries out one call: `run(args)`. `now` is what `time.now()` gives, `timeout` bounds the
    /// call with all that it waits for. Dropping the future ends the script; a change that is then
    /// under way is still made.
    ///
    /// An error of the call is an output: the script called `fail` or returned `{"error": text}`, an
    /// operation in it failed, or it asked for what is out of reach.
    ///
    /// # Errors
    /// A [`Fault`] when the script is broken or hit a limit, `script_input` when `args` is no object
    /// or too large, `script_worker` when no worker was free, `script_cancelled` on `cancel`.
    pub async fn call(
        &self,
        args: Json,
        now: SystemTime,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<ScriptToolOutput, Fault> {
        let input = self.input(args, now)?;
        let hands = Some(Hands::new(Arc::clone(&self.writer)));
        let site = Site { workspace: self.writer.workspace(), timeout, cancel, hands };
        match self.runner.run_at(&site, input).await {
            Ok((Product::Output(output), ..)) => Ok(output),
            Ok((Product::Unreachable(missed), ..)) => Ok(ScriptToolOutput::error(&missed.reason)),
            Ok(_) => Err(out_of_turn()),
            Err(fault) if TOLD.contains(&fault.code.as_str()) => {
                let message = fault.message.strip_prefix("fail: ").unwrap_or(&fault.message);
                Ok(ScriptToolOutput::error(message))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Asks the script's own `verify` about what a call came to: the inner error is why the result
    /// is not good enough. A script without one has nothing against it. It may look at the world,
    /// and write nothing.
    ///
    /// # Errors
    /// A [`Fault`] when `verify` did not come to an answer: as [`ScriptTool::call`], and for
    /// everything that raises in it; `unreachable` or `verify_timeout` where ground truth did not
    /// answer.
    pub async fn verify(
        &self,
        args: &Json,
        result: &Json,
        now: SystemTime,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Result<(), String>, Fault> {
        if !self.defines_verify() {
            return Ok(Ok(()));
        }
        self.fits("result", &Map::from_iter([("result".to_owned(), result.clone())]))?;
        let input =
            Input { asserts: true, result: result.clone(), ..self.input(args.clone(), now)? };
        let site = Site { workspace: self.writer.workspace(), timeout, cancel, hands: None };
        match self.runner.run_at(&site, input).await?.0 {
            Product::Assertion(assertion) => Ok(assertion),
            Product::Unreachable(missed) => {
                Err(Fault::new(missed.code(), missed.reason).at(self.script().name()))
            }
            _ => Err(out_of_turn()),
        }
    }

    fn input(&self, args: Json, now: SystemTime) -> Result<Input, Fault> {
        match &args {
            Json::Object(fields) => self.fits("arguments", fields)?,
            _ => return Err(self.refused("the arguments must be a JSON object".to_owned())),
        }
        let workspace = self.writer.workspace();
        Ok(Input {
            claim: args,
            workspace: Some(workspace.root().to_owned()),
            now: OffsetDateTime::from(now).format(&Rfc3339).unwrap_or_default(),
            opened: Some(Arc::clone(workspace)),
            ..Input::default()
        })
    }

    fn fits(&self, what: &str, fields: &Map<String, Json>) -> Result<(), Fault> {
        let Some(excess) = data::excess(fields, MAX_INPUT_BYTES) else { return Ok(()) };
        Err(self.refused(format!("too much is given as {what}: {excess}")))
    }

    fn refused(&self, message: String) -> Fault {
        Fault::new(fault::INPUT, message).at(self.script().name())
    }
}

fn out_of_turn() -> Fault {
    Fault::new(fault::WORKER, "the worker answered for something else")
}
