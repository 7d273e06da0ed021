//! Calls: beside each other, refused, broken, too long, interrupted by nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use probity_chat::{
    ChatConfig, FunctionTool, ModelReply, Shared, Tool, ToolContext, ToolError, ToolOutput,
    ToolReply, ToolSpec,
};
use probity_delegate::{Delegate, DelegateError};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::stage::{
    Book, Echo, Strict, attempt, call, calls, config, delegate, echo, request, say,
};

fn any(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Does it.".into(),
        parameters: json!({ "type": "object" }),
    }
}

fn tool<F, T>(name: &str, function: F) -> Arc<dyn Tool>
where
    F: Fn(Value, ToolContext) -> T + Send + Sync + 'static,
    T: Future<Output = Result<ToolReply, ToolError>> + Send + 'static,
{
    Arc::new(FunctionTool::raw(any(name), function))
}

fn done(text: impl Into<String>) -> Result<ToolReply, ToolError> {
    Ok(ToolReply::Done(ToolOutput::text(text)))
}

/// Plays these calls, then text; gives what the model saw of the answers.
async fn play(
    tools: Vec<Arc<dyn Tool>>,
    config: ChatConfig,
    made: Vec<probity_chat::Call>,
) -> (crate::stage::Asked, probity_core::Claim, Book) {
    let model = Strict::plays([calls(made), ModelReply::text("Done.")]);
    let book = Book::default();
    let delegate = delegate(&model, tools, config);
    let answered = attempt(&delegate, &book, request(&book, 1)).await.unwrap();
    (model.asked()[1].clone(), answered.claim, book)
}

#[tokio::test]
async fn calls_of_one_answer_run_at_once_and_are_answered_in_its_order() {
    let all = Arc::new(Barrier::new(3));
    let meet = tool("meet", move |args, _| {
        let all = all.clone();
        async move {
            all.wait().await;
            done(args["n"].to_string())
        }
    });
    let made = (0..3).map(|n| call(&format!("c{n}"), "meet", &format!("{{\"n\":{n}}}"))).collect();
    let (asked, claim, book) = play(vec![meet], config(), made).await;
    let order: Vec<&str> = claim.tool_results.iter().map(|r| r.call_id.as_str()).collect();
    assert_eq!(order, ["c0", "c1", "c2"]);
    assert_eq!(asked.answer("c2").0, "2");
    assert_eq!(claim.tool_calls[1].arguments, json!({ "n": 1 }));
    assert_eq!(book.usage().tool_calls, 3);
}

#[tokio::test]
async fn no_more_than_the_allowed_number_run_at_once() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let busy = tool("busy", move |_, _| {
        let (now, most) = (now.clone(), most.clone());
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            done("")
        }
    });
    let made = (0..9).map(|n| call(&format!("c{n}"), "busy", "{}")).collect();
    let config = ChatConfig { max_parallel_calls: 2, ..config() };
    play(vec![busy], config, made).await;
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn calls_that_cannot_be_made_are_answered_and_counted() {
    let unmade = tool("never", |_, _| async { panic!("it was called") });
    let echo_only = [("nope", "{}"), ("echo", "[1]"), ("echo", "{"), ("echo", r#"{"x":1}"#)];
    let made =
        echo_only.iter().enumerate().map(|(n, (name, args))| call(&n.to_string(), name, args));
    let made = made.chain([call("f", "final_output", "{}"), call("n", "never", "null")]).collect();
    let (asked, claim, book) = play(vec![echo(), unmade], config(), made).await;
    for (id, words) in [
        ("0", "there is no tool `nope`; there is: echo, never"),
        ("1", "not a JSON object"),
        ("2", "not JSON"),
        ("3", "it does not fit the schema"),
        ("f", "there is no tool `final_output`"),
        ("n", "not a JSON object"),
    ] {
        let (text, is_error) = asked.answer(id);
        assert!(is_error && text.contains(words), "{id}: {text}");
    }
    assert_eq!(book.usage().tool_calls, 6);
    assert_eq!(claim.tool_calls[2].arguments, json!("{"), "what is no JSON is kept as text");
}

/// All violations of a long value would take many times its memory.
#[tokio::test]
async fn of_long_arguments_the_first_violation_is_told() {
    let spec = ToolSpec {
        parameters: json!({
            "type": "object",
            "properties": { "a": { "type": "array", "items": { "type": "string" } } },
        }),
        ..any("list")
    };
    let list: Arc<dyn Tool> = Arc::new(FunctionTool::raw(spec, |_, _| async { done("") }));
    let many = |count: usize| format!(r#"{{"a":[{}]}}"#, vec!["7"; count].join(","));
    let made = vec![call("s", "list", &many(3)), call("l", "list", &many(500_000))];
    let (asked, ..) = play(vec![list], config(), made).await;
    assert_eq!(asked.answer("s").0.matches("\n- at /a/").count(), 3);
    let (text, is_error) = asked.answer("l");
    assert!(is_error && text.contains("- at /a/0: "), "{text}");
    assert_eq!(text.matches("\n- at /a/").count(), 1, "{text}");
}

#[tokio::test]
async fn failures_panics_and_assertions_become_errors_of_the_call() {
    let picky = FunctionTool::new("picky", "Says it back.", |echo: Echo, _| async move {
        Ok::<_, String>(echo.text)
    })
    .verify(|echo: &Echo, result: &String| match (echo.text.as_str(), result.as_str()) {
        ("good", "good") => Ok(()),
        _ => Err("that was not good".to_owned()),
    });
    struct Checked(ToolSpec);
    #[async_trait::async_trait]
    impl Tool for Checked {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        async fn call(&self, _: &ToolContext, _: Value) -> Result<ToolReply, ToolError> {
            done("7")
        }
        async fn verify(
            &self,
            _: &ToolContext,
            args: &Value,
            out: &ToolOutput,
        ) -> Result<(), String> {
            if args["want"] == json!(out.content) { Ok(()) } else { Err("not seven".into()) }
        }
    }
    let tools: Vec<Arc<dyn Tool>> = vec![
        tool("fails", |_, _| async { Err(ToolError::Failed { message: "disk full".into() }) }),
        tool("panics", |_, _| async { panic!("secret words") }),
        Arc::new(picky),
        Arc::new(Checked(any("checked"))),
    ];
    let made = vec![
        call("f", "fails", "{}"),
        call("p", "panics", "{}"),
        call("b", "picky", r#"{"text":"bad"}"#),
        call("g", "picky", r#"{"text":"good"}"#),
        call("w", "checked", r#"{"want":"8"}"#),
        call("r", "checked", r#"{"want":"7"}"#),
    ];
    let (asked, claim, _) = play(tools, config(), made).await;
    assert_eq!(asked.answer("f"), ("disk full", true));
    let (text, is_error) = asked.answer("p");
    assert!(is_error && text.contains("broke down") && !text.contains("secret"), "{text}");
    assert_eq!(asked.answer("b"), ("that was not good", true));
    assert_eq!(asked.answer("g"), ("good", false));
    assert_eq!(asked.answer("w"), ("not seven", true));
    assert_eq!(asked.answer("r"), ("7", false));
    let errors: Vec<bool> = claim.tool_results.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [true, true, true, false, true, false]);
}

#[tokio::test]
async fn a_fatal_failure_ends_the_attempt() {
    let gives_up =
        tool("stop", |_, _| async { Err(ToolError::Fatal { message: "no such account".into() }) });
    let typed = FunctionTool::new("typed", "Stops.", |_: Echo, _| async {
        Err::<(), _>(ToolError::Fatal { message: "no such account".into() })
    });
    for (tool, args) in [(gives_up, "{}"), (Arc::new(typed) as Arc<dyn Tool>, r#"{"text":""}"#)] {
        let name = tool.spec().name.clone();
        let model = Strict::plays([calls([call("a", &name, args)])]);
        let delegate = delegate(&model, vec![tool], config());
        let error = delegate.attempt(&request(&Book::default(), 1)).await.unwrap_err();
        let DelegateError::Failed { message } = &error else { panic!("{error}") };
        assert!(message.contains(&name) && message.contains("no such account"), "{message}");
    }
}

#[tokio::test]
async fn a_long_result_loses_its_middle() {
    let long = tool("long", |_, _| async { done("x".repeat(100_000)) });
    let config = ChatConfig { max_result_bytes: 1000, ..config() };
    let (asked, claim, _) = play(vec![long], config, vec![call("a", "long", "{}")]).await;
    let (text, _) = asked.answer("a");
    assert!(text.len() <= 1000 && text.contains("bytes left out"), "{text}");
    assert_eq!(claim.tool_results[0].content, text);
}

#[tokio::test]
async fn a_tool_sees_its_surroundings() {
    let look = tool("look", |_, ctx| async move {
        let name = ctx.shared.get::<String>().unwrap();
        done(format!(
            "{} {} {} {} {} {} {name}",
            ctx.run,
            ctx.attempt,
            ctx.call_id,
            ctx.is_replay,
            ctx.answer.is_some(),
            ctx.now_ms
        ))
    });
    let config = ChatConfig { shared: Shared::default().with("Ada".to_owned()), ..config() };
    let (asked, ..) = play(vec![look], config, vec![call("a", "look", "")]).await;
    assert_eq!(asked.answer("a").0, "run-1 1 a false false 1000000 Ada");
}

#[tokio::test]
async fn ids_that_a_provider_uses_twice_are_made_to_name_one_call() {
    let model = Strict::plays([
        calls([say("0", "a"), say("0", "b"), say("", "c")]),
        calls([say("0", "d")]),
        ModelReply::text("Done."),
    ]);
    let book = Book::default();
    let delegate = delegate(&model, vec![echo()], config());
    let claim = attempt(&delegate, &book, request(&book, 1)).await.unwrap().claim;
    let answers: Vec<&str> = claim.tool_results.iter().map(|r| r.content.as_str()).collect();
    assert_eq!(answers, ["a", "b", "c", "d"]);
    let ids: std::collections::HashSet<_> = claim.tool_calls.iter().map(|c| &c.id).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

#[tokio::test]
async fn ids_that_not_every_provider_takes_back_are_replaced() {
    let made = [("functions.echo:0", None), ("a#1", Some("call-0-1")), ("ä", Some("call-0-2"))];
    let long = "x".repeat(41);
    let calls = made.map(|(id, _)| say(id, "x")).into_iter().chain([say(&long, "x")]).collect();
    let (_, claim, _) = play(vec![echo()], config(), calls).await;
    let ids: Vec<&str> = claim.tool_calls.iter().map(|call| call.id.as_str()).collect();
    let expected = made.map(|(id, replaced)| replaced.unwrap_or(id));
    assert_eq!((&ids[..3], ids[3]), (&expected[..], "call-0-3"));
}

#[tokio::test]
async fn the_last_words_of_a_tool_are_bounded() {
    let stop =
        tool("stop", |_, _| async { Err(ToolError::Fatal { message: "é".repeat(90_000) }) });
    let model = Strict::plays([calls([call("a", "stop", "{}")])]);
    let delegate = delegate(&model, vec![stop], config());
    let error = delegate.attempt(&request(&Book::default(), 1)).await.unwrap_err();
    assert!(error.to_string().len() < 4500, "{} bytes", error.to_string().len());
}

#[tokio::test]
async fn cancel_reaches_tools_at_work_and_drops_them() {
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (started, dropped, told) =
        (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begin, end, hears) = (started.clone(), dropped.clone(), told.clone());
    let hangs = tool("hangs", move |_, ctx| {
        let (begin, guard, hears) = (begin.clone(), Dropped(end.clone()), hears.clone());
        async move {
            let _guard = guard;
            let cancel = ctx.cancel.clone();
            tokio::spawn(async move {
                cancel.cancelled().await;
                hears.notify_one();
            });
            begin.notify_one();
            std::future::pending::<()>().await;
            done("")
        }
    });
    let model = Strict::plays([calls([call("a", "hangs", "{}")])]);
    let delegate = delegate(&model, vec![hangs], config());
    let request = request(&Book::default(), 1);
    let cancel = request.cancel.clone();
    let (result, ()) = tokio::join!(delegate.attempt(&request), async {
        started.notified().await;
        cancel.cancel();
    });
    assert!(matches!(result.unwrap_err(), DelegateError::Cancelled));
    let both = async { tokio::join!(dropped.notified(), told.notified()) };
    tokio::time::timeout(Duration::from_secs(30), both).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_says_nothing_stays_out_of_the_way() {
    let model =
        Strict::plays([ModelReply::text(""), calls([crate::stage::submit("o", r#"{"count":1}"#)])]);
    let delegate = delegate(&model, vec![], crate::stage::typed());
    delegate.attempt(&request(&Book::default(), 1)).await.unwrap();
}

#[tokio::test]
async fn calls_without_end_in_one_answer_are_bounded() {
    let made: Vec<_> = (0..140).map(|n| say(&format!("c{n}"), "x")).collect();
    let (asked, _, book) = play(vec![echo()], config(), made).await;
    assert_eq!(asked.answer("c127").0, "x");
    assert!(asked.answer("c128").0.contains("too many calls"));
    assert_eq!(book.usage().tool_calls, 128);
}
