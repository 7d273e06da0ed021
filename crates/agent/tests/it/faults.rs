//! Verifiers that break, cannot tell, or do not come back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use probity_agent::{ExecutionContext, LastOutcome, Reject, VerificationEvent};
use probity_core::Outcome;
use probity_testkit::VirtualClock;
use tokio::time::Instant;

use crate::stage::{Output, Told, agent, bounded, hand_in, model, not_done, within_an_hour};

#[tokio::test]
async fn p13_a_result_without_a_json_form_is_a_fault_and_nothing_is_repeated() {
    let told = Told::default();
    let model = model([hand_in("good")]);
    let calls = Arc::new(AtomicU32::new(0));
    let counter = calls.clone();
    let agent = agent(&model)
        .on_verification(told.sink())
        .output::<Output>()
        .verifier(move |_: Output| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Reject>(BTreeMap::from([((1_u8, 2_u8), 3_u8)]))
        })
        .build()
        .unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Faulted, "verifier_result"));
    assert_eq!((model.asked().len(), calls.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(end.verification.attempts_used, 0);
    assert_eq!(end.verification.last_outcome, Some(LastOutcome::SystemError));
    assert_eq!(told.names(), ["verification_error"], "no pass was declared");
}

/// JSON has no such number: it would be written as null, and not be read again.
#[tokio::test]
async fn p13_a_result_that_cannot_be_read_back_is_a_fault() {
    let told = Told::default();
    let agent = agent(&model([hand_in("good")]))
        .on_verification(told.sink())
        .output::<Output>()
        .verifier(async |_: Output| Ok::<_, Reject>(f64::NAN))
        .build()
        .unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Faulted, "verifier_result"));
    assert_eq!(told.names(), ["verification_error"], "no pass was declared");
}

#[tokio::test]
async fn a_result_that_is_nothing_is_one() {
    let agent = agent(&model([hand_in("good")]))
        .output::<Output>()
        .verifier(async |_: Output| Ok::<_, Reject>(None::<u32>))
        .build()
        .unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!((done.result, done.outcome), (None, Outcome::Verified));
}

#[tokio::test]
async fn a_verifier_that_panics_is_a_fault() {
    fn blocks(_: Output) -> Result<(), Reject> {
        panic!("the verifier's own defect")
    }
    async fn yields(_: Output) -> Result<(), Reject> {
        panic!("the verifier's own defect")
    }
    let plain = || agent(&model([hand_in("good")])).output::<Output>();
    for agent in [plain().verifier(blocks), plain().verifier(yields)] {
        let end = not_done(bounded(agent.build().unwrap().run("Fix it.")).await);
        assert_eq!(end.outcome, Outcome::Faulted, "{end}");
        assert_eq!(end.verification.attempts_used, 0);
    }
}

/// In the system of the seed: six model calls and a failed task within 0.11 s.
#[tokio::test(start_paused = true)]
async fn p16_the_verifier_alone_is_asked_again_with_backoff_and_a_budget() {
    let told = Told::default();
    let model = model([hand_in("good")]);
    let started = Instant::now();
    let asked_at: Arc<Mutex<Vec<u128>>> = Arc::default();
    let times = asked_at.clone();
    let agent = agent(&model)
        .clock(Arc::new(VirtualClock::at(1_700_000_000_000)))
        .on_verification(told.sink())
        .output::<Output>()
        .verifier(move |_: Output| {
            let times = times.clone();
            async move {
                times.lock().unwrap().push(started.elapsed().as_millis());
                Err::<(), _>(std::io::Error::other("the test machine is down"))
            }
        })
        .build()
        .unwrap();
    let end = not_done(within_an_hour(agent.run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Inconclusive, "verifier_error"));
    assert_eq!(model.asked().len(), 1, "the model is not asked again");
    assert_eq!(end.verification.attempts_used, 0);
    assert_eq!(end.verification.last_outcome, Some(LastOutcome::SystemError));
    let asked_at = asked_at.lock().unwrap().clone();
    let waits: Vec<u128> = asked_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits.len(), 4, "{asked_at:?}");
    for (wait_ms, at_least_ms) in waits.iter().zip([200, 400, 800, 1600]) {
        assert!((at_least_ms..at_least_ms + 100).contains(wait_ms), "{waits:?}");
    }
    assert_eq!(told.names(), ["verification_error"; 5]);
    for event in told.events() {
        let VerificationEvent::Error { message, attempts_used, .. } = event else { panic!() };
        assert_eq!((message.as_str(), attempts_used), ("the test machine is down", 0));
    }
}

#[tokio::test(start_paused = true)]
async fn p16_a_verifier_that_comes_round_passes_the_same_output() {
    let model = model([hand_in("good")]);
    let calls = Arc::new(AtomicU32::new(0));
    let agent = agent(&model)
        .clock(Arc::new(VirtualClock::at(1_700_000_000_000)))
        .output::<Output>()
        .verifier(move |output: Output, submission: probity_agent::Submission| {
            let call = calls.fetch_add(1, Ordering::SeqCst);
            async move {
                match call {
                    0..3 => Err(Reject::system("busy")),
                    _ => Ok((output, submission.id.to_string())),
                }
            }
        })
        .build()
        .unwrap();
    let done = within_an_hour(agent.run("Fix it.")).await.unwrap();
    assert_eq!(done.result.0.summary, "good");
    assert_eq!(done.result.1, done.ledger[0].submission_id.to_string());
    assert_eq!((done.ledger.len(), done.verification.attempts_used), (1, 0));
    assert_eq!(model.asked().len(), 1);
}

/// How many calls of a verifier are at work, and the most that ever were.
#[derive(Clone, Default)]
struct AtWork {
    now: Arc<AtomicI32>,
    most: Arc<AtomicI32>,
    calls: Arc<AtomicU32>,
}

impl AtWork {
    fn begin(&self) -> Self {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.clone()
    }
}

/// A call ends where the one that `begin` gave for it goes out of scope.
struct Ends(AtWork);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// In the system of the seed three verifiers of one task were at work at once.
#[tokio::test]
async fn p24_no_second_verifier_while_a_blocking_one_is_alive() {
    let told = Told::default();
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let at_work = AtWork::default();
    let (seen, sink) = (at_work.clone(), told.sink());
    let model = model([hand_in("good")]);
    let agent = agent(&model)
        .on_verification(move |event| {
            sink(event);
            // It stops only now, long after it was given up.
            if matches!(event, VerificationEvent::Error { code, .. } if code.as_str() == "verifier_busy")
            {
                release.send(()).unwrap_or_default();
            }
        })
        .output::<Output>()
        .verifier(move |output: Output, _: ExecutionContext| {
            let call = Ends(seen.begin());
            if call.0.calls.load(Ordering::SeqCst) == 1 {
                held.lock().unwrap().recv().unwrap();
            }
            Ok::<_, Reject>(output.summary)
        })
        .verifier_timeout(Duration::from_millis(50))
        .verifier_max_system_errors(20, Duration::from_millis(1))
        .build()
        .unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!(done.result, "good");
    assert_eq!(at_work.most.load(Ordering::SeqCst), 1);
    assert_eq!(at_work.calls.load(Ordering::SeqCst), 2);
    let codes: Vec<String> = told
        .events()
        .iter()
        .filter_map(|event| match event {
            VerificationEvent::Error { code, .. } => Some(code.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(codes[..2], ["verifier_timeout", "verifier_busy"]);
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn p24_an_async_verifier_that_is_late_is_dropped_before_the_next() {
    let at_work = AtWork::default();
    let seen = at_work.clone();
    let agent = agent(&model([hand_in("good")]))
        .clock(Arc::new(VirtualClock::at(1_700_000_000_000)))
        .output::<Output>()
        .verifier(move |_: Output| {
            let call = Ends(seen.begin());
            async move {
                let _call = call;
                std::future::pending::<Result<(), Reject>>().await
            }
        })
        .verifier_timeout(Duration::from_secs(30))
        .build()
        .unwrap();
    let end = not_done(within_an_hour(agent.run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Inconclusive, "verifier_timeout"));
    assert_eq!(at_work.most.load(Ordering::SeqCst), 1);
    assert_eq!((at_work.now.load(Ordering::SeqCst), at_work.calls.load(Ordering::SeqCst)), (0, 5));
}
