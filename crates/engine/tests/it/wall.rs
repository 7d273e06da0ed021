//! The run's own wall time: who is at work when it ends does not decide how it is called.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Fault, Outcome, Phase, Verdict};
use probity_delegate::FunctionDelegate;
use probity_engine::{Ended, Plan, Report};

use crate::rig::{Eye, Hangs, Rig, bounded, liar};

/// Room for a loaded machine to get to work in.
const WALL_MS: u64 = 2_000;
/// Several at once, because a race would be decided differently now and then.
const RUNS: usize = 6;

/// Runs the same on several rigs at once.
async fn at_once(plan: impl Fn(&Rig) -> Plan) -> Vec<(Ended, Report)> {
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..RUNS {
        let rig = Rig::new();
        let mut plan = plan(&rig);
        plan.policy.wall_ms = Some(WALL_MS);
        runs.spawn(async move { rig.whole(plan).await });
    }
    bounded(runs.join_all()).await
}

fn hanging() -> Arc<FunctionDelegate> {
    Arc::new(FunctionDelegate::new("hanging", |_| std::future::pending()))
}

#[tokio::test]
async fn a_delegate_at_work_has_used_up_the_budget() {
    let ends = at_once(|rig| rig.plan(hanging(), [])).await;
    for (ended, report) in ends {
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_wall"));
        assert_eq!(report.attempts, 0);
        assert!(report.seal.is_some());
    }
}

#[tokio::test]
async fn a_delegate_with_a_longer_bound_of_its_own_has_too() {
    let ends = at_once(|rig| Plan {
        attempt_timeout: Some(Duration::from_secs(60)),
        ..rig.plan(hanging(), [])
    })
    .await;
    for (ended, _) in ends {
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_wall"));
    }
}

#[tokio::test]
async fn the_delegate_is_stopped_before_the_log_says_so() {
    let (rig, _) = Rig::watched();
    let account = rig.account.clone();
    let mut plan = rig.plan(Arc::new(Hangs(account.clone())), []);
    plan.policy.wall_ms = Some(WALL_MS);
    let ended = rig.run(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_wall"));
    assert!(account.place("stopped") < account.place("append outcome.decided"));
}

/// A script that is still at it when its time is up is a fault; here the time was the run's.
#[tokio::test]
async fn a_check_at_work_came_too_late_and_is_not_broken() {
    let slow = |rig: &Rig| {
        Eye::new(rig, |ctx| async move {
            if ctx.phase == Phase::Before {
                return Ok(Verdict::revise("not_yet", ""));
            }
            tokio::time::sleep(ctx.timeout).await;
            Err(Fault::new("script_wall", "the script took too long"))
        })
    };
    for (ended, report) in at_once(|rig| rig.plan(liar(), [slow(rig).check("c")])).await {
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "wall_timeout"));
        assert_eq!(report.attempts, 0);
    }
}

/// What contradicts the claim in time is not forgotten because another check was slow.
#[tokio::test]
async fn what_is_known_by_then_decides() {
    let known = |rig: &Rig| Eye::then(rig, Ok(Verdict::fail("forged", "this is forged")));
    let slow = |rig: &Rig| {
        Eye::new(rig, |ctx| async move {
            match ctx.phase {
                Phase::Before => Ok(Verdict::revise("not_yet", "")),
                Phase::After => std::future::pending().await,
            }
        })
    };
    let plan = |rig: &Rig| rig.plan(liar(), [known(rig).check("a"), slow(rig).check("b")]);
    for (ended, report) in at_once(plan).await {
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "forged"));
        let verdicts: Vec<_> = report.checks.iter().map(|it| it.verdict).collect();
        assert_eq!(verdicts, ["fail", "inconclusive"]);
    }
}
