//! A run that waits for a named human, and what an answer does.

use std::sync::Arc;

use probity_core::{Answer, OnFailure, Outcome, Verdict};
use probity_delegate::{Delegate, Step};
use probity_engine::{Ended, EngineError, Plan};
use tokio_util::sync::CancellationToken;

use crate::rig::{Eye, Rig, Unwatched, bounded, liar, writes};

/// Fails for good unless there is a file.
fn plan(rig: &Rig, delegate: Arc<dyn Delegate>) -> Plan {
    let mut plan = rig.plan(delegate, [Eye::file(rig, "out.txt").check("out")]);
    plan.policy.max_attempts = 1;
    plan.policy.on_exhausted = OnFailure::Escalate;
    plan.policy.on_fail = OnFailure::Escalate;
    plan
}

async fn answer(rig: &Rig, plan: Plan, answer: Answer) -> Result<Ended, EngineError> {
    let engine = rig.engine();
    let cancel = CancellationToken::new();
    bounded(engine.answer(plan, "ada@example.org", answer, &Unwatched, cancel)).await
}

#[tokio::test]
async fn taken_up_it_still_waits() {
    let rig = Rig::new();
    let first = rig.run(plan(&rig, liar())).await;
    let records = rig.records().await;
    let again = rig.resume(plan(&rig, liar())).await.unwrap();
    assert_eq!((again.outcome, &again), (Outcome::Escalated, &first));
    assert_eq!(rig.records().await, records);
    assert_eq!((rig.account.count("ask"), rig.report().await.interruptions), (1, 0));
}

#[tokio::test]
async fn refused_and_waived_end_as_what_they_would_have_been() {
    for (given, waived) in [(Answer::Reject, false), (Answer::Waive, true)] {
        let rig = Rig::new();
        rig.run(plan(&rig, liar())).await;
        let ended = answer(&rig, plan(&rig, liar()), given).await.unwrap();
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "attempts"));
        assert_eq!(ended.delivered, None, "a waiver is a label, never a pass");
        let report = rig.report().await;
        assert_eq!((report.outcome, report.waived), (Some(Outcome::Exhausted), waived));
        assert!(report.seal.is_some());
        assert_eq!(rig.account.count("ask"), 1);
    }
}

#[tokio::test]
async fn a_fail_that_was_escalated_ends_rejected() {
    let rig = Rig::new();
    let forged = |rig: &Rig| {
        let mut plan = plan(rig, liar());
        plan.checks = vec![Eye::then(rig, Ok(Verdict::fail("forged", ""))).check("c")];
        plan
    };
    let first = rig.run(forged(&rig)).await;
    assert_eq!((first.outcome, first.code.as_str()), (Outcome::Escalated, "rejected"));
    let ended = answer(&rig, forged(&rig), Answer::Reject).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "forged"));
}

#[tokio::test]
async fn more_attempts_go_on_with_the_reason() {
    let rig = Rig::new();
    rig.run(plan(&rig, liar())).await;
    let second = Arc::new(
        probity_delegate::ScriptedDelegate::new(
            rig.path(),
            [
                Step::claim("All done!").rejected_with("file `out.txt` does not exist"),
                writes("out.txt", "hello"),
            ],
        )
        .allow_repeats(),
    );
    let more = Answer::Continue { attempts: 2 };
    let ended = answer(&rig, plan(&rig, second.clone()), more).await.unwrap();
    assert_eq!(second.violations(), Vec::<String>::new());
    assert_eq!(ended.outcome, Outcome::Verified);
    let report = rig.report().await;
    assert_eq!((report.attempts, report.max_attempts), (2, 3));
    let request = &second.requests()[0];
    assert_eq!((request.attempt, request.max_attempts), (2, 3));
}

#[tokio::test]
async fn an_answer_out_of_bounds_changes_nothing() {
    let rig = Rig::new();
    rig.run(plan(&rig, liar())).await;
    let records = rig.records().await;
    for attempts in [0, 101] {
        let error = answer(&rig, plan(&rig, liar()), Answer::Continue { attempts }).await;
        assert_eq!(error.unwrap_err().code(), "answer_refused");
    }
    assert_eq!(rig.records().await, records);
}

#[tokio::test]
async fn a_run_that_does_not_wait_takes_no_answer() {
    let rig = Rig::new();
    rig.run(rig.plan(liar(), [])).await;
    let records = rig.records().await;
    let error = answer(&rig, rig.plan(liar(), []), Answer::Waive).await;
    assert_eq!(error.unwrap_err().code(), "answer_refused");
    assert_eq!(rig.records().await, records);
}

#[tokio::test]
async fn of_two_answers_one_counts() {
    let rig = Rig::new();
    rig.run(plan(&rig, liar())).await;
    let (first, second) = tokio::join!(
        answer(&rig, plan(&rig, liar()), Answer::Waive),
        answer(&rig, plan(&rig, liar()), Answer::Reject)
    );
    let taken = [first.is_ok(), second.is_ok()];
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1, "{taken:?}");
    assert_eq!(rig.report().await.waived, taken[0]);
    let answered = rig.names().await.into_iter().filter(|name| *name == "run.answered").count();
    assert_eq!(answered, 1);
}

#[tokio::test]
async fn who_answered_is_in_a_blob_and_not_in_the_log() {
    let rig = Rig::new();
    rig.run(plan(&rig, liar())).await;
    answer(&rig, plan(&rig, liar()), Answer::Waive).await.unwrap();
    let log = rig.log().await;
    let by = log.entries.iter().find_map(|entry| match entry.event {
        probity_core::Event::Answered { by, .. } => Some(by),
        _ => None,
    });
    let blob = rig.store.get(&by.unwrap(), 1 << 20).await.unwrap().unwrap();
    assert!(String::from_utf8(blob).unwrap().contains("ada@example.org"));
    let text = rig.records().await.concat();
    assert!(!String::from_utf8(text).unwrap().contains("ada@"));
}
