//! How outputs are handed in, and what becomes of answers that are none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use probity_agent::Reject;
use probity_agent::chat::{FINAL_OUTPUT, Message, ModelReply};
use probity_core::Outcome;
use probity_testkit::{call, final_output};
use serde_json::{Value, json};

use crate::stage::{
    Output, Told, agent, answers, bounded, edit, editor, feedback, hand_in, model, model_for_ever,
    not_done, only_good, raw_call,
};

#[tokio::test]
async fn p12_text_beside_an_output_is_text_beside_an_output() {
    let model = model([ModelReply { text: "Here it is:".to_owned(), ..hand_in("good") }]);
    let agent = agent(&model)
        .output::<Output>()
        .verifier(async |output: Output, run: probity_agent::AgentContext| {
            Ok::<_, Reject>(format!("{} / {}", run.claim.response, output.summary))
        })
        .build()
        .unwrap();
    assert_eq!(bounded(agent.run("Fix it.")).await.unwrap().result, "Here it is: / good");
}

#[tokio::test]
async fn p12c_calls_beside_an_output_are_answered_as_not_made() {
    let reply = ModelReply::calls([
        call("", "edit", json!({})),
        raw_call(FINAL_OUTPUT, "{\"summary\":1}"),
        call("", FINAL_OUTPUT, json!({ "summary": "bad" })),
        call("", "edit", json!({})),
        call("", FINAL_OUTPUT, json!({ "summary": "good" })),
    ]);
    let model = model([reply, hand_in("good")]);
    let agent = agent(&model).tool(editor()).output::<Output>().verifier(only_good);
    let done = bounded(agent.build().unwrap().run("Fix it.")).await.unwrap();
    assert_eq!((done.verification.attempts_used, done.ledger.len()), (1, 2), "one for the turn");
    assert_eq!(done.ledger[1].work, 0, "no call was made");
    let answers = answers(&model.asked()[1]);
    let starts = [
        ("not executed", true),
        ("the output cannot be taken", true),
        ("<verification_rejected code=\"bad\"", false),
        ("not executed", true),
        ("ignored", true),
    ];
    assert_eq!(answers.len(), starts.len());
    for ((text, is_error), (start, should)) in answers.iter().zip(starts) {
        assert!(text.starts_with(start) && *is_error == should, "{start}: {text}");
    }
    assert!(model.violations().is_empty());
}

#[tokio::test]
async fn p12d_text_alone_gets_a_nudge_and_is_no_attempt() {
    let model = model([ModelReply::text("I am done!"), hand_in("good")]);
    let agent = agent(&model).output::<Output>().verifier(only_good).build().unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!((done.verification.attempts_used, done.ledger.len()), (0, 1));
    match model.asked()[1].messages.last().unwrap() {
        Message::User { content } => assert!(content.contains("`final_output`"), "{content}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn p12d_text_alone_again_and_again_ends_the_run() {
    let model = model_for_ever([ModelReply::text("I am done!")]);
    let agent = agent(&model).output::<Output>().verifier(only_good).build().unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::DelegateFailed, "invalid_output"));
    assert_eq!(model.asked().len(), 3);
}

#[tokio::test]
async fn p12e_without_a_verifier_the_output_is_valid_and_labelled_as_unchecked() {
    let told = Told::default();
    let model = model([final_output(json!({ "summary": 7 })), hand_in("a")]);
    let agent = agent(&model).on_verification(told.sink()).output::<Output>().build().unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!(done.outcome, Outcome::Unverified);
    let result = Output { summary: "a".to_owned(), profile: "fast".to_owned() };
    assert_eq!(done.result, result, "the first did not fit, and was told so");
    assert_eq!(done.verification.attempts_used, 0);
    assert!(told.names().is_empty(), "{:?}", told.names());
}

#[tokio::test]
async fn p12e_without_a_declared_output_the_text_is_the_result() {
    let model = model([edit(), ModelReply::text("Hello.")]);
    let agent = agent(&model).tool(editor()).build().unwrap();
    let done = bounded(agent.run("Say hello.")).await.unwrap();
    assert_eq!((done.result.as_str(), done.outcome), ("Hello.", Outcome::Unverified));
    assert_eq!(done.output, Value::Null);
    assert!(model.asked()[0].tools.iter().all(|tool| tool.name != FINAL_OUTPUT));
}

/// A verifier that counts how often it is asked.
fn counting() -> (Arc<AtomicU32>, impl Fn(Output) -> Result<(), Reject> + Clone) {
    let calls = Arc::new(AtomicU32::new(0));
    let counter = calls.clone();
    let verifier = move |_: Output| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    (calls, verifier)
}

#[tokio::test]
async fn p17_a_misfit_is_told_at_once_and_is_no_attempt() {
    let misfits =
        [(json!({ "summary": 7 }).to_string(), "summary"), ("{\"summary\":".to_owned(), "JSON")];
    let replies =
        misfits.iter().map(|(arguments, _)| ModelReply::calls([raw_call(FINAL_OUTPUT, arguments)]));
    let model = model(replies.chain([hand_in("good")]));
    let (calls, verifier) = counting();
    let agent = agent(&model).output::<Output>().verifier(verifier).build().unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!((done.verification.attempts_used, done.ledger.len()), (0, 1));
    assert_eq!(calls.load(Ordering::SeqCst), 1, "only what fits is verified");
    for (asked, (_, words)) in model.asked()[1..].iter().zip(&misfits) {
        let told = feedback(asked);
        assert!(told.contains(words) && told.contains("not counted as an attempt"), "{told}");
    }
}

#[tokio::test]
async fn p17_three_misfits_in_a_row_end_the_run() {
    let model = model_for_ever([final_output(json!({ "summary": 7 }))]);
    let (calls, verifier) = counting();
    let agent = agent(&model).output::<Output>().verifier(verifier).build().unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::DelegateFailed, "invalid_output"));
    assert_eq!((model.asked().len(), calls.load(Ordering::SeqCst)), (3, 0));
    assert_eq!(end.verification.attempts_used, 0);
    assert!(end.reasons.last().unwrap().contains("summary"), "{:?}", end.reasons);
}

/// The budget is of misfits in a row: an attempt that was rejected begins anew.
#[tokio::test]
async fn p17_the_budgets_of_misfits_and_of_attempts_do_not_mix() {
    let misfit = || final_output(json!({ "summary": 7 }));
    let replies =
        [misfit(), misfit(), hand_in("a"), misfit(), misfit(), hand_in("b"), hand_in("good")];
    let model = model(replies);
    let agent = agent(&model).output::<Output>().verifier(only_good).build().unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!((done.verification.attempts_used, done.ledger.len()), (2, 3));
}
