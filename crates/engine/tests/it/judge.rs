//! The sealed judge: whoever touches what decides is rejected, whatever the checks say.

use std::sync::Arc;

use probity_core::{Judgement, Outcome, Phase, Verdict};
use probity_delegate::Step;
use probity_engine::{Ended, Plan, Report};
use probity_verifier::JudgeFiles;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::rig::{Eye, Rig, When, liar};

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("judge.star", "strict");
    rig
}

fn sealed(rig: &Rig, plan: Plan) -> Plan {
    let judge = JudgeFiles::new(Arc::clone(&rig.workspace)).file("judge.star").unwrap();
    Plan { judge: Arc::new(judge), ..plan }
}

fn is_tampered(ended: &Ended, report: &Report) {
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "judge_tampered"));
    assert_eq!(ended.delivered, None);
    let last = report.history.last().unwrap();
    assert_eq!((last.verdict, last.code.as_str()), (Judgement::Fail, "judge_tampered"));
    assert!(last.counted);
    assert!(report.reason.as_ref().unwrap().contains("judge.star"), "{:?}", report.reason);
}

#[tokio::test]
async fn a_delegate_that_edits_it_is_rejected_and_no_check_is_asked() {
    let rig = rig();
    let step = Step::claim("done").does(|dir| std::fs::write(dir.join("judge.star"), "lax"));
    let eye = Eye::then(&rig, Ok(Verdict::pass()));
    let plan = sealed(&rig, rig.plan(rig.scripted([step]), [eye.check("c")]));
    let (ended, report) = rig.whole(plan).await;
    is_tampered(&ended, &report);
    assert_eq!(eye.after().len(), 0);
}

#[tokio::test]
async fn a_delegate_that_removes_it_is_rejected() {
    let rig = rig();
    let step = Step::claim("done").does(|dir| std::fs::remove_file(dir.join("judge.star")));
    let eye = Eye::then(&rig, Ok(Verdict::pass()));
    let plan = sealed(&rig, rig.plan(rig.scripted([step]), [eye.check("c")]));
    let (ended, report) = rig.whole(plan).await;
    is_tampered(&ended, &report);
}

#[tokio::test]
async fn an_input_that_comes_to_match_is_tampering() {
    let rig = rig();
    let step = Step::claim("done").does(|dir| std::fs::write(dir.join("extra_judge.star"), ""));
    let plan = rig.plan(rig.scripted([step]), [Eye::then(&rig, Ok(Verdict::pass())).check("c")]);
    let judge = JudgeFiles::new(Arc::clone(&rig.workspace)).inputs("*.star").unwrap();
    let (ended, report) = rig.whole(Plan { judge: Arc::new(judge), ..plan }).await;
    is_tampered(&ended, &report);
}

/// A command that a check runs may edit the file that decides.
#[tokio::test]
async fn a_check_that_edits_it_while_it_runs_gives_no_pass() {
    let changes: [fn(&std::path::Path); 2] =
        [|path| std::fs::write(path, "lax").unwrap(), |path| std::fs::remove_file(path).unwrap()];
    for change in changes {
        let rig = rig();
        let path = rig.path().join("judge.star");
        let eye = Eye::new(&rig, move |ctx| {
            if ctx.phase == Phase::After {
                change(&path);
            }
            std::future::ready(Ok(match ctx.phase {
                Phase::Before => Verdict::revise("not_yet", ""),
                Phase::After => Verdict::pass(),
            }))
        });
        let later = Eye::then(&rig, Ok(Verdict::pass()));
        let checks = [eye.check("a"), later.check("b")];
        let plan = sealed(&rig, rig.plan(liar(), checks));
        let (ended, report) = rig.whole(plan).await;
        is_tampered(&ended, &report);
        assert_eq!(later.after().len(), 0);
        assert_eq!(report.checks[1].verdict, "not_run");
    }
}

#[tokio::test]
async fn a_judge_that_is_not_there_to_begin_with_is_a_fault_and_nobody_is_asked() {
    let rig = Rig::new();
    rig.write("judge.star", "strict");
    let plan = sealed(&rig, rig.plan(liar(), [Eye::file(&rig, "x").check("c")]));
    std::fs::remove_file(rig.path().join("judge.star")).unwrap();
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "judge_file_missing"));
    assert_eq!((rig.account.count("ask"), report.attempts), (0, 0));
}

#[tokio::test]
async fn a_verifier_that_panics_has_not_touched_the_judge() {
    let rig = rig();
    let eye = Eye::new(&rig, |ctx| async move {
        assert!(ctx.phase == Phase::Before, "the verifier is broken");
        Ok(Verdict::revise("not_yet", ""))
    });
    let plan = sealed(&rig, rig.plan(liar(), [eye.check("c")]));
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, report.attempts), (Outcome::Faulted, 0));
    assert_eq!(report.reason, None);
}

#[tokio::test]
async fn what_may_change_may_change() {
    let rig = rig();
    let step = Step::claim("done").does(|dir| std::fs::write(dir.join("judge.star"), "lax"));
    let plan = rig.plan(rig.scripted([step]), [Eye::then(&rig, Ok(Verdict::pass())).check("c")]);
    let judge = JudgeFiles::new(Arc::clone(&rig.workspace)).file("judge.star").unwrap();
    let judge = Arc::new(judge.may_change("judge.star").unwrap());
    assert_eq!(rig.run(Plan { judge, ..plan }).await.outcome, Outcome::Verified);
}

/// What is sealed is what the log says, not what the plan of the one who takes the run up comes to.
#[tokio::test]
async fn the_seal_outlives_the_driver() {
    let changes: [fn(&std::path::Path); 3] = [
        |_| {},
        |path| std::fs::write(path, "lax").unwrap(),
        |path| std::fs::remove_file(path).unwrap(),
    ];
    let outcomes = [Outcome::Verified, Outcome::Rejected, Outcome::Rejected];
    for (change, outcome) in changes.into_iter().zip(outcomes) {
        let rig = rig();
        let eye = Eye::then(&rig, Ok(Verdict::pass()));
        let (engine, died) = (rig.engine(), Notify::new());
        let watch = When("delegate.dispatched", || died.notify_one());
        let first = sealed(&rig, rig.plan(liar(), [eye.check("c")]));
        tokio::select! {
            biased;
            () = died.notified() => {}
            _ = engine.run(first, &watch, CancellationToken::new()) => panic!("it ended"),
        }
        change(&rig.path().join("judge.star"));
        // Made anew, this plan seals nothing.
        let ended = rig.resume(rig.plan(liar(), [eye.check("c")])).await.unwrap();
        assert_eq!(ended.outcome, outcome);
        if outcome == Outcome::Rejected {
            is_tampered(&ended, &rig.report().await);
        }
    }
}
