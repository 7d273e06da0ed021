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

/// Waits for a run named after its call; what it is told of it is its result.
fn waits_for_runs() -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: "run".into(),
        description: "Starts a run.".into(),
        parameters: json!({ "type": "object" }),
    };
    let tool = FunctionTool::raw(spec, |_, ctx| async move {
        Ok(match ctx.answer {
            Some(answer) => ToolReply::Done(ToolOutput::json(answer)),
            None => {
                ToolReply::Park(Wait::Runs(vec![format!("of-{}", ctx.call_id).parse().unwrap()]))
            }
        })
    });
    Arc::new(tool.idempotent())
}

fn end(run: &str) -> Value {
    json!({ "run": run, "outcome": "verified", "code": "pass", "response": run, "output": null })
}

fn runs(parked: &Parked) -> Vec<&str> {
    parked.children.iter().map(probity_core::RunId::as_str).collect()
}

#[tokio::test]
async fn calls_that_wait_for_runs_wait_together_and_each_hears_of_its_own() {
    let model = Strict::plays([
        calls([call("a", "run", "{}"), call("c", "run", "{}")]),
        ModelReply::text("Done."),
    ]);
    let (book, tools) = (Book::default(), || vec![waits_for_runs()]);
    // It dies between the notes of the two waits, at every place.
    let notes = {
        let book = Book::default();
        parked(attempt(&delegate(&model, tools(), config()), &book, request(&book, 1)).await);
        book.kept().len()
    };
    assert_eq!(notes, 3, "the answer, two waits");
    for at in 1..notes {
        book.fail_at(Some(at));
        let dies = delegate(&model, tools(), config());
        let replay = Request { is_replay: at > 1, ..request(&book, 1) };
        assert_eq!(attempt(&dies, &book, replay).await.unwrap_err().code(), "delegate_notes");
    }
    book.fail_at(None);
    let again = Request { is_replay: true, ..request(&book, 1) };
    let wait = parked(attempt(&delegate(&model, tools(), config()), &book, again).await);
    let (mut both, key) = (runs(&wait), wait.key.clone());
    both.sort_unstable();
    assert_eq!((both, wait.until_ms), (vec!["of-a", "of-c"], None));
    assert!(["a", "c"].contains(&key.as_str()), "{key}");
    let ends = json!([end("of-a"), end("of-c")]);
    let woken = Request { answer: answer(&key, ends), ..request(&book, 1) };
    attempt(&delegate(&model, tools(), config()), &book, woken).await.unwrap();
    let asked = model.asked().pop().unwrap();
    for id in ["a", "c"] {
        let told: Value = serde_json::from_str(asked.answer(id).0).unwrap();
        assert_eq!(told, json!([end(&format!("of-{id}"))]));
    }
}

#[tokio::test]
async fn a_question_beside_runs_is_waited_for_first_and_no_run_is_lost() {
    for first_asks in [true, false] {
        let (ask, run) = (call("q", "ask", "{}"), call("r", "run", "{}"));
        let both = if first_asks { [ask, run] } else { [run, ask] };
        let model = Strict::plays([calls(both), ModelReply::text("Done.")]);
        let book = Book::default();
        let tools = || vec![asks("ask", question(), 0, Arc::default()), waits_for_runs()];
        let works = || delegate(&model, tools(), config());
        let wait = parked(attempt(&works(), &book, request(&book, 1)).await);
        assert_eq!((wait.key.as_str(), wait.children.len()), ("q", 0));
        let woken = Request { answer: answer("q", json!("yes")), ..request(&book, 1) };
        let wait = parked(attempt(&works(), &book, woken).await);
        assert_eq!((wait.key.as_str(), runs(&wait)), ("r", vec!["of-r"]));
        let woken = Request { answer: answer("r", json!([end("of-r")])), ..request(&book, 1) };
        attempt(&works(), &book, woken).await.unwrap();
        let asked = model.asked().pop().unwrap();
        assert_eq!(asked.answer("q").0, "answered \"yes\", replay false");
        assert!(asked.answer("r").0.contains("of-r"));
    }
}
