//! A sample run with altered claims, and what is found of evidence, claims and answers.

use std::collections::BTreeSet;

use probity_trace::sample::sha256;
use probity_trace::{MemoryFiles, TraceAuditor, TracePolicy};
use serde_json::{Value, json};

use crate::plan_tamper::{CLAIM, FINAL_END, Run};

/// The checks that are looked at here.
const CHECKS: [&str; 5] = ["evidence", "claims", "answer", "insufficiency", "policy"];

/// A name, a change, and exactly the codes that are then found.
pub(crate) type Case<T> = (&'static str, fn(&mut T), &'static [&'static str]);

/// The codes that an audit finds in the checks of this file.
pub(crate) fn found(files: &MemoryFiles, policy: &TracePolicy) -> BTreeSet<String> {
    let report = TraceAuditor::new(policy.clone()).audit(files, "a run");
    let ours = report.failures.iter().filter(|found| CHECKS.contains(&found.check));
    ours.map(|found| found.code.to_owned()).collect()
}

/// Holds what is found of files against what must be found: exactly these codes.
#[track_caller]
pub(crate) fn assert_files(name: &str, files: &MemoryFiles, expected: &[&str]) {
    assert_policy(name, files, &TracePolicy::default(), expected);
}

#[track_caller]
pub(crate) fn assert_policy(
    name: &str,
    files: &MemoryFiles,
    policy: &TracePolicy,
    expected: &[&str],
) {
    let expected: BTreeSet<String> = expected.iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(found(files, policy), expected, "{name}");
}

/// The sample run after a change, and after everything that hangs on its claim was made to agree.
pub(crate) fn changed(change: impl FnOnce(&mut Run)) -> MemoryFiles {
    let mut run = Run::new();
    change(&mut run);
    agree(&mut run);
    run.files()
}

/// Recomputes what a claim, the header and the answer say of the first claim.
fn agree(run: &mut Run) {
    let claim = &mut run.events[CLAIM]["claim"];
    settle(claim);
    let result = claim["structured"]["result_sha256"].clone();
    let statement = claim["statement"].clone();
    run.header["metadata"]["reasoning_trace"]["result_sha256"] = result.clone();
    run.header["metadata"]["reasoning_trace"]["reasoning_trace_sha256"] = result;
    run.events[FINAL_END]["output"]["final_answer"] = statement;
}

/// Recomputes what a derived claim says of its own making.
pub(crate) fn settle(claim: &mut Value) {
    let supports = claim["supports"].as_array().unwrap().clone();
    let cited: Vec<&Value> = supports.iter().filter(|one| one["kind"] == "evidence").collect();
    let named = |one: &&Value| {
        let id = one["ref_id"].as_str().unwrap();
        let hash = one["snippet_sha256"].as_str().unwrap();
        format!("{id}:{}-{}:{hash}", one["span"][0], one["span"][1])
    };
    let named: Vec<String> = cited.iter().map(named).collect();
    let hashed = format!("{}|{}", claim["statement"].as_str().unwrap(), named.join(";"));
    let picked = |one: &&Value| json!({"evidence_id": one["ref_id"], "sha": one["snippet_sha256"], "span": one["span"]});
    let picked: Vec<Value> = cited.iter().map(picked).collect();
    claim["structured"]["reasoner"]["picked"] = json!(picked);
    claim["structured"]["result_sha256"] = json!(sha256(hashed.as_bytes()));
}

/// The statement that the supports of a claim make up, each with these bytes before its marker.
pub(crate) fn statement(supports: &[Value], quotes: &[&str]) -> String {
    let cite = |(support, quote): (&Value, &&str)| format!("{quote} {}", marker(support));
    supports.iter().zip(quotes).map(cite).collect::<Vec<_>>().join(" ")
}

/// The marker of a support.
pub(crate) fn marker(support: &Value) -> String {
    let text = |key: &str| support[key].as_str().unwrap().to_owned();
    let (start, end) = (&support["span"][0], &support["span"][1]);
    format!("[evidence:{}:{start}-{end}:{}]", text("ref_id"), text("snippet_sha256"))
}

/// A support by bytes of a piece of evidence.
pub(crate) fn support(id: &str, content: &[u8], span: (usize, usize)) -> Value {
    json!({
        "hash_algo": "sha256",
        "kind": "evidence",
        "ref_id": id,
        "snippet_sha256": sha256(&content[span.0..span.1]),
        "span": [span.0, span.1],
    })
}
