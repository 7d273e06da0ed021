//! Calls, results, and the evidence that is made of them.

use probity_trace::sample::content_id;
use serde_json::json;

use crate::plan_tamper::{
    CALL, CLAIM, DERIVE_START, EVIDENCE, GATHER_END, RESULT, Run, assert_found,
};

#[test]
fn every_rule_on_calls_is_kept() {
    assert_found(
        "a call that stands twice",
        |run| {
            run.events.insert(CALL + 1, run.events[CALL].clone());
            run.renumber();
        },
        &["trace_call_idx", "trace_call_twice", "trace_tool_unrequested"],
    );
    assert_found(
        "a call of another step",
        |run| {
            run.events[CALL]["call"]["step_id"] = run.events[DERIVE_START]["step_id"].clone();
        },
        &["trace_call_step"],
    );
    for number in [-7, 1, i64::from(i32::MAX)] {
        assert_found(
            "a call with another number",
            |run| {
                run.events[CALL]["call"]["call_idx"] = json!(number);
            },
            &["trace_call_idx"],
        );
    }
    assert_found(
        "a call that nobody asked for",
        |run| {
            let (mut call, mut result) = (run.events[CALL].clone(), run.events[RESULT].clone());
            call["call"]["call_idx"] = json!(1);
            call["call"]["id"] = json!("phantom");
            result["result"]["call_id"] = json!("phantom");
            result["result"]["result"] = json!({"echo": 1});
            run.events.splice(GATHER_END..GATHER_END, [call, result]);
            run.renumber();
        },
        &["trace_tool_unrequested"],
    );
}

#[test]
fn every_rule_on_results_is_kept() {
    assert_found(
        "no result",
        |run| {
            run.events.remove(RESULT);
            run.renumber();
        },
        &["trace_evidence_excess", "trace_result_missing"],
    );
    assert_found(
        "a result before its call",
        |run| {
            run.events.swap(CALL, RESULT);
            run.renumber();
        },
        &["trace_evidence_excess", "trace_result_missing", "trace_result_without_call"],
    );
    assert_found(
        "a second result",
        |run| {
            let mut second = run.events[RESULT].clone();
            second["result"]["result"]["evidences"] = json!([]);
            run.events.insert(GATHER_END, second);
            run.renumber();
        },
        &["trace_result_twice"],
    );
    assert_found(
        "a result of another step",
        |run| {
            run.events[RESULT]["step_id"] = run.events[DERIVE_START]["step_id"].clone();
        },
        &["trace_result_step", "trace_step_mismatch"],
    );
    assert_found(
        "a success with an error",
        |run| {
            run.events[RESULT]["result"]["error"] = json!("no");
        },
        &["trace_result_error"],
    );
    assert_found(
        "a failure without an error",
        |run| {
            run.events[RESULT]["result"]["success"] = json!(false);
            run.events[RESULT]["result"]["result"] = json!(null);
        },
        &["trace_evidence_excess", "trace_result_no_error"],
    );
    assert_found(
        "a failure with content",
        |run| {
            run.events[RESULT]["result"]["success"] = json!(false);
            run.events[RESULT]["result"]["error"] = json!("no");
        },
        &["trace_evidence_excess", "trace_result_of_failure"],
    );
    assert_found(
        "a result that was emptied",
        |run| {
            run.events[RESULT]["result"]["result"] = json!(null);
        },
        &["trace_evidence_excess"],
    );
}

#[test]
fn a_failed_call_without_content_is_no_breach() {
    let mut run = Run::new();
    let request = json!({"arguments": {}, "tool_name": "compute"});
    run.plan["nodes"][2]["step"]["tool_requests"] = json!([request]);
    let step = run.events[DERIVE_START]["step_id"].clone();
    let named = json!({"args": {}, "i": 0, "step_id": step, "tool": "compute"});
    let call = json!({"arguments": {}, "call_idx": 0, "id": content_id("call", &named),
        "step_id": step, "tool_name": "compute"});
    let result = json!({"call_id": call["id"], "error": "", "result": null, "success": false});
    let call = json!({"call": call, "kind": "tool_called", "step_id": step});
    let result = json!({"kind": "tool_returned", "result": result, "step_id": step});
    run.events.splice(CLAIM..CLAIM, [call, result]);
    run.renumber();
    run.rename_plan();
    assert_eq!(crate::plan_tamper::codes(&crate::plan_tamper::audit(&run.files())).len(), 0);
}

#[test]
fn evidence_is_what_the_result_gave() {
    assert_found(
        "evidence without a call",
        |run| {
            run.shift(EVIDENCE[1]..EVIDENCE[1] + 1, DERIVE_START);
            run.events[DERIVE_START]["step_id"] = run.events[DERIVE_START + 1]["step_id"].clone();
        },
        &["trace_evidence_left_out", "trace_evidence_no_call", "trace_gather_evidence_ids"],
    );
    assert_found(
        "more than was given",
        |run| {
            let evidences = &mut run.events[RESULT]["result"]["result"]["evidences"];
            evidences.as_array_mut().expect("a list").pop();
        },
        &["trace_evidence_excess"],
    );
    assert_found(
        "less than was given",
        |run| {
            run.events.remove(EVIDENCE[1]);
            let ids = &mut run.events[GATHER_END - 1]["output"]["evidence_ids"];
            ids.as_array_mut().expect("a list").pop();
            run.renumber();
        },
        &["trace_evidence_left_out"],
    );
    assert_found(
        "in another order",
        |run| {
            run.events.swap(EVIDENCE[0], EVIDENCE[1]);
            let ids = &mut run.events[GATHER_END]["output"]["evidence_ids"];
            ids.as_array_mut().expect("a list").reverse();
            run.renumber();
        },
        &["trace_evidence_order"],
    );
}

#[test]
fn every_member_of_evidence_is_held_against_the_result() {
    let other = "0".repeat(64);
    assert_found(
        "another text",
        |run| {
            let item = &mut run.events[RESULT]["result"]["result"]["evidences"][0];
            item["text"] = json!("Made up.");
        },
        &["trace_result_item", "trace_result_text"],
    );
    for (key, value, code) in [
        ("uri", json!("mem://elsewhere"), "trace_result_uri"),
        ("span", json!([1, 2]), "trace_result_span"),
        ("chunk_id", json!(other), "trace_result_chunk_id"),
        ("sha256", json!(other), "trace_result_text"),
    ] {
        assert_found(
            key,
            |run| {
                run.events[EVIDENCE[1]]["evidence"][key] = value.clone();
            },
            &[code],
        );
    }
    for (key, value) in [("chunk_sha256", json!(other)), ("chunk_span", json!([0, 1]))] {
        assert_found(
            key,
            |run| {
                let item = &mut run.events[RESULT]["result"]["result"]["evidences"][1];
                item[key] = value.clone();
            },
            &["trace_result_item"],
        );
    }
}

#[test]
fn other_tools_may_give_evidence_that_nobody_registers() {
    assert_found(
        "another tool",
        |run| {
            let old = run.events[CALL]["call"]["id"].as_str().expect("an id").to_owned();
            run.plan["nodes"][1]["step"]["tool_requests"][0]["tool_name"] = json!("lookup");
            run.events[CALL]["call"]["tool_name"] = json!("lookup");
            let call = &run.events[CALL]["call"];
            let named = json!({"args": call["arguments"], "i": 0, "step_id": call["step_id"],
            "tool": "lookup"});
            run.replace(&old, &content_id("call", &named));
            let evidences = &mut run.events[RESULT]["result"]["result"]["evidences"];
            let evidences = evidences.as_array_mut().expect("a list");
            evidences.insert(0, json!({"text": "not registered"}));
            evidences.push(json!({"text": "nor is this"}));
            run.rename_plan();
        },
        &[],
    );
}
