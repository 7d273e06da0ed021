//! Large hostile input: each of these would take hours if the work grew with the square of its size.

use probity_trace::sample::{Retrieval, SampleRun};
use probity_trace::{MemoryFiles, TraceAuditor, Verdict, VerificationReport};
use serde_json::{Value, json};

use super::mutation::{CLAIM, RESULT, Run, VERIFIED};

const MANY: usize = 300_000;

fn run(retrieval: Retrieval) -> Run {
    Run::of(&SampleRun { retrieval, ..SampleRun::default() })
}

fn audit(files: &MemoryFiles) -> VerificationReport {
    let report = TraceAuditor::default().audit(files, "a run");
    assert_ne!(report.verdict, Verdict::Valid);
    report
}

#[test]
fn many_wrong_supports_of_one_claim() {
    let mut run = run(Retrieval::Memory);
    run.claim(|claim| {
        let mut support = claim["supports"][0].clone();
        support["ref_id"] = "ev".into();
        claim["supports"] = vec![support; MANY / 4].into();
    });
    let report = audit(&run.files);
    assert!(report.has("citation_fabricated"));
    assert!(report.summary_metrics["failures"] > MANY as u64 / 4, "all are counted");
}

#[test]
fn many_verdicts_on_claims_that_nobody_made() {
    let mut run = run(Retrieval::Memory);
    let end = VERIFIED - 9;
    run.event(end, |event| {
        let ids: Vec<Value> = vec!["c".into(); MANY];
        event["output"]["validated_claim_ids"] = ids.clone().into();
        event["output"]["missing_support_claim_ids"] = ids.into();
    });
    let report = audit(&run.files);
    assert!(report.has("trace_verify_unknown_claim") && report.has("trace_verify_left_out"));
    assert!(report.summary_metrics["failures"] > 2 * MANY as u64, "all are counted");
}

#[test]
fn many_other_questions_beside_a_long_problem() {
    let mut run = run(Retrieval::Memory);
    run.json("plan.json", |plan| plan["problem"] = "?".repeat(8 << 20).into());
    run.event(RESULT + 3, |event| {
        event["output"]["retrieval_queries"] = vec![json!("q"); MANY].into();
    });
    assert!(audit(&run.files).has("trace_question_differs"));
}

#[test]
fn many_results_of_a_search_that_are_none() {
    let mut run = run(Retrieval::Bm25);
    run.event(RESULT, |event| {
        event["result"]["result"]["evidences"] = vec![json!({}); MANY].into();
    });
    assert!(audit(&run.files).has("trace_result_ranking"));
}

#[test]
fn a_step_with_many_dependencies_that_starts_often() {
    let mut run = run(Retrieval::Memory);
    let mut first = Value::Null;
    let mut second = Value::Null;
    run.json("plan.json", |plan| {
        first = plan["nodes"][0]["id"].clone();
        second = plan["nodes"][1]["id"].clone();
        plan["nodes"][1]["dependencies"] = vec![first.clone(); MANY].into();
    });
    run.events(|events| {
        let start = json!({"idx": 0, "kind": "step_started", "step_id": second});
        events.splice(2..2, vec![start; MANY / 10]);
    });
    assert!(audit(&run.files).has("trace_step_twice"));
}

#[test]
fn many_brackets_that_look_alike() {
    let mut run = run(Retrieval::Memory);
    run.claim(|claim| claim["statement"] = "［evidence".repeat(MANY).into());
    assert!(audit(&run.files).has("citation_marker_malformed"));
    assert_eq!(CLAIM, 9);
}

#[test]
fn many_documents_with_one_text() {
    let mut run = run(Retrieval::Bm25);
    let line = |n: usize| format!("{{\"doc_id\":\"{n}\",\"text\":\"Basalt sinks.\"}}\n");
    let corpus: String = (0..MANY / 10).map(line).collect();
    run.put("provenance/corpus.jsonl", corpus);
    let id = probity_trace::sample::sha256(b"Basalt sinks.");
    run.event(RESULT, |event| {
        let item = json!({"chunk_id": id, "uri": "corpus://x#0-13"});
        event["result"]["result"]["evidences"] = vec![item; MANY / 10].into();
    });
    assert!(audit(&run.files).has("trace_provenance_sha256"));
}

#[test]
fn many_keys_that_stand_twice_and_are_escaped() {
    let mut run = run(Retrieval::Memory);
    let keys: Vec<String> = (0..MANY).rev().map(|n| format!("\"\\u0061{}\":0", n / 2)).collect();
    let value = format!("{{\"metadata\":{{{}}}", keys.join(","));
    run.swap("{\"canonicalization_version\":1", &format!("{value},\"canonicalization_version\":1"));
    assert!(audit(&run.files).has("trace_duplicate_key"));
}

#[test]
fn a_long_line_of_damage() {
    let mut run = run(Retrieval::Memory);
    let mut bytes = run.files.files["trace.jsonl"].clone();
    bytes.extend(vec![0xff; 24 << 20]);
    bytes.extend(b"\n\xff\n{}\n");
    run.put("trace.jsonl", bytes);
    let report = audit(&run.files);
    let damaged = report.failures.iter().filter(|failure| failure.code == "trace_not_utf8");
    assert_eq!(damaged.count(), 2, "each line is told once");
}
