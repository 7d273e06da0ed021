//! Every outcome, end to end: what is delivered, what is sealed, what the report says.

use std::sync::Arc;

use probity_core::{Code, Event, Fault, Judgement, OnFailure, Outcome, Policy, RedFirst, Verdict};
use probity_delegate::{Answered, DelegateError, FunctionDelegate, Step};
use probity_engine::{Check, Ended, Plan, Report};
use probity_record::read_records;
use tokio_util::sync::CancellationToken;

use crate::rig::{Eye, Hangs, Rig, Unwatched, liar, run_id, writes};

/// What holds for every end but an escalation.
async fn sealed(rig: &Rig, ended: &Ended, report: &Report) {
    assert_eq!(ended.run, run_id());
    assert_eq!(report.run_id, run_id());
    assert_eq!(report.outcome, Some(ended.outcome));
    assert_eq!(report.code.as_ref(), Some(&ended.code));
    assert_eq!(ended.delivered.is_some(), ended.outcome.delivers());
    assert!(!report.waived);
    let records = rig.records().await;
    let log = read_records(&records).unwrap();
    let seal = log.seal.expect("no seal");
    let told = report.seal.expect("no seal in the report");
    assert_eq!((told.events, told.head), (seal.events, seal.head));
    assert_eq!(seal.events, records.len() as u64 - 1);
    assert_eq!(seal.outcome, ended.outcome);
    let last = &log.entries.last().unwrap().event;
    assert_eq!(*last, Event::Sealed { outcome: ended.outcome });
}

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy);
    policy
}

#[tokio::test]
async fn verified() {
    let rig = Rig::new();
    let check = Eye::file(&rig, "out.txt").check("out");
    let plan = rig.plan(rig.scripted([writes("out.txt", "hello")]), [check]);
    let (ended, report) = rig.whole(plan).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, report.attempts, report.max_attempts), (Outcome::Verified, 1, 3));
    assert_eq!(ended.delivered, report.claim);
    let check = &report.checks[0];
    assert_eq!((check.id.as_str(), check.verdict), ("out", "pass"));
    assert_eq!(check.discriminating, Some(true));
    assert_eq!(report.failure, None);
}

#[tokio::test]
async fn exhausted() {
    let rig = Rig::new();
    let check = Eye::file(&rig, "out.txt").check("out");
    let (ended, report) = rig.whole(rig.plan(liar(), [check])).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "attempts"));
    assert_eq!((report.attempts, report.history.len()), (3, 3));
    assert_eq!(report.claim.unwrap().response, "All done!");
    for attempt in &report.history {
        assert_eq!((attempt.verdict, attempt.counted), (Judgement::Revise, true));
        assert_eq!(attempt.checks[0].reason, "file `out.txt` does not exist");
    }
}

#[tokio::test]
async fn rejected() {
    let rig = Rig::new();
    let eye = Eye::then(&rig, Ok(Verdict::fail("forged", "this is forged")));
    let (ended, report) = rig.whole(rig.plan(liar(), [eye.check("c")])).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "forged"));
    assert_eq!((report.attempts, rig.account.count("ask")), (1, 1));
    assert_eq!(report.checks[0].verdict, "fail");
    assert_eq!(report.checks[0].reason, "this is forged");
}

#[tokio::test]
async fn inconclusive() {
    let rig = Rig::new();
    let eye = Eye::then(&rig, Ok(Verdict::inconclusive("http_timeout", "no answer")));
    let mut plan = rig.plan(liar(), [eye.check("c")]);
    plan.policy = policy(|policy| policy.max_verify_tries = 1);
    let (ended, report) = rig.whole(plan).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "http_timeout"));
    assert_eq!((report.attempts, rig.account.count("ask")), (0, 1));
    assert_eq!(report.checks[0].verdict, "inconclusive");
    assert!(!report.history[0].counted);
}

#[tokio::test]
async fn unverified_without_a_check() {
    let rig = Rig::new();
    let (ended, report) = rig.whole(rig.plan(liar(), [])).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Unverified, "no_checks"));
    assert_eq!(ended.delivered.unwrap().response, "All done!");
    assert_eq!((report.attempts, report.checks.len()), (0, 0));
}

#[tokio::test]
async fn unverified_where_the_only_pass_proves_nothing() {
    let rig = Rig::new();
    rig.write("out.txt", "was there");
    let mut plan = rig.plan(liar(), [Eye::file(&rig, "out.txt").check("out")]);
    plan.policy = policy(|policy| policy.red_first = RedFirst::Require);
    let (ended, report) = rig.whole(plan).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Unverified, "non_discriminating"));
    assert_eq!(report.checks[0].discriminating, Some(false));
}

#[tokio::test]
async fn faulted() {
    let rig = Rig::new();
    let fault = Fault::new("script_raise", "division by zero").at("check.star:3");
    let checks = [
        Eye::then(&rig, Ok(Verdict::revise("no", "not there"))).check("first"),
        Eye::then(&rig, Err(fault)).check("second"),
    ];
    let (ended, report) = rig.whole(rig.plan(liar(), checks)).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "script_raise"));
    assert_eq!((report.attempts, rig.account.count("ask")), (0, 1));
    assert_eq!(report.checks[1].verdict, "fault");
    assert_eq!(report.checks[1].reason, "division by zero\ncheck.star:3");
}

#[tokio::test]
async fn faulted_where_the_workspace_cannot_be_read() {
    let rig = Rig::new();
    rig.write("big.bin", "12345");
    let mut plan = rig.plan(liar(), [Eye::file(&rig, "out.txt").check("out")]);
    plan.snapshot.limits.max_file_bytes = 4;
    let (ended, report) = rig.whole(plan).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "snapshot_file_too_large"));
    assert!(report.failure.unwrap().contains("big.bin"));
    assert_eq!(rig.account.count("ask"), 0);
    assert_eq!(report.checks[0].verdict, "not_run");
}

#[tokio::test]
async fn delegate_failed() {
    let rig = Rig::new();
    let check = Eye::file(&rig, "out.txt").check("out");
    let plan = rig.plan(rig.scripted([Step::fail("no credit left")]), [check]);
    let (ended, report) = rig.whole(plan).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::DelegateFailed, "delegate_error"));
    assert!(report.failure.unwrap().contains("no credit left"));
    assert_eq!((report.attempts, report.claim), (0, None));
    assert_eq!(report.checks[0].verdict, "not_run");
}

#[tokio::test]
async fn a_failure_after_a_rejection_keeps_what_was_said() {
    let rig = Rig::new();
    let check = Eye::file(&rig, "out.txt").check("out");
    let steps = [Step::claim("All done!"), Step::fail("no credit left")];
    let (ended, report) = rig.whole(rig.plan(rig.scripted(steps), [check])).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, report.attempts), (Outcome::DelegateFailed, 1));
    assert_eq!(report.claim.unwrap().response, "All done!");
}

#[tokio::test]
async fn cancelled() {
    let rig = Rig::new();
    let check = Eye::file(&rig, "out.txt").check("out");
    let plan = rig.plan(Arc::new(Hangs(rig.account.clone())), [check]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ended = rig.engine().run(plan, &Unwatched, cancel).await.unwrap();
    let report = rig.report().await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Cancelled, "cancelled"));
    assert_eq!(rig.account.count("ask"), 0);
}

#[tokio::test]
async fn escalated_is_not_sealed() {
    let rig = Rig::new();
    let check = Eye::file(&rig, "out.txt").check("out");
    let mut plan = rig.plan(liar(), [check]);
    plan.policy = policy(|policy| policy.on_exhausted = OnFailure::Escalate);
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "exhausted"));
    assert_eq!(ended.delivered, None);
    assert_eq!((report.outcome, report.seal), (Some(Outcome::Escalated), None));
    assert_eq!(report.attempts, 3);
}

#[tokio::test]
async fn shared_budgets_end_a_run_that_has_attempts_left() {
    let usage = probity_core::Usage { tokens: 60, tool_calls: 3 };
    let rows = [
        ("budget_tokens", Policy { max_tokens: Some(100), ..Policy::default() }),
        ("budget_tool_calls", Policy { max_tool_calls: Some(6), ..Policy::default() }),
    ];
    for (code, policy) in rows {
        let rig = Rig::new();
        let steps = (0..3).map(|_| Step::claim("done").usage(usage));
        let check = Eye::file(&rig, "out.txt").check("out");
        let mut plan = rig.plan(rig.scripted(steps), [check]);
        plan.policy = policy;
        let (ended, report) = rig.whole(plan).await;
        sealed(&rig, &ended, &report).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, code));
        assert_eq!(report.attempts, 2);
    }
}

#[tokio::test]
async fn a_second_run_of_the_same_name_is_refused_before_it_does_anything() {
    let rig = Rig::new();
    rig.run(rig.plan(liar(), [])).await;
    let before = rig.account.lines().len();
    let error = rig.try_run(rig.plan(liar(), [])).await.unwrap_err();
    assert_eq!(error.code(), "run_exists");
    assert_eq!(rig.account.lines().len(), before);
}

#[tokio::test]
async fn a_plan_that_cannot_be_opened_leaves_no_run() {
    let rig = Rig::new();
    let check = |id: &str| Eye::file(&rig, "out.txt").check(id);
    let plans: [Plan; 3] = [
        rig.plan(liar(), [check("a"), check("a")]),
        rig.plan(liar(), [Eye::file(&rig, "out.txt").timed("a", 0)]),
        {
            let mut plan = rig.plan(liar(), [check("a")]);
            plan.policy.max_attempts = 101;
            plan
        },
    ];
    for plan in plans {
        assert_eq!(rig.try_run(plan).await.unwrap_err().code(), "run_open");
        assert!(rig.records().await.is_empty());
    }
    assert_eq!(rig.account.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_check_is_given_what_it_may_look_at() {
    let rig = Rig::new();
    rig.write("old.txt", "");
    let eye = Eye::new(&rig, |ctx| async move {
        let changes = ctx.changes();
        let seen = format!(
            "{:?} {} {} {} {}",
            ctx.phase,
            ctx.task,
            ctx.claim.response,
            ctx.before.get("out.txt").is_some(),
            ctx.after.get("out.txt").is_some()
        );
        drop(changes);
        Ok(Verdict::revise("seen", seen))
    });
    let mut plan = rig.plan(rig.scripted([writes("out.txt", "hello")]), [eye.check("c")]);
    plan.policy.max_attempts = 1;
    let (_, report) = rig.whole(plan).await;
    assert_eq!(report.checks[0].reason, "After Write out.txt. wrote it false true");
    assert_eq!(report.checks[0].code, Some(Code::slug("seen")));
}

#[tokio::test]
async fn an_error_of_a_function_is_a_failure_of_the_delegate() {
    let rig = Rig::new();
    let delegate = FunctionDelegate::new("f", |_| async {
        Err::<Answered, _>(DelegateError::TimedOut { timeout_ms: 7 })
    });
    let (ended, report) = rig.whole(rig.plan(Arc::new(delegate), [])).await;
    sealed(&rig, &ended, &report).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::DelegateFailed, "delegate_timeout"));
}

#[tokio::test]
async fn a_run_that_is_not_there_cannot_be_reported() {
    let rig = Rig::new();
    let error = Report::read(rig.store.as_ref(), &run_id()).await.unwrap_err();
    assert_eq!(error.code(), "run_missing");
}

#[tokio::test]
async fn a_check_of_the_claim_is_not_run_before_there_is_one() {
    let rig = Rig::new();
    let eye = Eye::says(&rig, Ok(Verdict::pass()));
    let mut check: Check = eye.check("claim");
    check.decl.subject = probity_core::Subject::Claim;
    let (ended, report) = rig.whole(rig.plan(liar(), [check])).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(eye.looks().len(), 1);
    assert_eq!(report.checks[0].discriminating, None);
}

/// A check that leaves a cache behind when it runs before the delegate has not done the work.
#[tokio::test]
async fn what_the_red_run_writes_is_no_change_of_the_delegates() {
    let rig = Rig::new();
    let root = rig.path().to_path_buf();
    let eye = Eye::new(&rig, move |ctx| {
        let before = ctx.phase == probity_core::Phase::Before;
        if before {
            std::fs::write(root.join("cache"), "").unwrap();
        }
        let (then, now) = (ctx.before.get("cache").is_some(), ctx.after.get("out.txt").is_some());
        std::future::ready(Ok(match (before, then, now) {
            (false, true, true) => Verdict::pass(),
            _ => Verdict::revise("no", ""),
        }))
    });
    let plan = rig.plan(rig.scripted([writes("out.txt", "hello")]), [eye.check("c")]);
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
}
