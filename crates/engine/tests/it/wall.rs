//! The run's own wall time: who is at work when it ends does not decide how it is called.

use std::sync::Arc;

use probity_core::{Fault, Outcome, Phase, Verdict};
use probity_delegate::FunctionDelegate;

use crate::rig::{Eye, Hangs, Rig, liar};

/// Often, because a race would decide differently now and then.
const ROUNDS: u32 = 8;

#[tokio::test]
async fn a_delegate_at_work_has_used_up_the_budget() {
    for _ in 0..ROUNDS {
        let rig = Rig::new();
        let delegate = FunctionDelegate::new("f", |_| std::future::pending());
        let mut plan = rig.plan(Arc::new(delegate), []);
        plan.policy.wall_ms = Some(80);
        let (ended, report) = rig.whole(plan).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_wall"));
        assert_eq!(report.attempts, 0);
        assert!(report.seal.is_some());
    }
}

#[tokio::test]
async fn a_delegate_with_a_longer_bound_of_its_own_has_too() {
    for _ in 0..ROUNDS {
        let rig = Rig::new();
        let delegate = FunctionDelegate::new("f", |_| std::future::pending());
        let mut plan = rig.plan(Arc::new(delegate), []);
        plan.policy.wall_ms = Some(80);
        plan.attempt_timeout = Some(std::time::Duration::from_secs(60));
        let ended = rig.run(plan).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_wall"));
    }
}

#[tokio::test]
async fn the_delegate_is_stopped_before_the_log_says_so() {
    let (rig, _) = Rig::watched();
    let account = rig.account.clone();
    let mut plan = rig.plan(Arc::new(Hangs(account.clone())), []);
    plan.policy.wall_ms = Some(80);
    let ended = rig.run(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_wall"));
    assert!(account.place("stopped") < account.place("append outcome.decided"));
}

/// A script that is still at it when its time is up is a fault; here the time was the run's.
#[tokio::test]
async fn a_check_at_work_came_too_late_and_is_not_broken() {
    for _ in 0..ROUNDS {
        let rig = Rig::new();
        let eye = Eye::new(&rig, |ctx| async move {
            if ctx.phase == Phase::Before {
                return Ok(Verdict::revise("not_yet", ""));
            }
            tokio::time::sleep(ctx.timeout).await;
            Err(Fault::new("script_wall", "the script took too long"))
        });
        let mut plan = rig.plan(liar(), [eye.check("c")]);
        plan.policy.wall_ms = Some(150);
        let (ended, report) = rig.whole(plan).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "wall_timeout"));
        assert_eq!(report.attempts, 0);
    }
}
