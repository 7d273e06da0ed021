//! Closures as delegates.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probity_core::Claim;
use probity_delegate::{Answered, Conversation, Delegate, DelegateError, FunctionDelegate};

use crate::request;

#[tokio::test]
async fn a_closure_gets_the_request_and_gives_the_answer() {
    let delegate = FunctionDelegate::new("echo", |request| async move {
        Ok(Answered::of(Claim::text(format!("{}: {}", request.attempt, request.prompt.task))))
    });
    let answered = delegate.attempt(&request(2)).await.unwrap();
    assert_eq!(answered, Answered::of(Claim::text("2: Write the file.")));
    assert_eq!(delegate.describe(), "echo");
    assert_eq!(delegate.conversation(), Conversation::Fresh);
    assert_eq!(delegate.same_conversation().conversation(), Conversation::Same);
}

#[tokio::test]
async fn a_closure_that_fails_or_panics_is_an_error() {
    let failing = FunctionDelegate::new("failing", |_| async {
        Err(DelegateError::Failed { message: "no disk".into() })
    });
    let error = failing.attempt(&request(1)).await.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("delegate_error", "the delegate failed: no disk")
    );

    let panicking = FunctionDelegate::new("panicking", |request| async move {
        if request.attempt == 1 {
            panic!("bad index");
        }
        Ok(Answered::default())
    });
    let error = panicking.attempt(&request(1)).await.unwrap_err();
    assert!(error.to_string().contains("`panicking` panicked"), "{error}");
    panicking.attempt(&request(2)).await.unwrap();
}

/// Tells when the closure's future is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_closure_is_stopped_on_timeout_and_on_cancel() {
    let stopped = Arc::new(AtomicBool::new(false));
    let flag = stopped.clone();
    let delegate = FunctionDelegate::new("endless", move |_| {
        let dropped = Dropped(flag.clone());
        async move {
            let _dropped = dropped;
            pending().await
        }
    });
    let mut late = request(1);
    late.timeout = Some(Duration::from_millis(10));
    let result = delegate.attempt(&late).await;
    assert!(matches!(result, Err(DelegateError::TimedOut { timeout_ms: 10 })), "{result:?}");
    while !stopped.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }

    let request = request(1);
    let (result, ()) = tokio::join!(delegate.attempt(&request), async { request.cancel.cancel() });
    assert!(matches!(result, Err(DelegateError::Cancelled)), "{result:?}");
    let again = delegate.attempt(&request).await;
    assert!(matches!(again, Err(DelegateError::Cancelled)), "{again:?}");
}
