//! Shapes, enumerated whole: every field with every JSON type, every key gone, every object with one
//! key too many.

use serde_json::{Map, Value, json};

use crate::reading::{HASH, audit, found, lines, text};

/// What a field takes, beside its name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Takes {
    Text,
    TextOrNull,
    Texts,
    Natural,
    Integer,
    Share,
    Boolean,
    Object,
    ObjectOrNull,
    /// A list of objects.
    Objects,
    Anything,
    Word,
    Digest,
    Span,
    Version,
    /// `record`: another word is another record.
    Record,
}

use Takes::{
    Anything, Boolean, Digest, Integer, Natural, Object, ObjectOrNull, Objects, Record, Share,
    Span, Text, TextOrNull, Texts, Version, Word,
};

/// Every field of every record, by the pointer that all records of a kind share.
const FIELDS: &[(&str, Takes)] = &[
    ("/canonicalization_version", Version),
    ("/fingerprint_algo", Word),
    ("/id", Text),
    ("/metadata", Object),
    ("/plan_id", Text),
    ("/record", Record),
    ("/runtime_protocol_version", Version),
    ("/schema_version", Version),
    ("/spec_id", Text),
    ("/event", Object),
    ("/event/idx", Natural),
    ("/event/kind", Word),
    ("/event/step_id", Text),
    ("/event/output", Object),
    ("/event/output/type", Word),
    ("/event/output/assumptions", Texts),
    ("/event/output/assumptions/0", Text),
    ("/event/output/normalized_question", Text),
    ("/event/output/task_type", Text),
    ("/event/output/evidence_ids", Texts),
    ("/event/output/evidence_ids/0", Text),
    ("/event/output/retrieval_provenance", Object),
    ("/event/output/retrieval_queries", Texts),
    ("/event/output/retrieval_queries/0", Text),
    ("/event/output/claim_ids", Texts),
    ("/event/output/claim_ids/0", Text),
    ("/event/output/reason", Text),
    ("/event/output/required", Integer),
    ("/event/output/retrieved", Integer),
    ("/event/output/missing_support_claim_ids", Texts),
    ("/event/output/missing_support_claim_ids/0", Text),
    ("/event/output/rejected_claim_ids", Texts),
    ("/event/output/rejected_claim_ids/0", Text),
    ("/event/output/validated_claim_ids", Texts),
    ("/event/output/validated_claim_ids/0", Text),
    ("/event/output/final_answer", TextOrNull),
    ("/event/output/final_claim_ids", Texts),
    ("/event/output/final_claim_ids/0", Text),
    ("/event/output/uncertainty", TextOrNull),
    ("/event/call", Object),
    ("/event/call/arguments", Object),
    ("/event/call/call_idx", Integer),
    ("/event/call/id", Text),
    ("/event/call/step_id", Text),
    ("/event/call/tool_name", Text),
    ("/event/result", Object),
    ("/event/result/call_id", Text),
    ("/event/result/error", TextOrNull),
    ("/event/result/result", Anything),
    ("/event/result/success", Boolean),
    ("/event/evidence", Object),
    ("/event/evidence/chunk_id", Digest),
    ("/event/evidence/content_path", Text),
    ("/event/evidence/id", Text),
    ("/event/evidence/sha256", Digest),
    ("/event/evidence/span", Span),
    ("/event/evidence/uri", Text),
    ("/event/claim", Object),
    ("/event/claim/claim_type", Word),
    ("/event/claim/confidence", Share),
    ("/event/claim/id", Text),
    ("/event/claim/statement", Text),
    ("/event/claim/status", Word),
    ("/event/claim/structured", ObjectOrNull),
    ("/event/claim/supports", Objects),
    ("/event/claim/supports/0", Object),
    ("/event/claim/supports/0/hash_algo", Word),
    ("/event/claim/supports/0/kind", Word),
    ("/event/claim/supports/0/ref_id", Text),
    ("/event/claim/supports/0/snippet_sha256", Digest),
    ("/event/claim/supports/0/span", Span),
];

/// Objects of free content: nothing in them has a shape.
const FREE: [&str; 5] = [
    "/metadata",
    "/event/call/arguments",
    "/event/result/result",
    "/event/output/retrieval_provenance",
    "/event/claim/structured",
];

/// Objects whose keys depend on one word in them: without it nothing more can be said.
const TOLD_APART: [(&str, &str); 2] = [("/event", "kind"), ("/event/output", "type")];

/// One value of every JSON type, an integer below zero, and what is nearly right.
fn values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(1.0),
        json!("x"),
        json!("1"),
        json!([]),
        json!(["x"]),
        json!([1]),
        json!({}),
    ]
}

/// The code that a value has in a field, if any. Empty objects lack keys: that is another test.
fn code_of(takes: Takes, value: &Value) -> Option<&'static str> {
    let is_integer = value.is_i64();
    let of_type = |is_right: bool| if is_right { None } else { Some("trace_type") };
    let then = |is_right: bool, code| if is_right { Some(code) } else { Some("trace_type") };
    match takes {
        Text => of_type(value.is_string()),
        TextOrNull => of_type(value.is_string() || value.is_null()),
        Texts | Objects => of_type(
            value
                .as_array()
                .is_some_and(|items| items.iter().all(|item| item.is_string() && takes == Texts)),
        ),
        Natural if value.as_i64() == Some(-1) => Some("trace_range"),
        Natural | Integer => of_type(is_integer),
        Share if value.is_number() => match value.as_f64().unwrap() {
            0.0..=1.0 => None,
            _ => Some("trace_range"),
        },
        Share => Some("trace_type"),
        Boolean => of_type(value.is_boolean()),
        Object => of_type(value.is_object()),
        ObjectOrNull => of_type(value.is_object() || value.is_null()),
        Anything => None,
        Word => then(value.is_string(), "trace_word"),
        Digest => then(value.is_string(), "trace_digest_shape"),
        Span => then(value.is_array(), "trace_span_shape"),
        Version if value.as_i64() == Some(1) => None,
        Version => then(is_integer, "trace_version_unsupported"),
        Record => Some("trace_record_unknown"),
    }
}

/// Every value of a document with its pointer, but what stands in free content.
fn pointers(value: &Value, at: String, into: &mut Vec<String>) {
    if !at.is_empty() {
        into.push(at.clone());
    }
    if FREE.contains(&at.as_str()) {
        return;
    }
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| pointers(value, format!("{at}/{key}"), into));
        }
        Value::Array(items) if !at.ends_with("/span") => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| pointers(value, format!("{at}/{index}"), into));
        }
        _ => {}
    }
}

/// Every line of the base with the value of every pointer in it.
fn every_value() -> Vec<(usize, Value, String)> {
    let mut all = Vec::new();
    for (index, line) in lines().iter().enumerate() {
        let value: Value = serde_json::from_str(line).unwrap();
        let mut found = Vec::new();
        pointers(&value, String::new(), &mut found);
        all.extend(found.into_iter().map(|pointer| (index, value.clone(), pointer)));
    }
    all
}

/// What is found when one line is replaced, in spite of its spelling.
fn found_with(index: usize, line: &Value) -> Vec<(&'static str, u64, String)> {
    let mut lines = lines();
    lines[index] = canonical(line);
    let mut found = found(&audit(text(&lines)));
    found.retain(|(code, ..)| *code != "trace_header_missing");
    found
}

/// Canonical text of a document without odd strings or floats.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            let members =
                members.iter().map(|(key, value)| format!("{}:{}", json!(key), canonical(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        leaf => leaf.to_string(),
    }
}

fn takes(pointer: &str) -> Takes {
    let field = FIELDS.iter().find(|(known, _)| *known == pointer);
    field.unwrap_or_else(|| panic!("no row for {pointer}")).1
}

#[test]
fn the_table_has_a_row_for_every_value_and_no_other() {
    let mut met: Vec<String> = every_value().into_iter().map(|(_, _, pointer)| pointer).collect();
    met.sort_unstable();
    met.dedup();
    let mut known: Vec<&str> = FIELDS.iter().map(|(pointer, _)| *pointer).collect();
    known.sort_unstable();
    assert_eq!(met, known);
}

#[test]
fn every_field_refuses_every_type_that_is_not_its_own() {
    let mut tried = 0;
    for (index, line, pointer) in every_value() {
        for value in values() {
            let mut changed = line.clone();
            *changed.pointer_mut(&pointer).unwrap() = value.clone();
            let mut found = found_with(index, &changed);
            // A record of another name is not looked into.
            if pointer == "/record" && index == 0 {
                found.retain(|(code, ..)| *code == "trace_record_unknown");
            }
            tried += 1;
            // What is inside of an object is another row.
            found.retain(|(code, _, _)| *code != "trace_key_missing");
            match code_of(takes(&pointer), &value) {
                None => assert_eq!(found, [], "{pointer} {value}"),
                Some(code) => {
                    assert!(!found.is_empty(), "{pointer} {value}");
                    for (found, at, inner) in found {
                        assert_eq!((found, at), (code, index as u64 + 1), "{pointer} {value}");
                        let is_inside = inner.starts_with(&pointer);
                        assert!(is_inside, "{pointer} {value}: {inner}");
                    }
                }
            }
        }
    }
    assert!(tried > 1_000, "{tried}");
}

#[test]
fn every_key_is_missed() {
    for (index, line, pointer) in every_value() {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let mut changed = line.clone();
        let Some(object) = changed.pointer_mut(parent).and_then(Value::as_object_mut) else {
            continue;
        };
        object.remove(key).unwrap();
        let found = found_with(index, &changed);
        let expected = ("trace_key_missing", index as u64 + 1, pointer.clone());
        assert_eq!(found, [expected], "{pointer}");
    }
}

#[test]
fn every_object_with_a_shape_refuses_a_key_more() {
    let mut objects = 0;
    for (index, line, pointer) in every_value() {
        for at in [pointer.as_str(), ""] {
            let mut changed = line.clone();
            let Some(object) = changed.pointer_mut(at).and_then(Value::as_object_mut) else {
                continue;
            };
            if FREE.contains(&at) {
                continue;
            }
            objects += 1;
            // In front of all other keys, and behind them.
            for key in ["A", "zz"] {
                let mut changed = line.clone();
                let object = changed.pointer_mut(at).and_then(Value::as_object_mut).unwrap();
                object.insert(key.to_owned(), json!(1));
                let found = found_with(index, &changed);
                let expected = ("trace_key_unknown", index as u64 + 1, format!("{at}/{key}"));
                assert_eq!(found, [expected], "{at}");
            }
            object.clear();
        }
    }
    assert!(objects > 30, "{objects}");
}

#[test]
fn every_alias_of_the_source_system_is_refused() {
    let rows = [
        (4, "/event/result", "success", "ok"),
        (3, "/event", "call", "tool_call"),
        (4, "/event", "result", "tool_result"),
        (7, "/event/claim", "supports", "support_refs"),
        (6, "/event/output", "evidence_ids", "evidence_refs"),
        (8, "/event/output", "claim_ids", "emitted_claim_ids"),
        (10, "/event/output", "missing_support_claim_ids", "insufficient_support"),
    ];
    for (index, object, name, alias) in rows {
        let mut line: Value = serde_json::from_str(&lines()[index]).unwrap();
        let members = line.pointer_mut(object).and_then(Value::as_object_mut).unwrap();
        let value = members.remove(name).unwrap();
        members.insert(alias.to_owned(), value);
        let mut codes: Vec<&str> =
            found_with(index, &line).into_iter().map(|(code, ..)| code).collect();
        codes.sort_unstable();
        assert_eq!(codes, ["trace_key_missing", "trace_key_unknown"], "{alias}");
    }
    for (object, key) in TOLD_APART {
        let mut line: Value = serde_json::from_str(&lines()[2]).unwrap();
        let members = line.pointer_mut(object).and_then(Value::as_object_mut).unwrap();
        let word = members.remove(key).unwrap();
        members.insert("alias".to_owned(), word);
        let expected = ("trace_key_missing", 3, format!("{object}/{key}"));
        assert_eq!(found_with(2, &line), [expected]);
    }
}

#[test]
fn every_closed_word_is_taken_and_its_neighbours_are_not() {
    let rows: [(usize, &str, &[&str]); 4] = [
        (7, "/event/claim/status", &["proposed", "validated", "rejected"]),
        (7, "/event/claim/claim_type", &["derived", "observed", "assumed"]),
        (7, "/event/claim/supports/0/kind", &["claim", "evidence", "tool_call"]),
        (7, "/event/claim/supports/0/hash_algo", &["sha256"]),
    ];
    for (index, pointer, words) in rows {
        for word in words {
            let near = [word.to_uppercase(), format!("{word} "), word[1..].to_owned()];
            for (word, is_known) in
                near.iter().map(|near| (near.as_str(), false)).chain([(*word, true)])
            {
                let mut line: Value = serde_json::from_str(&lines()[index]).unwrap();
                *line.pointer_mut(pointer).unwrap() = json!(word);
                let found = found_with(index, &line);
                assert_eq!(found.is_empty(), is_known, "{pointer} {word}");
                assert!(found.iter().all(|(code, ..)| *code == "trace_word"));
            }
        }
    }
}

#[test]
fn spans_digests_and_versions_are_held_to_the_letter() {
    let spans = [
        (json!([0, 1]), true),
        (json!([5, 9_007_199_254_740_991_i64]), true),
        (json!([0, 0]), false),
        (json!([2, 1]), false),
        (json!([-1, 1]), false),
        (json!([0, 1, 2]), false),
        (json!([0]), false),
        (json!([0.0, 1.0]), false),
        (json!(["0", "1"]), false),
        (json!([null, 1]), false),
    ];
    for (index, pointer) in [(5, "/event/evidence/span"), (7, "/event/claim/supports/0/span")] {
        for (span, is_right) in &spans {
            let mut line: Value = serde_json::from_str(&lines()[index]).unwrap();
            *line.pointer_mut(pointer).unwrap() = span.clone();
            let codes: Vec<_> =
                found_with(index, &line).into_iter().map(|(code, ..)| code).collect();
            let expected: &[&str] = if *is_right { &[] } else { &["trace_span_shape"] };
            assert_eq!(codes, expected, "{span}");
        }
    }
    let digests = [
        (HASH.to_owned(), true),
        (HASH.to_uppercase(), false),
        (HASH[1..].to_owned(), false),
        (format!("{HASH}0"), false),
        (format!("sha256:{HASH}"), false),
        ("z".repeat(64), false),
        (format!(" {}", &HASH[1..]), false),
    ];
    for (digest, is_right) in digests {
        let mut line: Value = serde_json::from_str(&lines()[5]).unwrap();
        *line.pointer_mut("/event/evidence/sha256").unwrap() = json!(digest);
        assert_eq!(found_with(5, &line).is_empty(), is_right, "{digest}");
    }
    for version in [-1_i64, 0, 2, 3, 99] {
        for key in ["canonicalization_version", "runtime_protocol_version", "schema_version"] {
            let mut line: Value = serde_json::from_str(&lines()[0]).unwrap();
            line[key] = json!(version);
            let expected = ("trace_version_unsupported", 1, format!("/{key}"));
            assert_eq!(found_with(0, &line), [expected]);
        }
    }
}

#[test]
fn one_record_tells_all_its_breaches() {
    let mut line: Value = serde_json::from_str(&lines()[7]).unwrap();
    let claim = line.pointer_mut("/event/claim").and_then(Value::as_object_mut).unwrap();
    claim.insert("note".to_owned(), Value::Object(Map::new()));
    claim.remove("status");
    claim["confidence"] = json!(-5);
    claim["supports"][0]["span"] = json!([3, 1]);
    claim["supports"][0]["snippet_sha256"] = json!("x");
    line["event"]["idx"] = json!("6");
    line["extra"] = json!(1);
    let mut found: Vec<_> =
        found_with(7, &line).into_iter().map(|(code, _, pointer)| (code, pointer)).collect();
    found.sort();
    let expected = [
        ("trace_digest_shape", "/event/claim/supports/0/snippet_sha256"),
        ("trace_key_missing", "/event/claim/status"),
        ("trace_key_unknown", "/event/claim/note"),
        ("trace_key_unknown", "/extra"),
        ("trace_range", "/event/claim/confidence"),
        ("trace_span_shape", "/event/claim/supports/0/span"),
        ("trace_type", "/event/idx"),
    ];
    assert_eq!(found, expected.map(|(code, pointer)| (code, pointer.to_owned())));
}

#[test]
fn an_event_without_its_shape_is_not_counted_as_one() {
    let mut line: Value = serde_json::from_str(&lines()[7]).unwrap();
    line["event"]["claim"]["confidence"] = json!(2);
    let mut lines = lines();
    lines[7] = canonical(&line);
    let report = audit(text(&lines));
    assert_eq!(report.summary_metrics["events"], 10);
    assert_eq!(report.summary_metrics["claims"], 0);
}
