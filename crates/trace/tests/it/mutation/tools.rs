//! D: calls and results.

use serde_json::{Value, json};

use super::{CALL, EVIDENCE, RESULT, Row, Run, VERIFYING};

pub(super) const ROWS: &[Row] = &[
    ("D01 result dropped", "trace_result_missing", |run| {
        run.events(|events| drop(events.remove(RESULT)))
    }),
    ("D02 call dropped", "trace_result_without_call", |run| {
        run.events(|events| drop(events.remove(CALL)));
    }),
    ("D03 call and result dropped", "trace_tool_not_called", |run| {
        run.events(|events| drop(events.drain(CALL..=RESULT)));
    }),
    ("D04 call twice", "trace_call_twice", |run| {
        run.events(|events| events.insert(CALL, events[CALL].clone()));
    }),
    ("D05 second result", "trace_result_twice", |run| {
        run.events(|events| events.insert(EVIDENCE, events[RESULT].clone()));
    }),
    ("D06 result before its call", "trace_result_without_call", |run| {
        run.events(|events| events.swap(CALL, RESULT));
    }),
    ("D07 result of another call", "trace_result_without_call", |run| {
        run.event(RESULT, |event| event["result"]["call_id"] = "call".into());
    }),
    ("D08 failed result", "trace_result_of_failure", |run| {
        run.event(RESULT, |event| {
            event["result"]["success"] = false.into();
            event["result"]["error"] = "no".into();
        });
    }),
    ("D09 another tool", "trace_call_tool", |run| call(run, "tool_name", json!("delete"))),
    ("D10 other arguments", "trace_call_arguments", |run| {
        call(run, "arguments", json!({"query": "else", "top_k": 2}));
    }),
    ("D11 call of another step", "trace_call_step", |run| call(run, "step_id", json!("else"))),
    ("D12 result of another step", "trace_step_mismatch", |run| {
        run.records(|_, events| events[RESULT]["step_id"] = events[0]["step_id"].clone());
    }),
    ("D13 other text in the result", "trace_result_text", |run| {
        item(run, |item| item["text"] = "Something else.".into());
    }),
    ("D14 success and an error", "trace_result_error", |run| {
        run.event(RESULT, |event| event["result"]["error"] = "no".into());
    }),
    ("D15 call_idx -7", "trace_call_idx", |run| call(run, "call_idx", json!(-7))),
    ("D16 call id not of its content", "trace_id_call", |run| {
        run.records(|_, events| {
            events[CALL]["call"]["id"] = "c".into();
            events[RESULT]["result"]["call_id"] = "c".into();
        });
    }),
    ("D17 phantom call and result", "trace_tool_unrequested", |run| {
        run.events(|events| {
            let (mut call, mut result) = (events[CALL].clone(), events[RESULT].clone());
            call["call"]["id"] = "phantom".into();
            call["call"]["call_idx"] = 1.into();
            result["result"]["call_id"] = "phantom".into();
            result["result"]["result"] = Value::Null;
            events.splice(EVIDENCE..EVIDENCE, [call, result]);
        });
    }),
    ("D18 result null", "trace_evidence_excess", |run| {
        run.event(RESULT, |event| event["result"]["result"] = Value::Null);
    }),
    ("D19 alias ok", "trace_key_unknown", |run| {
        run.event(RESULT, |event| rename(&mut event["result"], "success", "ok"));
    }),
    ("D20 success \"yes\"", "trace_type", |run| {
        run.event(RESULT, |event| event["result"]["success"] = "yes".into());
    }),
    ("D21 alias tool_call", "trace_key_unknown", |run| {
        run.event(CALL, |event| rename(event, "call", "tool_call"));
    }),
    ("D22 call and tool_call", "trace_key_unknown", |run| {
        run.event(CALL, |event| event["tool_call"] = event["call"].clone());
    }),
    ("D23 result in a later step", "trace_result_step", |run| {
        run.events(|events| {
            let mut result = events.remove(RESULT);
            result["step_id"] = events[VERIFYING - 1]["step_id"].clone();
            events.insert(VERIFYING, result);
        });
    }),
    // What the corpus says of a result.
    ("D24 another score", "trace_result_ranking", |run| {
        item(run, |item| item["score"] = json!(9.5))
    }),
    ("D25 another title", "trace_result_field", |run| item(run, |item| item["title"] = json!("T"))),
    ("D26 another source", "trace_result_field", |run| {
        item(run, |item| item["source"] = Value::Null);
    }),
    ("D27 another document", "trace_result_field", |run| {
        item(run, |item| item["doc_id"] = json!("d9"));
    }),
    ("D28 another document hash", "trace_result_field", |run| {
        item(run, |item| item["doc_sha256"] = "0".repeat(64).into());
    }),
    ("D29 another chunk span", "trace_result_field", |run| {
        item(run, |item| item["chunk_span"] = json!([0, 1]));
    }),
    ("D30 results exchanged", "trace_result_ranking", |run| {
        run.event(RESULT, |event| {
            let items = &mut event["result"]["result"]["evidences"];
            items.as_array_mut().expect("items").reverse();
        });
    }),
    ("D31 a result left out", "trace_result_count", |run| {
        run.event(RESULT, |event| {
            let items = &mut event["result"]["result"]["evidences"];
            items.as_array_mut().expect("items").pop();
        });
    }),
    ("D32 another account in the result", "trace_provenance_differs", |run| {
        run.event(RESULT, |event| event["result"]["result"]["provenance"]["k1"] = json!(1.5));
    }),
    ("D33 no account in the result", "trace_provenance_absent", |run| {
        run.event(RESULT, |event| {
            let result = event["result"]["result"].as_object_mut().expect("an object");
            result.remove("provenance");
        });
    }),
];

fn call(run: &mut Run, key: &str, value: Value) {
    run.event(CALL, |event| event["call"][key] = value);
}

fn item(run: &mut Run, change: impl FnOnce(&mut Value)) {
    run.event(RESULT, |event| change(&mut event["result"]["result"]["evidences"][0]));
}

fn rename(object: &mut Value, from: &str, to: &str) {
    let members = object.as_object_mut().expect("an object");
    let value = members.remove(from).expect("it is there");
    members.insert(to.to_owned(), value);
}
