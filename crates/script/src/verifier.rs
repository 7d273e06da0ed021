//! A script as a [`Verifier`].

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity_core::{Digest, Evidence, Fault, Verdict};
use probity_verifier::{CheckContext, Verifier};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::conversation::{Ended, Job};
use crate::fault::{self, FaultFrame};
use crate::host::{GateError, Host, HostAnswer, HostCall};
use crate::interpreter::{self, Bounds, Loaded, Report, Source};
use crate::limits::Limits;
use crate::pool::WorkerPool;
use crate::returned::Decision;
use crate::script::Script;
use crate::session::{Ask, Changes, Input};

/// Where a script runs.
#[derive(Debug, Clone)]
pub enum Execution {
    /// In a worker process: whatever the script does, it cannot take this process along.
    Worker(Arc<WorkerPool>),
    /// In this process, for scripts as trusted as the program itself. Faster, but some operations
    /// cannot be interrupted and a script that exhausts memory or nests values too deeply ends the
    /// whole process.
    InProcess,
}

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

/// A Starlark script that judges claims.
#[derive(Debug)]
pub struct ScriptVerifier {
    script: Script,
    source: Source,
    key: String,
    host: Host,
    limits: Limits,
    execution: Execution,
    in_process: OnceCell<Arc<Loaded>>,
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
        limits.validate().map_err(|error| Fault::new(fault::LIMITS, error.to_string()))?;
        let source =
            Source { name: script.name().to_owned(), text: script.source().to_owned(), args };
        let mut hash = Sha256::new();
        // The name is part of what faults say, the limits decide whether the examples pass.
        for part in
            [source.name.as_bytes(), script.digest().as_bytes(), source.args.to_string().as_bytes()]
        {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        }
        hash.update(format!("{limits:?}"));
        let key = hex::encode(hash.finalize());
        Ok(Self { script, source, key, host, limits, execution, in_process: OnceCell::new() })
    }

    /// SHA-256 of the script: the hash of the judge.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.script.digest()
    }

    /// The file the script was read from: a judge file that the delegate must not touch. `None` for
    /// a script given as text.
    #[must_use]
    pub fn source_path(&self) -> Option<&Path> {
        self.script.source_path()
    }

    /// The script itself.
    #[must_use]
    pub const fn script(&self) -> &Script {
        &self.script
    }

    /// Compiles the script, runs its top level and its `accepts` and `rejects` examples.
    ///
    /// # Errors
    /// The [`Fault`] that every call would end in too.
    pub async fn check(&self) -> Result<(), Fault> {
        let cancel = CancellationToken::new();
        match &self.execution {
            Execution::InProcess => self.load_in_process(&cancel).await.map(drop),
            Execution::Worker(pool) => {
                let wait = Duration::from_millis(self.limits.wall_ms).saturating_mul(4);
                let until = tokio::time::Instant::now() + wait + Duration::from_secs(10);
                let job = self.job(None, Path::new(""), until, &cancel);
                match pool.run(&job).await {
                    Ok(_) => Ok(()),
                    Err(Ended::Refused(fault) | Ended::Fault(fault)) => Err(self.placed(fault)),
                    Err(Ended::Busy) => {
                        Err(Fault::new(fault::WORKER, "no script worker was free in time"))
                    }
                }
            }
        }
    }

    /// As [`Verifier::verify`], with what the call cost.
    ///
    /// # Errors
    /// As [`Verifier::verify`].
    pub async fn call(&self, ctx: &CheckContext) -> Result<Call, Fault> {
        let report = match &self.execution {
            Execution::InProcess => self.call_in_process(ctx).await?,
            Execution::Worker(pool) => {
                let input = self.input(ctx)?;
                let until = tokio::time::Instant::now() + ctx.timeout;
                let job = self.job(Some(&input), ctx.workspace.root(), until, &ctx.cancel);
                match pool.run(&job).await {
                    Ok(report) => report,
                    Err(Ended::Refused(fault) | Ended::Fault(fault)) => {
                        return Err(self.placed(fault));
                    }
                    Err(Ended::Busy) => Report {
                        result: Ok(Decision::inconclusive(
                            "verifier_busy",
                            "no script worker was free in time",
                        )),
                        ticks: 0,
                        printed: String::new(),
                    },
                }
            }
        };
        let mut verdict = Verdict::from(report.result.map_err(|fault| self.placed(fault))?);
        let ran = Evidence::new(
            format!("script:{}", self.script.name()),
            format!("{} ticks", report.ticks),
        );
        verdict.evidence.push(ran.with_digest(self.script.digest()));
        Ok(Call { verdict, ticks: report.ticks, printed: report.printed })
    }

    fn job<'a>(
        &'a self,
        input: Option<&'a Input>,
        workspace: &'a Path,
        until: tokio::time::Instant,
        cancel: &'a CancellationToken,
    ) -> Job<'a> {
        Job {
            key: &self.key,
            source: &self.source,
            input,
            workspace,
            host: &self.host,
            limits: self.limits,
            until,
            cancel,
        }
    }

    /// Every fault names at least the file.
    fn placed(&self, fault: FaultFrame) -> Fault {
        let location = fault.location.clone().filter(|location| !location.is_empty());
        let location = location.or_else(|| Some(self.script.name().to_owned()));
        Fault { location, ..Fault::from(fault) }
    }

    fn input(&self, ctx: &CheckContext) -> Result<Input, Fault> {
        let claim = serde_json::to_value(&*ctx.claim).map_err(|error| {
            Fault::new(fault::WORKER, format!("the claim has no JSON form: {error}"))
        })?;
        let now = OffsetDateTime::from(ctx.run_started).format(&Rfc3339).unwrap_or_default();
        // A snapshot can be large; most scripts never ask.
        let changes = self.source.text.contains("changes").then(|| changes(ctx));
        let workspace = Some(ctx.workspace.root().to_owned());
        let opened = Some(Arc::clone(&ctx.workspace));
        Ok(Input { claim, workspace, now, changes, files: None, opened })
    }

    async fn load_in_process(&self, cancel: &CancellationToken) -> Result<Arc<Loaded>, Fault> {
        let load = || async {
            let (source, limits, cancel) = (self.source.clone(), self.limits, cancel.clone());
            let load =
                move || interpreter::load(&source, &bounds(limits, None, cancel)).map(Arc::new);
            let loaded = tokio::task::spawn_blocking(load).await;
            loaded.unwrap_or_else(|error| Err(FaultFrame::new(fault::CRASH, error.to_string())))
        };
        let loaded = self.in_process.get_or_try_init(load).await;
        loaded.cloned().map_err(|fault| self.placed(fault))
    }

    async fn call_in_process(&self, ctx: &CheckContext) -> Result<Report, Fault> {
        let loaded = self.load_in_process(&ctx.cancel).await?;
        let input = self.input(ctx)?;
        let until = Instant::now() + ctx.timeout;
        let host = Box::new(Here {
            host: self.host.clone(),
            workspace: ctx.workspace.root().into(),
            until,
            cancel: ctx.cancel.clone(),
            runtime: Handle::current(),
        });
        let (limits, cancel) = (self.limits, ctx.cancel.clone());
        let call =
            move || interpreter::call(&loaded, input, host, &bounds(limits, Some(until), cancel));
        tokio::task::spawn_blocking(call)
            .await
            .map_err(|error| self.placed(FaultFrame::new(fault::CRASH, error.to_string())))
    }
}

#[async_trait]
impl Verifier for ScriptVerifier {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        self.call(ctx).await.map(|call| call.verdict)
    }
}

fn bounds(limits: Limits, until: Option<Instant>, cancel: CancellationToken) -> Bounds {
    let own = Instant::now() + Duration::from_millis(limits.wall_ms);
    let deadline = until.map_or(own, |until| until.min(own));
    Bounds { limits, deadline, is_abandoned: Rc::new(move || cancel.is_cancelled()) }
}

fn changes(ctx: &CheckContext) -> Changes {
    let changes = ctx.changes();
    Changes {
        created: changes.created.clone(),
        modified: changes.modified.clone(),
        deleted: changes.deleted.clone(),
        mode_changed: changes.mode_changed.clone(),
        undecided: changes.undecided.clone(),
    }
}

/// The host of a script inside this process: the script's thread waits for the runtime.
struct Here {
    host: Host,
    workspace: Arc<Path>,
    until: Instant,
    cancel: CancellationToken,
    runtime: Handle,
}

impl Ask for Here {
    fn ask(&self, call: &HostCall) -> HostAnswer {
        let late = || {
            GateError::Unreachable("ground truth did not answer within the check's time".to_owned())
        };
        self.runtime.block_on(async {
            tokio::select! {
                answer = self.host.answer(&self.workspace, call) => answer,
                () = self.cancel.cancelled() => Err(GateError::Invalid("the run was cancelled".to_owned())),
                () = tokio::time::sleep_until(self.until.into()) => Err(late()),
            }
        })
    }
}
