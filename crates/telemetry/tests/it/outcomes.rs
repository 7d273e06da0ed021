//! The attributes of `delegation.execute` on every way out, as a receiver gets them.

use std::sync::Arc;

use probity_core::{
    CheckDecl, Claim, Entry, Fault, OnFailure, Outcome, Policy, RedFirst, Subject, Verdict,
};
use probity_delegate::{Answered, FunctionDelegate};
use probity_engine::{Check, Decider, Hook, Human, Plan, Watch};
use probity_telemetry::Together;
use tokio_util::sync::CancellationToken;

use crate::receiver::{Got, attributes};
use crate::rig::{
    Eye, Hangs, Noting, PATIENCE, Panics, Rig, TellsOnce, check, fails, liar, looks, panics, run_id,
};

/// Rounds, passed, outcome of verification, our outcome, code, attempts counted.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str);

fn says(got: &Got, row: Row<'_>) {
    let execute = attributes(&got.one("delegation.execute").attributes);
    let (rounds, passed, verify, outcome, code, counted) = row;
    let expected = [
        ("delegation.verify_attempts", rounds),
        ("delegation.verify_passed", passed),
        ("delegation.verify_outcome", verify),
        ("delegation.kind", "coder"),
        ("probity.outcome", outcome),
        ("probity.code", code),
        ("probity.attempts_counted", counted),
        ("delegation.id", "run-1"),
        ("gen_ai.agent.name", "ada"),
    ];
    for (name, value) in expected {
        assert_eq!(execute.get(name).map(String::as_str), Some(value), "{name}: {execute:#?}");
    }
}

fn with(plan: Plan, change: impl FnOnce(&mut Policy)) -> Plan {
    let mut plan = plan;
    change(&mut plan.policy);
    plan
}

#[tokio::test]
async fn verified() {
    let rig = Rig::new().await;
    let delegate = Noting { out: rig.path("out.txt"), secret: "s" };
    let (ended, got) = rig.watched(rig.plan(Arc::new(delegate), [looks()])).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    says(&got, ("2", "true", "passed", "verified", "ok", "2"));
}

#[tokio::test]
async fn exhausted_by_a_lying_delegate() {
    let rig = Rig::new().await;
    let (ended, got) = rig.watched(rig.plan(liar(), [looks()])).await;
    assert_eq!(ended.outcome, Outcome::Exhausted);
    says(&got, ("2", "false", "failed", "exhausted", "attempts", "2"));
    let status = got.one("delegation.execute").status.clone().unwrap();
    assert_eq!((status.code, status.message.as_str()), (2, "exhausted"));
}

#[tokio::test]
async fn exhausted_before_anything_was_verified() {
    let rig = Rig::new().await;
    let plan = with(rig.plan(Arc::new(Hangs), [looks()]), |policy| policy.wall_ms = Some(300));
    let (ended, got) = rig.watched(plan).await;
    assert_eq!(ended.outcome, Outcome::Exhausted);
    says(&got, ("0", "false", "skipped", "exhausted", "budget_wall", "0"));
}

#[tokio::test]
async fn rejected() {
    let rig = Rig::new().await;
    let forged = check("out", Eye(Ok(Verdict::fail("forged", "this is forged"))));
    let (ended, got) = rig.watched(rig.plan(liar(), [forged])).await;
    assert_eq!(ended.outcome, Outcome::Rejected);
    says(&got, ("1", "false", "failed", "rejected", "forged", "1"));
}

#[tokio::test]
async fn inconclusive() {
    let rig = Rig::new().await;
    let mute = check("out", Eye(Ok(Verdict::inconclusive("http_timeout", "no answer"))));
    let plan = with(rig.plan(liar(), [mute]), |policy| policy.max_verify_tries = 1);
    let (ended, got) = rig.watched(plan).await;
    assert_eq!(ended.outcome, Outcome::Inconclusive);
    says(&got, ("1", "false", "failed", "inconclusive", "http_timeout", "0"));
}

#[tokio::test]
async fn a_check_that_is_tried_again_is_one_round() {
    let rig = Rig::new().await;
    let mute = check("out", Eye(Ok(Verdict::inconclusive("http_timeout", "no answer"))));
    let plan = with(rig.plan(liar(), [mute]), |policy| {
        (policy.max_verify_tries, policy.verify_backoff_ms) = (3, 1);
    });
    let (_, got) = rig.watched(plan).await;
    says(&got, ("1", "false", "failed", "inconclusive", "http_timeout", "0"));
    let tries: Vec<String> = got
        .named("delegation.check")
        .into_iter()
        .map(|span| attributes(&span.attributes))
        .filter(|it| it["probity.check.phase"] == "after")
        .map(|it| it["probity.check.tries"].clone())
        .collect();
    assert_eq!(tries, ["1", "2", "3"]);
}

#[tokio::test]
async fn unverified_is_skipped_and_never_passed() {
    let rig = Rig::new().await;
    let (ended, got) = rig.watched(rig.plan(liar(), [])).await;
    assert_eq!(ended.outcome, Outcome::Unverified);
    says(&got, ("0", "false", "skipped", "unverified", "no_checks", "0"));
}

#[tokio::test]
async fn unverified_where_the_only_pass_proves_nothing() {
    let rig = Rig::new().await;
    struct Always;
    #[async_trait::async_trait]
    impl probity_verifier::Verifier for Always {
        async fn verify(&self, _: &probity_verifier::CheckContext) -> Result<Verdict, Fault> {
            Ok(Verdict::pass())
        }
    }
    let plan = rig.plan(liar(), [check("always", Always)]);
    let plan = with(plan, |policy| policy.red_first = RedFirst::Require);
    let (ended, got) = rig.watched(plan).await;
    assert_eq!(ended.outcome, Outcome::Unverified);
    says(&got, ("1", "false", "skipped", "unverified", "non_discriminating", "0"));
}

#[tokio::test]
async fn faulted_by_a_verifier_that_says_so() {
    let rig = Rig::new().await;
    let broken = check("out", Eye(Err(Fault::new("script_raise", "division by zero"))));
    let (ended, got) = rig.watched(rig.plan(liar(), [broken])).await;
    assert_eq!(ended.outcome, Outcome::Faulted);
    says(&got, ("1", "false", "failed", "faulted", "script_raise", "0"));
    let execute = attributes(&got.one("delegation.execute").attributes);
    assert_eq!((&*execute["error.type"], &*execute["probity.judgement"]), ("faulted", "fault"));
}

#[tokio::test]
async fn faulted_by_a_verifier_that_panics() {
    let rig = Rig::new().await;
    let (ended, got) = rig.watched(rig.plan(liar(), [check("out", Panics)])).await;
    assert_eq!(ended.outcome, Outcome::Faulted);
    says(&got, ("1", "false", "failed", "faulted", ended.code.as_str(), "0"));
}

#[tokio::test]
async fn faulted_before_a_check_could_run() {
    let rig = Rig::new().await;
    std::fs::write(rig.path("big.bin"), "12345").unwrap();
    let mut plan = rig.plan(liar(), [looks()]);
    plan.snapshot.limits.max_file_bytes = 4;
    let (ended, got) = rig.watched(plan).await;
    assert_eq!(ended.outcome, Outcome::Faulted);
    says(&got, ("0", "false", "failed", "faulted", "snapshot_file_too_large", "0"));
    let events = &got.one("delegation.execute").events;
    assert!(events.iter().any(|event| event.name == "probity.world_unreadable"));
}

#[tokio::test]
async fn delegate_failed() {
    let rig = Rig::new().await;
    let (ended, got) = rig.watched(rig.plan(fails(), [looks()])).await;
    assert_eq!(ended.outcome, Outcome::DelegateFailed);
    says(&got, ("0", "false", "skipped", "delegate_failed", "delegate_timeout", "0"));
}

#[tokio::test]
async fn delegate_failed_by_a_panic() {
    let rig = Rig::new().await;
    let (ended, got) = rig.watched(rig.plan(panics(), [looks()])).await;
    assert_eq!(ended.outcome, Outcome::DelegateFailed);
    says(&got, ("0", "false", "skipped", "delegate_failed", ended.code.as_str(), "0"));
}

#[tokio::test]
async fn delegate_failed_behind_a_refusal() {
    let rig = Rig::new().await;
    let delegate = FunctionDelegate::new("once", |request| async move {
        match request.turn.number {
            0 => Ok(Answered::of(Claim::text("done"))),
            _ => Err(probity_delegate::DelegateError::TimedOut { timeout_ms: 7 }),
        }
    });
    let (_, got) = rig.watched(rig.plan(Arc::new(delegate), [looks()])).await;
    says(&got, ("1", "false", "failed", "delegate_failed", "delegate_timeout", "1"));
}

/// Cancels a run when an event of that name is in its log.
struct CancelsAt(&'static str, CancellationToken);

impl Watch for CancelsAt {
    fn entry(&self, entry: &Entry) {
        if entry.event.name() == self.0 {
            self.1.cancel();
        }
    }
}

async fn cancelled_at(rig: &Rig, plan: Plan, event: &'static str) -> Got {
    let (telemetry, cancel) = (rig.telemetry(), CancellationToken::new());
    let watch = telemetry.watch(&plan.run);
    let cancels = CancelsAt(event, cancel.clone());
    let both = Together(&cancels, &watch);
    let ended = rig.engine().run(plan, &both, cancel).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Cancelled);
    telemetry.shutdown(PATIENCE).await;
    rig.receiver.got()
}

#[tokio::test]
async fn cancelled_while_the_delegate_works() {
    let rig = Rig::new().await;
    let plan = rig.plan(Arc::new(Hangs), [looks()]);
    let got = cancelled_at(&rig, plan, "delegate.dispatched").await;
    says(&got, ("0", "false", "skipped", "cancelled", "cancelled", "0"));
    assert_eq!(attributes(&got.one("invoke_agent").attributes)["probity.cut"], "true");
}

#[tokio::test]
async fn cancelled_behind_a_refusal() {
    let rig = Rig::new().await;
    let got = cancelled_at(&rig, rig.plan(liar(), [looks()]), "verdict.merged").await;
    says(&got, ("1", "false", "failed", "cancelled", "cancelled", "1"));
}

#[tokio::test]
async fn escalated_when_the_attempts_are_over() {
    let rig = Rig::new().await;
    let plan = with(rig.plan(liar(), [looks()]), |it| it.on_exhausted = OnFailure::Escalate);
    let (ended, got) = rig.watched(plan).await;
    assert_eq!(ended.outcome, Outcome::Escalated);
    says(&got, ("2", "false", "failed", "escalated", "attempts", "2"));
}

#[tokio::test]
async fn escalated_to_the_human_of_a_check() {
    let rig = Rig::new().await;
    let (id, subject) = ("ada".parse().unwrap(), Subject::Human);
    let human = Human { who: "ada".to_owned(), question: "Is it good?".to_owned() };
    let decl = CheckDecl { id, subject, timeout_ms: 3_600_000 };
    let asks = Check { decl, by: Decider::Human(human) };
    let (ended, got) = rig.watched(rig.plan(liar(), [asks])).await;
    assert_eq!(ended.outcome, Outcome::Escalated);
    says(&got, ("1", "false", "failed", "escalated", "awaits_human", "0"));
}

/// The run is not over: nobody may say how it ended.
#[tokio::test]
async fn left_without_an_outcome() {
    let rig = Rig::new().await;
    let telemetry = rig.telemetry();
    let plan = rig.plan(Arc::new(Hangs), [looks()]);
    let watch = telemetry.watch(&run_id());
    let (began, begun) = tokio::sync::oneshot::channel();
    let tells = TellsOnce(std::sync::Mutex::new(Some(began)));
    let both = Together(&tells, &watch);
    let engine = rig.engine();
    {
        let run = engine.run(plan, &both, CancellationToken::new());
        tokio::select! {
            _ = run => panic!("the run ended"),
            _ = begun => {}
        }
    }
    drop(watch);
    telemetry.shutdown(PATIENCE).await;
    let got = rig.receiver.got();
    says(&got, ("0", "false", "skipped", "interrupted", "interrupted", "0"));
}

/// A hook before the delegate refuses the whole run.
#[tokio::test]
async fn rejected_before_anything_was_verified() {
    use probity_core::{HookDecl, HookPoint};
    use probity_engine::{Handler, Reply};
    struct Blocks;
    #[async_trait::async_trait]
    impl Handler for Blocks {
        async fn handle(
            &self,
            _: &probity_verifier::CheckContext,
            _: &str,
            _: serde_json::Value,
        ) -> Result<Reply, Fault> {
            Ok(Reply::Block { reason: "not today".to_owned() })
        }
    }
    let rig = Rig::new().await;
    let mut plan = rig.plan(liar(), [looks()]);
    let (id, point) = ("gate".parse().unwrap(), HookPoint::DelegationPre);
    let decl = HookDecl { id, point, timeout_ms: 10_000 };
    plan.hooks = vec![Hook { decl, handler: Arc::new(Blocks) }];
    let (ended, got) = rig.watched(plan).await;
    assert_eq!(ended.outcome, Outcome::Rejected);
    says(&got, ("0", "false", "skipped", "rejected", "hook_blocked", "0"));
    let hook = attributes(&got.one("delegation.hook").attributes);
    assert_eq!((&*hook["probity.hook.id"], &*hook["probity.hook.action"]), ("gate", "block"));
}
