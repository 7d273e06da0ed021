//! Cancelled wherever the run is: the work is stopped first, then the log says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Fault, Outcome, Phase, Verdict};
use probity_engine::Plan;
use probity_verifier::{Facts, Workspace};
use tokio_util::sync::CancellationToken;

use crate::rig::{Account, Deaf, Eye, Hangs, Rig, When, bounded, liar};

/// Cancels once an event is durable; what it announces is then at work, or about to be.
async fn cancelled_behind(rig: &Rig, event: &'static str, plan: Plan) {
    let cancel = CancellationToken::new();
    let watch = When(event, || cancel.cancel());
    let engine = rig.engine();
    let ended = bounded(engine.run(plan, &watch, cancel.clone())).await.unwrap();
    ends_cancelled(rig, ended).await;
}

async fn ends_cancelled(rig: &Rig, ended: probity_engine::Ended) {
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Cancelled, "cancelled"));
    assert_eq!(ended.delivered, None);
    let report = rig.report().await;
    assert_eq!(report.outcome, Some(Outcome::Cancelled));
    assert!(report.seal.is_some());
    let names = rig.names().await;
    assert_eq!(names[names.len() - 2..], ["outcome.decided", "run.sealed"]);
}

fn stopped_first(rig: &Rig) {
    let account = &rig.account;
    assert_eq!(account.count("stopped"), 1, "{:#?}", account.lines());
    assert!(account.place("stopped") < account.place("append outcome.decided"));
}

/// Waits for the token, and says so.
async fn hang(account: Account, cancel: CancellationToken) {
    cancel.cancelled().await;
    account.note("stopped");
}

#[tokio::test]
async fn while_the_delegate_is_at_work() {
    let rig = Rig::watched().0;
    let plan = rig.plan(Arc::new(Hangs(rig.account.clone())), [Eye::file(&rig, "x").check("c")]);
    let cancel = CancellationToken::new();
    let engine = rig.engine();
    let run = engine.run(plan, &crate::rig::Unwatched, cancel.clone());
    let account = rig.account.clone();
    let stop = async {
        while account.count("ask") == 0 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (ended, ()) = bounded(async { tokio::join!(run, stop) }).await;
    ends_cancelled(&rig, ended.unwrap()).await;
    stopped_first(&rig);
    assert_eq!(rig.report().await.attempts, 0);
}

#[tokio::test]
async fn while_a_check_is_at_work() {
    for phase in [Phase::Before, Phase::After] {
        let rig = Rig::watched().0;
        let cancel = CancellationToken::new();
        let (account, stop) = (rig.account.clone(), cancel.clone());
        let eye = Eye::new(&rig, move |ctx| {
            let (account, stop) = (account.clone(), stop.clone());
            async move {
                if ctx.phase == phase {
                    stop.cancel();
                    hang(account, ctx.cancel).await;
                }
                Ok(Verdict::revise("no", ""))
            }
        });
        let plan = rig.plan(liar(), [eye.check("c"), Eye::file(&rig, "x").check("d")]);
        let engine = rig.engine();
        let ended = bounded(engine.run(plan, &crate::rig::Unwatched, cancel)).await.unwrap();
        ends_cancelled(&rig, ended).await;
        stopped_first(&rig);
        let asked = usize::from(phase == Phase::After);
        assert_eq!((rig.account.count("ask"), rig.report().await.attempts), (asked, 0));
        let looked = if phase == Phase::Before { "look before d" } else { "look after d" };
        assert_eq!(rig.account.count(looked), 0);
    }
}

/// Stops at a reading: before the red run, behind it, or after the claim.
struct HangingFacts {
    account: Account,
    stop: CancellationToken,
    at: usize,
}

#[async_trait]
impl Facts for HangingFacts {
    async fn read(
        &self,
        _: &Workspace,
        cancel: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault> {
        let nth = self.account.count("read");
        self.account.note("read");
        if nth == self.at {
            self.stop.cancel();
            hang(self.account.clone(), cancel.clone()).await;
            return Err(Fault::new("cancelled", "stopped"));
        }
        Ok(BTreeMap::new())
    }
}

#[tokio::test]
async fn while_the_workspace_is_read() {
    for at in 0..3 {
        let rig = Rig::watched().0;
        let cancel = CancellationToken::new();
        let mut plan = rig.plan(liar(), [Eye::file(&rig, "x").check("c")]);
        plan.facts =
            Arc::new(HangingFacts { account: rig.account.clone(), stop: cancel.clone(), at });
        let engine = rig.engine();
        let ended = bounded(engine.run(plan, &crate::rig::Unwatched, cancel)).await.unwrap();
        ends_cancelled(&rig, ended).await;
        stopped_first(&rig);
        let asked = usize::from(at == 2);
        assert_eq!((rig.account.count("ask"), rig.account.count("look after")), (asked, 0));
    }
}

#[tokio::test]
async fn while_nothing_is_at_work_but_a_wait() {
    let rig = Rig::watched().0;
    let eye = Eye::says(&rig, Ok(Verdict::inconclusive("http_timeout", "no answer")));
    let mut plan = rig.plan(liar(), [eye.timed("c", 60_000)]);
    plan.policy.verify_backoff_ms = 30_000;
    cancelled_behind(&rig, "check.finished", plan).await;
    assert_eq!(eye.after().len(), 1);
}

#[tokio::test]
async fn behind_every_event_of_a_run() {
    let events = ["run.opened", "world.observed", "check.started", "check.red"];
    for event in events.into_iter().chain(["delegate.dispatched", "claim.received"]) {
        let rig = Rig::watched().0;
        let check = Eye::file(&rig, "x").check("c");
        let plan = rig.plan(Arc::new(Hangs(rig.account.clone())), [check]);
        let plan = if event == "claim.received" { rig.plan(liar(), plan.checks) } else { plan };
        cancelled_behind(&rig, event, plan).await;
    }
}

#[tokio::test]
async fn after_the_outcome_it_comes_too_late() {
    let rig = Rig::watched().0;
    let plan =
        rig.plan(rig.scripted([crate::rig::writes("x", "")]), [Eye::file(&rig, "x").check("c")]);
    let cancel = CancellationToken::new();
    let watch = When("outcome.decided", || cancel.cancel());
    let ended = bounded(rig.engine().run(plan, &watch, cancel.clone())).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
}

/// Whoever drops the future of a run takes its work along.
#[tokio::test]
async fn a_run_that_is_dropped_stops_its_delegate() {
    let rig = Rig::watched().0;
    let plan = rig.plan(Arc::new(Hangs(rig.account.clone())), []);
    let engine = rig.engine();
    let (account, cancel) = (rig.account.clone(), CancellationToken::new());
    {
        let run = engine.run(plan, &crate::rig::Unwatched, cancel);
        let asked = async {
            while account.count("ask") == 0 {
                tokio::task::yield_now().await;
            }
        };
        bounded(async {
            tokio::select! {
                _ = run => panic!("the run ended"),
                () = asked => {}
            }
        })
        .await;
    }
    bounded(async {
        while account.count("stopped") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(rig.names().await.last(), Some(&"delegate.dispatched"));
}

#[tokio::test]
async fn a_delegate_that_heeds_neither_token_nor_time_is_given_up() {
    let (first, second) = (Rig::watched().0, Rig::watched().0);
    let cancelled = first.plan(Arc::new(Deaf), []);
    let mut timed = second.plan(Arc::new(Deaf), []);
    timed.attempt_timeout = Some(Duration::from_millis(50));
    let cancelled = cancelled_behind(&first, "delegate.dispatched", cancelled);
    let ((), ended) = bounded(Box::pin(async { tokio::join!(cancelled, second.run(timed)) })).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::DelegateFailed, "delegate_timeout"));
}
