//! Content ids: recomputed, whatever they name.

use std::collections::BTreeSet;

use probity_trace::sample::{Ending, Retrieval, SampleRun, canonical, content_id, reseal};
use serde_json::{Value, json};

use crate::plan_tamper::{CALL, CLAIM, EVIDENCE, Run, audit, codes};

fn found(run: &Run) -> BTreeSet<String> {
    let all = codes(&audit(&run.files()));
    all.into_iter().filter(|code| code.starts_with("trace_id_")).collect()
}

#[test]
fn every_sample_is_named_by_its_content() {
    for retrieval in [Retrieval::Memory, Retrieval::Bm25] {
        for ending in [Ending::Answer, Ending::Insufficient, Ending::Marked] {
            for is_unicode in [false, true] {
                let sample =
                    SampleRun { pairs: 3, retrieval, ending, is_unicode, ..SampleRun::default() };
                let found = codes(&audit(&sample.files()));
                // An ending of its own kind lists no claims; that is for the answer to say.
                assert_eq!(found, BTreeSet::new(), "{sample:?}");
            }
        }
    }
}

/// What is named, where its members are, and the code.
const NAMED: [(usize, &str, &[&str], &str); 3] = [
    (CALL, "call", &["arguments", "call_idx", "step_id", "tool_name"], "trace_id_call"),
    (EVIDENCE[0], "evidence", &["chunk_id", "sha256", "span", "uri"], "trace_id_evidence"),
    (
        CLAIM,
        "claim",
        &["claim_type", "confidence", "statement", "status", "structured", "supports"],
        "trace_id_claim",
    ),
];

#[test]
fn a_change_of_any_member_is_found() {
    for (at, key, members, code) in NAMED {
        for member in members.iter().chain(&["id"]) {
            let mut run = Run::new();
            let value = &mut run.events[at][key][*member];
            *value = match value {
                Value::String(text) if text == "derived" => json!("observed"),
                Value::String(text) if text == "proposed" => json!("validated"),
                Value::String(text) if text.len() == 64 => json!("0".repeat(64)),
                Value::String(text) => json!(format!("{text} ")),
                Value::Number(number) if number.is_f64() => json!(0.5),
                Value::Number(_) => json!(9),
                Value::Array(items) if items[0].is_number() => json!([0, 9]),
                Value::Array(_) => json!([]),
                _ => json!({"x": 1}),
            };
            assert_eq!(found(&run), BTreeSet::from([code.to_owned()]), "{key}/{member}");
        }
    }
}

#[test]
fn an_id_names_its_kind_and_version() {
    for (at, key, _, code) in NAMED {
        let right = Run::new().events[at][key]["id"].as_str().expect("an id").to_owned();
        let digest = &right[right.len() - 64..];
        let wrong = [
            String::new(),
            digest.to_owned(),
            right.to_uppercase(),
            right.replace("_v1_", "_v2_"),
            format!("node_v1_{digest}"),
            format!("{right}0"),
            right[..right.len() - 1].to_owned(),
        ];
        for id in wrong {
            let mut run = Run::new();
            run.events[at][key]["id"] = json!(id);
            let report = audit(&run.files());
            let finding = report.failures.iter().find(|finding| finding.code == code);
            let finding = finding.unwrap_or_else(|| panic!("{id} is taken for {right}"));
            assert_eq!(finding.expected.as_deref(), Some(right.as_str()));
            assert_eq!(finding.place.pointer, format!("/event/{key}/id"));
        }
    }
}

#[test]
fn a_call_is_named_by_either_formula() {
    let mut run = Run::new();
    let call = &run.events[CALL]["call"];
    let named = json!({
        "args": call["arguments"],
        "call_idx": call["call_idx"],
        "step_id": call["step_id"],
        "tool": call["tool_name"],
    });
    let old = call["id"].as_str().expect("an id").to_owned();
    run.replace(&old, &content_id("call", &named));
    assert_eq!(found(&run), BTreeSet::new());
}

#[test]
fn a_step_of_the_plan_is_named_by_either_formula() {
    let mut run = Run::new();
    let node = &run.plan["nodes"][4];
    let named = json!({
        "deps": node["dependencies"],
        "kind": node["kind"],
        "params": node["parameters"],
        "step": node["step"],
    });
    let old = node["id"].as_str().expect("an id").to_owned();
    run.replace(&old, &content_id("node", &named));
    assert_eq!(found(&run), BTreeSet::from(["trace_id_plan".to_owned()]));
    for change in ["dependencies", "kind", "parameters"] {
        let mut run = Run::new();
        let value = &mut run.plan["nodes"][4][change];
        *value = match change {
            "dependencies" => json!([]),
            "kind" => json!("verify"),
            _ => json!({"preset": "other"}),
        };
        let expected = ["trace_id_node", "trace_id_plan"].map(str::to_owned);
        assert_eq!(found(&run), BTreeSet::from(expected), "{change}");
    }
}

#[test]
fn every_member_of_the_plan_counts() {
    for (key, value) in [
        ("edges", json!([["a", "b"]])),
        ("id", json!("plan_v1_x")),
        ("problem", json!("Another one.")),
        ("spec_id", json!("spec_v1_x")),
    ] {
        let mut run = Run::new();
        run.plan[key] = value;
        assert_eq!(found(&run), BTreeSet::from(["trace_id_plan".to_owned()]), "{key}");
    }
    let mut run = Run::new();
    run.plan["nodes"][0]["step"]["notes"] = json!("Something else.");
    assert_eq!(found(&run), BTreeSet::from(["trace_id_plan".to_owned()]));
}

#[test]
fn an_id_holds_however_the_line_is_spelled() {
    let sample = SampleRun { is_unicode: true, ..SampleRun::default() };
    let mut files = sample.files();
    let trace = String::from_utf8(files.files["trace.jsonl"].clone()).expect("UTF-8");
    let spaced: Vec<String> = trace
        .lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(canonical(&value), line);
            // With a blank behind every colon and comma that is no part of a string.
            let pretty = serde_json::to_string_pretty(&value).expect("JSON");
            pretty.lines().map(str::trim).collect::<Vec<_>>().join(" ")
        })
        .collect();
    files.files.insert("trace.jsonl".to_owned(), format!("{}\n", spaced.join("\n")).into_bytes());
    let plan = String::from_utf8(files.files["plan.json"].clone()).expect("UTF-8");
    files.files.insert("plan.json".to_owned(), plan.replacen(':', " : ", 1).into_bytes());
    reseal(&mut files);
    let report = audit(&files);
    assert!(report.has("trace_not_canonical"));
    assert_eq!(codes(&report), BTreeSet::from(["trace_plan_uncanonical".to_owned()]));
}
