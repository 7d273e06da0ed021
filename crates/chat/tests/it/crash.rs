//! Crashes at every note, and what is not repeated behind them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use probity_chat::{
    Conversation, FunctionTool, Message, ModelReply, Tool, ToolOutput, ToolReply, ToolSpec, Wait,
};
use probity_delegate::{Answer, DelegateError, Parked, Request};
use proptest::prelude::*;

use crate::stage::{
    Asked, Book, Echo, Strict, attempt, calls, config, costs, delegate, request, say, submit, typed,
};

/// Every call of the tool: its text, and whether it was a replay.
type Made = Arc<Mutex<Vec<(String, bool)>>>;

fn recording(made: &Made, is_idempotent: bool) -> Arc<dyn Tool> {
    let made = made.clone();
    let tool = FunctionTool::new("echo", "Says it back.", move |echo: Echo, ctx| {
        made.lock().unwrap().push((echo.text.clone(), ctx.is_replay));
        async move { Ok::<_, String>(format!("{}!", echo.text)) }
    });
    if is_idempotent { Arc::new(tool.idempotent()) } else { Arc::new(tool) }
}

/// The script of two attempts: work, an invalid output, more work, an output; then once more.
fn script() -> Vec<ModelReply> {
    vec![
        costs(calls([say("a", "a"), say("b", "b"), say("c", "c")]), 10),
        costs(calls([submit("bad", "{}"), say("d", "d")]), 10),
        costs(ModelReply::text("I am done."), 10),
        costs(calls([submit("o", r#"{"count":1}"#), say("sibling", "never")]), 10),
        costs(calls([say("e", "e"), crate::stage::call("u", "unknown", "{}")]), 10),
        costs(calls([submit("p", r#"{"count":2}"#)]), 10),
    ]
}

/// Two attempts. The process dies at the `at`-th note, once; a new one goes on. What the model was
/// asked, and the notes.
async fn two_attempts(at: Option<usize>, made: &Made, is_idempotent: bool) -> (Vec<Asked>, Book) {
    let model = Strict::plays(script());
    let book = Book::default();
    book.fail_at(at);
    let mut works = delegate(&model, vec![recording(made, is_idempotent)], typed());
    for k in 1..=2 {
        let mut is_replay = false;
        while let Err(error) =
            attempt(&works, &book, Request { is_replay, ..request(&book, k) }).await
        {
            assert_eq!(error.code(), "delegate_notes", "{error}");
            assert!(!is_replay, "it dies once");
            book.fail_at(None);
            is_replay = true;
            works = delegate(&model, vec![recording(made, is_idempotent)], typed());
        }
    }
    (model.asked(), book)
}

#[tokio::test]
async fn a_crash_at_any_note_repeats_no_recorded_answer_and_ends_in_the_same_transcript() {
    let made = Made::default();
    let (_, whole) = two_attempts(None, &made, true).await;
    let expected = whole.conversation();
    let notes = whole.kept().len();
    assert_eq!(notes, 11, "6 answers, 5 results");
    for at in 0..notes {
        let made = Made::default();
        let (asked, book) = two_attempts(Some(at), &made, true).await;
        assert_eq!(book.conversation().messages(), expected.messages(), "at {at}");
        assert_eq!(book.usage(), whole.usage(), "at {at}");
        let mut times: HashMap<u32, usize> = HashMap::new();
        for one in &asked {
            *times.entry(one.number).or_default() += 1;
        }
        let twice = times.values().filter(|times| **times == 2).count();
        assert!(twice <= 1 && times.values().all(|times| *times <= 2), "at {at}: {times:?}");
        let lost_a_reply = book.kept()[at].kind == probity_core::NoteKind::Model;
        assert_eq!(twice == 1, lost_a_reply, "at {at}: only the answer that was lost is asked for");
        let replays = made.lock().unwrap().iter().filter(|(_, is_replay)| *is_replay).count();
        assert!(lost_a_reply || replays > 0, "at {at}");
    }
}

#[tokio::test]
async fn an_interrupted_call_is_told_to_the_model_and_not_made_again() {
    // The first note is the answer; the results of its calls are lost.
    let made = Made::default();
    let (asked, book) = two_attempts(Some(1), &made, false).await;
    let second = asked.iter().find(|asked| asked.number == 1).unwrap();
    for id in ["a", "b", "c"] {
        let (text, is_error) = second.answer(id);
        assert!(is_error && text.contains("before you repeat it"), "{text}");
    }
    let made = made.lock().unwrap();
    for text in ["a", "b", "c"] {
        assert!(made.iter().filter(|(said, _)| said == text).count() <= 1, "{made:?}");
    }
    assert!(made.iter().all(|(_, is_replay)| !is_replay));
    assert_eq!(book.usage().tool_calls, 3 + 1 + 2, "what may have run is counted");
}

#[test]
fn notes_that_are_none_are_told_as_unreadable() {
    let kept = |content: &str| probity_delegate::Kept {
        turn: probity_core::Turn::FIRST,
        kind: probity_core::NoteKind::Tool,
        content: content.as_bytes().to_vec(),
    };
    for content in ["", "{}", r#"{"note":"tool","call_id":"a","output":{"content":""}}"#] {
        Conversation::replay(&[kept(content)]).unwrap_err();
    }
    let session = probity_delegate::Kept { kind: probity_core::NoteKind::Session, ..kept("s-1") };
    assert_eq!(Conversation::replay(&[session]).unwrap(), Conversation::default());
}

/// What a random model does with one answer.
#[derive(Debug, Clone)]
enum Move {
    Work(u8),
    Unknown,
    Invalid(u8),
    Text,
    Submit(u8),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => (1..4u8).prop_map(Move::Work),
        1 => Just(Move::Unknown),
        1 => (0..3u8).prop_map(Move::Invalid),
        1 => Just(Move::Text),
        2 => (0..3u8).prop_map(Move::Submit),
    ];
    prop::collection::vec(one, 1..12)
}

fn reply(n: usize, step: &Move) -> ModelReply {
    let work = |count: u8| (0..count).map(move |i| say(&format!("w{n}-{i}"), &format!("{n}.{i}")));
    match step {
        Move::Work(count) => calls(work(*count)),
        Move::Unknown => calls([crate::stage::call(&format!("u{n}"), "no", "{}")]),
        Move::Invalid(count) => calls(work(*count).chain([submit(&format!("i{n}"), "{}")])),
        Move::Text => ModelReply::text("Well."),
        Move::Submit(count) => {
            calls(work(*count).chain([submit(&format!("s{n}"), r#"{"count":1}"#)]))
        }
    }
}

/// Plays a script to its end over as many attempts as it hands in outputs, dying at each of `deaths`.
async fn play(script: &[Move], deaths: &[usize]) -> Conversation {
    let replies: Vec<ModelReply> =
        script.iter().enumerate().map(|(n, step)| costs(reply(n, step), 3)).collect();
    let model =
        Strict::plays(replies.into_iter().chain([calls([submit("end", r#"{"count":9}"#)])]));
    let outputs = script.iter().filter(|step| matches!(step, Move::Submit(_))).count() + 1;
    let config = || probity_chat::ChatConfig { max_invalid_outputs: 50, ..typed() };
    let book = Book::default();
    let mut deaths = deaths.iter().copied();
    book.fail_at(deaths.next());
    let mut works = delegate(&model, vec![recording(&Made::default(), true)], config());
    for k in 1..=outputs {
        let mut request = request(&book, u32::try_from(k).unwrap());
        request.max_attempts = 100;
        while let Err(error) = attempt(&works, &book, request.clone()).await {
            assert_eq!(error.code(), "delegate_notes", "{error}");
            request.is_replay = true;
            book.fail_at(deaths.next());
            works = delegate(&model, vec![recording(&Made::default(), true)], config());
        }
    }
    let conversation = book.conversation();
    assert_eq!(conversation.model_calls() as usize, script.len() + 1);
    conversation
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the model does, and wherever the process dies, the transcript is that of a quiet run.
    #[test]
    fn any_conversation_survives_any_deaths(
        script in moves(),
        mut deaths in prop::collection::vec(0..40usize, 0..4),
    ) {
        deaths.sort_unstable();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let quiet = runtime.block_on(play(&script, &[]));
        let stormy = runtime.block_on(play(&script, &deaths));
        prop_assert_eq!(quiet.messages(), stormy.messages());
        let said = |message: &Message| matches!(message, Message::System { .. });
        prop_assert_eq!(quiet.messages().iter().filter(|m| said(m)).count(), 1);
    }
}

/// A tool that asks, and what every call of it was: its id, and whether it had the answer.
fn asking(made: &Made) -> Arc<dyn Tool> {
    let (made, parameters) = (made.clone(), serde_json::json!({ "type": "object" }));
    let spec = ToolSpec { name: "ask".into(), description: "Asks.".into(), parameters };
    Arc::new(FunctionTool::raw(spec, move |_, ctx| {
        made.lock().unwrap().push((ctx.call_id.clone(), ctx.answer.is_some()));
        async move {
            Ok(match ctx.answer {
                Some(_) => ToolReply::Done(ToolOutput::text("answered")),
                None => ToolReply::Park(Wait::Answer { question: "Well?".into() }),
            })
        }
    }))
}

/// Answers that work, ask, call what is not there and hand in what is none, all at once.
fn unruly(n: usize, bits: u8) -> ModelReply {
    let id = |what: &str| format!("{what}{n}");
    let all = [
        say(&id("a"), &id("a")),
        crate::stage::call(&id("q"), "ask", "{}"),
        crate::stage::call(&id("u"), "no.such", "{"),
        submit(&id("i"), r#"{"count":"no"}"#),
        crate::stage::call(&id("r"), "ask", ""),
        say(&id("b"), &id("b")),
        submit(&id("s"), r#"{"count":1}"#),
    ];
    let chosen = all.into_iter().enumerate().filter(|(k, _)| bits & (1 << k) != 0);
    costs(calls(chosen.map(|(_, call)| call)), 3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Wherever the process dies, among waits and calls that must not be repeated: the server takes
    /// every request, no call is made twice, and what was spent is what the model was told of.
    #[test]
    fn no_death_repeats_a_call_that_must_not_be_repeated(
        script in prop::collection::vec(0..128u8, 1..8),
        mut deaths in prop::collection::vec(0..40usize, 0..5),
    ) {
        deaths.sort_unstable();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (made, asked) = (Made::default(), Made::default());
        let book = Book::default();
        let outputs = script.iter().filter(|bits| *bits & 64 != 0).count() + 1;
        let replies = script.iter().enumerate().map(|(n, bits)| unruly(n, *bits));
        let model = Strict::plays(replies.chain([calls([submit("end", r#"{"count":9}"#)])]));
        runtime.block_on(async {
            let mut deaths = deaths.into_iter();
            book.fail_at(deaths.next());
            for k in 1..=outputs {
                let mut request = request(&book, u32::try_from(k).unwrap());
                loop {
                    let config = probity_chat::ChatConfig { max_invalid_outputs: 50, ..typed() };
                    let tools = vec![recording(&made, false), asking(&asked)];
                    match attempt(&delegate(&model, tools, config), &book, request.clone()).await {
                        Ok(_) => break,
                        Err(DelegateError::Parked(Parked { key, .. })) => {
                            request.answer = Some(Answer { key, value: true.into() });
                        }
                        Err(error) => {
                            assert_eq!(error.code(), "delegate_notes", "{error}");
                            request.is_replay = true;
                            book.fail_at(deaths.next());
                        }
                    }
                }
            }
        });
        for made in [made, asked] {
            let mut made = made.lock().unwrap().clone();
            let times = made.len();
            made.sort_unstable();
            made.dedup();
            prop_assert_eq!(made.len(), times, "made twice");
        }
        let conversation = book.conversation();
        let counts = |message: &&Message| match message {
            Message::Tool { name, content, .. } => {
                name != "final_output" && !content.contains("was handed in with the same answer")
            }
            _ => false,
        };
        let told = conversation.messages().iter().filter(counts).count();
        prop_assert_eq!(book.usage().tool_calls, told as u64);
        prop_assert_eq!(book.usage().tokens, 3 * script.len() as u64);
    }
}

#[tokio::test]
async fn the_claim_holds_the_work_of_the_whole_turn_also_behind_a_crash() {
    let model =
        Strict::plays([calls([say("a", "a")]), calls([say("b", "b")]), ModelReply::text("Done.")]);
    let book = Book::default();
    let made = Made::default();
    book.fail_at(Some(3));
    let dies = delegate(&model, vec![recording(&made, true)], config());
    attempt(&dies, &book, request(&book, 1)).await.unwrap_err();
    book.fail_at(None);
    let again = delegate(&model, vec![recording(&made, true)], config());
    let request = Request { is_replay: true, ..request(&book, 1) };
    let claim = attempt(&again, &book, request).await.unwrap().claim;
    let ids: Vec<&str> = claim.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!((ids, claim.tool_results.len()), (vec!["a", "b"], 2));
    let made = made.lock().unwrap();
    assert_eq!(*made, [("a".into(), false), ("b".into(), false), ("b".into(), true)]);
}
