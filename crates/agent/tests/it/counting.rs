//! What counts as an attempt, and that every run ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use probity_agent::{LastOutcome, NotDone, Reject};
use probity_core::{Counting, Outcome};
use probity_testkit::ScriptedModel;

use crate::stage::{
    Output, agent, bounded, edit, editor, feedback, hand_in, model, model_for_ever, never, not_done,
};

/// A run that nobody lets through.
async fn rejected(
    model: &Arc<ScriptedModel>,
    max_attempts: u32,
    counting: Option<Counting>,
) -> NotDone {
    let agent = agent(model)
        .tool(editor())
        .output::<Output>()
        .verifier(never)
        .verifier_max_attempts(max_attempts);
    let agent = match counting {
        Some(counting) => agent.counting(counting),
        None => agent,
    };
    not_done(bounded(agent.build().unwrap().run("Fix it.")).await)
}

fn counted(end: &NotDone) -> Vec<bool> {
    end.ledger.iter().map(|entry| entry.counted).collect()
}

#[tokio::test]
async fn p01_a_constant_candidate_ends_as_no_progress() {
    let model = model_for_ever([hand_in("same")]);
    let calls = Arc::new(AtomicU32::new(0));
    let counter = calls.clone();
    let agent = agent(&model)
        .output::<Output>()
        .verifier(move |_: Output| {
            counter.fetch_add(1, Ordering::SeqCst);
            Err::<(), _>(Reject::revise("No."))
        })
        .verifier_max_attempts(3)
        .build()
        .unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Exhausted, "no_progress"));
    assert_eq!(end.verification.attempts_used, 1);
    assert_eq!(counted(&end), [true, false, false]);
    assert_eq!(end.ledger.iter().map(|it| it.reused).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(model.asked().len(), 3);
    assert_eq!(calls.load(Ordering::SeqCst), 1, "the record answers for what did not change");
}

#[tokio::test]
async fn p01_a_constant_candidate_may_be_looked_at_again_and_ends_all_the_same() {
    let Counting::ByCandidate { count_after_work, max_identical, max_rejections, .. } =
        Counting::by_candidate(3)
    else {
        panic!("counted by candidate");
    };
    let counting = Counting::ByCandidate {
        count_after_work,
        max_identical,
        max_rejections,
        reuse_rejection: false,
    };
    let end = rejected(&model_for_ever([hand_in("same")]), 3, Some(counting)).await;
    assert_eq!(end.code.as_str(), "no_progress");
    assert!(end.ledger.iter().all(|entry| !entry.reused), "{:#?}", end.ledger);
}

#[tokio::test]
async fn p02_two_candidates_in_turn_count_and_the_repetition_is_named() {
    let model = model(["a", "b", "a", "b"].map(hand_in));
    let end = rejected(&model, 4, None).await;
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Exhausted, "attempts"));
    assert_eq!(counted(&end), [true; 4]);
    let repeats: Vec<_> = end.ledger.iter().map(|entry| entry.repeat_of).collect();
    assert_eq!(repeats, [None, None, Some(0), Some(1)]);
    assert!(!feedback(&model.asked()[2]).contains("repeat-of"));
    assert!(feedback(&model.asked()[3]).contains(" repeat-of=\"1\""));
}

#[tokio::test]
async fn p02_attempts_are_never_above_the_maximum() {
    for max_attempts in 1..=5 {
        let replies = (0..20).map(|n| hand_in(&format!("candidate {n}")));
        let model = model(replies);
        let end = rejected(&model, max_attempts, None).await;
        let state = &end.verification;
        assert_eq!((state.attempts_used, state.max_attempts), (max_attempts, max_attempts));
        assert_eq!(model.asked().len(), usize::try_from(max_attempts).unwrap());
        assert_eq!(end.reasons.len(), model.asked().len(), "every reason is kept");
        assert_eq!(state.last_outcome, Some(LastOutcome::Rejected));
    }
}

#[tokio::test]
async fn p25_work_in_between_makes_the_same_output_a_new_attempt() {
    let replies = [hand_in("fixed"), edit(), hand_in("fixed"), edit(), hand_in("fixed")];
    let end = rejected(&model(replies), 3, None).await;
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Exhausted, "attempts"));
    assert_eq!(counted(&end), [true; 3]);
    assert_eq!(end.ledger.iter().map(|it| it.work).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(end.ledger.iter().all(|it| !it.reused), "new work is looked at");
}

#[tokio::test]
async fn p25_by_the_letter_of_the_seed_the_belts_end_it() {
    let replies =
        || (0..40).map(|n| if n % 2 == 0 { hand_in("fixed") } else { edit() }).collect::<Vec<_>>();
    for (max_identical, max_rejections, code, rejections) in
        [(2, 9, "no_progress", 3), (100, 5, "rejections", 5)]
    {
        let counting = Counting::ByCandidate {
            count_after_work: false,
            max_identical,
            max_rejections,
            reuse_rejection: false,
        };
        let end = rejected(&model(replies()), 3, Some(counting)).await;
        assert_eq!((end.outcome, end.code.as_str()), (Outcome::Exhausted, code));
        assert_eq!(end.verification.attempts_used, 1);
        assert_eq!(end.ledger.len(), rejections);
    }
}

#[tokio::test]
async fn every_submission_counts_where_that_is_wanted() {
    let model = model_for_ever([hand_in("same")]);
    let end = rejected(&model, 3, Some(Counting::EverySubmission)).await;
    assert_eq!((end.code.as_str(), end.verification.attempts_used), ("attempts", 3));
}

/// A flaky verifier: the second look at the same work passes. It is taken, and said.
#[tokio::test]
async fn a_pass_of_what_was_rejected_before_is_marked_as_flaky() {
    let looks = Arc::new(AtomicU32::new(0));
    let counter = looks.clone();
    let model = model_for_ever([hand_in("same")]);
    let agent = agent(&model)
        .output::<Output>()
        .verifier(move |output: Output| match counter.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Reject::revise("No.")),
            _ => Ok(output),
        })
        .counting(Counting::ByCandidate {
            count_after_work: true,
            max_identical: 2,
            max_rejections: 9,
            reuse_rejection: false,
        })
        .build()
        .unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!(done.verification.attempts_used, 1);
    assert_eq!(done.ledger.iter().map(|it| it.flaky).collect::<Vec<_>>(), [false, true]);
}
