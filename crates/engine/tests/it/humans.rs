//! A named human as a check: the run waits, and goes on with the answer.

use std::sync::Arc;

use probity_core::{Answer, CheckDecl, Claim, Outcome, Subject, SubmissionId, Verdict};
use probity_delegate::{Answered, Delegate, FunctionDelegate, ScriptedDelegate, Step};
use probity_engine::{
    Approval, Check, Clock, Decider, Ended, Engine, EngineError, Human, Plan, Report, SystemClock,
};
use probity_verifier::JudgeFiles;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ledger::Break;
use crate::rig::{Eye, Rig, Unwatched, When, bounded, liar, run_id, writes};

const HOUR_MS: u64 = 3_600_000;
const ADA: &str = "ada@example.org";

fn asks(id: &str, who: &str, timeout_ms: u64) -> Check {
    let decl = CheckDecl { id: id.parse().unwrap(), subject: Subject::Human, timeout_ms };
    Check {
        decl,
        by: Decider::Human(Human { who: who.to_owned(), question: "Is it good?".to_owned() }),
    }
}

/// Writes the file, and asks Ada behind the check of it.
fn plan(rig: &Rig) -> Plan {
    let path = rig.path().join("out.txt");
    let delegate = FunctionDelegate::new("writes", move |request| {
        std::fs::write(&path, "hello").unwrap();
        std::future::ready(Ok(Answered::of(Claim::text(format!("round {}", request.turn.number)))))
    });
    asking(rig, Arc::new(delegate))
}

fn asking(rig: &Rig, delegate: Arc<dyn Delegate>) -> Plan {
    rig.plan(delegate, [Eye::file(rig, "out.txt").check("out"), asks("ada", ADA, HOUR_MS)])
}

/// Some submission that is not asked about.
fn other() -> SubmissionId {
    "another".parse().unwrap()
}

/// The submission that the run asks about, if it asks.
async fn asked_about(rig: &Rig) -> SubmissionId {
    let report = Report::read(rig.store.as_ref(), &run_id()).await.ok();
    report.and_then(|report| report.asked_about).unwrap_or_else(other)
}

async fn approve(
    rig: &Rig,
    engine: &Engine,
    plan: Plan,
    by: &str,
    approval: Approval,
) -> Result<Ended, EngineError> {
    let about = asked_about(rig).await;
    bounded(engine.approve(plan, by, &about, approval, &Unwatched, CancellationToken::new())).await
}

fn revise() -> Approval {
    Approval::Revise { reason: "the tone is wrong".to_owned() }
}

#[tokio::test]
async fn the_run_waits_and_hands_nothing_on() {
    let rig = Rig::new();
    let ended = rig.run(plan(&rig)).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "awaits_human"));
    assert_eq!(ended.delivered, None);
    let report = rig.report().await;
    assert_eq!(report.outcome, Some(Outcome::Escalated));
    assert_eq!(report.waits_for.as_ref().map(probity_core::Code::as_str), Some("ada"));
    assert_eq!((report.attempts, report.seal), (0, None));
    assert_eq!(report.claim.unwrap().response, "round 0");
    assert_eq!(rig.names().await.last(), Some(&"check.awaits"));
}

#[tokio::test]
async fn taken_up_it_still_waits_and_no_interruption_is_counted() {
    let rig = Rig::new();
    let first = rig.run(plan(&rig)).await;
    let records = rig.records().await;
    assert_eq!(rig.resume(plan(&rig)).await.unwrap(), first);
    assert_eq!(rig.records().await, records);
    assert_eq!((rig.account.count("ask"), rig.report().await.interruptions), (1, 0));
}

#[tokio::test]
async fn what_they_say_is_the_verdict() {
    let reason = "no".to_owned();
    let rows = [
        (Approval::Approve, Outcome::Verified, "ok", "pass", "human_approved", ""),
        (revise(), Outcome::Exhausted, "attempts", "revise", "human_revised", "the tone is wrong"),
        (
            Approval::Reject { reason },
            Outcome::Rejected,
            "human_rejected",
            "fail",
            "human_rejected",
            "no",
        ),
    ];
    for (approval, outcome, code, verdict, check_code, reason) in rows {
        let rig = Rig::new();
        let once = || {
            let mut plan = plan(&rig);
            plan.policy.max_attempts = 1;
            plan
        };
        rig.run(once()).await;
        let ended = approve(&rig, &rig.engine(), once(), ADA, approval).await.unwrap();
        assert_eq!((ended.outcome, ended.code.as_str()), (outcome, code));
        assert_eq!(ended.delivered.is_some(), outcome == Outcome::Verified);
        let report = rig.report().await;
        let check = &report.checks[1];
        assert_eq!((check.verdict, check.reason.as_str()), (verdict, reason));
        assert_eq!(check.code.as_ref().unwrap().as_str(), check_code);
        let evidence = (check.evidence[0].source.as_str(), check.evidence[0].observed.as_str());
        assert_eq!(evidence, ("human:ada@example.org", "answered"));
        assert_eq!((report.attempts, report.waits_for), (1, None));
        assert!(report.seal.is_some());
        assert_eq!(rig.account.count("ask"), 1);
    }
}

#[tokio::test]
async fn a_wrong_name_changes_nothing() {
    let rig = Rig::new();
    rig.run(plan(&rig)).await;
    let records = rig.records().await;
    for by in ["bob@example.org", "", "ADA@example.org", "ada@example.org "] {
        let error =
            approve(&rig, &rig.engine(), plan(&rig), by, Approval::Approve).await.unwrap_err();
        assert_eq!(error.code(), "answer_not_asked");
        assert!(error.to_string().contains(ADA));
    }
    assert_eq!(rig.records().await, records);
}

#[tokio::test]
async fn the_delegate_is_told_what_a_human_wants_and_they_are_asked_again() {
    let rig = Rig::new();
    let steps =
        || [writes("out.txt", "x").rejected_with("the tone is wrong"), Step::claim("friendlier")];
    let delegate = || Arc::new(ScriptedDelegate::new(rig.path(), steps()).allow_repeats());
    rig.run(asking(&rig, delegate())).await;
    let second = delegate();
    let plan = || asking(&rig, second.clone());
    let ended = approve(&rig, &rig.engine(), plan(), ADA, revise()).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "awaits_human"));
    let told = second.requests()[0].prompt.correction.clone().unwrap();
    assert!(
        told.contains("the tone is wrong") && told.contains("code=\"human_revised\""),
        "{told}"
    );
    let ended = approve(&rig, &rig.engine(), plan(), ADA, Approval::Approve).await.unwrap();
    assert_eq!((ended.outcome, second.violations()), (Outcome::Verified, Vec::new()));
    assert_eq!(ended.delivered.unwrap().response, "friendlier");
    assert_eq!(rig.report().await.attempts, 2);
}

/// Their time is not spent on what something else refuses.
#[tokio::test]
async fn a_human_is_asked_only_about_what_nothing_else_refuses() {
    let answers = [
        (Ok(Verdict::revise("no", "")), Outcome::Exhausted),
        (Ok(Verdict::fail("no", "")), Outcome::Rejected),
        (Ok(Verdict::inconclusive("no", "")), Outcome::Inconclusive),
        (Err(probity_core::Fault::new("no", "")), Outcome::Faulted),
    ];
    for (answer, outcome) in answers {
        let rig = Rig::new();
        let mut plan =
            rig.plan(liar(), [Eye::then(&rig, answer).check("c"), asks("ada", ADA, HOUR_MS)]);
        plan.policy.max_attempts = 1;
        plan.policy.max_verify_tries = 1;
        let (ended, report) = rig.whole(plan).await;
        assert_eq!((ended.outcome, report.checks[1].verdict), (outcome, "not_run"));
    }
}

#[tokio::test]
async fn a_human_alone_can_verify() {
    let rig = Rig::new();
    let plan = || rig.plan(liar(), [asks("ada", ADA, HOUR_MS)]);
    assert_eq!(rig.run(plan()).await.code.as_str(), "awaits_human");
    let ended = approve(&rig, &rig.engine(), plan(), ADA, Approval::Approve).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Verified, "human_approved"));
    assert_eq!(ended.delivered.unwrap().response, "All done!");
}

#[tokio::test]
async fn of_two_humans_one_is_asked_behind_the_other() {
    let rig = Rig::new();
    let bob = "bob@example.org";
    let plan = || rig.plan(liar(), [asks("ada", ADA, HOUR_MS), asks("bob", bob, HOUR_MS)]);
    rig.run(plan()).await;
    let engine = rig.engine();
    let error = approve(&rig, &engine, plan(), bob, Approval::Approve).await.unwrap_err();
    assert_eq!(error.code(), "answer_not_asked");
    let ended = approve(&rig, &engine, plan(), ADA, Approval::Approve).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "awaits_human"));
    let error = approve(&rig, &engine, plan(), ADA, Approval::Approve).await.unwrap_err();
    assert_eq!(error.code(), "answer_not_asked");
    let ended = approve(&rig, &engine, plan(), bob, Approval::Approve).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
}

#[tokio::test]
async fn a_run_that_asks_nobody_takes_no_such_answer() {
    let rig = Rig::new();
    rig.run(plan(&rig)).await;
    let engine = rig.engine();
    approve(&rig, &engine, plan(&rig), ADA, Approval::Approve).await.unwrap();
    let records = rig.records().await;
    let error = approve(&rig, &engine, plan(&rig), ADA, revise()).await.unwrap_err();
    assert_eq!(error.code(), "answer_refused");
    assert_eq!(rig.records().await, records);

    let other = Rig::new();
    let error =
        approve(&other, &other.engine(), plan(&other), ADA, Approval::Approve).await.unwrap_err();
    assert_eq!(error.code(), "run_missing");
}

/// A refusal to be waived is another question than that of a check.
#[tokio::test]
async fn the_answer_to_an_escalation_is_not_one_to_a_check() {
    let rig = Rig::new();
    rig.run(plan(&rig)).await;
    let records = rig.records().await;
    let engine = rig.engine();
    for answer in [Answer::Waive, Answer::Reject, Answer::Continue { attempts: 1 }] {
        let cancel = CancellationToken::new();
        let error = engine.answer(plan(&rig), ADA, answer, &Unwatched, cancel).await.unwrap_err();
        assert_eq!(error.code(), "answer_refused");
    }
    assert_eq!(rig.records().await, records);
}

#[tokio::test]
async fn of_two_answers_one_counts() {
    let rig = Rig::new();
    rig.run(plan(&rig)).await;
    let engine = rig.engine();
    let reject = Approval::Reject { reason: "no".to_owned() };
    let (first, second) = tokio::join!(
        approve(&rig, &engine, plan(&rig), ADA, Approval::Approve),
        approve(&rig, &engine, plan(&rig), ADA, reject)
    );
    let taken = [first.is_ok(), second.is_ok()];
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1, "{taken:?}");
    let expected = if taken[0] { Outcome::Verified } else { Outcome::Rejected };
    assert_eq!(rig.report().await.outcome, Some(expected));
    let answered = rig.names().await.into_iter().filter(|name| *name == "check.answered").count();
    assert_eq!(answered, 1);
}

/// Two hours have passed.
struct Later;

impl Clock for Later {
    fn now_ms(&self) -> u64 {
        SystemClock.now_ms() + 2 * HOUR_MS
    }
}

#[tokio::test]
async fn too_late_is_no_answer_and_the_run_ends_inconclusive() {
    let rig = Rig::new();
    rig.run(plan(&rig)).await;
    let records = rig.records().await;
    let later = Engine::new(Arc::clone(&rig.store), Arc::new(Later));
    for approval in [Approval::Approve, revise()] {
        let error = approve(&rig, &later, plan(&rig), ADA, approval).await.unwrap_err();
        assert_eq!(error.code(), "answer_refused");
    }
    assert_eq!(rig.records().await, records);
    let resumed = later.resume(plan(&rig), &Unwatched, CancellationToken::new());
    let ended = bounded(resumed).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "human_timeout"));
    assert_eq!(ended.delivered, None);
    let report = rig.report().await;
    assert_eq!((report.attempts, report.interruptions), (0, 0));
    assert_eq!(report.checks[1].verdict, "inconclusive");
    assert_eq!(rig.account.count("ask"), 1, "the delegate is not to blame");
}

/// The time of a human is theirs, not the run's.
#[tokio::test]
async fn the_wall_time_stands_still_while_a_human_is_asked() {
    for approval in [Approval::Approve, revise()] {
        let rig = Rig::new();
        let timed = || {
            let mut plan = plan(&rig);
            plan.checks[1] = asks("ada", ADA, 9 * HOUR_MS);
            plan.policy.wall_ms = Some(60_000);
            plan
        };
        rig.run(timed()).await;
        let later = Engine::new(Arc::clone(&rig.store), Arc::new(Later));
        let ended = approve(&rig, &later, timed(), ADA, approval.clone()).await.unwrap();
        let expected =
            if approval == Approval::Approve { Outcome::Verified } else { Outcome::Escalated };
        assert_eq!(ended.outcome, expected);
    }
}

#[tokio::test]
async fn a_crash_behind_the_question_or_the_answer_changes_nothing() {
    let rig = Rig::new();
    let (engine, stop) = (rig.engine(), Notify::new());
    {
        let watch = When("check.awaits", || stop.notify_one());
        let mut run = Box::pin(engine.run(plan(&rig), &watch, CancellationToken::new()));
        tokio::select! {
            biased;
            () = stop.notified() => {}
            _ = &mut run => {}
        }
    }
    let ended = rig.resume(plan(&rig)).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "awaits_human"));

    // The answer is durable, and the driver dies as the delegate goes to work again.
    let stop = Notify::new();
    let watch = When("check.answered", || stop.notify_one());
    let about = asked_about(&rig).await;
    let cancel = CancellationToken::new();
    let mut answer = Box::pin(engine.approve(plan(&rig), ADA, &about, revise(), &watch, cancel));
    tokio::select! {
        biased;
        () = stop.notified() => {}
        _ = &mut answer => panic!("it ended"),
    }
    drop(answer);
    let ended = rig.resume(plan(&rig)).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "awaits_human"));
    let ended = approve(&rig, &engine, plan(&rig), ADA, Approval::Approve).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
    let report = rig.report().await;
    assert_eq!((report.attempts, report.interruptions), (2, 1));
    let answers = rig.names().await.into_iter().filter(|name| *name == "check.answered").count();
    assert_eq!(answers, 2);
}

#[tokio::test]
async fn an_answer_that_was_not_stored_can_be_given_again() {
    for how in [Break::Unavailable, Break::Conflict] {
        let (rig, store) = Rig::watched();
        rig.run(plan(&rig)).await;
        store.break_later(0, how);
        assert!(approve(&rig, &rig.engine(), plan(&rig), ADA, Approval::Approve).await.is_err());
        assert_eq!(rig.report().await.outcome, Some(Outcome::Escalated));
        let ended = approve(&rig, &rig.engine(), plan(&rig), ADA, Approval::Approve).await.unwrap();
        assert_eq!(ended.outcome, Outcome::Verified);
    }
}

#[tokio::test]
async fn who_answered_and_what_they_said_is_in_blobs_and_not_in_the_log() {
    let (rig, store) = Rig::watched();
    rig.run(plan(&rig)).await;
    let reject = Approval::Reject { reason: "the tone is wrong".to_owned() };
    approve(&rig, &rig.engine(), plan(&rig), ADA, reject).await.unwrap();
    let batches = store.batches();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let records: String = batches.iter().flat_map(|it| &it.records).map(|it| text(it)).collect();
    let blobs: String = batches.iter().flat_map(|it| &it.blobs).map(|(_, it)| text(it)).collect();
    for content in [ADA, "the tone is wrong"] {
        assert!(blobs.contains(content) && !records.contains(content), "{content}");
    }
}

#[tokio::test]
async fn a_long_answer_is_kept_in_part() {
    let rig = Rig::new();
    rig.run(plan(&rig)).await;
    let reason = "x".repeat(probity_store::limits::MAX_BLOB_BYTES + 1);
    let reject = Approval::Reject { reason };
    let ended = approve(&rig, &rig.engine(), plan(&rig), ADA, reject).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Rejected);
    assert_eq!(rig.report().await.checks[1].reason.len(), 64 * 1024);
}

/// Nobody's answer may stand in for a human's.
#[tokio::test]
async fn a_question_without_a_human_is_refused() {
    let rig = Rig::new();
    let mut check = Eye::file(&rig, "out.txt").check("out");
    check.decl.subject = Subject::Human;
    let error = rig.try_run(rig.plan(liar(), [check])).await.unwrap_err();
    assert_eq!(error.code(), "plan_incomplete");
    let mut check = asks("ada", ADA, HOUR_MS);
    check.decl.subject = Subject::World;
    let error = rig.try_run(rig.plan(liar(), [check])).await.unwrap_err();
    assert_eq!(error.code(), "plan_incomplete");
    assert!(rig.records().await.is_empty());
}

/// What a human read and answered may have been sent back and done anew by then.
#[tokio::test]
async fn an_answer_about_another_claim_is_refused() {
    let rig = Rig::new();
    rig.run(plan(&rig)).await;
    let (engine, first) = (rig.engine(), asked_about(&rig).await);
    let ended = approve(&rig, &engine, plan(&rig), ADA, revise()).await.unwrap();
    assert_eq!(ended.code.as_str(), "awaits_human");
    let records = rig.records().await;
    for about in [first.clone(), other()] {
        let cancel = CancellationToken::new();
        let answer = Approval::Approve;
        let late = engine.approve(plan(&rig), ADA, &about, answer, &Unwatched, cancel);
        let error = bounded(late).await.unwrap_err();
        assert_eq!(error.code(), "answer_refused");
        assert!(error.to_string().contains(about.as_str()), "{error}");
    }
    assert_eq!(rig.records().await, records);
    assert_ne!(asked_about(&rig).await, first);
    let ended = approve(&rig, &engine, plan(&rig), ADA, Approval::Approve).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(rig.report().await.asked_about, None);
}

/// The files that judge are compared again before an answer opens the gate.
#[tokio::test]
async fn a_judge_that_was_touched_while_a_human_thought_is_no_pass() {
    for approval in [Approval::Approve, revise()] {
        let rig = Rig::new();
        rig.write("judge.star", "as it was");
        let sealed = || {
            let judge = JudgeFiles::new(Arc::clone(&rig.workspace)).file("judge.star").unwrap();
            let mut plan = plan(&rig);
            plan.judge = Arc::new(judge);
            plan
        };
        assert_eq!(rig.run(sealed()).await.code.as_str(), "awaits_human");
        rig.write("judge.star", "as somebody likes it");
        let ended = approve(&rig, &rig.engine(), sealed(), ADA, approval).await.unwrap();
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "judge_tampered"));
        assert_eq!(ended.delivered, None);
        let report = rig.report().await;
        assert!(report.reason.unwrap().contains("judge.star"));
    }
}
