//! The tables that run and the JSON Schemas that are published say the same.

use std::collections::BTreeSet;

use probity_audit::{DRIFT_SCHEMA, EPISODE_SCHEMA, EpisodeAuditor};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::value;

/// An episode and a signal with every member that a shape knows.
fn whole() -> [(Value, &'static str); 2] {
    [(value("01_success.json"), EPISODE_SCHEMA), (value("drift_time.json"), DRIFT_SCHEMA)]
}

fn validator(schema: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(schema).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

/// Where the generic validator finds something. A member that may not be there is found at the
/// object that has it.
fn by_schema(validator: &jsonschema::Validator, document: &Value) -> BTreeSet<String> {
    validator.iter_errors(document).map(|error| error.instance_path().to_string()).collect()
}

/// The same from the audit; `None` where the document is told to be of another vocabulary.
fn by_table(document: &Value) -> Option<BTreeSet<String>> {
    let report = EpisodeAuditor::new().episode(document.to_string().as_bytes(), "x");
    if report.has("other_vocabulary") {
        return None;
    }
    let shapes = report
        .findings
        .iter()
        .filter(|finding| finding.code.starts_with("shape_") || finding.code == "tier_unknown");
    let place = |finding: &probity_audit::Finding| match finding.code {
        "shape_unknown" => finding.pointer.rsplit_once('/').unwrap().0.to_owned(),
        _ => finding.pointer.clone(),
    };
    Some(shapes.map(place).collect())
}

fn pointers(node: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match node {
        Value::Object(map) => {
            map.iter().for_each(|(key, inner)| pointers(inner, &format!("{at}/{key}"), all));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, inner)| pointers(inner, &format!("{at}/{index}"), all));
        }
        _ => {}
    }
}

fn replacements() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(7),
        json!(1.5),
        json!(120.0),
        json!(-0.0),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("x"),
        json!("pass"),
        json!("tiny"),
        json!("2026-02-11T06:34:13Z"),
        json!([]),
        json!({}),
        json!(["x"]),
        json!([1]),
        json!([{}]),
        json!({ "x": 1 }),
    ]
}

/// Every member left out, every value replaced by every kind of value, an unknown member in every
/// object: the table and the schema find faults at the same places.
#[test]
fn tables_and_schemas_agree_on_every_single_change() {
    for (document, schema) in whole() {
        let validator = validator(schema);
        assert_eq!(by_schema(&validator, &document), BTreeSet::new());
        assert_eq!(by_table(&document), Some(BTreeSet::new()));
        let mut all = Vec::new();
        pointers(&document, "", &mut all);
        let mut compared = 0;
        for place in all.iter().filter(|place| !place.is_empty()) {
            let mut changed = Vec::new();
            for replacement in replacements() {
                let mut copy = document.clone();
                *copy.pointer_mut(place).unwrap() = replacement;
                changed.push(copy);
            }
            let (above, name) = place.rsplit_once('/').unwrap();
            let mut copy = document.clone();
            if let Some(object) = copy.pointer_mut(above).unwrap().as_object_mut() {
                object.remove(name);
                changed.push(copy);
            }
            let mut copy = document.clone();
            if let Some(object) = copy.pointer_mut(place).unwrap().as_object_mut() {
                object.insert("never".to_owned(), json!(1));
                changed.push(copy);
            }
            for copy in changed {
                let expected = by_schema(&validator, &copy);
                match by_table(&copy) {
                    Some(found) => assert_eq!(found, expected, "{place}: {copy}"),
                    None => assert_ne!(expected, BTreeSet::new(), "{place}: {copy}"),
                }
                compared += 1;
            }
        }
        assert!(compared > 250, "{compared}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Several changes at once, in any order.
    #[test]
    fn tables_and_schemas_agree_on_several_changes(
        which in 0_usize..2,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..5),
    ) {
        let (mut document, schema) = whole()[which].clone();
        for (place, change) in changes {
            let mut all = Vec::new();
            pointers(&document, "", &mut all);
            let place = place.get(&all).clone();
            let replacements = replacements();
            let at = change.index(replacements.len() + 1);
            if place.is_empty() {
                continue;
            }
            match replacements.get(at) {
                Some(replacement) => *document.pointer_mut(&place).unwrap() = replacement.clone(),
                None => {
                    let (above, name) = place.rsplit_once('/').unwrap();
                    if let Some(object) = document.pointer_mut(above).unwrap().as_object_mut() {
                        object.remove(name);
                    }
                }
            }
        }
        let report = EpisodeAuditor::new().episode(document.to_string().as_bytes(), "x");
        // Without the members that tell what a document is, it is something else.
        use probity_audit::DocumentKind::{Drift, Episode};
        prop_assume!(report.kind == [Episode, Drift][which]);
        let expected = by_schema(&validator(schema), &document);
        match by_table(&document) {
            Some(found) => prop_assert_eq!(found, expected),
            None => prop_assert_ne!(expected, BTreeSet::new()),
        }
    }
}

#[test]
fn times_are_those_of_the_schema_format() {
    let validator = validator(DRIFT_SCHEMA);
    let base = value("drift_time.json");
    let cases = [
        "2026-02-11T06:34:13Z",
        "2026-02-11T06:34:13.5Z",
        "2026-02-11T06:34:13.123456789+05:30",
        "2024-02-29T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-11T24:00:00Z",
        "2026-02-11T06:60:00Z",
        "2026-02-11T06:34:13",
        "2026-02-11",
        "2026-02-11T06:34Z",
        "2026-02-11T06:34:13+0530",
        "2026-02-11T06:34:13+24:00",
        "20260211T063413Z",
        "yesterday-ish",
        "",
        " 2026-02-11T06:34:13Z",
        "2026-02-11T06:34:13.Z",
        "2026-02-11T06:34:13,5Z",
        "2026-02-11T06:34:13-00:00",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "12026-02-11T06:34:13Z",
        "2026-02-11t06:34:13z",
        "2016-12-31T23:59:60Z",
        "2026-02-11T06:34:60Z",
    ];
    for text in cases {
        let mut signal = base.clone();
        signal["detectedAt"] = Value::from(text);
        let is_valid = by_table(&signal) == Some(BTreeSet::new());
        assert_eq!(is_valid, validator.is_valid(&signal), "{text:?}");
    }
}

/// The action in the episode's schema is the policy crate's, so a declared action and a recorded one
/// are the same thing. A declared one is bounded as well; a record is what it is.
#[test]
fn the_action_is_that_of_the_policy() {
    fn bare(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let notes = ["title", "description", "$schema", "$id", "$comment"];
                let bounds = ["maxLength", "maxItems", "maxProperties", "maximum"];
                let is_kept = |key: &str, inner: &Value| {
                    !(notes.contains(&key) && inner.is_string()
                        || bounds.contains(&key) && inner.is_number()
                        || key == "minLength" && inner == 0
                        || key == "type" && map.contains_key("enum"))
                };
                let kept = map.iter().filter(|(key, inner)| is_kept(key, inner));
                let kept = kept.map(|(key, inner)| match (key.as_str(), inner) {
                    ("required", Value::Array(names)) => {
                        let mut names = names.clone();
                        names.sort_by_key(Value::to_string);
                        (key.clone(), Value::Array(names))
                    }
                    _ => (key.clone(), bare(inner)),
                });
                Value::Object(kept.collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(bare).collect()),
            other => other.clone(),
        }
    }
    let ours: Value = serde_json::from_str(EPISODE_SCHEMA).unwrap();
    let policy: Value = serde_json::from_str(probity_policy::Schema::Action.text()).unwrap();
    assert_eq!(bare(&ours["$defs"]["action"]), bare(&policy));
}

#[test]
fn a_document_that_is_no_object_is_refused_where_an_object_must_stand() {
    for text in ["[]", "1", "\"x\"", "null", "true"] {
        let report = probity_audit::verify_drift(text.as_bytes(), "x");
        assert!(report.has("shape_type"), "{text}");
    }
}
