//! A workspace, a store, and parts that keep an account of what is done to them.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{
    CheckDecl, Claim, Entry, Event, Fault, Phase, RunId, Subject, SubmissionId, Verdict,
};
use probity_delegate::{
    Answered, Conversation, Delegate, DelegateError, FunctionDelegate, Request, ScriptedDelegate,
    Step,
};
use probity_engine::{Check, Ended, Engine, EngineError, Plan, Report, SystemClock, Watch};
use probity_record::{RunRecords, read_records};
use probity_store::{MemoryStore, Store, read_run};
use probity_verifier::{CheckContext, Facts, Verifier, Workspace};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::ledger::Ledger;

/// Long enough for a loaded machine; no test waits for it unless it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The task of every run here.
pub(crate) const TASK: &str = "Write out.txt.";

/// What happened, in order, in short lines: `append ...`, `read`, `ask 0`, `look after a`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account(Arc<Mutex<Vec<String>>>);

impl Account {
    pub(crate) fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// How many lines begin like this.
    pub(crate) fn count(&self, start: &str) -> usize {
        self.lines().iter().filter(|line| line.starts_with(start)).count()
    }

    /// Where the first line stands that begins like this.
    pub(crate) fn place(&self, start: &str) -> usize {
        let lines = self.lines();
        let place = lines.iter().position(|line| line.starts_with(start));
        place.unwrap_or_else(|| panic!("no `{start}` in {lines:#?}"))
    }
}

/// One folder and one store.
pub(crate) struct Rig {
    dir: TempDir,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) account: Account,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new()))
    }

    pub(crate) fn on(store: Arc<dyn Store>) -> Self {
        let dir = TempDir::new().unwrap();
        let workspace = Arc::new(Workspace::open(dir.path()).unwrap());
        Self { dir, workspace, store, account: Account::default() }
    }

    /// On a store that keeps an account together with the rig.
    pub(crate) fn watched() -> (Self, Arc<Ledger>) {
        Self::on_ledger(|ledger| ledger)
    }

    /// On a store that breaks.
    pub(crate) fn on_ledger(change: impl FnOnce(Ledger) -> Ledger) -> (Self, Arc<Ledger>) {
        let account = Account::default();
        let store = Arc::new(change(Ledger::new(account.clone())));
        let mut rig = Self::on(Arc::clone(&store) as Arc<dyn Store>);
        rig.account = account;
        (rig, store)
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::new(Arc::clone(&self.store), Arc::new(SystemClock))
    }

    pub(crate) fn scripted(&self, steps: impl IntoIterator<Item = Step>) -> Arc<ScriptedDelegate> {
        Arc::new(ScriptedDelegate::new(self.path(), steps))
    }

    pub(crate) fn plan(
        &self,
        delegate: Arc<dyn Delegate>,
        checks: impl IntoIterator<Item = Check>,
    ) -> Plan {
        let delegate = Arc::new(Noted { inner: delegate, account: self.account.clone() });
        let facts = Arc::new(NotedFacts(self.account.clone()));
        Plan {
            request: b"{\"task\":\"Write out.txt.\"}".to_vec(),
            checks: checks.into_iter().collect(),
            ..Plan::new(run_id(), TASK, delegate, Arc::clone(&self.workspace), facts)
        }
    }

    pub(crate) async fn run(&self, plan: Plan) -> Ended {
        self.try_run(plan).await.unwrap()
    }

    pub(crate) async fn try_run(&self, plan: Plan) -> Result<Ended, EngineError> {
        let engine = self.engine();
        bounded(engine.run(plan, &Unwatched, CancellationToken::new())).await
    }

    pub(crate) async fn resume(&self, plan: Plan) -> Result<Ended, EngineError> {
        let engine = self.engine();
        bounded(engine.resume(plan, &Unwatched, CancellationToken::new())).await
    }

    pub(crate) async fn report(&self) -> Report {
        Report::read(self.store.as_ref(), &run_id()).await.unwrap()
    }

    pub(crate) async fn records(&self) -> Vec<Vec<u8>> {
        read_run(self.store.as_ref(), &run_id()).await.unwrap()
    }

    pub(crate) async fn log(&self) -> RunRecords {
        read_records(&self.records().await).unwrap()
    }

    pub(crate) async fn names(&self) -> Vec<&'static str> {
        self.log().await.entries.iter().map(|entry| entry.event.name()).collect()
    }

    /// Runs a plan, and gives the end with its report.
    pub(crate) async fn whole(&self, plan: Plan) -> (Ended, Report) {
        let ended = self.run(plan).await;
        (ended, self.report().await)
    }
}

/// Fails instead of hanging.
pub(crate) async fn bounded<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(PATIENCE, work).await.expect("the run does not end")
}

pub(crate) fn run_id() -> RunId {
    "run-1".parse().unwrap()
}

/// Nobody looks on.
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    fn entry(&self, _: &Entry) {}
}

/// Does something when an event of that name is durable.
pub(crate) struct When<F>(pub(crate) &'static str, pub(crate) F);

impl<F: Fn() + Send + Sync> Watch for When<F> {
    fn entry(&self, entry: &Entry) {
        if entry.event.name() == self.0 {
            (self.1)();
        }
    }
}

struct Noted {
    inner: Arc<dyn Delegate>,
    account: Account,
}

#[async_trait]
impl Delegate for Noted {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        self.account.note(format!("ask {}", request.turn.number));
        self.inner.attempt(request).await
    }

    fn conversation(&self) -> Conversation {
        self.inner.conversation()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn yields(&self) -> bool {
        self.inner.yields()
    }

    fn is_at_hand(&self) -> bool {
        self.inner.is_at_hand()
    }
}

struct NotedFacts(Account);

#[async_trait]
impl Facts for NotedFacts {
    async fn read(
        &self,
        _: &Workspace,
        _: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault> {
        self.0.note("read");
        Ok(BTreeMap::new())
    }
}

type Looking = Pin<Box<dyn Future<Output = Result<Verdict, Fault>> + Send>>;

/// One call of a verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) phase: Phase,
    pub(crate) submission: Option<SubmissionId>,
    pub(crate) is_replay: bool,
    pub(crate) attempt: u32,
}

/// A verifier that is a closure, and remembers how it was asked.
pub(crate) struct Eye {
    look: Box<dyn Fn(CheckContext) -> Looking + Send + Sync>,
    looks: Mutex<Vec<Look>>,
    account: Account,
}

impl Eye {
    pub(crate) fn new<F, L>(rig: &Rig, look: F) -> Arc<Self>
    where
        F: Fn(CheckContext) -> L + Send + Sync + 'static,
        L: Future<Output = Result<Verdict, Fault>> + Send + 'static,
    {
        let look = Box::new(move |ctx| Box::pin(look(ctx)) as Looking);
        Arc::new(Self { look, looks: Mutex::default(), account: rig.account.clone() })
    }

    /// Says the same every time.
    pub(crate) fn says(rig: &Rig, answer: Result<Verdict, Fault>) -> Arc<Self> {
        Self::new(rig, move |_| std::future::ready(answer.clone()))
    }

    /// Says `revise` before the delegate and this after.
    pub(crate) fn then(rig: &Rig, answer: Result<Verdict, Fault>) -> Arc<Self> {
        Self::new(rig, move |ctx| {
            std::future::ready(match ctx.phase {
                Phase::Before => Ok(Verdict::revise("not_yet", "nothing was done yet")),
                Phase::After => answer.clone(),
            })
        })
    }

    /// Passes if there is a file of this name.
    pub(crate) fn file(rig: &Rig, name: &'static str) -> Arc<Self> {
        Self::new(rig, move |ctx| {
            std::future::ready(Ok(match ctx.workspace.stat(name).unwrap() {
                Some(_) => Verdict::pass(),
                None => Verdict::revise("file_missing", format!("file `{name}` does not exist")),
            }))
        })
    }

    pub(crate) fn looks(&self) -> Vec<Look> {
        self.looks.lock().unwrap().clone()
    }

    /// The looks at claims.
    pub(crate) fn after(&self) -> Vec<Look> {
        self.looks().into_iter().filter(|look| look.phase == Phase::After).collect()
    }

    /// As a check of the world, with ten seconds.
    pub(crate) fn check(self: &Arc<Self>, id: &str) -> Check {
        self.timed(id, 10_000)
    }

    pub(crate) fn timed(self: &Arc<Self>, id: &str, timeout_ms: u64) -> Check {
        let decl = CheckDecl { id: id.parse().unwrap(), subject: Subject::World, timeout_ms };
        Check::verifier(decl, Arc::clone(self) as Arc<dyn Verifier>)
    }
}

#[async_trait]
impl Verifier for Eye {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let phase = if ctx.phase == Phase::Before { "before" } else { "after" };
        self.account.note(format!("look {phase} {}", ctx.check));
        self.looks.lock().unwrap().push(Look {
            phase: ctx.phase,
            submission: ctx.submission.clone(),
            is_replay: ctx.is_replay,
            attempt: ctx.attempt,
        });
        (self.look)(ctx.clone()).await
    }
}

/// Says it is done and does nothing.
pub(crate) fn liar() -> Arc<FunctionDelegate> {
    Arc::new(FunctionDelegate::new("liar", |_| async {
        Ok(Answered::of(Claim::text("All done!")))
    }))
}

/// Lies on the first turn, writes the file on the second.
pub(crate) fn late_worker(rig: &Rig) -> Arc<FunctionDelegate> {
    let path = rig.path().join("out.txt");
    Arc::new(FunctionDelegate::new("late worker", move |request| {
        let path = path.clone();
        async move {
            if request.turn.number > 0 {
                std::fs::write(path, "hello").unwrap();
            }
            Ok(Answered::of(Claim::text(format!("done, round {}", request.turn.number))))
        }
    }))
}

/// Waits until it is told to stop, and says so in the account.
pub(crate) struct Hangs(pub(crate) Account);

#[async_trait]
impl Delegate for Hangs {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        request.cancel.cancelled().await;
        self.0.note("stopped");
        Err(DelegateError::Cancelled)
    }

    fn conversation(&self) -> Conversation {
        Conversation::Fresh
    }

    fn describe(&self) -> String {
        "hangs".to_owned()
    }
}

/// A delegate of someone else's that heeds neither its time nor its token.
pub(crate) struct Deaf;

#[async_trait]
impl Delegate for Deaf {
    async fn attempt(&self, _: &Request) -> Result<Answered, DelegateError> {
        std::future::pending().await
    }

    fn conversation(&self) -> Conversation {
        Conversation::Fresh
    }

    fn describe(&self) -> String {
        "deaf".to_owned()
    }
}

/// A step that writes a file.
pub(crate) fn writes(name: &'static str, text: &'static str) -> Step {
    Step::claim("wrote it").does(move |dir| std::fs::write(dir.join(name), text))
}

/// An event without what differs from one run of the same to the next.
pub(crate) fn timeless(entry: &Entry) -> Event {
    let mut event = entry.event.clone();
    match &mut event {
        Event::CheckRed { elapsed_ms, .. }
        | Event::CheckFinished { elapsed_ms, .. }
        | Event::HookAnswered { elapsed_ms, .. } => *elapsed_ms = 0,
        Event::CheckAwaits { until_ms, .. } => *until_ms = 0,
        _ => {}
    }
    event
}
