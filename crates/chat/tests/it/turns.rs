//! How attempts begin, end and follow one another.

use std::sync::Arc;
use std::time::Duration;

use probity_chat::{ChatConfig, ChatEvent, Message, ModelReply, Stop};
use probity_core::{Turn, Usage};
use probity_delegate::{Answer, Delegate, DelegateError, Notes, Prompt, Request};

use crate::stage::{
    Book, Strict, attempt, calls, config, costs, delegate, echo, request, run_id, say, submit,
    typed,
};

fn user(content: &str) -> Message {
    Message::User { content: content.to_owned() }
}

fn system(content: &str) -> Message {
    Message::System { content: content.to_owned() }
}

#[tokio::test]
async fn a_task_is_answered_with_text_and_the_last_note_comes_with_the_claim() {
    let model = Strict::plays([costs(ModelReply::text("Three."), 12)]);
    let delegate = delegate(&model, vec![], config());
    assert_eq!(delegate.describe(), "chat: strict at home");
    assert_eq!(delegate.identity(), "strict at home");
    let book = Book::default();
    let answered = delegate.attempt(&request(&book, 1)).await.unwrap();
    assert_eq!(answered.claim.response, "Three.");
    assert_eq!((answered.usage, answered.notes.len()), (Usage::default(), 1));
    assert_eq!(answered.notes[0].usage, Usage { tokens: 12, tool_calls: 0 });
    assert!(book.kept().is_empty(), "the note of the claim is not kept twice");
    assert_eq!(model.asked()[0].messages, [user("Count the files.")]);
    assert_eq!(model.asked()[0].choice, "auto");
}

#[tokio::test]
async fn the_system_message_joins_profile_agent_and_how_to_hand_in() {
    let prompt =
        Prompt { system: Some("Be brief.\n".into()), task: "Count.".into(), ..Prompt::default() };
    let hand_in = "Hand in your result by calling the tool `final_output`.";
    let rewritten = Prompt { rewritten: Some("Only this.".into()), ..prompt.clone() };
    for (config, prompt, expected) in [
        (config(), prompt.clone(), vec![system("Be brief."), user("Count.")]),
        (
            ChatConfig { system: Some("You count.".into()), ..typed() },
            prompt,
            vec![system(&format!("Be brief.\n\nYou count.\n\n{hand_in}")), user("Count.")],
        ),
        (typed(), rewritten.clone(), vec![system(hand_in), user("Only this.")]),
        (config(), rewritten, vec![user("Only this.")]),
    ] {
        let model = Strict::plays([calls([submit("o", r#"{"count":1}"#)])]);
        let model =
            if config.output.is_some() { model } else { Strict::plays([ModelReply::text("1")]) };
        let delegate = delegate(&model, vec![], config);
        delegate.attempt(&Request::first(run_id(), 1, prompt)).await.unwrap();
        assert_eq!(model.asked()[0].messages, expected);
    }
}

#[tokio::test]
async fn a_later_attempt_goes_on_in_the_same_conversation_also_in_a_new_process() {
    for is_same_process in [true, false] {
        let model = Strict::plays([ModelReply::text("Two."), ModelReply::text("Three.")]);
        let book = Book::default();
        let first = delegate(&model, vec![], config());
        attempt(&first, &book, request(&book, 1)).await.unwrap();
        let second = delegate(&model, vec![], config());
        let next = if is_same_process { &first } else { &second };
        let answered = attempt(next, &book, request(&book, 2)).await.unwrap();
        assert_eq!(answered.claim.response, "Three.");
        let said = Message::Assistant { content: "Two.".into(), tool_calls: vec![] };
        let expected = [user("Count the files."), said, user("try again (2)")];
        assert_eq!(model.asked()[1].messages, expected);
        assert_eq!(model.asked()[1].number, 1);
    }
}

#[tokio::test]
async fn notes_of_somebody_else_s_attempt_are_read_and_not_those_remembered() {
    let model = Strict::plays(["a", "b", "c"].map(ModelReply::text));
    let book = Book::default();
    let one = delegate(&model, vec![], config());
    let other = delegate(&model, vec![], config());
    attempt(&one, &book, request(&book, 1)).await.unwrap();
    attempt(&other, &book, request(&book, 2)).await.unwrap();
    attempt(&one, &book, request(&book, 3)).await.unwrap();
    assert_eq!(model.asked()[2].messages.len(), 5);
    assert_eq!(book.conversation().model_calls(), 3);
}

#[tokio::test]
async fn without_notes_and_memory_a_later_attempt_says_everything_anew() {
    let model = Strict::plays([ModelReply::text("Three.")]);
    let delegate = delegate(&model, vec![], config());
    let mut request = Request { notes: Notes::none(), ..request(&Book::default(), 2) };
    request.prompt.last_response = Some("Two.".into());
    delegate.attempt(&request).await.unwrap();
    let Message::User { content } = model.asked()[0].last().clone() else { panic!("no task") };
    for words in ["Count the files.", "> Two.", "try again (2)"] {
        assert!(content.contains(words), "{content}");
    }
}

#[tokio::test]
async fn answers_that_were_cut_or_withheld_are_errors_and_their_tokens_count() {
    for (stop, code) in [(Stop::Length, "model_length"), (Stop::Filter, "model_filtered")] {
        for config in [config(), typed()] {
            let cut = ModelReply { stop, ..costs(ModelReply::text("Thr"), 9) };
            let half = ModelReply { stop, ..costs(calls([submit("o", r#"{"count"#)]), 9) };
            for reply in [cut, half] {
                let model = Strict::plays([reply]);
                let book = Book::default();
                for is_replay in [false, true] {
                    let delegate = delegate(&model, vec![echo()], config.clone());
                    let request = Request { is_replay, ..request(&book, 1) };
                    let error = attempt(&delegate, &book, request).await.unwrap_err();
                    assert_eq!(error.code(), code);
                }
                assert_eq!((model.asked().len(), book.usage().tokens), (1, 9));
            }
        }
    }
}

#[tokio::test]
async fn a_cut_answer_with_a_whole_call_goes_on() {
    let cut = calls([say("a", "x"), call_cut("b")]);
    let model =
        Strict::plays([ModelReply { stop: Stop::Length, ..cut }, ModelReply::text("Done.")]);
    let delegate = delegate(&model, vec![echo()], config());
    let answered = delegate.attempt(&request(&Book::default(), 1)).await.unwrap();
    assert_eq!(answered.claim.tool_results.len(), 2);
    let asked = &model.asked()[1];
    assert_eq!(asked.answer("a"), ("x", false));
    assert!(asked.answer("b").0.contains("not JSON"), "{asked:?}");
}

/// A cut answer may end with a call of which only the name arrived, and `{}` fits many schemas.
#[tokio::test]
async fn a_call_of_which_nothing_but_the_name_arrived_is_not_made() {
    for arguments in ["", " ", "{}"] {
        let wipe = crate::stage::call("b", "wipe", arguments);
        let cut = |calls| ModelReply { stop: Stop::Length, ..calls };
        let model = Strict::plays([
            cut(calls([say("a", "x"), wipe.clone()])),
            cut(calls([crate::stage::call("c", "wipe", arguments), call_cut("d")])),
            ModelReply::text("Done."),
        ]);
        let (tool, wiped) = wipes();
        let works = delegate(&model, vec![echo(), tool], config());
        works.attempt(&request(&Book::default(), 1)).await.unwrap();
        let asked = model.asked();
        let (text, is_error) = asked[1].answer("b");
        assert!(is_error && text.contains("was cut"), "{text}");
        assert_eq!(asked[2].answer("c"), ("wiped", false), "it was followed by another");
        assert_eq!(wiped.load(std::sync::atomic::Ordering::SeqCst), 1);

        let model = Strict::plays([cut(calls([wipe]))]);
        let (tool, wiped) = wipes();
        let refused = delegate(&model, vec![tool], config());
        let error = refused.attempt(&request(&Book::default(), 1)).await.unwrap_err();
        assert_eq!(error.code(), "model_length");
        assert_eq!(wiped.load(std::sync::atomic::Ordering::SeqCst), 0);

        let output = probity_chat::OutputSchema::new(serde_json::json!({ "type": "object" }));
        let any = ChatConfig { output: Some(output.unwrap()), ..config() };
        let model = Strict::plays([cut(calls([submit("o", arguments)]))]);
        let refused = delegate(&model, vec![], any);
        let error = refused.attempt(&request(&Book::default(), 1)).await.unwrap_err();
        assert_eq!(error.code(), "model_length");
    }
}

/// A tool that wants no arguments, and how often it was called.
fn wipes() -> (Arc<dyn probity_chat::Tool>, Arc<std::sync::atomic::AtomicU32>) {
    let wiped = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let (name, seen) = ("wipe".to_owned(), wiped.clone());
    let parameters = serde_json::json!({ "type": "object" });
    let spec = probity_chat::ToolSpec { name, description: "Wipes.".into(), parameters };
    let tool = probity_chat::FunctionTool::raw(spec, move |_, _| {
        seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { Ok(probity_chat::ToolReply::Done(probity_chat::ToolOutput::text("wiped"))) }
    });
    (Arc::new(tool), wiped)
}

#[tokio::test]
async fn an_answer_that_is_too_long_to_be_noted_is_no_claim() {
    let model = Strict::plays([ModelReply::text("x".repeat(16 * 1024 * 1024))]);
    let delegate = delegate(&model, vec![], config());
    let error = delegate.attempt(&request(&Book::default(), 1)).await.unwrap_err();
    assert!(matches!(error, DelegateError::Notes(_)), "{error}");
}

#[tokio::test]
async fn a_correction_without_words_still_says_something() {
    for rewritten in [Some(" \n".into()), None] {
        let model = Strict::plays([ModelReply::text("Two."), ModelReply::text("Three.")]);
        let book = Book::default();
        let delegate = delegate(&model, vec![], config());
        attempt(&delegate, &book, request(&book, 1)).await.unwrap();
        let mut second = request(&book, 2);
        second.prompt.rewritten = rewritten;
        second.prompt.correction = Some("".into());
        attempt(&delegate, &book, second).await.unwrap();
        assert_eq!(*model.asked()[1].last(), user("Go on with the task."));
    }
}

fn call_cut(id: &str) -> probity_chat::Call {
    crate::stage::call(id, "echo", r#"{"te"#)
}

#[tokio::test]
async fn cancel_and_timeout_stop_a_model_that_hangs() {
    struct Hangs;
    #[async_trait::async_trait]
    impl probity_chat::Model for Hangs {
        async fn complete(
            &self,
            request: &probity_chat::ModelRequest<'_>,
        ) -> Result<ModelReply, probity_chat::ModelError> {
            request.cancel.cancelled().await;
            std::future::pending().await
        }
        fn identity(&self) -> String {
            "hangs".into()
        }
    }
    let delegate = probity_chat::ChatDelegate::new(
        Arc::new(Hangs),
        probity_chat::Toolbox::default(),
        config(),
    );
    let timeout = Some(Duration::from_millis(20));
    let error =
        delegate.attempt(&Request { timeout, ..request(&Book::default(), 1) }).await.unwrap_err();
    assert!(matches!(error, DelegateError::TimedOut { timeout_ms: 20 }), "{error}");
    let request = request(&Book::default(), 1);
    let cancel = request.cancel.clone();
    let (result, ()) = tokio::join!(delegate.attempt(&request), async { cancel.cancel() });
    assert!(matches!(result.unwrap_err(), DelegateError::Cancelled));
}

#[tokio::test]
async fn progress_tells_each_step_and_no_content() {
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = heard.clone();
    let on_event: probity_chat::OnEvent =
        Arc::new(move |event: &ChatEvent| sink.lock().unwrap().push(event.clone()));
    let model = Strict::plays([
        costs(calls([say("a", "x"), crate::stage::call("b", "no-such", "{}")]), 5),
        costs(ModelReply::text("Done."), 7),
    ]);
    let config = ChatConfig { on_event: Some(on_event), ..config() };
    delegate(&model, vec![echo()], config).attempt(&request(&Book::default(), 1)).await.unwrap();
    let name = || "echo".to_owned();
    let expected = [
        ChatEvent::ModelStarted,
        ChatEvent::ModelFinished { tokens: 5 },
        ChatEvent::ToolStarted { name: name() },
        ChatEvent::ToolFinished { name: name(), is_error: false },
        ChatEvent::ModelStarted,
        ChatEvent::ModelFinished { tokens: 7 },
    ];
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_stale_answer_to_a_wait_means_nothing() {
    let model = Strict::plays([ModelReply::text("Three.")]);
    let delegate = delegate(&model, vec![], config());
    let answer = Some(Answer { key: "gone".into(), value: serde_json::Value::Null });
    let request =
        Request { answer, turn: Turn { epoch: 3, number: 4 }, ..request(&Book::default(), 1) };
    assert_eq!(delegate.attempt(&request).await.unwrap().claim.response, "Three.");
}
