//! Counting by candidate, through whole runs: what is work, what is a repeat, and that it ends.

use probity_core::{Claim, Counting, Event, Outcome, Policy, Turn, Usage, Verdict};
use probity_delegate::{Answered, FunctionDelegate, Step};
use std::sync::Arc;

use crate::rig::{Eye, Rig, liar};

fn by_candidate(max_attempts: u32, change: impl FnOnce(&mut Counting)) -> Policy {
    let mut counting = Counting::by_candidate(max_attempts);
    change(&mut counting);
    Policy { max_attempts, counting, ..Policy::default() }
}

async fn counted(rig: &Rig) -> Vec<bool> {
    rig.report().await.history.iter().map(|it| it.counted).collect()
}

/// For each verdict: the turn it repeats, and the turn that answered for it.
async fn repeats(rig: &Rig) -> Vec<(Option<u32>, Option<u32>)> {
    let log = rig.log().await;
    let number = |turn: &Option<Turn>| turn.map(|turn| turn.number);
    let verdict = |event: &Event| match event {
        Event::VerdictMerged { repeat_of, reused, .. } => Some((number(repeat_of), number(reused))),
        _ => None,
    };
    log.entries.iter().filter_map(|entry| verdict(&entry.event)).collect()
}

/// Says the same every time, with that many tool calls per turn.
fn same(tool_calls: u64) -> Arc<FunctionDelegate> {
    Arc::new(FunctionDelegate::new("same", move |_| async move {
        let usage = Usage { tokens: 0, tool_calls };
        Ok(Answered { usage, ..Answered::of(Claim::text("All done!")) })
    }))
}

#[tokio::test]
async fn the_same_claim_without_work_is_counted_once_and_ends_for_lack_of_progress() {
    let rig = Rig::new();
    let eye = Eye::file(&rig, "out.txt");
    let mut plan = rig.plan(liar(), [eye.check("c")]);
    plan.policy = by_candidate(5, |_| {});
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "no_progress"));
    assert_eq!((report.attempts, counted(&rig).await), (1, vec![true, false, false]));
    assert_eq!(repeats(&rig).await, [(None, None), (Some(0), Some(0)), (Some(0), Some(1))]);
    assert_eq!(eye.after().len(), 1, "a repeat is answered from the record");
    let reasons: Vec<_> = report.history.iter().map(|it| it.checks[0].reason.as_str()).collect();
    assert_eq!(reasons, ["file `out.txt` does not exist"; 3]);
}

#[tokio::test]
async fn a_repeat_that_may_not_be_answered_from_the_record_is_checked_again() {
    let rig = Rig::new();
    let eye = Eye::file(&rig, "out.txt");
    let mut plan = rig.plan(liar(), [eye.check("c")]);
    plan.policy = by_candidate(5, |counting| {
        if let Counting::ByCandidate { reuse_rejection, .. } = counting {
            *reuse_rejection = false;
        }
    });
    let ended = rig.run(plan).await;
    assert_eq!(ended.code.as_str(), "no_progress");
    assert_eq!(eye.after().len(), 3);
    assert_eq!(repeats(&rig).await, [(None, None), (Some(0), None), (Some(0), None)]);
}

#[tokio::test]
async fn tool_calls_are_work() {
    let rig = Rig::new();
    let mut plan = rig.plan(same(2), [Eye::file(&rig, "out.txt").check("c")]);
    plan.policy = by_candidate(3, |_| {});
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "attempts"));
    assert_eq!((report.attempts, counted(&rig).await), (3, vec![true; 3]));
    let work: Vec<_> = rig
        .log()
        .await
        .entries
        .iter()
        .filter_map(|entry| match entry.event {
            Event::ClaimReceived { work, .. } => Some(work),
            _ => None,
        })
        .collect();
    assert_eq!(work, [2, 4, 6]);
}

#[tokio::test]
async fn a_change_of_the_workspace_is_work() {
    let rig = Rig::new();
    let steps = (0..3_u8).map(|nth| {
        Step::claim("All done!").does(move |dir| std::fs::write(dir.join("notes"), [nth]))
    });
    let mut plan = rig.plan(rig.scripted(steps), [Eye::file(&rig, "out.txt").check("c")]);
    plan.policy = by_candidate(3, |_| {});
    let (ended, report) = rig.whole(plan).await;
    assert_eq!(ended.code.as_str(), "attempts");
    assert_eq!((report.attempts, counted(&rig).await), (3, vec![true; 3]));
}

#[tokio::test]
async fn by_the_letter_work_does_not_make_a_repeat_count() {
    let rig = Rig::new();
    let mut plan = rig.plan(same(2), [Eye::file(&rig, "out.txt").check("c")]);
    plan.policy = by_candidate(3, |counting| {
        if let Counting::ByCandidate { count_after_work, max_identical, .. } = counting {
            *count_after_work = false;
            *max_identical = 4;
        }
    });
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "no_progress"));
    assert_eq!((report.attempts, report.history.len()), (1, 5));
}

#[tokio::test]
async fn other_claims_count() {
    let rig = Rig::new();
    let steps = ["a", "b", "a"].map(Step::claim);
    let mut plan = rig.plan(rig.scripted(steps), [Eye::file(&rig, "out.txt").check("c")]);
    plan.policy = by_candidate(3, |_| {});
    let (ended, report) = rig.whole(plan).await;
    assert_eq!(ended.code.as_str(), "attempts");
    assert_eq!((report.attempts, counted(&rig).await), (3, vec![true; 3]));
    assert_eq!(repeats(&rig).await, [(None, None), (None, None), (Some(0), None)]);
}

/// Another wait or a flaky service must give no free second draw: the pass is marked.
#[tokio::test]
async fn a_pass_on_what_was_rejected_as_it_is_is_called_flaky() {
    let rig = Rig::new();
    let looks = std::sync::atomic::AtomicU32::new(0);
    let eye = Eye::new(&rig, move |_| {
        let nth = looks.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let no = Verdict::revise("no", "");
        std::future::ready(Ok(if nth < 2 { no } else { Verdict::pass() }))
    });
    let ended = rig.run(rig.plan(liar(), [eye.check("c")])).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    let flaky = rig
        .log()
        .await
        .entries
        .iter()
        .any(|entry| matches!(entry.event, Event::VerdictMerged { flaky: true, .. }));
    assert!(flaky);
}

#[tokio::test]
async fn a_repeat_on_a_world_that_was_put_right_is_verified() {
    let rig = Rig::new();
    let steps = [
        Step::claim("All done!"),
        Step::claim("All done!").does(|dir| std::fs::write(dir.join("out.txt"), "hello")),
    ];
    let mut plan = rig.plan(rig.scripted(steps), [Eye::file(&rig, "out.txt").check("c")]);
    plan.policy = by_candidate(3, |_| {});
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, report.attempts), (Outcome::Verified, 2));
}
