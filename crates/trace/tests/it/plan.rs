//! The plan: its file, its graph, and the trace that keeps to it.

use std::collections::BTreeSet;

use probity_trace::Verdict;
use probity_trace::sample::{SampleRun, canonical, reseal};
use serde_json::{Value, json};

use crate::plan_tamper::{
    CALL, CLAIM, DERIVE_END, GATHER_END, GATHER_START, RESULT, Run, VERIFY_END, VERIFY_START,
    assert_found, audit, codes,
};

/// What the audit finds where `plan.json` is this text.
fn with_plan(text: &str) -> (BTreeSet<String>, Verdict) {
    let mut files = SampleRun::default().files();
    files.files.insert("plan.json".to_owned(), text.as_bytes().to_vec());
    reseal(&mut files);
    let report = audit(&files);
    let is_plan = |code: &String| code.starts_with("trace_plan_");
    (codes(&report).into_iter().filter(is_plan).collect(), report.verdict)
}

fn plan_text() -> String {
    format!("{}\n", canonical(&Run::new().plan))
}

fn set(codes: &[&str]) -> BTreeSet<String> {
    codes.iter().map(|code| (*code).to_owned()).collect()
}

#[test]
fn the_file_is_one_canonical_document() {
    let right = plan_text();
    assert_eq!(with_plan(&right).0, set(&[]));
    let cases = [
        ("cut", right[..right.len() / 2].to_owned() + "\n", "trace_plan_json"),
        ("empty", "\n".to_owned(), "trace_plan_json"),
        ("two documents", right.replace('\n', "{}\n"), "trace_plan_json"),
        ("deep", format!("{}{}\n", "[".repeat(65), "]".repeat(65)), "trace_plan_limit"),
        ("no newline", right.trim_end().to_owned(), "trace_plan_uncanonical"),
        ("two newlines", right.clone() + "\n", "trace_plan_uncanonical"),
        ("a blank", right.replacen(':', ": ", 1), "trace_plan_uncanonical"),
        ("not a plan", "null\n".to_owned(), "trace_plan_type"),
        (
            "an integer",
            right.replace("default", "default\",\"x\":9007199254740993,\"y\":\""),
            "trace_plan_number",
        ),
        ("half a character", right.replace("default", "\\ud800"), "trace_plan_surrogate"),
        (
            "a wrapper",
            format!("{{\"canonical_version\":99,\"data\":{}}}\n", right.trim_end()),
            "trace_plan_wrapped",
        ),
    ];
    for (name, text, code) in cases {
        assert_eq!(with_plan(&text).0, set(&[code]), "{name}");
    }
    let twice = right.replacen("\"edges\":[]", "\"edges\":[],\"edges\":[]", 1);
    let (found, _) = with_plan(&twice);
    assert!(found.contains("trace_plan_key_twice"), "{found:?}");
    assert_eq!(with_plan("").1, Verdict::Malformed);
}

#[test]
fn no_key_is_missing_and_none_is_added() {
    let objects = ["", "/nodes/1", "/nodes/1/step", "/nodes/1/step/tool_requests/0"];
    for pointer in objects {
        let right = Run::new().plan;
        let keys: Vec<String> = right
            .pointer(pointer)
            .and_then(Value::as_object)
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        for key in keys {
            let mut plan = right.clone();
            let object = plan.pointer_mut(pointer).and_then(Value::as_object_mut);
            object.expect("an object").remove(&key);
            let (found, verdict) = with_plan(&format!("{}\n", canonical(&plan)));
            assert_eq!(found, set(&["trace_plan_key_missing"]), "{pointer}/{key}");
            assert_eq!(verdict, Verdict::Invalid);
        }
        let mut plan = right.clone();
        plan.pointer_mut(pointer).expect("an object")["schema_version"] = json!(1);
        let (found, _) = with_plan(&format!("{}\n", canonical(&plan)));
        assert_eq!(found, set(&["trace_plan_key_unknown"]), "{pointer}");
    }
}

#[test]
fn no_value_is_of_another_type() {
    for (pointer, values) in [
        ("/id", [json!(1), json!(null)]),
        ("/problem", [json!(1), json!(null)]),
        ("/spec_id", [json!({}), json!(null)]),
        ("/edges", [json!({}), json!(["a", "b"])]),
        ("/edges", [json!([["a"]]), json!([["a", "b", "c"]])]),
        ("/edges", [json!([["a", 1]]), json!(null)]),
        ("/nodes", [json!({}), json!([1])]),
        ("/nodes/1/id", [json!(1), json!(null)]),
        ("/nodes/1/kind", [json!(1), json!(null)]),
        ("/nodes/1/dependencies", [json!("x"), json!([1])]),
        ("/nodes/1/parameters", [json!([]), json!(null)]),
        ("/nodes/1/step", [json!([]), json!(null)]),
        ("/nodes/1/step/notes", [json!(1), json!(null)]),
        ("/nodes/1/step/kind", [json!(1), json!(null)]),
        ("/nodes/1/step/tool_requests", [json!({}), json!([1])]),
        ("/nodes/1/step/tool_requests/0/arguments", [json!([]), json!(null)]),
        ("/nodes/1/step/tool_requests/0/tool_name", [json!(1), json!(null)]),
    ] {
        for value in values {
            let mut plan = Run::new().plan;
            *plan.pointer_mut(pointer).expect("a value") = value.clone();
            let (found, _) = with_plan(&format!("{}\n", canonical(&plan)));
            assert_eq!(found, set(&["trace_plan_type"]), "{pointer} {value}");
        }
    }
    for kind in ["Gather", "gather ", "insufficient_evidence", ""] {
        let mut plan = Run::new().plan;
        plan["nodes"][1]["kind"] = json!(kind);
        let (found, _) = with_plan(&format!("{}\n", canonical(&plan)));
        assert_eq!(found, set(&["trace_plan_kind"]), "{kind}");
    }
}

#[test]
fn every_rule_on_the_graph_is_kept() {
    assert_found(
        "no steps",
        |run| {
            run.plan["nodes"] = json!([]);
            run.rename_plan();
            run.events.clear();
        },
        &["trace_plan_empty", "trace_required_step_missing"],
    );
    assert_found(
        "instructions of another kind",
        |run| {
            run.plan["nodes"][3]["step"]["kind"] = json!("understand");
            run.rename_plan();
        },
        &["trace_plan_step_kind"],
    );
    assert_found(
        "a step that stands twice",
        |run| {
            let copy = run.plan["nodes"][3].clone();
            run.plan["nodes"].as_array_mut().expect("a list").push(copy);
            run.rename_plan();
        },
        &["trace_plan_node_twice"],
    );
    let depend = |at: usize, on: Value| {
        move |run: &mut Run| {
            run.plan["nodes"][at]["dependencies"] = on.clone();
            let mut named = run.plan.clone();
            named.as_object_mut().expect("a plan").remove("id");
        }
    };
    assert_found(
        "waits for nothing known",
        depend(0, json!(["node_v1_x"])),
        &["trace_plan_dependency_missing"],
    );
    let ids: Vec<Value> = (0..5).map(|at| Run::new().plan["nodes"][at]["id"].clone()).collect();
    assert_found("waits for itself", depend(0, json!([ids[0]])), &["trace_plan_dependency_self"]);
    assert_found(
        "a circle",
        depend(0, json!([ids[4]])),
        &["trace_plan_cycle", "trace_step_before_dependency"],
    );
    let edges = |edges: Value| {
        move |run: &mut Run| {
            run.plan["edges"] = edges.clone();
            run.rename_plan();
        }
    };
    let pairs = |from: usize, to: usize| -> Vec<Value> {
        (0..4).map(|at| json!([ids[at + from], ids[at + to]])).collect()
    };
    assert_found("edges forward", edges(json!(pairs(0, 1))), &[]);
    assert_found("edges backward", edges(json!(pairs(1, 0))), &[]);
    let mut turned = pairs(0, 1);
    turned.reverse();
    assert_found("edges in another order", edges(json!(turned)), &[]);
    turned.pop();
    assert_found("an edge that is not there", edges(json!(turned)), &["trace_plan_edges"]);
    assert_found("an edge to nothing", edges(json!([["a", "b"]])), &["trace_plan_edges"]);
}

#[test]
fn plan_problem_and_header_agree() {
    assert_found(
        "another plan in the header",
        |run| run.header["plan_id"] = json!("plan_v1_x"),
        &["trace_header_plan_id"],
    );
    assert_found(
        "another problem in the header",
        |run| run.header["spec_id"] = json!("spec"),
        &["trace_header_spec_id"],
    );
    assert_found(
        "another problem in the plan",
        |run| {
            run.plan["spec_id"] = json!("spec_v1_x");
            run.rename_plan();
        },
        &["trace_plan_spec_id"],
    );
    assert_found(
        "another wording",
        |run| {
            run.plan["problem"] = json!("Does granite float?");
            run.rename_plan();
        },
        &["trace_plan_problem", "trace_question_differs"],
    );
}

#[test]
fn every_step_runs_as_planned() {
    assert_found(
        "a step that is not planned",
        |run| {
            let mut step = run.events[VERIFY_START..=VERIFY_END].to_vec();
            step.iter_mut().for_each(|event| event["step_id"] = json!("node_v1_x"));
            run.events.splice(VERIFY_START..VERIFY_START, step);
            run.renumber();
        },
        &["trace_step_unknown"],
    );
    assert_found(
        "a step that never ran",
        |run| {
            let mut extra = run.plan["nodes"][3].clone();
            extra["dependencies"] = json!([]);
            extra["id"] = json!("to be named");
            run.plan["nodes"].as_array_mut().expect("a list").push(extra);
            run.rename_plan();
        },
        &["trace_step_not_run"],
    );
    assert_found(
        "outputs exchanged",
        |run| {
            let output = run.events[1]["output"].clone();
            run.events[1]["output"] = run.events[VERIFY_END]["output"].clone();
            run.events[VERIFY_END]["output"] = output;
        },
        &["trace_output_kind"],
    );
    assert_found(
        "evidence is short, says a verify step",
        |run| {
            run.events[VERIFY_END]["output"] = json!({"type": "insufficient_evidence",
            "reason": "insufficient_evidence", "retrieved": 0, "required": 2});
        },
        &["trace_output_kind", "trace_required_step_missing"],
    );
    assert_found(
        "a step that is left out",
        |run| {
            run.events.drain(0..2);
            run.plan["nodes"][1]["dependencies"] = json!([]);
            run.plan["nodes"].as_array_mut().expect("a list").remove(0);
            run.rename_plan();
            run.renumber();
        },
        &["trace_required_step_missing"],
    );
}

#[test]
fn every_call_is_as_planned() {
    assert_found(
        "no request",
        |run| {
            run.plan["nodes"][1]["step"]["tool_requests"] = json!([]);
            run.rename_plan();
        },
        &["trace_tool_unrequested"],
    );
    assert_found(
        "no call",
        |run| {
            run.events.drain(CALL..GATHER_END);
            run.events[CALL]["output"]["evidence_ids"] = json!([]);
            run.renumber();
        },
        &["trace_tool_not_called"],
    );
    assert_found(
        "another tool",
        |run| run.events[CALL]["call"]["tool_name"] = json!("lookup"),
        &["trace_call_tool"],
    );
    assert_found(
        "other arguments",
        |run| {
            run.events[CALL]["call"]["arguments"]["top_k"] = json!(3);
        },
        &["trace_call_arguments"],
    );
    assert_found(
        "other arguments in the plan",
        |run| {
            run.plan["nodes"][1]["step"]["tool_requests"][0]["arguments"]["top_k"] = json!(2.0);
            run.rename_plan();
        },
        &["trace_call_arguments"],
    );
}

#[test]
fn outputs_list_what_their_step_made() {
    for ids in [json!([]), json!(["ev_v1_x"]), json!(["a", "b"]), json!(["a", "b", "c"])] {
        assert_found(
            "other evidence",
            |run| {
                run.events[GATHER_END]["output"]["evidence_ids"] = ids.clone();
            },
            &["trace_gather_evidence_ids"],
        );
    }
    for ids in [json!([]), json!(["claim_v1_x"]), json!(["a", "b"])] {
        assert_found(
            "other claims",
            |run| {
                run.events[DERIVE_END]["output"]["claim_ids"] = ids.clone();
            },
            &["trace_derive_claim_ids"],
        );
    }
    assert_found(
        "a claim that is not listed",
        |run| {
            run.events.insert(CLAIM, run.events[CLAIM].clone());
            run.renumber();
        },
        &["trace_derive_claim_ids"],
    );
}

#[test]
fn a_gather_output_may_list_what_earlier_steps_gathered() {
    let mut run = Run::of(&SampleRun { pairs: 2, ..SampleRun::default() });
    let second = GATHER_END + 9;
    assert_eq!(run.events[second]["output"]["type"], "gather");
    let mut all = run.events[GATHER_END]["output"]["evidence_ids"].as_array().expect("ids").clone();
    all.extend(run.events[second]["output"]["evidence_ids"].as_array().expect("ids").clone());
    run.events[second]["output"]["evidence_ids"] = json!(all);
    assert_eq!(run.found(), set(&[]));
    all.swap(0, 3);
    run.events[second]["output"]["evidence_ids"] = json!(all);
    assert_eq!(run.found(), set(&["trace_gather_evidence_ids"]));
    assert_eq!(run.events[GATHER_START + 2]["kind"], run.events[RESULT]["kind"]);
}

#[test]
fn the_plan_of_another_run_is_told() {
    let mut run = Run::new();
    run.plan = Run::of(&SampleRun { is_unicode: true, ..SampleRun::default() }).plan;
    let expected = set(&[
        "trace_header_plan_id",
        "trace_plan_problem",
        "trace_plan_spec_id",
        "trace_question_differs",
    ]);
    assert_eq!(run.found(), expected);
}

#[test]
fn a_plan_of_many_steps_is_read() {
    let run = Run::of(&SampleRun { pairs: 500, ..SampleRun::default() });
    assert_eq!(run.plan["nodes"].as_array().map(Vec::len), Some(1003));
    assert_eq!(codes(&audit(&run.files())), set(&[]));
}
