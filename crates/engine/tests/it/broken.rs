//! Verifiers and delegates that break: never a pass, never charged, always over in bounded time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity_core::{Claim, Fault, Outcome, Phase, Verdict};
use probity_delegate::{
    Answered, Conversation, Delegate, DelegateError, FunctionDelegate, Request,
};

use crate::rig::{Eye, Rig, liar};

#[tokio::test]
async fn a_verifier_that_panics_is_a_fault_and_not_charged() {
    let rig = Rig::new();
    let eye = Eye::new(&rig, |ctx| async move {
        assert!(ctx.phase == Phase::Before, "the verifier is broken");
        Ok(Verdict::revise("not_yet", ""))
    });
    let (ended, report) = rig.whole(rig.plan(liar(), [eye.check("c")])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "verifier_panic"));
    assert_eq!((report.attempts, rig.account.count("ask")), (0, 1));
    assert_eq!(report.checks[0].verdict, "fault");
    assert!(report.seal.is_some());
}

#[tokio::test]
async fn a_verifier_that_breaks_before_the_delegate_is_only_not_assessed() {
    let rig = Rig::new();
    let panics = Eye::new(&rig, |ctx| async move {
        assert!(ctx.phase == Phase::After, "there is nothing yet");
        Ok(Verdict::pass())
    });
    let faults = Eye::new(&rig, |ctx| async move {
        match ctx.phase {
            Phase::Before => Err(Fault::new("script_raise", "there is nothing yet")),
            Phase::After => Ok(Verdict::pass()),
        }
    });
    let plan = rig.plan(liar(), [panics.check("a"), faults.check("b")]);
    let (ended, report) = rig.whole(plan).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    let discriminating: Vec<_> = report.checks.iter().map(|it| it.discriminating).collect();
    assert_eq!(discriminating, [None, None]);
}

#[tokio::test]
async fn a_verifier_that_never_answers_is_given_up() {
    let rig = Rig::new();
    let eye = Eye::new(&rig, |ctx| async move {
        match ctx.phase {
            Phase::Before => Ok(Verdict::revise("not_yet", "")),
            Phase::After => std::future::pending().await,
        }
    });
    let started = Instant::now();
    let (ended, report) = rig.whole(rig.plan(liar(), [eye.timed("c", 50)])).await;
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "verifier_overrun"));
    assert_eq!(report.attempts, 0);
}

/// Blocks its thread, as a library does that waits for the network without saying so.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_verifier_that_blocks_its_thread_is_given_up_too() {
    let rig = Rig::new();
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(std::sync::Mutex::new(blocked));
    let eye = Eye::new(&rig, move |ctx| {
        let blocked = Arc::clone(&blocked);
        async move {
            if ctx.phase == Phase::After {
                let _ = blocked.lock().unwrap().recv();
            }
            Ok(Verdict::revise("not_yet", ""))
        }
    });
    let plan = rig.plan(liar(), [eye.timed("c", 50)]);
    let engine = rig.engine();
    let run = engine.run(plan, &crate::rig::Unwatched, tokio_util::sync::CancellationToken::new());
    let ended = tokio::time::timeout(Duration::from_secs(20), run).await;
    drop(release);
    let ended = ended.expect("the run waits for the verifier").unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "verifier_overrun"));
}

#[tokio::test]
async fn the_token_of_a_verifier_that_overruns_is_cancelled() {
    let rig = Rig::new();
    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = Arc::new(std::sync::Mutex::new(Some(tell)));
    let eye = Eye::new(&rig, move |ctx| {
        let tell = Arc::clone(&tell);
        async move {
            if ctx.phase == Phase::Before {
                return Ok(Verdict::revise("not_yet", ""));
            }
            tokio::spawn(async move {
                ctx.cancel.cancelled().await;
                let _ = tell.lock().unwrap().take().unwrap().send(());
            });
            std::future::pending().await
        }
    });
    rig.run(rig.plan(liar(), [eye.timed("c", 50)])).await;
    crate::rig::bounded(told).await.unwrap();
}

struct Panics;

#[async_trait]
impl Delegate for Panics {
    async fn attempt(&self, _: &Request) -> Result<Answered, DelegateError> {
        panic!("the delegate is broken")
    }

    fn conversation(&self) -> Conversation {
        Conversation::Fresh
    }

    fn describe(&self) -> String {
        "panics".to_owned()
    }
}

#[tokio::test]
async fn a_delegate_that_panics_has_failed() {
    let function = FunctionDelegate::new("f", |request: Request| async move {
        assert!(request.attempt > 1, "the delegate is broken");
        Ok(Answered::of(Claim::text("done")))
    });
    let delegates: [Arc<dyn Delegate>; 2] = [Arc::new(Panics), Arc::new(function)];
    for delegate in delegates {
        let rig = Rig::new();
        let check = Eye::file(&rig, "out.txt").check("out");
        let (ended, report) = rig.whole(rig.plan(delegate, [check])).await;
        assert_eq!(
            (ended.outcome, ended.code.as_str()),
            (Outcome::DelegateFailed, "delegate_error")
        );
        assert!(report.failure.unwrap().contains("panicked"));
        assert!(report.seal.is_some());
    }
}

#[tokio::test]
async fn a_delegate_that_hangs_is_stopped_at_the_end_of_its_attempt() {
    let rig = Rig::new();
    let delegate = FunctionDelegate::new("f", |_| std::future::pending());
    let mut plan = rig.plan(Arc::new(delegate), []);
    plan.attempt_timeout = Some(Duration::from_millis(50));
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::DelegateFailed, "delegate_timeout"));
    assert_eq!(report.attempts, 0);
}
