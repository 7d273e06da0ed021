//! Outputs: handed in by `final_output`, checked against their schema.

use std::sync::Arc;

use probity_chat::{ChatConfig, FINAL_OUTPUT, Message, ModelReply, OutputSchema};
use probity_delegate::{Delegate, DelegateError};
use serde_json::json;

use crate::stage::{
    Book, Strict, attempt, calls, config, costs, delegate, echo, request, say, submit, typed,
};

const GOOD: &str = r#"{"count":3}"#;

#[tokio::test]
async fn the_tool_of_the_output_comes_last_and_its_call_wins_over_text() {
    // Text and a call in one answer: nfactorial's P12.
    let reply = ModelReply { text: "Here it is:".into(), ..calls([submit("o", GOOD)]) };
    let model = Strict::plays([reply]);
    let delegate = delegate(&model, vec![echo()], typed());
    let answered = delegate.attempt(&request(&Book::default(), 1)).await.unwrap();
    assert_eq!(answered.claim.output, Some(json!({ "count": 3 })));
    assert_eq!(answered.claim.response, "Here it is:");
    assert!(answered.claim.tool_calls.is_empty(), "handing in is no work");
    assert_eq!(model.asked()[0].tools, ["echo", FINAL_OUTPUT]);
    let tool = typed().output.unwrap().tool();
    assert_eq!(tool.description, "Complete the task and return the final output to the user.");
}

#[tokio::test]
async fn a_rejected_output_and_its_siblings_are_answered_by_tool_messages() {
    // P12c and P20: no sibling is dropped, and a strict server takes what follows.
    for is_same_process in [true, false] {
        let model = Strict::plays([
            calls([
                submit("bad", r#"{"count":-1}"#),
                say("sibling", "x"),
                submit("good", GOOD),
                submit("late", GOOD),
            ]),
            calls([submit("next", GOOD)]),
        ]);
        let book = Book::default();
        let first = delegate(&model, vec![echo()], typed());
        let claim = attempt(&first, &book, request(&book, 1)).await.unwrap().claim;
        assert!(claim.tool_calls.is_empty(), "the sibling was not made: {claim:?}");
        let second = delegate(&model, vec![echo()], typed());
        let next = if is_same_process { &first } else { &second };
        attempt(next, &book, request(&book, 2)).await.unwrap();

        let asked = &model.asked()[1];
        assert!(matches!(asked.last(), Message::Tool { .. }), "no user message beside it");
        assert_eq!(asked.answer("good"), ("try again (2)", false));
        let (text, is_error) = asked.answer("sibling");
        assert_eq!(text, "not executed: the output was handed in with the same answer");
        assert!(is_error);
        assert_eq!(asked.answer("late").0, "ignored: the output was already handed in");
        assert!(asked.answer("bad").0.contains("/count"), "{asked:?}");
        assert_eq!(book.usage().tool_calls, 0);
    }
}

#[tokio::test]
async fn what_a_hook_wrote_answers_the_output_verbatim() {
    let model = Strict::plays([calls([submit("o", GOOD)]), calls([submit("p", GOOD)])]);
    let book = Book::default();
    let delegate = delegate(&model, vec![], typed());
    attempt(&delegate, &book, request(&book, 1)).await.unwrap();
    let mut second = request(&book, 2);
    second.prompt.rewritten = Some("<no/>".into());
    attempt(&delegate, &book, second).await.unwrap();
    assert_eq!(model.asked()[1].answer("o"), ("<no/>", false));
}

#[tokio::test]
async fn an_invalid_output_is_told_at_once_and_is_no_attempt() {
    // P17: the model hears what is wrong; siblings of an output that is none are made.
    let model = Strict::plays([
        calls([submit("a", "{nonsense"), say("b", "made")]),
        calls([submit("c", r#"{"count":"three","extra":1}"#)]),
        calls([submit("d", GOOD)]),
    ]);
    let book = Book::default();
    let delegate = delegate(&model, vec![echo()], typed());
    let answered = attempt(&delegate, &book, request(&book, 1)).await.unwrap();
    assert_eq!(answered.claim.output, Some(json!({ "count": 3 })));
    assert_eq!(answered.claim.tool_calls.len(), 1, "{:?}", answered.claim);
    assert_eq!(book.usage().tool_calls, 1);
    let asked = model.asked();
    assert!(asked[1].answer("a").0.contains("not JSON"), "{:?}", asked[1]);
    assert_eq!(asked[1].answer("b"), ("made", false));
    let (text, is_error) = asked[2].answer("c");
    assert!(is_error && text.contains("at /count: ") && text.contains("extra"), "{text}");
}

#[tokio::test]
async fn invalid_outputs_without_end_in_one_answer_are_bounded() {
    let many = calls((0..130).map(|n| submit(&format!("o{n}"), "{}")));
    let model = Strict::plays([many, calls([submit("o", GOOD)])]);
    let delegate = delegate(&model, vec![], typed());
    delegate.attempt(&request(&Book::default(), 1)).await.unwrap();
    let asked = model.asked();
    assert!(asked[1].answer("o127").0.contains("cannot be taken"), "{asked:?}");
    assert!(asked[1].answer("o128").0.contains("too many calls"));
}

#[tokio::test]
async fn text_where_an_output_is_wanted_is_asked_for_again() {
    // P12d.
    let model = Strict::plays([ModelReply::text("Three."), calls([submit("o", GOOD)])]);
    let delegate = delegate(&model, vec![], typed());
    delegate.attempt(&request(&Book::default(), 1)).await.unwrap();
    let Message::User { content } = model.asked()[1].last().clone() else { panic!("no nudge") };
    assert!(content.contains("`final_output`"), "{content}");
}

#[tokio::test]
async fn invalid_outputs_in_a_row_end_the_attempt_also_across_a_crash() {
    let bad = || costs(calls([submit("o", "[]")]), 10);
    let text = || costs(ModelReply::text("Three."), 10);
    let model = Strict::plays([bad(), text(), bad(), bad()]);
    let book = Book::default();
    book.fail_at(Some(2));
    let error = attempt(&delegate(&model, vec![], typed()), &book, request(&book, 1)).await;
    assert_eq!(error.unwrap_err().code(), "delegate_notes");
    book.fail_at(None);
    let error = attempt(&delegate(&model, vec![], typed()), &book, request(&book, 1)).await;
    let Err(DelegateError::InvalidOutput { tries: 3, detail }) = error else { panic!("{error:?}") };
    assert!(detail.contains("not a JSON object"), "{detail}");
    assert_eq!(book.usage().tokens, 30);
    assert_eq!(model.asked().len(), 4, "the third was asked for twice: its note was lost");
}

#[tokio::test]
async fn work_in_between_and_a_new_attempt_begin_the_row_anew() {
    let bad = |id: &str| calls([submit(id, "{}")]);
    let model = Strict::plays([
        bad("a"),
        bad("b"),
        calls([say("w", "work")]),
        bad("c"),
        bad("d"),
        calls([submit("e", GOOD)]),
        bad("f"),
        bad("g"),
        calls([submit("h", GOOD)]),
    ]);
    let book = Book::default();
    let delegate = delegate(&model, vec![echo()], typed());
    attempt(&delegate, &book, request(&book, 1)).await.unwrap();
    let claim = attempt(&delegate, &book, request(&book, 2)).await.unwrap().claim;
    assert!(claim.tool_calls.is_empty(), "work of the attempt before: {claim:?}");
}

#[tokio::test]
async fn an_output_is_normalised_and_what_normalising_refuses_is_told() {
    let schema = typed().output.unwrap().schema().clone();
    let output = OutputSchema::new(schema).unwrap().normalised(Arc::new(|mut value| {
        if value["count"] == json!(13) {
            return Err("thirteen is unlucky".to_owned());
        }
        value["note"] = json!("none");
        Ok(value)
    }));
    let config = ChatConfig { output: Some(output), ..config() };
    let model =
        Strict::plays([calls([submit("a", r#"{"count":13}"#)]), calls([submit("b", GOOD)])]);
    let delegate = delegate(&model, vec![], config);
    let claim = delegate.attempt(&request(&Book::default(), 1)).await.unwrap().claim;
    assert_eq!(claim.output, Some(json!({ "count": 3, "note": "none" })));
    assert!(model.asked()[1].answer("a").0.contains("thirteen is unlucky"));
}

#[tokio::test]
async fn errors_about_a_hostile_output_are_bounded() {
    let members: Vec<String> =
        (0..5000).map(|n| format!("\"x{n}\":\"{}\"", "y".repeat(50))).collect();
    let long = format!("{{{},\"count\":\"{}\"}}", members.join(","), "z".repeat(100_000));
    let model = Strict::plays([calls([submit("a", &long)]), calls([submit("b", GOOD)])]);
    let delegate = delegate(&model, vec![], typed());
    delegate.attempt(&request(&Book::default(), 1)).await.unwrap();
    let asked = model.asked();
    let (text, _) = asked[1].answer("a");
    assert!(text.len() <= 4096, "{} bytes", text.len());
}

#[test]
fn a_schema_that_is_not_of_an_object_is_refused() {
    for schema in
        [json!({ "type": "string" }), json!(true), json!({ "type": "object", "required": 1 })]
    {
        let error = OutputSchema::new(schema).unwrap_err();
        assert_eq!(error.code(), "output_schema");
    }
}
