//! The rules of seed 003, and what `docs/agents.md` states to the byte.

use std::sync::Arc;

use probity_agent::{LastOutcome, Ledger, Reject, VerificationEvent};
use probity_core::{Digest, Outcome};
use probity_store::{MemoryStore, Store};
use probity_testkit::final_output;
use serde_json::{Value, json};

use crate::stage::{
    Anything, Output, Told, agent, bounded, feedback, hand_in, model, never, not_done, run_id,
    verdict,
};

const DOCUMENT: &str = include_str!("../../../../docs/agents.md");

/// Rows of the table of candidate hashes.
fn vectors() -> Vec<(String, String)> {
    let rows = DOCUMENT.lines().filter_map(|line| {
        let (form, hash) = line.strip_prefix("| `{")?.strip_suffix("` |")?.split_once("` | `")?;
        (hash.len() == 64).then(|| (format!("{{{form}"), hash.to_owned()))
    });
    rows.collect()
}

/// The hash in the ledger of an agent that hands in this value, as another process reads it.
async fn hash_of(output: Value) -> String {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let writer = agent(&model([final_output(output)])).store(store.clone());
    let writer = writer.output::<Anything>().verifier(async |_: Anything| Ok::<_, Reject>(()));
    let done = bounded(writer.build().unwrap().run("Fix it.")).await.unwrap();
    let reader = agent(&model([])).store(store).build().unwrap();
    let ledger: Ledger = reader.ledger(&done.run).await.unwrap();
    ledger.entries()[0].candidate_hash.to_string()
}

#[tokio::test]
async fn the_candidate_hashes_of_the_document_hold() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 7, "the table was not found");
    for (form, hash) in vectors {
        assert_eq!(hash_of(serde_json::from_str(&form).unwrap()).await, hash, "{form}");
    }
}

#[tokio::test]
async fn outputs_that_differ_in_what_the_type_fills_in_are_one_candidate() {
    let replies = [
        hand_in("x"),
        final_output(json!({ "summary": "x", "profile": "fast" })),
        final_output(json!({ "profile": "fast", "summary": "x" })),
    ];
    let agent = agent(&model(replies)).output::<Output>().verifier(never).build().unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    let hashes: Vec<Digest> = end.ledger.iter().map(|entry| entry.candidate_hash).collect();
    assert_eq!(hashes, [hashes[0]; 3]);
    assert_eq!(end.code.as_str(), "no_progress");
    let output = end.last_claim.unwrap().output.unwrap();
    assert_eq!(output, json!({ "summary": "x", "profile": "fast" }));
}

/// Rule 1: the hash is that of what the verifier sees, and stands in the log with its verdict.
#[tokio::test]
async fn rule_1_the_candidate_is_hashed_before_it_is_verified() {
    let told = Told::default();
    let model = model([final_output(json!({ "score": 3, "summary": "same" }))]);
    let agent = agent(&model)
        .on_verification(told.sink())
        .output::<Anything>()
        .verifier(async |_: Anything, submission: probity_agent::Submission| {
            Ok::<_, Reject>(submission.candidate_hash.to_string())
        })
        .build()
        .unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!(done.result, vectors()[0].1, "what the verifier is given");
    assert_eq!(done.ledger[0].candidate_hash.to_string(), done.result);
    assert_eq!(verdict(&told.events()[0]).candidate_hash, done.ledger[0].candidate_hash);
}

/// Rule 2: rejected, and another candidate than the last: counted. Rule 3: the same: not counted.
#[tokio::test]
async fn rules_2_and_3_a_new_candidate_counts_and_the_same_does_not() {
    let told = Told::default();
    let model = model([hand_in("a"), hand_in("a"), hand_in("b"), hand_in("good")]);
    let agent = agent(&model)
        .on_verification(told.sink())
        .output::<Output>()
        .verifier(crate::stage::only_good)
        .verifier_max_attempts(5)
        .build()
        .unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    let events = told.events();
    let counted: Vec<_> = events
        .iter()
        .map(|event| match event {
            VerificationEvent::Rejected { verdict, attempt_counted, .. } => {
                (Some(*attempt_counted), verdict.attempts_used)
            }
            other => (None, verdict(other).attempts_used),
        })
        .collect();
    assert_eq!(counted, [(Some(true), 1), (Some(false), 1), (Some(true), 2), (None, 2)]);
    assert_eq!(done.outcome, Outcome::Verified);
    assert_eq!(done.verification.attempts_used, 2);
    assert_eq!(done.verification.last_outcome, Some(LastOutcome::Passed));
    assert_eq!(done.verification.last_candidate_hash, Some(done.ledger[3].candidate_hash));
}

/// The lifecycle of the seed: reject until the budget is used up, then the task fails.
#[tokio::test]
async fn the_last_rejection_allowed_ends_the_run() {
    let model = model([hand_in("a")]);
    let agent = agent(&model).output::<Output>().verifier(never).verifier_max_attempts(1);
    let end = not_done(bounded(agent.build().unwrap().run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Exhausted, "attempts"));
    assert_eq!(model.asked().len(), 1);
}

/// The lifecycle of the seed: what is fatal ends the run whatever is left.
#[tokio::test]
async fn fatal_ends_the_run_and_charges_nothing() {
    let model = model([hand_in("fatal")]);
    let agent = agent(&model).output::<Output>().verifier(crate::stage::only_good);
    let end = not_done(bounded(agent.build().unwrap().run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Rejected, "hopeless"));
    assert_eq!((end.verification.attempts_used, end.ledger[0].counted), (0, false));
    assert_eq!(end.verification.last_outcome, Some(LastOutcome::Fatal));
    assert_eq!(end.reasons, ["Not this."]);
}

#[tokio::test]
async fn the_model_is_told_the_block_of_the_document() {
    let block = DOCUMENT.split("```text\n").nth(1).unwrap().split("\n```").next().unwrap();
    let failed = ["test_parser_generics", "test_codegen_switch", "test_linker_symbols"];
    let model = model([hand_in("a"), hand_in("b")]);
    let agent = agent(&model)
        .output::<Output>()
        .verifier(move |output: Output| match output.summary.as_str() {
            "a" => Err(Reject::revise("3 regression tests failed.")
                .code("tests_failed")
                .metadata(json!({ "failed_tests": failed }))),
            _ => Ok(()),
        })
        .verifier_max_attempts(5)
        .build()
        .unwrap();
    bounded(agent.run_with(
        "Fix it.",
        probity_agent::RunOptions { run: Some(run_id("golden")), ..Default::default() },
    ))
    .await
    .unwrap();
    assert_eq!(feedback(&model.asked()[1]), block);
}
