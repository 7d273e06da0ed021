//! The heart: a delegate that lies is told why, in the same run, until the world agrees.

use std::sync::Arc;

use probity_core::{Judgement, Outcome};
use probity_delegate::{ScriptedDelegate, Step};

use crate::rig::{Eye, Rig, TASK, writes};

const REASON: &str = "file `out.txt` does not exist";

#[tokio::test]
async fn a_lie_is_sent_back_with_its_reason_and_the_work_is_then_verified() {
    let rig = Rig::new();
    let delegate = rig.scripted([
        Step::claim("All done!").session("s-1").expects(TASK).rejected_with(REASON),
        Step::claim("Really done!").session("s-2").expects(REASON).rejected_with(REASON),
        writes("out.txt", "hello").expects("attempt 2 of 3"),
    ]);
    let eye = Eye::file(&rig, "out.txt");
    let (ended, report) = rig.whole(rig.plan(delegate.clone(), [eye.check("out")])).await;

    assert_eq!(delegate.violations(), Vec::<String>::new());
    let requests = delegate.requests();
    let attempts: Vec<_> = requests.iter().map(|it| (it.turn.number, it.attempt)).collect();
    assert_eq!(attempts, [(0, 1), (1, 2), (2, 3)]);
    let sessions: Vec<_> = requests.iter().map(|it| it.session.as_deref()).collect();
    assert_eq!(sessions, [None, Some("s-1"), Some("s-2")]);
    assert!(requests[0].prompt.correction.is_none());

    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Verified, "ok"));
    assert_eq!(ended.delivered.unwrap().response, "wrote it");
    assert_eq!((report.outcome, report.attempts), (Some(Outcome::Verified), 3));
    let history: Vec<_> =
        report.history.iter().map(|it| (it.turn, it.verdict, it.counted)).collect();
    assert_eq!(
        history,
        [(1, Judgement::Revise, true), (2, Judgement::Revise, true), (3, Judgement::Pass, true)]
    );
    assert_eq!(report.history[0].checks[0].reason, REASON);
    assert_eq!(report.history[0].response, "All done!");
    let attempts: Vec<_> = eye.looks().iter().map(|look| look.attempt).collect();
    assert_eq!(attempts, [0, 1, 2, 3]);
}

#[tokio::test]
async fn a_session_that_is_not_named_again_goes_on() {
    let rig = Rig::new();
    let delegate = rig.scripted([
        Step::claim("one").session("s-1"),
        Step::claim("two"),
        writes("out.txt", "hello"),
    ]);
    let check = Eye::file(&rig, "out.txt").check("out");
    rig.run(rig.plan(delegate.clone(), [check])).await;
    assert_eq!(delegate.requests()[2].session.as_deref(), Some("s-1"));
}

#[tokio::test]
async fn a_conversation_that_starts_anew_gets_the_task_and_the_last_response() {
    let rig = Rig::new();
    let steps = [
        Step::claim("I wrote the file.").rejected_with(REASON),
        writes("out.txt", "hello").expects(TASK).expects("I wrote the file.").expects(REASON),
    ];
    let delegate = Arc::new(ScriptedDelegate::new(rig.path(), steps).fresh());
    let check = Eye::file(&rig, "out.txt").check("out");
    let ended = rig.run(rig.plan(delegate.clone(), [check])).await;
    assert_eq!(delegate.violations(), Vec::<String>::new());
    let last = delegate.requests()[1].prompt.last_response.clone();
    assert_eq!(last.as_deref(), Some("I wrote the file."));
    assert_eq!(ended.outcome, Outcome::Verified);
}

#[tokio::test]
async fn all_reasons_are_told_in_order_and_what_passed_is_named() {
    let rig = Rig::new();
    rig.write("there.txt", "");
    let delegate = rig.scripted([
        Step::claim("done"),
        writes("a.txt", "").does(|dir| {
            std::fs::write(dir.join("a.txt"), "")?;
            std::fs::write(dir.join("b.txt"), "")
        }),
    ]);
    let checks = [
        Eye::file(&rig, "a.txt").check("first"),
        Eye::file(&rig, "there.txt").check("second"),
        Eye::file(&rig, "b.txt").check("third"),
    ];
    let (ended, report) = rig.whole(rig.plan(delegate.clone(), checks)).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    let correction = delegate.requests()[1].prompt.correction.clone().unwrap();
    let places = ["`a.txt`", "`b.txt`", "Passed: second."].map(|it| correction.find(it).unwrap());
    assert!(places.is_sorted(), "{correction}");
    let discriminating: Vec<_> = report.checks.iter().map(|it| it.discriminating).collect();
    assert_eq!(discriminating, [Some(true), Some(false), Some(true)]);
}
