//! A workspace, a store, delegates that lie and break, and telemetry to a receiver.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{
    CheckDecl, Claim, Entry, Fault, NoteKind, Phase, Policy, RunId, Subject, Usage, Verdict,
};
use probity_delegate::{
    Answered, Conversation, Delegate, DelegateError, FunctionDelegate, Note, Request,
};
use probity_engine::{Check, Ended, Engine, EngineError, Plan, SystemClock, Watch};
use probity_store::{MemoryStore, Store};
use probity_telemetry::{Account, Otlp, Protocol, Telemetry, TelemetryOptions};
use probity_verifier::{CheckContext, Facts, Verifier, Workspace};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::receiver::{Answer, Got, Receiver};

/// Long enough for a loaded machine; no test waits for it unless it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Rig {
    dir: TempDir,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) receiver: Receiver,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::answering(Answer::Takes).await
    }

    pub(crate) async fn answering(answer: Answer) -> Self {
        let dir = TempDir::new().unwrap();
        let workspace = Arc::new(Workspace::open(dir.path()).unwrap());
        let receiver = Receiver::start(answer).await;
        Self { dir, workspace, store: Arc::new(MemoryStore::new()), receiver }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn engine(&self) -> Engine {
        Engine::new(Arc::clone(&self.store), Arc::new(SystemClock))
    }

    pub(crate) fn options(&self) -> TelemetryOptions {
        let otlp = Otlp::at(Protocol::Http, &self.receiver.url);
        TelemetryOptions { otlp: Some(otlp), ..TelemetryOptions::default() }
    }

    pub(crate) fn telemetry(&self) -> Telemetry {
        self.telemetry_with(self.options())
    }

    pub(crate) fn telemetry_with(&self, options: TelemetryOptions) -> Telemetry {
        Telemetry::start(options, Arc::clone(&self.store)).unwrap()
    }

    /// A plan with two attempts, of a delegate of the kind `coder`.
    pub(crate) fn plan(
        &self,
        delegate: Arc<dyn Delegate>,
        checks: impl IntoIterator<Item = Check>,
    ) -> Plan {
        let workspace = Arc::clone(&self.workspace);
        Plan {
            request: br#"{"task":"Write out.txt.","kind":"coder","agent":"ada"}"#.to_vec(),
            checks: checks.into_iter().collect(),
            policy: Policy { max_attempts: 2, ..Policy::default() },
            ..Plan::new(run_id(), "Write out.txt.", delegate, workspace, Arc::new(NoFacts))
        }
    }

    /// Drives a plan under watch, and gives what was received when all was sent.
    pub(crate) async fn watched(&self, plan: Plan) -> (Ended, Got) {
        let (ended, got, account) = self.watched_with(plan, self.options()).await;
        assert_eq!((account.lost, account.last_error), (0, None));
        (ended, got)
    }

    pub(crate) async fn watched_with(
        &self,
        plan: Plan,
        options: TelemetryOptions,
    ) -> (Ended, Got, Account) {
        let telemetry = self.telemetry_with(options);
        let ended = self.run(&telemetry, plan).await.unwrap();
        let account = telemetry.shutdown(PATIENCE).await;
        (ended, self.receiver.got(), account)
    }

    pub(crate) async fn run(
        &self,
        telemetry: &Telemetry,
        plan: Plan,
    ) -> Result<Ended, EngineError> {
        let watch = telemetry.watch(&plan.run);
        let engine = self.engine();
        let run = engine.run(plan, &watch, CancellationToken::new());
        tokio::time::timeout(PATIENCE, run).await.expect("the run does not end")
    }
}

pub(crate) fn run_id() -> RunId {
    "run-1".parse().unwrap()
}

struct NoFacts;

#[async_trait]
impl Facts for NoFacts {
    async fn read(
        &self,
        _: &Workspace,
        _: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault> {
        Ok(BTreeMap::new())
    }
}

/// Looks for `out.txt` and says why it is not content.
pub(crate) struct Eye(pub(crate) Result<Verdict, Fault>);

#[async_trait]
impl Verifier for Eye {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        if ctx.phase == Phase::Before {
            return Ok(Verdict::revise("not_yet", "nothing was done yet"));
        }
        match ctx.workspace.stat("out.txt") {
            Ok(Some(_)) => Ok(Verdict::pass()),
            _ => self.0.clone(),
        }
    }
}

/// A check that breaks its own process, were it one.
pub(crate) struct Panics;

#[async_trait]
impl Verifier for Panics {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        assert_ne!(ctx.phase, Phase::After, "the verifier breaks");
        Ok(Verdict::revise("not_yet", ""))
    }
}

pub(crate) fn check(id: &str, verifier: impl Verifier + 'static) -> Check {
    let subject = Subject::World;
    let decl = CheckDecl { id: id.parse().unwrap(), subject, timeout_ms: 10_000 };
    Check::verifier(decl, Arc::new(verifier))
}

/// The check that most runs here have.
pub(crate) fn looks() -> Check {
    check("out", Eye(Ok(Verdict::revise("file_missing", "file `out.txt` does not exist"))))
}

pub(crate) fn liar() -> Arc<dyn Delegate> {
    Arc::new(FunctionDelegate::new("liar", |_| async {
        Ok(Answered::of(Claim::text("All done!")))
    }))
}

pub(crate) fn fails() -> Arc<dyn Delegate> {
    Arc::new(FunctionDelegate::new("fails", |_| async {
        Err::<Answered, _>(DelegateError::TimedOut { timeout_ms: 7 })
    }))
}

pub(crate) fn panics() -> Arc<dyn Delegate> {
    Arc::new(FunctionDelegate::new("panics", |request: Request| async move {
        assert!(request.prompt.task.is_empty(), "the delegate breaks");
        Ok(Answered::of(Claim::text("")))
    }))
}

/// Works with a model and a tool, notes both, lies in the first round and does it in the second.
pub(crate) struct Noting {
    pub(crate) out: PathBuf,
    pub(crate) secret: &'static str,
}

#[async_trait]
impl Delegate for Noting {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        let number = request.turn.number;
        let secret = self.secret;
        let model = format!(
            r#"{{"note":"model","reply":{{"text":"{secret}","tool_calls":[{{"id":"call-{number}","name":"write_file","arguments":"{secret}"}}],"stop":"end","usage":{{"input":40,"output":2}}}}}}"#
        );
        let tool = format!(
            r#"{{"note":"tool","call_id":"call-{number}","output":{{"content":"{secret}"}}}}"#
        );
        let note = |kind, content: String, tokens, tool_calls| Note {
            kind,
            content: content.into_bytes(),
            usage: Usage { tokens, tool_calls },
        };
        request.notes.keep(note(NoteKind::Model, model, 42, 0)).await?;
        if number > 0 {
            std::fs::write(&self.out, "hello").unwrap();
        }
        request.notes.keep(note(NoteKind::Tool, tool, 0, 1)).await?;
        Ok(Answered::of(Claim::text(format!("done {secret}"))))
    }

    fn conversation(&self) -> Conversation {
        Conversation::Same
    }

    fn describe(&self) -> String {
        "noting".to_owned()
    }
}

/// Never answers, and stops when it is told to.
pub(crate) struct Hangs;

#[async_trait]
impl Delegate for Hangs {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        request.cancel.cancelled().await;
        Err(DelegateError::Cancelled)
    }

    fn conversation(&self) -> Conversation {
        Conversation::Fresh
    }

    fn describe(&self) -> String {
        "hangs".to_owned()
    }
}

/// Says once that the delegate was asked.
pub(crate) struct TellsOnce(pub(crate) Mutex<Option<oneshot::Sender<()>>>);

impl Watch for TellsOnce {
    fn entry(&self, entry: &Entry) {
        if entry.event.name() == "delegate.dispatched"
            && let Some(began) = self.0.lock().unwrap().take()
        {
            began.send(()).unwrap();
        }
    }
}
