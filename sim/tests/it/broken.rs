//! A verifier that breaks in the worst way is still a broken verifier.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{CheckDecl, Claim, Entry, Fault, Outcome, Phase, Subject, Verdict};
use probity_delegate::{Answered, FunctionDelegate};
use probity_engine::{Check, Engine, Plan, SystemClock, Watch};
use probity_store::MemoryStore;
use probity_verifier::{CheckContext, Facts, Verifier, Workspace};
use tokio_util::sync::CancellationToken;

struct Panics;

#[async_trait]
impl Verifier for Panics {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        assert!(ctx.phase == Phase::Before, "on purpose");
        Ok(Verdict::revise("missing", ""))
    }
}

struct Nobody;

#[async_trait]
impl Facts for Nobody {
    async fn read(
        &self,
        _: &Workspace,
        _: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault> {
        Ok(BTreeMap::new())
    }
}

impl Watch for Nobody {
    fn entry(&self, _: &Entry) {}
}

#[tokio::test]
async fn a_verifier_that_panics_is_a_fault_and_charges_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Arc::new(Workspace::open(dir.path()).unwrap());
    let decl =
        CheckDecl { id: "panics".parse().unwrap(), subject: Subject::World, timeout_ms: 5_000 };
    let done = FunctionDelegate::new("done", |_| async { Ok(Answered::of(Claim::text("done"))) });
    let run = "run".parse().unwrap();
    let plan = Plan {
        checks: vec![Check::verifier(decl, Arc::new(Panics))],
        ..Plan::new(run, "do it", Arc::new(done), workspace, Arc::new(Nobody))
    };
    let engine = Engine::new(Arc::new(MemoryStore::default()), Arc::new(SystemClock));
    let ended = engine.run(plan, &Nobody, CancellationToken::new()).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "verifier_panic"));
}
