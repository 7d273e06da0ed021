//! Every value of a valid document as something of a size that no document has, of its own kind or
//! another, read as JSON and as YAML. None is taken but what the list has, and nothing panics.

use std::collections::{BTreeMap, BTreeSet};

use probity_policy::{Envelope, Format, Pack, PolicyFindings, pack_hash};
use serde_json::{Map, Value, json};

use crate::sample::{self, parse_decision, with};

/// Name and value.
fn huge() -> Vec<(&'static str, Value)> {
    let deep = (0..200).fold(json!([]), |inner, _| json!([inner]));
    let many: Map<String, Value> = (0..10_000).map(|n| (format!("k{n}"), json!(n))).collect();
    vec![
        ("1 MB", json!("x".repeat(1_000_000))),
        ("10^18", json!(1_000_000_000_000_000_000_u64)),
        ("depth 200", deep),
        ("10,000 members", Value::Object(many)),
    ]
}

fn pointers(value: &Value, place: &str, found: &mut Vec<String>) {
    let mut member = |key: &str, item: &Value| {
        let pointer = format!("{place}/{key}");
        found.push(pointer.clone());
        pointers(item, &pointer, found);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, item)| member(key, item)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| member(&at.to_string(), item));
        }
        _ => {}
    }
}

/// Asks with every change. What is accepted, as lines; everything else was refused by a code.
fn accepted(
    name: &str,
    document: &Value,
    parse: impl Fn(&Value) -> Vec<Result<(), PolicyFindings>>,
) -> BTreeSet<String> {
    assert!(parse(document).iter().all(Result::is_ok));
    let mut all = Vec::new();
    pointers(document, "", &mut all);
    let huge = huge();
    let mut accepted = BTreeSet::new();
    let (mut changes, mut codes) = (0, BTreeMap::<&str, usize>::new());
    for pointer in all {
        let items = document.pointer(&pointer).unwrap().as_array();
        let item = items.and_then(|items| items.first()).cloned().unwrap_or(json!("x"));
        let list = ("10,000 items", Value::Array(vec![item; 10_000]));
        for (kind, other) in huge.iter().chain([&list]) {
            let changed = with(document.clone(), &pointer, Some(other.clone()));
            let line = format!("{kind} {pointer}");
            for answer in parse(&changed) {
                changes += 1;
                match answer {
                    Ok(()) => drop(accepted.insert(line.clone())),
                    Err(refused) => {
                        assert!(refused.as_slice().iter().any(|found| found.is_error()), "{line}");
                        for found in refused.as_slice() {
                            assert!(found.message.len() < 2_000, "{line}: {}", found.message.len());
                        }
                        *codes.entry(refused.code()).or_default() += 1;
                    }
                }
            }
        }
    }
    println!("{name}: {changes} changes, {} legal, {codes:?}", accepted.len());
    accepted
}

#[test]
fn of_an_envelope() {
    let both = |envelope: &Value| {
        let text = envelope.to_string();
        let read = |format| Envelope::parse(&text, format).map(drop);
        vec![read(Format::Json), read(Format::Yaml)]
    };
    assert_eq!(accepted("envelope", &sample::envelope(), both), BTreeSet::new());
}

#[test]
fn of_a_pack_with_a_new_hash() {
    let both = |pack: &Value| {
        let mut pack = pack.clone();
        // What has no hash is refused without one.
        if let Ok(hash) = pack_hash(&pack) {
            pack["policyPackHash"] = json!(hash);
        }
        let text = pack.to_string();
        let read = |format| Pack::parse(&text, format).map(drop);
        vec![read(Format::Json), read(Format::Yaml)]
    };
    assert_eq!(accepted("pack", &sample::bare_pack(), both), BTreeSet::new());
}

#[test]
fn of_a_decision() {
    // What is carried and not judged is free, but for its size.
    let free = [
        "/actions/0/constraints/currency",
        "/actions/0/constraints/max",
        "/actions/0/preconditions/0/open",
        "/actions/0/preconditions/1/total",
        "/actions/0/rollbackPlan/instructions/by",
    ];
    let kinds = ["1 MB", "10^18", "10,000 members", "10,000 items"];
    let parse = |decision: &Value| vec![parse_decision(decision).map(drop)];
    let of = |place: &str| kinds.map(|kind| format!("{kind} {place}"));
    let legal = free.into_iter().flat_map(of).collect();
    assert_eq!(accepted("decision", &sample::decision(), parse), legal);
}
