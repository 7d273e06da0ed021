//! A delegate whose claims come from outside and are at hand when it is asked: nothing happens between its
//! dispatch and what it gives, so they are one append.

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{Claim, Event, NoteKind, Outcome, RedFirst, Usage};
use probity_delegate::{
    Answer, Answered, Conversation, Delegate, DelegateError, Note, Parked, Request,
};
use probity_engine::{Ended, EngineError, Plan};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::ledger::{Break, Ledger};
use crate::rig::{Eye, Rig, Unwatched, bounded, run_id, timeless};

/// Hands over the answer that it is woken with, with a note of it, and waits for one otherwise.
struct Handing {
    /// How often it lets others go first, against what it says of itself.
    pauses: usize,
}

#[async_trait]
impl Delegate for Handing {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        for _ in 0..self.pauses {
            tokio::task::yield_now().await;
        }
        let key = format!("claim-{}", request.turn.number);
        match &request.answer {
            Some(Answer { key: about, value }) if *about == key => {
                let content = value.to_string().into_bytes();
                let note = Note { kind: NoteKind::Session, content, usage: Usage::default() };
                let claim = Claim::text(format!("it says {value}"));
                Ok(Answered { notes: vec![note], ..Answered::of(claim) })
            }
            _ => Err(DelegateError::Parked(Parked {
                key,
                until_ms: None,
                question: "what does it say?".to_owned(),
                children: Vec::new(),
            })),
        }
    }

    fn conversation(&self) -> Conversation {
        Conversation::Same
    }

    fn describe(&self) -> String {
        "handing".to_owned()
    }

    fn yields(&self) -> bool {
        true
    }

    fn is_at_hand(&self) -> bool {
        true
    }
}

fn plan(rig: &Rig, pauses: usize) -> Plan {
    let mut plan = rig.plan(Arc::new(Handing { pauses }), [Eye::file(rig, "out.txt").check("a")]);
    plan.policy.red_first = RedFirst::Off;
    plan
}

async fn wake(rig: &Rig, turn: u32) -> Result<Ended, EngineError> {
    let (about, value) = (format!("claim-{turn}"), json!("done"));
    let engine = rig.engine();
    let cancel = CancellationToken::new();
    bounded(engine.wake(plan(rig, 0), &about, "ana", value, &Unwatched, cancel)).await
}

/// One process: begins the run, takes it up, or brings the claim that it waits for. The file is there from
/// the second claim on.
async fn life(rig: &Rig) -> Result<Ended, EngineError> {
    if rig.records().await.is_empty() {
        return rig.try_run(plan(rig, 0)).await;
    }
    let found = rig.engine().find(&run_id()).await?;
    let Some(wait) = found.wait().await? else { return rig.resume(plan(rig, 0)).await };
    let turn = wait.key.trim_start_matches("claim-").parse().unwrap();
    if turn > 0 {
        rig.write("out.txt", "hello");
    }
    wake(rig, turn).await
}

/// Without times and resumptions.
async fn events(rig: &Rig) -> Vec<Event> {
    let log = rig.log().await;
    let events = log.entries.iter().map(timeless);
    events.filter(|event| !matches!(event, Event::RunResumed { .. })).collect()
}

#[tokio::test]
async fn what_is_at_hand_is_one_append_with_what_asks_for_it() {
    let (rig, _) = Rig::watched();
    assert_eq!(rig.run(plan(&rig, 0)).await.outcome, Outcome::Escalated);
    assert_eq!(wake(&rig, 0).await.unwrap().outcome, Outcome::Escalated);
    rig.write("out.txt", "hello");
    assert_eq!(wake(&rig, 1).await.unwrap().outcome, Outcome::Verified);
    assert_eq!(
        rig.account.lines(),
        [
            "append run.opened",
            "read",
            "ask 0",
            "append world.observed delegate.dispatched delegate.parked",
            "ask 0",
            "append delegate.woken delegate.noted claim.received",
            "read",
            "append world.observed check.started",
            "look after a",
            "ask 1",
            "append check.finished verdict.merged delegate.dispatched delegate.parked",
            "ask 1",
            "append delegate.woken delegate.noted claim.received",
            "read",
            "append world.observed check.started",
            "look after a",
            "append check.finished verdict.merged outcome.decided run.sealed",
        ]
    );
}

/// Wherever the store fails, the next life goes on behind what is there, and the log says the same.
#[tokio::test]
async fn a_failure_at_any_append_changes_nothing_of_what_comes_out() {
    let (whole, ledger) = Rig::watched();
    for _ in 0..3 {
        life(&whole).await.unwrap();
    }
    let (expected, appends) = (events(&whole).await, ledger.batches().len());
    for nth in 0..appends {
        for how in Break::ALL {
            let (rig, _) = Rig::on_ledger(|ledger: Ledger| ledger.breaking(nth, how));
            let mut lives = 0;
            while !matches!(life(&rig).await, Ok(Ended { outcome: Outcome::Verified, .. })) {
                lives += 1;
                assert!(lives < 8, "append {nth}, {how:?}");
            }
            assert_eq!(events(&rig).await, expected, "append {nth}, {how:?}");
            assert_eq!(rig.report().await.attempts, 2);
        }
    }
}

/// Then its dispatch is announced before it is waited for.
#[tokio::test]
async fn one_that_is_not_ready_after_all_is_waited_for_behind_the_append() {
    let (rig, _) = Rig::watched();
    assert_eq!(rig.run(plan(&rig, 3)).await.outcome, Outcome::Escalated);
    assert_eq!(
        rig.account.lines()[2..],
        ["ask 0", "append world.observed delegate.dispatched", "append delegate.parked"]
    );
}
