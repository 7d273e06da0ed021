//! Runs that wait: for a time, for an answer, for a human.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probity_core::{Answer, CheckDecl, Code, Fault, OnFailure, Subject, Verdict};
use probity_delegate::{DelegateError, Parked};
use probity_engine::{Approval, Check, Decider, Human, Plan, Post};
use probity_verifier::{CheckContext, Verifier};
use tokio::sync::Notify;

use crate::hooked::Hooked;
use crate::rig::{Rig, delegate, good, id, plan, says};

/// Asks somebody something, under the question as the key.
pub(crate) fn asks(question: &str) -> DelegateError {
    DelegateError::Parked(Parked {
        key: question.into(),
        until_ms: None,
        question: question.into(),
        children: Vec::new(),
    })
}

/// Asks why, and says it.
pub(crate) fn asker(run: &str) -> Plan {
    plan(
        run,
        delegate(|request| async move {
            match request.answer {
                None => Err(asks("why?")),
                Some(answer) => says(&format!("good: {}", answer.value.as_str().unwrap())),
            }
        }),
    )
}

fn wake() -> Post {
    Post::Wake { about: "why?".into(), by: "ana".into(), value: "because".into() }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_asks_is_parked_until_it_is_answered() {
    let rig = Rig::new();
    rig.submit(asker("r")).await;
    let _worker = rig.worker("w");
    rig.stands("r", "parked").await;
    let names = rig.names("r").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(rig.names("r").await, names, "looking at it appends nothing");
    assert!(rig.told.leases("r") > 5, "the sweep has it looked at");
    let asked = tokio::time::Instant::now();
    rig.fleet.post(&id("r"), &wake()).await.unwrap();
    let report = rig.sealed("r").await;
    assert_eq!(report.claim.unwrap().response, "good: because");
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert_eq!(report.interruptions, 0);
}

/// The answer comes when the worker has looked for the last time, and before it parks.
#[tokio::test(start_paused = true)]
async fn an_answer_between_the_look_and_the_parking_is_heard() {
    let base = Rig::new();
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let gated = {
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        Hooked::over(Arc::clone(&base.store), move |op| {
            let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
            Box::pin(async move {
                if op.is("park", "r", false) {
                    reached.notify_one();
                    go.notified().await;
                }
                false
            })
        })
    };
    let rig = base.through(gated);
    rig.submit(asker("r")).await;
    let mut options = rig.options("w");
    options.sweep_every = Duration::from_secs(3600);
    let _worker = rig.working(options);
    reached.notified().await;
    base.fleet.post(&id("r"), &wake()).await.unwrap();
    go.notify_waiters();
    go.notify_one();
    assert_eq!(rig.outcome("r").await, "verified");
    assert!(rig.passed() < Duration::from_secs(60), "{:?}", rig.passed());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_time_holds_no_slot_and_appends_nothing_meanwhile() {
    let rig = Rig::new();
    let until_ms = rig.clock.now_ms() + 200_000;
    let sleeper = delegate(move |request| async move {
        match request.answer {
            None => Err(DelegateError::Parked(Parked {
                key: "nap".into(),
                until_ms: Some(until_ms),
                question: String::new(),
                children: Vec::new(),
            })),
            Some(_) => says("good"),
        }
    });
    rig.submit(plan("sleeper", sleeper)).await;
    let mut options = rig.options("w");
    options.concurrency = 1;
    let _worker = rig.working(options);
    rig.until(|| rig.told.leases("sleeper") == 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    rig.submit(good("other")).await;
    assert_eq!(rig.outcome("other").await, "verified");
    assert!(rig.passed() < Duration::from_secs(10), "{:?}", rig.passed());
    let names = rig.names("sleeper").await;
    tokio::time::sleep(Duration::from_secs(150)).await;
    assert_eq!(rig.names("sleeper").await, names);
    assert_eq!(rig.outcome("sleeper").await, "verified");
    let passed = rig.passed();
    assert!(passed >= Duration::from_secs(200) && passed < Duration::from_secs(203), "{passed:?}");
    assert!(rig.told.leases("sleeper") <= 10, "{}", rig.told.leases("sleeper"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_time_is_cancelled_before_it() {
    let rig = Rig::new();
    let until_ms = rig.clock.now_ms() + 3_600_000;
    let sleeper = delegate(move |_| async move {
        Err(DelegateError::Parked(Parked {
            key: "nap".into(),
            until_ms: Some(until_ms),
            question: String::new(),
            children: Vec::new(),
        }))
    });
    rig.submit(plan("r", sleeper)).await;
    let _worker = rig.worker("w");
    tokio::time::sleep(Duration::from_secs(100)).await;
    let asked = tokio::time::Instant::now();
    rig.cancel("r").await;
    assert_eq!(rig.outcome("r").await, "cancelled");
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

fn asks_bo(run: &str, timeout_ms: u64) -> Plan {
    let decl = CheckDecl { id: Code::slug("human"), subject: Subject::Human, timeout_ms };
    let human = Human { who: "bo".into(), question: String::new() };
    let mut plan = good(run);
    plan.checks.push(Check { decl, by: Decider::Human(human) });
    plan
}

#[tokio::test(start_paused = true)]
async fn a_human_check_is_answered_by_its_human() {
    let rig = Rig::new();
    rig.submit(asks_bo("r", 3_600_000)).await;
    let _worker = rig.worker("w");
    rig.stands("r", "parked").await;
    let about = rig.report("r").await.asked_about.unwrap();
    let plan = || asks_bo("r", 3_600_000);
    let not_asked = rig.fleet.approve(plan(), "ana", &about, Approval::Approve).await;
    assert_eq!(not_asked.unwrap_err().code(), "answer_not_asked");
    rig.fleet.approve(plan(), "bo", &about, Approval::Approve).await.unwrap();
    assert_eq!(rig.outcome("r").await, "verified");
    rig.stands("r", "none").await;
}

#[tokio::test(start_paused = true)]
async fn a_human_who_does_not_answer_is_waited_for_only_so_long() {
    let rig = Rig::new();
    rig.submit(asks_bo("r", 100_000)).await;
    let _worker = rig.worker("w");
    let report = rig.sealed("r").await;
    assert_eq!(report.outcome.unwrap().as_str(), "inconclusive");
    let passed = rig.passed();
    assert!(passed >= Duration::from_secs(100), "{passed:?}");
    assert!(passed < Duration::from_secs(200), "{passed:?}");
    assert_eq!(report.interruptions, 0);
    let leases = rig.names("r").await.iter().filter(|name| **name == "lease.taken").count();
    assert_eq!(leases, 2, "one at the beginning, one at the end");
}

#[tokio::test(start_paused = true)]
async fn an_escalated_run_is_answered() {
    let rig = Rig::new();
    let bad = || {
        let mut plan = plan("r", delegate(|_| async { says("bad") }));
        plan.policy.max_attempts = 1;
        plan.policy.on_exhausted = OnFailure::Escalate;
        plan
    };
    rig.submit(bad()).await;
    let _worker = rig.worker("w");
    rig.stands("r", "parked").await;
    rig.fleet.answer(bad(), "bo", Answer::Continue { attempts: 1 }).await.unwrap();
    rig.until(|| rig.told.leases("r") == 2).await;
    rig.stands("r", "parked").await;
    rig.fleet.answer(bad(), "bo", Answer::Reject).await.unwrap();
    assert_eq!(rig.outcome("r").await, "exhausted");
    assert_eq!(rig.report("r").await.attempts, 2);
    rig.stands("r", "none").await;
}

/// Cannot be read until it can.
struct Late(Arc<AtomicBool>);

#[async_trait::async_trait]
impl Verifier for Late {
    async fn verify(&self, _: &CheckContext) -> Result<Verdict, Fault> {
        Ok(match self.0.load(Ordering::SeqCst) {
            true => Verdict::pass(),
            false => Verdict::inconclusive("away", "it is away"),
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_tried_again_later_goes_back_to_the_queue() {
    let rig = Rig::new();
    let is_there = Arc::new(AtomicBool::new(false));
    let mut plan = good("r");
    let decl = CheckDecl { id: Code::slug("late"), subject: Subject::Claim, timeout_ms: 600_000 };
    plan.checks.push(Check::verifier(decl, Arc::new(Late(Arc::clone(&is_there)))));
    plan.policy.max_verify_tries = 10;
    plan.policy.verify_backoff_ms = 8_000;
    rig.submit(plan).await;
    let _worker = rig.worker("w");
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(rig.standing("r").await, "queued");
    is_there.store(true, Ordering::SeqCst);
    let report = rig.sealed("r").await;
    assert_eq!((report.outcome.unwrap().as_str(), report.interruptions), ("verified", 0));
    assert!(rig.passed() < Duration::from_secs(40), "{:?}", rig.passed());
    let leases = rig.names("r").await.iter().filter(|name| **name == "lease.taken").count();
    assert!((2..=5).contains(&leases), "{leases}");
}
