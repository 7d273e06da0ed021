//! One script with its bounds, run where it should run. Shared by verifiers, hooks and tools.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probity_core::{Code, Fault};
use probity_verifier::{CheckContext, Workspace};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::answer::HookAnswer;
use crate::conversation::{Ended, Job, within};
use crate::fault::{self, FaultFrame};
use crate::hands::Hands;
use crate::host::{GateError, Host, HostAnswer, HostCall};
use crate::interpreter::{self, Bounds, Loaded, Product, Report, Role, Source};
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

/// Where and within what one call runs.
pub(crate) struct Site<'a> {
    pub(crate) workspace: &'a Arc<Workspace>,
    pub(crate) timeout: Duration,
    pub(crate) cancel: &'a CancellationToken,
    /// What makes the changes that the script asks for; only the `run` of a tool has it.
    pub(crate) hands: Option<Arc<Hands>>,
}

/// A script, what it may reach, and where it runs.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) script: Script,
    source: Source,
    key: String,
    host: Host,
    limits: Limits,
    execution: Execution,
    in_process: OnceCell<Arc<Loaded>>,
}

impl Runner {
    pub(crate) fn new(
        role: Role,
        script: Script,
        args: Json,
        when: Option<String>,
        host: Host,
        limits: Limits,
        execution: Execution,
    ) -> Result<Self, Fault> {
        limits.validate().map_err(|error| Fault::new(fault::LIMITS, error.to_string()))?;
        let (name, text) = (script.name().to_owned(), script.source().to_owned());
        let source = Source { role, name, text, args, when };
        let key = key(&source, &script, &limits);
        Ok(Self { script, source, key, host, limits, execution, in_process: OnceCell::new() })
    }

    /// Loads the script, examples included.
    pub(crate) async fn check(&self) -> Result<(), Fault> {
        let cancel = CancellationToken::new();
        let pool = match &self.execution {
            Execution::InProcess => return self.load_in_process(&cancel).await.map(drop),
            Execution::Worker(pool) => pool,
        };
        let wait = Duration::from_millis(self.limits.wall_ms).saturating_mul(4);
        let until = tokio::time::Instant::now() + wait + Duration::from_secs(10);
        let job = self.job(None, Path::new(""), until, &cancel);
        match pool.run(&job).await {
            Ok(_) => Ok(()),
            Err(Ended::Refused(fault) | Ended::Fault(fault)) => Err(self.placed(fault)),
            Err(Ended::Busy) => {
                Err(Fault::new(fault::WORKER, "no script worker was free in time; try again"))
            }
        }
    }

    /// Calls the function of the file with the claim, or with an event and its payload.
    pub(crate) async fn run(
        &self,
        ctx: &CheckContext,
        event: &str,
        claim: Json,
    ) -> Result<(Product, u64, String), Fault> {
        let input = self.input(ctx, event, claim);
        let site = Site {
            workspace: &ctx.workspace,
            timeout: ctx.timeout,
            cancel: &ctx.cancel,
            hands: None,
        };
        self.run_at(&site, input).await
    }

    /// Calls the function of the file.
    pub(crate) async fn run_at(
        &self,
        site: &Site<'_>,
        input: Input,
    ) -> Result<(Product, u64, String), Fault> {
        let report = match &self.execution {
            Execution::InProcess => self.run_in_process(site, input).await?,
            Execution::Worker(pool) => {
                let until = tokio::time::Instant::now() + site.timeout;
                let mut job = self.job(Some(&input), site.workspace.root(), until, site.cancel);
                job.hands = site.hands.as_ref();
                match pool.run(&job).await {
                    Ok(report) => report,
                    Err(Ended::Refused(fault) | Ended::Fault(fault)) => {
                        return Err(self.placed(fault));
                    }
                    Err(Ended::Busy) => {
                        Report { result: busy(self.source.role), ticks: 0, printed: String::new() }
                    }
                }
            }
        };
        let product = report.result.map_err(|fault| self.placed(fault))?;
        Ok((product, report.ticks, report.printed))
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
            hands: None,
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

    fn input(&self, ctx: &CheckContext, event: &str, claim: Json) -> Input {
        // A snapshot or a decision can be large; most scripts never ask.
        let says = |word: &str| self.source.text.contains(word);
        let asks_decision = self.source.role == Role::Verifier && says("verify");
        Input {
            claim,
            event: event.to_owned(),
            decision: ctx.decision.as_object().filter(|_| asks_decision).cloned(),
            task: if asks_decision { ctx.task.to_string() } else { String::new() },
            attempt: ctx.attempt,
            workspace: Some(ctx.workspace.root().to_owned()),
            now: OffsetDateTime::from(ctx.run_started).format(&Rfc3339).unwrap_or_default(),
            changes: says("changes").then(|| changes(ctx)),
            opened: Some(Arc::clone(&ctx.workspace)),
            ..Input::default()
        }
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

    async fn run_in_process(&self, site: &Site<'_>, input: Input) -> Result<Report, Fault> {
        let loaded = self.load_in_process(site.cancel).await?;
        let until = Instant::now() + site.timeout;
        // A thread is not dropped with whoever waits for it: it has to be told.
        let cancel = site.cancel.child_token();
        let _ends_with_this_call = cancel.clone().drop_guard();
        let host = Box::new(Here {
            host: self.host.clone(),
            hands: site.hands.clone(),
            workspace: site.workspace.root().into(),
            until,
            cancel: cancel.clone(),
            runtime: Handle::current(),
        });
        let limits = self.limits;
        let call =
            move || interpreter::call(&loaded, input, host, &bounds(limits, Some(until), cancel));
        tokio::task::spawn_blocking(call)
            .await
            .map_err(|error| self.placed(FaultFrame::new(fault::CRASH, error.to_string())))
    }
}

/// The name of what is loaded: equal for equal behaviour, faults and examples included.
fn key(source: &Source, script: &Script, limits: &Limits) -> String {
    let mut hash = Sha256::new();
    let args = source.args.to_string();
    for part in [source.name.as_bytes(), script.digest().as_bytes(), args.as_bytes()] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part);
    }
    hash.update(format!("{limits:?} {:?} {:?}", source.role, source.when));
    hex::encode(hash.finalize())
}

fn busy(role: Role) -> Result<Product, FaultFrame> {
    let reason = "no script worker was free in time";
    match role {
        Role::Verifier => Ok(Product::Decision(Decision::inconclusive("verifier_busy", reason))),
        Role::Hook => Ok(Product::Answer(HookAnswer::Inconclusive {
            code: Code::slug("hook_busy"),
            reason: reason.to_owned(),
        })),
        Role::Tool => Err(FaultFrame::new(fault::WORKER, format!("{reason}; try again"))),
    }
}

fn bounds(limits: Limits, until: Option<Instant>, cancel: CancellationToken) -> Bounds {
    let own = Instant::now() + Duration::from_millis(limits.wall_ms);
    let until = until.unwrap_or(own);
    Bounds {
        limits,
        deadline: until.min(own),
        until,
        is_abandoned: Rc::new(move || cancel.is_cancelled()),
    }
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
    hands: Option<Arc<Hands>>,
    workspace: Arc<Path>,
    until: Instant,
    cancel: CancellationToken,
    runtime: Handle,
}

impl Ask for Here {
    fn ask(&self, call: &HostCall, limit: Option<Duration>) -> HostAnswer {
        let late =
            || GateError::Late("ground truth did not answer within the check's time".to_owned());
        let limit_ms = limit.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        self.runtime.block_on(async {
            if let (HostCall::Change(change), Some(hands)) = (call, &self.hands) {
                return hands.make(change).await;
            }
            tokio::select! {
                answer = within(limit_ms, self.host.answer(&self.workspace, call)) => answer,
                () = self.cancel.cancelled() => Err(GateError::Invalid("the run was cancelled".to_owned())),
                () = tokio::time::sleep_until(self.until.into()) => Err(late()),
            }
        })
    }
}
