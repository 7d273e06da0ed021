//! Models that do not answer.

use std::sync::Arc;
use std::time::Duration;

use probity_chat::{ChatConfig, ModelError, ModelReply, RetryPolicy};
use probity_delegate::{Delegate, DelegateError};
use tokio::time::Instant;

use crate::stage::{Book, Strict, config, delegate, request, run_id};

fn transient(retry_after_ms: Option<u64>) -> ModelError {
    ModelError::Transient { status: Some(503), message: "overloaded".into(), retry_after_ms }
}

/// Fails so often before it answers.
fn failing(times: usize, error: ModelError) -> Arc<Strict> {
    let left = std::sync::Mutex::new(times);
    Strict::new(move |_| {
        let mut left = left.lock().unwrap();
        if *left == 0 {
            return Ok(ModelReply::text("Done."));
        }
        *left -= 1;
        Err(error.clone())
    })
}

async fn run(model: &Arc<Strict>) -> (Result<String, DelegateError>, Duration) {
    let delegate = delegate(model, vec![], config());
    let begin = Instant::now();
    let answered = delegate.attempt(&request(&Book::default(), 1)).await;
    (answered.map(|answered| answered.claim.response), begin.elapsed())
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_tried_again_behind_growing_waits() {
    let policy = RetryPolicy::default();
    let waits = |n| (1..=n).map(|k| policy.wait(&run_id(), 0, k, None)).sum::<Duration>();
    for error in [transient(None), ModelError::Unreadable { message: "half".into() }] {
        let model = failing(3, error.clone());
        let (answer, waited) = run(&model).await;
        assert_eq!((answer.unwrap().as_str(), model.asked().len()), ("Done.", 4));
        // Timers count whole milliseconds.
        assert!(waited >= waits(3) && waited < waits(3) + Duration::from_millis(10), "{waited:?}");
        let model = failing(4, error.clone());
        let failed = run(&model).await.0.unwrap_err();
        assert_eq!((failed.code(), model.asked().len()), (error.code(), 4));
        assert!(failed.to_string().contains("asked 4 times"), "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_given_the_time_it_asks_for_up_to_the_bound() {
    for (asked_ms, waits_ms) in [(2_500, 2_500), (90_000_000, 30_000)] {
        let (_, waited) = run(&failing(1, transient(Some(asked_ms)))).await;
        let waits = Duration::from_millis(waits_ms);
        assert!(waited >= waits && waited < waits + Duration::from_millis(10), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_never_tried_again() {
    for status in [400, 401, 403, 404] {
        let model = failing(1, ModelError::Refused { status: Some(status), message: "no".into() });
        let (answer, waited) = run(&model).await;
        assert_eq!(answer.unwrap_err().code(), "model_refused");
        assert_eq!((model.asked().len(), waited), (1, Duration::ZERO));
    }
    let cancelled = run(&failing(1, ModelError::Cancelled)).await.0.unwrap_err();
    assert!(matches!(cancelled, DelegateError::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_cut_off_cancelled_and_tried_again() {
    struct Hangs(std::sync::Mutex<Vec<tokio_util::sync::CancellationToken>>);
    #[async_trait::async_trait]
    impl probity_chat::Model for Hangs {
        async fn complete(
            &self,
            request: &probity_chat::ModelRequest<'_>,
        ) -> Result<ModelReply, ModelError> {
            self.0.lock().unwrap().push(request.cancel.clone());
            std::future::pending().await
        }
        fn identity(&self) -> String {
            "hangs".into()
        }
    }
    let model = Arc::new(Hangs(std::sync::Mutex::default()));
    let config = ChatConfig {
        call_timeout_ms: 1000,
        retry: RetryPolicy { max_tries: 2, ..RetryPolicy::default() },
        ..config()
    };
    let tools = probity_chat::Toolbox::default();
    let delegate = probity_chat::ChatDelegate::new(model.clone(), tools, config);
    let error = delegate.attempt(&request(&Book::default(), 1)).await.unwrap_err();
    assert_eq!(error.code(), "model_unavailable");
    assert!(error.to_string().contains("no answer within 1000 ms"), "{error}");
    let tokens = model.0.lock().unwrap();
    assert_eq!(tokens.len(), 2);
    assert!(tokens.iter().all(|token| token.is_cancelled()));
}

#[tokio::test(start_paused = true)]
async fn cancel_and_timeout_are_heeded_between_tries() {
    let model = failing(9, transient(Some(20_000)));
    let delegate = delegate(&model, vec![], config());
    let mut request = request(&Book::default(), 1);
    request.timeout = Some(Duration::from_secs(5));
    let error = delegate.attempt(&request).await.unwrap_err();
    assert!(matches!(error, DelegateError::TimedOut { timeout_ms: 5000 }), "{error}");
    request.timeout = None;
    let cancel = request.cancel.clone();
    let begin = Instant::now();
    let (result, ()) = tokio::join!(delegate.attempt(&request), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert!(matches!(result.unwrap_err(), DelegateError::Cancelled));
    assert!(begin.elapsed() < Duration::from_secs(2));
}
