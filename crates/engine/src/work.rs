//! The one thing in flight. Everything that can wake the driver is here, in one closed enum.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use probity_core::{CheckIndex, Code, Digest, Fault, HookIndex, Phase, Turn};
use probity_delegate::{Answered, Delegate, DelegateError, Request};
use probity_verifier::{
    CheckContext, Facts, JudgeFiles, JudgeManifest, Manifest, SnapshotRules, Verifier, Workspace,
    snapshot,
};
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use crate::Plan;
use crate::content::{MAX_KEPT_BYTES, StoredFault};
use crate::hook::{Hook, Reply, VerifyHook};
use crate::notebook::Wanted;
use crate::police::{Answer, belt, police};
use crate::task::{Running, Task};

/// What a verifier gets on top of its time before it is given up: it answers slow ground truth
/// itself, so one that does not answer at all is broken.
const OVERRUN: Duration = Duration::from_millis(600);
/// How long work that was told to stop may take to clean up.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// What woke the driver.
pub(crate) enum Wake {
    /// The work in flight is done.
    Done(Box<Done>),
    /// The delegate at work wrote something down.
    Note(Wanted),
    /// The time that the machine named has come.
    Timer,
    /// Someone wants the run to stop.
    Cancel,
    /// Somebody else appended to the log.
    Overtaken,
    /// The worker wants the run back as it is.
    Stop,
}

/// What the work in flight came to.
#[derive(Debug)]
pub(crate) enum Done {
    /// The world was read.
    Observed { phase: Phase, world: Result<Observed, Unreadable> },
    /// A check came back.
    Checked {
        check: CheckIndex,
        answer: Result<Answer, Fault>,
        /// `None` where the judge's files were not looked at, because the check broke.
        judge: Option<Sealed>,
        elapsed_ms: u64,
    },
    /// A hook answered.
    Hooked {
        hook: HookIndex,
        reply: Result<Reply, Fault>,
        /// What it was shown.
        shown: Map<String, Value>,
        elapsed_ms: u64,
    },
    /// The delegate answered.
    Answered { turn: Turn, answer: Result<Answered, DelegateError> },
}

/// One reading of the world.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) manifest: Arc<Manifest>,
    /// The manifest as it is kept.
    pub(crate) bytes: Vec<u8>,
    pub(crate) judge: Sealed,
}

/// The judge's files at one moment.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) digest: Digest,
    pub(crate) bytes: Vec<u8>,
}

/// The world could not be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) code: Code,
    pub(crate) fault: StoredFault,
}

/// A task in flight and the token that stops it.
pub(crate) struct Work {
    task: Task,
    /// Cancels when dropped: a driver that is given up takes its work along.
    cancel: DropGuard,
    /// What to report if the task panics. `Sync`, so that the future of a run can be spawned.
    lost: Box<dyn FnOnce() -> Done + Send + Sync>,
}

impl Work {
    /// Reads the workspace, the facts beside it and the judge's files.
    pub(crate) fn observe(phase: Phase, plan: &Plan) -> Self {
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let Plan { workspace, snapshot, facts, judge, .. } = plan;
        let (workspace, judge, facts) =
            (Arc::clone(workspace), Arc::clone(judge), Arc::clone(facts));
        let rules = snapshot.clone();
        let task = tokio::spawn(async move {
            let world = observe(phase, workspace, rules, facts, judge, token).await;
            Done::Observed { phase, world }
        });
        let lost = move || Done::Observed {
            phase,
            world: Err(Unreadable::new(
                "snapshot_panic",
                "reading the workspace panicked".to_owned(),
            )),
        };
        Self { task: Task::Spawned(task), cancel: cancel.drop_guard(), lost: Box::new(lost) }
    }

    /// Runs a check, then reads the judge's files again.
    pub(crate) fn check(
        check: CheckIndex,
        verifier: Arc<dyn Verifier>,
        ctx: CheckContext,
        judge: Arc<JudgeFiles>,
    ) -> Self {
        let (timeout, cancel) = (ctx.timeout, ctx.cancel.clone());
        let yields = verifier.yields();
        let verdict = async move { verifier.verify(&ctx).await.map(Answer::Verdict) };
        if yields {
            let answer = in_place(verdict, timeout, cancel.clone());
            return Self::judge(check, answer, cancel, judge, Task::in_place);
        }
        let answer = within(verdict, timeout, cancel.clone());
        Self::judge(check, answer, cancel, judge, Task::spawned)
    }

    /// Shows a claim to a verification hook, then reads the judge's files again.
    pub(crate) fn police(
        check: CheckIndex,
        hook: VerifyHook,
        ctx: CheckContext,
        about: Map<String, Value>,
        judge: Arc<JudgeFiles>,
    ) -> Self {
        let (timeout, cancel) = (belt(&hook, &ctx), ctx.cancel.clone());
        let answer = within(police(hook, ctx, about), timeout, cancel.clone());
        Self::judge(check, answer, cancel, judge, Task::spawned)
    }

    fn judge(
        check: CheckIndex,
        answer: impl Future<Output = Result<Answer, Fault>> + Send + 'static,
        cancel: CancellationToken,
        judge: Arc<JudgeFiles>,
        start: fn(Running) -> Task,
    ) -> Self {
        let started = Instant::now();
        let task = start(Box::pin(async move {
            let answer = answer.await;
            let elapsed_ms = millis(started.elapsed());
            let (judge, answer) = match look_at_judge(judge).await {
                Ok(sealed) => (Some(sealed), answer),
                Err(fault) => (None, answer.and(Err(fault))),
            };
            Done::Checked { check, answer, judge, elapsed_ms }
        }));
        let lost = move || Done::Checked {
            check,
            answer: Err(panicked()),
            judge: None,
            elapsed_ms: millis(started.elapsed()),
        };
        Self { task, cancel: cancel.drop_guard(), lost: Box::new(lost) }
    }

    /// Calls a hook.
    pub(crate) fn hook(
        hook: HookIndex,
        planned: Hook,
        ctx: CheckContext,
        shown: Map<String, Value>,
    ) -> Self {
        let (timeout, cancel) = (ctx.timeout, ctx.cancel.clone());
        let started = Instant::now();
        let payload = Value::Object(shown.clone());
        let Hook { decl, handler } = planned;
        let reply = async move { handler.handle(&ctx, decl.point.as_str(), payload).await };
        let reply = within(reply, timeout, cancel.clone());
        let task = tokio::spawn(async move {
            let reply = reply.await;
            Done::Hooked { hook, reply, shown, elapsed_ms: millis(started.elapsed()) }
        });
        let task = Task::Spawned(task);
        let lost = move || Done::Hooked {
            hook,
            reply: Err(panicked()),
            shown: Map::new(),
            elapsed_ms: millis(started.elapsed()),
        };
        Self { task, cancel: cancel.drop_guard(), lost: Box::new(lost) }
    }

    /// Asks the delegate.
    pub(crate) fn dispatch(delegate: Arc<dyn Delegate>, request: Request) -> Self {
        let cancel = request.cancel.clone();
        let turn = request.turn;
        let start = if delegate.yields() { Task::in_place } else { Task::spawned };
        let task = start(Box::pin(async move {
            let belt = request.timeout.map(|timeout| timeout.saturating_add(STOP_GRACE));
            let attempt = delegate.attempt(&request);
            let answer = match belt {
                None => attempt.await,
                Some(belt) => tokio::time::timeout(belt, attempt)
                    .await
                    .unwrap_or_else(|_| Err(late(&request))),
            };
            Done::Answered { turn, answer }
        }));
        let lost = move || Done::Answered {
            turn,
            answer: Err(DelegateError::Failed { message: "the delegate panicked".to_owned() }),
        };
        Self { task, cancel: cancel.drop_guard(), lost: Box::new(lost) }
    }

    /// Waits for the end. Dropping the returned future leaves the work in flight.
    pub(crate) async fn done(&mut self) -> Option<Done> {
        self.task.done().await
    }

    /// What [`Self::done`] gives, if it need not be waited for.
    pub(crate) async fn done_by_now(&mut self) -> Option<Option<Done>> {
        let mut done = pin!(self.task.done());
        poll_fn(|cx| match done.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// What to report when [`Self::done`] gave nothing.
    pub(crate) fn lost(self) -> Done {
        (self.lost)()
    }

    /// Tells the work to stop and waits until it has cleaned up, for a bounded time.
    pub(crate) async fn stop(self) {
        let Self { mut task, cancel, .. } = self;
        drop(cancel);
        if tokio::time::timeout(STOP_GRACE, task.done()).await.is_err() {
            task.abort();
        }
    }
}

impl Sealed {
    fn of(manifest: &JudgeManifest) -> Self {
        Self { digest: manifest.digest(), bytes: manifest.to_bytes() }
    }
}

impl Unreadable {
    fn new(code: &'static str, message: String) -> Self {
        Self { code: Code::slug(code), fault: StoredFault::new(&message, None) }
    }
}

/// Whole milliseconds.
fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Runs a verifier that yields, in place: a panic in it is caught with that of the work.
async fn in_place<T>(
    answer: impl Future<Output = Result<T, Fault>> + Send,
    timeout: Duration,
    cancel: CancellationToken,
) -> Result<T, Fault> {
    match tokio::time::timeout(timeout.saturating_add(OVERRUN), answer).await {
        Ok(answer) => answer,
        Err(_) => {
            cancel.cancel();
            Err(overrun(timeout))
        }
    }
}

/// Runs a verifier or a hook in a task of its own, so that one that blocks its thread or panics takes
/// nothing else along.
async fn within<T: Send + 'static>(
    answer: impl Future<Output = Result<T, Fault>> + Send + 'static,
    timeout: Duration,
    cancel: CancellationToken,
) -> Result<T, Fault> {
    let task = AbortOnDropHandle::new(tokio::spawn(answer));
    match tokio::time::timeout(timeout.saturating_add(OVERRUN), task).await {
        Ok(answer) => answer.unwrap_or_else(|_| Err(panicked())),
        Err(_) => {
            cancel.cancel();
            Err(overrun(timeout))
        }
    }
}

fn panicked() -> Fault {
    Fault::new("verifier_panic", "the verifier panicked; report it to its author")
}

/// The belt of a delegate that heeds neither its time nor its token.
fn late(request: &Request) -> DelegateError {
    request.cancel.cancel();
    DelegateError::TimedOut { timeout_ms: request.timeout.map_or(0, millis) }
}

fn overrun(timeout: Duration) -> Fault {
    Fault::new(
        "verifier_overrun",
        format!(
            "the verifier did not answer within its {} ms and was given up",
            timeout.as_millis()
        ),
    )
}

async fn observe(
    phase: Phase,
    workspace: Arc<Workspace>,
    rules: SnapshotRules,
    facts: Arc<dyn Facts>,
    judge: Arc<JudgeFiles>,
    cancel: CancellationToken,
) -> Result<Observed, Unreadable> {
    let facts = facts.read(&workspace, &cancel).await.map_err(|fault| Unreadable {
        code: fault.code,
        fault: StoredFault::new(&fault.message, fault.location.as_deref()),
    })?;
    let read = move || read(phase, &workspace, &rules, &judge, facts, &cancel);
    let panicked =
        |_| Err(Unreadable::new("snapshot_panic", "reading the workspace panicked".to_owned()));
    tokio::task::spawn_blocking(read).await.unwrap_or_else(panicked)
}

fn read(
    phase: Phase,
    workspace: &Workspace,
    rules: &SnapshotRules,
    judge: &JudgeFiles,
    facts: BTreeMap<String, String>,
    cancel: &CancellationToken,
) -> Result<Observed, Unreadable> {
    let manifest = snapshot(workspace, rules, cancel)
        .map_err(|error| Unreadable::new(error.code(), error.to_string()))?;
    let judge = match phase {
        Phase::Before => {
            judge.seal().map_err(|error| Unreadable::new(error.code(), error.to_string()))?
        }
        // Whatever became of a sealed file is a difference, never a reason not to look.
        Phase::After => judge.look(),
    };
    let manifest = Arc::new(manifest.with_facts(facts));
    let bytes = manifest.to_bytes();
    if bytes.len() > MAX_KEPT_BYTES {
        let message = StoredFault::too_large("manifest of the workspace", bytes.len()).message;
        return Err(Unreadable::new("snapshot_manifest_too_large", message));
    }
    Ok(Observed { manifest, bytes, judge: Sealed::of(&judge) })
}

/// Reads a world that costs no I/O, at once; `None` where it does.
pub(crate) fn observe_nothing(phase: Phase, plan: &Plan) -> Option<Done> {
    let costs_nothing = plan.workspace.is_none() && plan.judge.reads_nothing();
    costs_nothing.then(|| {
        let cancel = CancellationToken::new();
        let Plan { workspace, snapshot, judge, .. } = plan;
        let world = read(phase, workspace, snapshot, judge, BTreeMap::new(), &cancel);
        Done::Observed { phase, world }
    })
}

/// Reads the judge's files once more.
///
/// # Errors
/// A fault if the reading panicked.
pub(crate) async fn look_at_judge(judge: Arc<JudgeFiles>) -> Result<Sealed, Fault> {
    if judge.reads_nothing() {
        return Ok(Sealed::of(&judge.look()));
    }
    match tokio::task::spawn_blocking(move || judge.look()).await {
        Ok(manifest) => Ok(Sealed::of(&manifest)),
        Err(_) => Err(Fault::new("verifier_panic", "reading the judge's files panicked")),
    }
}
