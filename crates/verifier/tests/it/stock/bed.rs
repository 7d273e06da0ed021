//! A workspace to run checks in: what was there before, what a delegate did, what a check says.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probity_core::{Claim, Code, Fault, Phase, Verdict, VerdictKind};
use probity_egress::{Client, EgressPolicy};
use probity_sandbox::Launcher;
use probity_verifier::expect;
use probity_verifier::stock::{Deps, baseline, build};
use probity_verifier::{CheckContext, Manifest, SnapshotRules, Verifier, Workspace, snapshot};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What a loaded machine may add to a bound; without the bound, each of the waits lasts a minute or
/// for ever.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What a check that waits may take beyond its time.
const OVERRUN: Duration = Duration::from_millis(600);

/// Does it up to three times, until once it took no more than its time and 600 ms: a loaded machine
/// may steal more from one of them, but not a bound that is not kept from all.
pub(super) fn in_time(limit: Duration, mut work: impl FnMut()) {
    let mut spent = Vec::new();
    for _ in 0..3 {
        let started = Instant::now();
        work();
        spent.push(started.elapsed());
        if started.elapsed() < limit + OVERRUN {
            return;
        }
    }
    panic!("never within {limit:?} and {OVERRUN:?}: {spent:?}");
}

/// A temporary workspace.
pub(super) struct Bed {
    dir: TempDir,
    workspace: Arc<Workspace>,
    before: Arc<Manifest>,
    pub(super) claim: Claim,
    pub(super) allow: Vec<String>,
    pub(super) private: Vec<String>,
    /// The decision under way.
    pub(super) decision: serde_json::Value,
    /// Wall time of a check.
    pub(super) timeout: Duration,
}

impl Bed {
    pub(super) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().join("work");
        std::fs::create_dir(&root).unwrap();
        let workspace = Arc::new(Workspace::open(&root).unwrap());
        Self {
            dir,
            workspace,
            before: Arc::default(),
            claim: Claim::default(),
            allow: Vec::new(),
            private: Vec::new(),
            decision: serde_json::Value::Null,
            timeout: Duration::from_secs(20),
        }
    }

    /// A folder beside the workspace.
    pub(super) fn outside(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.workspace.root().join(path)
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(super) fn mkdir(&self, path: &str) -> &Self {
        std::fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    pub(super) fn remove(&self, path: &str) -> &Self {
        std::fs::remove_file(self.path(path)).unwrap();
        self
    }

    pub(super) fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
        self
    }

    pub(super) fn chmod(&self, path: &str, mode: u32) -> &Self {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(self.path(path), PermissionsExt::from_mode(mode)).unwrap();
        self
    }

    fn snapshot(&self) -> Manifest {
        let rules = SnapshotRules::default();
        snapshot(&self.workspace, &rules, &CancellationToken::new()).unwrap()
    }

    /// The delegate starts now: what is there was there before. The refs of a repository are
    /// recorded too.
    pub(super) fn start(&mut self) {
        let facts = block_on(baseline(
            &self.workspace,
            &helper(),
            Duration::from_secs(20),
            &CancellationToken::new(),
        ));
        self.before = Arc::new(self.snapshot().with_facts(facts.unwrap()));
    }

    /// As [`Bed::start`], without the refs.
    pub(super) fn start_without_facts(&mut self) {
        self.before = Arc::new(self.snapshot());
    }

    pub(super) fn context(&self, phase: Phase) -> CheckContext {
        let check: Code = "it".parse().unwrap();
        let mut ctx =
            CheckContext::new(check, Arc::clone(&self.workspace), Arc::clone(&self.before));
        ctx.timeout = self.timeout;
        ctx.decision = Arc::new(self.decision.clone());
        if phase == Phase::After {
            ctx.phase = Phase::After;
            ctx.attempt = 1;
            ctx.claim = Arc::new(self.claim.clone());
            ctx.after = Arc::new(self.snapshot());
        }
        ctx
    }

    /// What the check says after the delegate.
    pub(super) fn verify(&self, check: &str) -> Result<Verdict, Fault> {
        self.judge(check, &self.context(Phase::After))
    }

    pub(super) fn judge(&self, check: &str, ctx: &CheckContext) -> Result<Verdict, Fault> {
        block_on(self.verifier(check).verify(ctx))
    }

    /// The verifier of a check.
    pub(super) fn verifier(&self, check: &str) -> Box<dyn Verifier> {
        let spec = expect::parse(check).unwrap_or_else(|error| panic!("{check}: {error}"));
        let hosts = self.allow.iter().map(String::as_str);
        let policy =
            EgressPolicy::allowing(hosts, self.private.iter().map(String::as_str)).unwrap();
        let deps = Deps { launcher: helper(), egress: Client::new(policy).unwrap() };
        build(&spec, &deps).unwrap()
    }

    /// After the delegate, as `pass`, `revise CODE`, `inconclusive CODE` or `fault CODE`.
    pub(super) fn says(&self, check: &str) -> String {
        brief(&self.verify(check))
    }

    /// Before the delegate, in the same words.
    pub(super) fn red(&self, check: &str) -> String {
        brief(&self.judge(check, &self.context(Phase::Before)))
    }

    /// Compares many checks at once.
    pub(super) fn table(&self, rows: &[(&str, &str)]) {
        for (check, expected) in rows {
            let verdict = self.verify(check);
            assert_eq!(brief(&verdict), *expected, "{check}: {verdict:?}");
            sound(check, &verdict);
        }
    }

    /// The reason of a verdict that is no pass.
    pub(super) fn reason(&self, check: &str) -> String {
        self.verify(check).unwrap().reason
    }
}

/// What holds for every verdict and fault.
fn sound(check: &str, verdict: &Result<Verdict, Fault>) {
    match verdict {
        Ok(verdict) => {
            let passed = verdict.kind == VerdictKind::Pass;
            assert_eq!(verdict.reason.is_empty(), passed, "{check}: {verdict:?}");
            assert!(verdict.reason.len() < 2_000, "{check}: {verdict:?}");
            let judged = matches!(verdict.kind, VerdictKind::Pass | VerdictKind::Revise);
            let from_path = verdict.code.as_str().starts_with("path_");
            assert!(!judged || from_path || !verdict.evidence.is_empty(), "{check}: {verdict:?}");
        }
        Err(fault) => assert!(!fault.message.is_empty(), "{check}: {fault:?}"),
    }
}

pub(super) fn brief(verdict: &Result<Verdict, Fault>) -> String {
    match verdict {
        Ok(verdict) => match verdict.kind {
            VerdictKind::Pass => "pass".to_owned(),
            VerdictKind::Revise => format!("revise {}", verdict.code),
            VerdictKind::Fail => format!("fail {}", verdict.code),
            VerdictKind::Inconclusive => format!("inconclusive {}", verdict.code),
        },
        Err(fault) => format!("fault {}", fault.code),
    }
}

/// The launcher that kills whole trees.
pub(super) fn helper() -> Launcher {
    let exe = std::env::current_exe().unwrap();
    let program = exe.parent().unwrap().parent().unwrap().join("examples/sandbox_exec");
    assert!(program.exists(), "{} is missing: run `cargo build --examples`", program.display());
    Launcher::helper(program, std::iter::empty::<&str>())
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Waits until something holds, which other processes bring about; fails after thirty seconds.
pub(super) fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::yield_now();
    }
}
