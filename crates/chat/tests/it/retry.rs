//! Models that do not answer.

use std::sync::Arc;
use std::time::Duration;

use probity_chat::{ChatConfig, ModelError, ModelReply, OutagePolicy, RetryPolicy};
use probity_delegate::{Answer, Delegate, DelegateError, Parked, Request};
use tokio::time::Instant;

use crate::stage::{Book, Strict, attempt, calls, config, delegate, echo, request, run_id, say};

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

/// Two tries, then waits: at most so many.
fn patient(max_waits: u32) -> ChatConfig {
    ChatConfig {
        retry: RetryPolicy { max_tries: 2, ..RetryPolicy::default() },
        outage: OutagePolicy { max_waits, ..OutagePolicy::default() },
        ..config()
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_stays_away_is_waited_for_so_often_and_then_the_run_fails() {
    let model = failing(99, transient(None));
    let book = Book::default();
    let mut waited = Vec::new();
    let mut request = request(&book, 1);
    let failed = loop {
        // A new delegate each time: what counts is what was written down.
        match attempt(&delegate(&model, vec![], patient(3)), &book, request.clone()).await {
            Err(DelegateError::Parked(Parked { key, until_ms, question, children })) => {
                assert_eq!((question.as_str(), children.len()), ("", 0));
                waited.push((key.clone(), until_ms.unwrap() - 1_000_000));
                request.answer = Some(Answer { key, value: serde_json::Value::Null });
            }
            other => break other.unwrap_err(),
        }
    };
    let waits = [("#model-0-0", 30_000), ("#model-0-1", 60_000), ("#model-0-2", 120_000)];
    assert_eq!(waited, waits.map(|(key, ms)| (key.to_owned(), ms)));
    assert_eq!((failed.code(), model.asked().len()), ("model_unavailable", 8));
    let message = failed.to_string();
    assert!(message.contains("overloaded") && message.contains("after 3 waits"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_begins_anew_with_every_answer_and_repeats_no_call_and_no_word() {
    let left = std::sync::Mutex::new(vec![true, true, false, true, false, true, false]);
    let model = Strict::new(move |request| {
        if left.lock().unwrap().remove(0) {
            return Err(transient(None));
        }
        Ok(match request.number {
            0 => calls([say("a", "x"), crate::stage::call("u", "no.such", "{}")]),
            _ => ModelReply::text("Done."),
        })
    });
    let one_try =
        ChatConfig { retry: RetryPolicy { max_tries: 1, ..RetryPolicy::default() }, ..patient(2) };
    let book = Book::default();
    let mut keys = Vec::new();
    for number in 1..=2 {
        let mut request = request(&book, number);
        while let Err(DelegateError::Parked(parked)) =
            attempt(&delegate(&model, vec![echo()], one_try.clone()), &book, request.clone()).await
        {
            keys.push(parked.key.clone());
            request.answer = Some(Answer { key: parked.key, value: serde_json::Value::Null });
        }
    }
    assert_eq!(keys, ["#model-0-0", "#model-0-1", "#model-1-0", "#model-2-0"]);
    let last = model.asked().pop().unwrap();
    let words = |message: &probity_chat::Message| match message {
        probity_chat::Message::User { content } => Some(content.clone()),
        _ => None,
    };
    let users: Vec<String> = last.messages.iter().filter_map(words).collect();
    assert_eq!(users, ["Count the files.", "try again (2)"]);
    assert_eq!((last.answer("a"), last.answer("u").1), (("x", false), true));
    assert_eq!(book.usage().tool_calls, 2);
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_asks_for_is_honoured_and_what_it_refuses_fails_at_once() {
    let policy = OutagePolicy { max_waits: 40, ..OutagePolicy::default() };
    assert_eq!(policy.wait_ms(0, Some(90_000)), Some(90_000));
    assert_eq!(policy.wait_ms(3, Some(90_000)), Some(240_000));
    assert_eq!(policy.wait_ms(0, Some(u64::MAX)), Some(3_600_000));
    assert_eq!(policy.wait_ms(39, None), Some(3_600_000));
    assert_eq!((policy.wait_ms(40, None), OutagePolicy::default().wait_ms(0, None)), (None, None));
    // Longer than is waited with the slot in hand: it is not asked again before.
    let model = failing(1, transient(Some(90_000)));
    let book = Book::default();
    let begin = Instant::now();
    let parked = attempt(&delegate(&model, vec![], patient(1)), &book, request(&book, 1)).await;
    let Err(DelegateError::Parked(parked)) = parked else { panic!("{parked:?}") };
    assert_eq!((parked.until_ms, model.asked().len()), (Some(1_090_000), 1));
    assert_eq!(begin.elapsed(), Duration::ZERO);
    for status in [400, 401, 403, 404] {
        let error = ModelError::Refused { status: Some(status), message: "its reason".into() };
        let model = failing(1, error);
        let book = Book::default();
        let error = attempt(&delegate(&model, vec![], patient(5)), &book, request(&book, 1)).await;
        let error = error.unwrap_err();
        assert_eq!((error.code(), model.asked().len()), ("model_refused", 1));
        assert!(error.to_string().contains("its reason"), "{error}");
    }
    // By default nobody waits: whoever awaits the run hears of it.
    let model = failing(9, transient(None));
    let answer: Request = request(&Book::default(), 1);
    let error = delegate(&model, vec![], config()).attempt(&answer).await.unwrap_err();
    assert_eq!(error.code(), "model_unavailable");
}
