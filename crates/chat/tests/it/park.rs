//! Tools that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use probity_chat::{FunctionTool, ModelReply, Tool, ToolOutput, ToolReply, ToolSpec, Wait};
use probity_delegate::{Answer, Answered, DelegateError, Parked, Request};
use serde_json::{Value, json};

use crate::stage::{Book, Strict, attempt, call, calls, config, delegate, echo, request, say};

/// Asks until it was answered `times` times; counts how often it was called.
fn asks(name: &str, wait: Wait, times: u32, called: Arc<AtomicU32>) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: name.into(),
        description: "Asks.".into(),
        parameters: json!({ "type": "object" }),
    };
    Arc::new(FunctionTool::raw(spec, move |_, ctx| {
        let (wait, n) = (wait.clone(), called.fetch_add(1, Ordering::SeqCst));
        async move {
            Ok(match ctx.answer {
                Some(answer) if n >= times => ToolReply::Done(ToolOutput::text(format!(
                    "answered {answer}, replay {}",
                    ctx.is_replay
                ))),
                _ => ToolReply::Park(wait),
            })
        }
    }))
}

fn question() -> Wait {
    Wait::Answer { question: "Shall I?".into() }
}

fn answer(key: &str, value: Value) -> Option<Answer> {
    Some(Answer { key: key.to_owned(), value })
}

fn parked(result: Result<Answered, DelegateError>) -> Parked {
    match result {
        Err(DelegateError::Parked(parked)) => parked,
        other => panic!("not parked: {other:?}"),
    }
}

#[tokio::test]
async fn a_call_that_asks_parks_the_run_and_is_made_again_with_the_answer() {
    let model =
        Strict::plays([calls([call("a", "ask", "{}"), say("b", "x")]), ModelReply::text("Done.")]);
    let (book, called) = (Book::default(), Arc::new(AtomicU32::new(0)));
    let tools = || vec![asks("ask", question(), 1, called.clone()), echo()];
    let wait =
        parked(attempt(&delegate(&model, tools(), config()), &book, request(&book, 1)).await);
    let expected = Parked {
        key: "a".into(),
        until_ms: None,
        question: "Shall I?".into(),
        children: Vec::new(),
    };
    assert_eq!(wait, expected);
    assert_eq!(book.usage().tool_calls, 1, "the other call has its result");

    // Asked for again without the answer, it waits on, and calls nothing.
    let again = Request { is_replay: true, ..request(&book, 1) };
    assert_eq!(parked(attempt(&delegate(&model, tools(), config()), &book, again).await), wait);
    let wrong = Request { answer: answer("z", json!(1)), ..request(&book, 1) };
    assert_eq!(parked(attempt(&delegate(&model, tools(), config()), &book, wrong).await), wait);
    assert_eq!((called.load(Ordering::SeqCst), book.kept().len()), (1, 3));

    let woken = Request { answer: answer("a", json!("yes")), ..request(&book, 1) };
    let answered = attempt(&delegate(&model, tools(), config()), &book, woken).await.unwrap();
    assert_eq!(answered.claim.tool_results[0].content, "answered \"yes\", replay false");
    assert_eq!(model.asked()[1].answer("b"), ("x", false));
    assert_eq!((model.asked().len(), book.usage().tool_calls), (2, 2));
}

#[tokio::test]
async fn times_are_resolved_by_the_clock_that_was_given() {
    let cron = |expression: &str, timezone: Option<&str>| Wait::Cron {
        expression: expression.into(),
        timezone: timezone.map(Into::into),
    };
    // The clock stands at 1970-01-01 00:16:40 UTC.
    for (wait, until_ms) in [
        (Wait::Sleep(Duration::from_secs(5)), 1_005_000),
        (Wait::Until(77), 77),
        (cron("30 * * * *", None), 1_800_000),
        (cron("0 3 * * *", Some("+02:00")), 3_600_000),
    ] {
        let model = Strict::plays([calls([call("a", "nap", "{}")]), ModelReply::text("Done.")]);
        let (book, called) = (Book::default(), Arc::new(AtomicU32::new(0)));
        let delegate = delegate(&model, vec![asks("nap", wait, 1, called)], config());
        let wait = parked(attempt(&delegate, &book, request(&book, 1)).await);
        assert_eq!((wait.until_ms, wait.question.as_str()), (Some(until_ms), ""));
        let woken = Request { answer: answer("a", Value::Null), ..request(&book, 1) };
        let claim = attempt(&delegate, &book, woken).await.unwrap().claim;
        assert_eq!(claim.tool_results[0].content, "answered null, replay false");
    }
}

#[tokio::test]
async fn a_wait_that_never_ends_is_the_failure_of_the_call() {
    let never = Wait::Cron { expression: "0 0 30 2 *".into(), timezone: None };
    let nowhere = Wait::Cron { expression: "* * * * *".into(), timezone: Some("Mars/Base".into()) };
    for (wait, words) in [(never, "names no time"), (nowhere, "Mars/Base")] {
        let model = Strict::plays([calls([call("a", "nap", "{}")]), ModelReply::text("Done.")]);
        let tools = vec![asks("nap", wait, 1, Arc::default())];
        let book = Book::default();
        attempt(&delegate(&model, tools, config()), &book, request(&book, 1)).await.unwrap();
        let asked = model.asked();
        let (text, is_error) = asked[1].answer("a");
        assert!(is_error && text.contains(words), "{text}");
    }
}

#[tokio::test]
async fn of_several_waits_the_first_counts_and_the_others_are_told_to_come_again() {
    let model = Strict::plays([
        calls([call("a", "ask", "{}"), say("b", "x"), call("c", "ask", "{}")]),
        ModelReply::text("Done."),
    ]);
    let (book, called) = (Book::default(), Arc::new(AtomicU32::new(0)));
    let delegate =
        delegate(&model, vec![asks("ask", question(), 2, called.clone()), echo()], config());
    let wait = parked(attempt(&delegate, &book, request(&book, 1)).await);
    assert_eq!(wait.key, "a");
    let woken = Request { answer: answer("a", json!(1)), ..request(&book, 1) };
    attempt(&delegate, &book, woken).await.unwrap();
    let asked = model.asked();
    let (text, is_error) = asked[1].answer("c");
    assert!(is_error && text.contains("another call of the same answer waits"), "{text}");
    assert_eq!(called.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_call_that_waits_twice_does_not_take_the_first_answer_for_the_second() {
    let model = Strict::plays([calls([call("a", "ask", "{}")]), ModelReply::text("Done.")]);
    let book = Book::default();
    let delegate =
        delegate(&model, vec![asks("ask", question(), 2, Arc::new(AtomicU32::new(0)))], config());
    parked(attempt(&delegate, &book, request(&book, 1)).await);
    let woken = || Request { answer: answer("a", json!(1)), ..request(&book, 1) };
    let second = parked(attempt(&delegate, &book, woken()).await);
    assert_ne!(second.key, "a");
    assert_eq!(parked(attempt(&delegate, &book, woken()).await), second, "the old answer again");
    let woken = Request { answer: answer(&second.key, json!(2)), ..request(&book, 1) };
    let claim = attempt(&delegate, &book, woken).await.unwrap().claim;
    assert_eq!(claim.tool_results[0].content, "answered 2, replay false");
}

#[tokio::test]
async fn a_call_that_a_crash_caught_behind_its_wait_is_told_as_interrupted() {
    let model = Strict::plays([calls([call("a", "ask", "{}")]), ModelReply::text("Done.")]);
    let book = Book::default();
    let called = Arc::new(AtomicU32::new(0));
    let delegate = delegate(&model, vec![asks("ask", question(), 1, called.clone())], config());
    parked(attempt(&delegate, &book, request(&book, 1)).await);
    // The note of the result is lost: the answer was noted, the call made.
    book.fail_at(Some(book.kept().len() + 1));
    let woken = || Request { answer: answer("a", json!(1)), ..request(&book, 1) };
    attempt(&delegate, &book, woken()).await.unwrap_err();
    book.fail_at(None);
    attempt(&delegate, &book, Request { is_replay: true, ..woken() }).await.unwrap();
    assert!(model.asked()[1].answer("a").0.starts_with("interrupted"), "{:?}", model.asked()[1]);
    assert_eq!(called.load(Ordering::SeqCst), 2);
}
