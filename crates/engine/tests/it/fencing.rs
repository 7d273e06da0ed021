//! Two drivers on one run: one of them finds out at its next append, and stops.

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{Claim, Outcome, Verdict};
use probity_delegate::{Answered, Conversation, Delegate, DelegateError, Request};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::rig::{Account, Eye, Hangs, Rig, Unwatched, bounded, liar};

/// Answers once it is let go.
struct Held {
    go: Semaphore,
}

#[async_trait]
impl Delegate for Held {
    async fn attempt(&self, _: &Request) -> Result<Answered, DelegateError> {
        let _ = self.go.acquire().await.unwrap();
        Ok(Answered::of(Claim::text("late")))
    }

    fn conversation(&self) -> Conversation {
        Conversation::Fresh
    }

    fn describe(&self) -> String {
        "held".to_owned()
    }
}

async fn asked(account: &Account) {
    while account.count("ask") == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_one_that_was_overtaken_stops_and_its_claim_is_not_taken() {
    let rig = Rig::new();
    let held = Arc::new(Held { go: Semaphore::new(0) });
    let eye = Eye::then(&rig, Ok(Verdict::pass()));
    let slow = rig.plan(held.clone(), [eye.check("c")]);
    let fast = rig.plan(liar(), [eye.check("c")]);
    let engine = rig.engine();
    let first = engine.run(slow, &Unwatched, CancellationToken::new());
    let second = async {
        asked(&rig.account).await;
        let ended = rig.resume(fast).await.unwrap();
        let looked = rig.account.lines().len();
        held.go.add_permits(1);
        (ended, looked)
    };
    let (first, (second, looked)) = bounded(Box::pin(async { tokio::join!(first, second) })).await;
    assert_eq!(first.unwrap_err().code(), "run_fenced");
    assert_eq!(second.outcome, Outcome::Verified);
    assert_eq!(rig.account.lines().len(), looked, "the overtaken driver did something");
    let report = rig.report().await;
    assert_eq!(report.claim.unwrap().response, "All done!");
    assert_eq!((report.attempts, report.interruptions), (1, 1));
}

#[tokio::test]
async fn the_one_that_was_overtaken_stops_its_delegate() {
    let rig = Rig::new();
    let slow = rig.plan(Arc::new(Hangs(rig.account.clone())), []);
    let fast = rig.plan(liar(), []);
    let engine = rig.engine();
    let cancel = CancellationToken::new();
    let first = engine.run(slow, &Unwatched, cancel.clone());
    let second = async {
        asked(&rig.account).await;
        let ended = rig.resume(fast).await.unwrap();
        cancel.cancel();
        ended
    };
    let (first, second) = bounded(Box::pin(async { tokio::join!(first, second) })).await;
    assert_eq!(first.unwrap_err().code(), "run_fenced");
    assert_eq!(second.outcome, Outcome::Unverified);
    assert_eq!(rig.account.count("stopped"), 1);
    assert_eq!(rig.report().await.outcome, Some(Outcome::Unverified));
}

#[tokio::test]
async fn of_two_that_take_a_run_up_at_once_one_drives_it() {
    for _ in 0..20 {
        let rig = Rig::new();
        let cancel = CancellationToken::new();
        let engine = rig.engine();
        {
            let plan = rig.plan(Arc::new(Hangs(rig.account.clone())), []);
            let run = engine.run(plan, &Unwatched, cancel);
            tokio::select! {
                _ = run => panic!("the run ended"),
                () = asked(&rig.account) => {}
            }
        }
        let eye = Eye::then(&rig, Ok(Verdict::pass()));
        let plan = || rig.plan(liar(), []);
        let (first, second) = tokio::join!(rig.resume(plan()), rig.resume(plan()));
        drop(eye);
        let ends = [first, second].map(|it| it.map(|ended| ended.outcome).map_err(|e| e.code()));
        assert!(ends.contains(&Ok(Outcome::Unverified)), "{ends:?}");
        assert!(
            ends.iter().all(|end| matches!(end, Ok(Outcome::Unverified) | Err("run_fenced"))),
            "{ends:?}"
        );
        let names = rig.names().await;
        assert_eq!(names.iter().filter(|name| **name == "claim.received").count(), 1);
        assert_eq!(names.iter().filter(|name| **name == "run.sealed").count(), 1);
    }
}

#[tokio::test]
async fn of_two_that_open_a_run_at_once_one_does() {
    let rig = Rig::new();
    let plan = || rig.plan(liar(), []);
    let (first, second) = tokio::join!(rig.try_run(plan()), rig.try_run(plan()));
    let ends = [first, second].map(|it| it.map(|ended| ended.outcome).map_err(|e| e.code()));
    let opened = ends.iter().filter(|end| **end == Ok(Outcome::Unverified)).count();
    assert_eq!((opened, ends.contains(&Err("run_exists"))), (1, true), "{ends:?}");
    assert_eq!(rig.account.count("ask"), 1);
}

/// Not only at its next append: a delegate may be at work for hours.
#[tokio::test]
async fn a_driver_whose_delegate_hangs_learns_that_it_was_overtaken() {
    let rig = Rig::new();
    let slow = rig.plan(Arc::new(Hangs(rig.account.clone())), []);
    let fast = rig.plan(liar(), []);
    let engine = rig.engine();
    let first = engine.run(slow, &Unwatched, CancellationToken::new());
    let second = async {
        asked(&rig.account).await;
        rig.resume(fast).await.unwrap()
    };
    let (first, second) = bounded(Box::pin(async { tokio::join!(first, second) })).await;
    assert_eq!(first.unwrap_err().code(), "run_fenced");
    assert_eq!(second.outcome, Outcome::Unverified);
    assert_eq!(rig.account.count("stopped"), 1);
}
