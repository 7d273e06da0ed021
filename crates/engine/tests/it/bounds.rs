//! More than a store keeps: an outcome with a name, not a run that can never go on.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{Claim, Code, Evidence, Fault, Outcome, Verdict};
use probity_delegate::{Answered, DelegateError, FunctionDelegate};
use probity_store::limits::MAX_BLOB_BYTES;
use probity_verifier::{Facts, Workspace};
use tokio_util::sync::CancellationToken;

use crate::rig::{Eye, Rig, liar};

/// Six bytes each once they are JSON.
fn controls() -> String {
    "\u{1}".repeat(MAX_BLOB_BYTES / 6 + 1)
}

#[tokio::test]
async fn a_claim_that_is_too_large_is_none() {
    let rig = Rig::new();
    let delegate =
        FunctionDelegate::new("f", |_| async { Ok(Answered::of(Claim::text(controls()))) });
    let check = Eye::file(&rig, "out.txt").check("c");
    let (ended, report) = rig.whole(rig.plan(Arc::new(delegate), [check])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::DelegateFailed, "claim_too_large"));
    assert!(report.failure.unwrap().contains(&MAX_BLOB_BYTES.to_string()));
    assert_eq!((report.attempts, report.claim), (0, None));
    assert!(report.seal.is_some());
}

#[tokio::test]
async fn a_verdict_that_is_too_large_is_a_fault() {
    let large = [
        Verdict::pass().with_evidence(Evidence::new("http", controls())),
        Verdict { output: Some(controls().into()), ..Verdict::pass() },
        Verdict { criteria: vec![Code::slug(&"c".repeat(64)); 5_000], ..Verdict::pass() },
    ];
    for verdict in large {
        let rig = Rig::new();
        let (ended, report) =
            rig.whole(rig.plan(liar(), [Eye::then(&rig, Ok(verdict)).check("c")])).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "verdict_too_large"));
        assert_eq!(report.attempts, 0);
    }
}

#[tokio::test]
async fn a_long_reason_is_kept_in_part() {
    let rig = Rig::new();
    let reason = "ä".repeat(100_000);
    let eye = Eye::then(&rig, Ok(Verdict::fail("long", reason.clone())));
    let (_, report) = rig.whole(rig.plan(liar(), [eye.check("c")])).await;
    let kept = &report.checks[0].reason;
    assert_eq!(kept.len(), 64 * 1024);
    assert!(reason.starts_with(kept.as_str()));
}

#[tokio::test]
async fn the_words_of_what_broke_are_kept_in_part() {
    let rig = Rig::new();
    let eye = Eye::then(&rig, Err(Fault::new("script_raise", controls()).at(controls())));
    let (ended, report) = rig.whole(rig.plan(liar(), [eye.check("c")])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "script_raise"));
    assert!(report.checks[0].reason.len() <= 2 * 64 * 1024 + 1);

    let rig = Rig::new();
    let delegate = FunctionDelegate::new("f", |_| async {
        Err::<Answered, _>(DelegateError::Failed { message: controls() })
    });
    let (ended, report) = rig.whole(rig.plan(Arc::new(delegate), [])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::DelegateFailed, "delegate_error"));
    assert!(report.failure.unwrap().len() <= 64 * 1024);
}

struct Endless;

#[async_trait]
impl Facts for Endless {
    async fn read(
        &self,
        _: &Workspace,
        _: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault> {
        Ok(BTreeMap::from([("refs".to_owned(), "x".repeat(MAX_BLOB_BYTES))]))
    }
}

#[tokio::test]
async fn a_world_that_is_too_large_to_keep_cannot_be_judged() {
    let rig = Rig::new();
    let mut plan = rig.plan(liar(), [Eye::file(&rig, "out.txt").check("c")]);
    plan.facts = Arc::new(Endless);
    let (ended, report) = rig.whole(plan).await;
    assert_eq!(
        (ended.outcome, ended.code.as_str()),
        (Outcome::Faulted, "snapshot_manifest_too_large")
    );
    assert_eq!((report.attempts, rig.account.count("ask")), (0, 0));
}
