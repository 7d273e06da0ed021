//! The schemas that go into a bundle: true of everything that is written, and of little else.

use std::path::PathBuf;

use probity_audit::attest::Envelope;
use probity_audit::bundle::{BUNDLE_SCHEMAS, Inclusion};
use serde_json::Value;

use crate::container::unpack;
use crate::{audit, bundle, sample, signing_key, write};

fn schema(name: &str) -> Value {
    let name = format!("schemas/{name}.schema.json");
    let schema = BUNDLE_SCHEMAS.iter().find(|schema| schema.name == name).unwrap();
    serde_json::from_str(schema.text).unwrap()
}

fn validator(name: &str) -> jsonschema::Validator {
    let schema = schema(name);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    jsonschema::options().build(&schema).unwrap()
}

fn check(validator: &jsonschema::Validator, value: &Value, what: &str) {
    let errors: Vec<String> = validator.iter_errors(value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{what}: {errors:?}\n{value}");
}

/// Every log of the museum, and the event types that stand in it.
fn museum() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/records");
    let mut lines = Vec::new();
    for version in ["1.0", "1.1", "1.2", "1.3"] {
        for file in std::fs::read_dir(folder.join(version)).unwrap() {
            let path = file.unwrap().path();
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                lines.push((path.display().to_string(), serde_json::from_str(line).unwrap()));
            }
        }
    }
    lines
}

#[test]
fn every_record_of_the_museum_has_the_shape() {
    let validator = validator("record");
    let lines = museum();
    for (file, line) in &lines {
        check(&validator, line, file);
    }
    let mut types: Vec<&str> =
        lines.iter().map(|(_, line)| line["body"]["event"]["type"].as_str().unwrap()).collect();
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), 27, "every type of event stands in the museum: {types:?}");
}

/// A schema that takes anything would pass the test above.
#[test]
fn no_member_of_a_record_is_free() {
    let validator = validator("record");
    let mut seen = std::collections::BTreeSet::new();
    for (file, line) in museum() {
        if !seen.insert(line["body"]["event"]["type"].to_string()) {
            continue;
        }
        for pointer in ["", "/body", "/body/event"] {
            let mut changed = line.clone();
            changed.pointer_mut(pointer).unwrap()["extra"] = 1.into();
            assert!(!validator.is_valid(&changed), "{file} {pointer}");
        }
        let keys: Vec<String> =
            line["body"]["event"].as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut changed = line.clone();
            changed["body"]["event"][&key] = serde_json::json!([["no"]]);
            assert!(!validator.is_valid(&changed), "{file} {key}");
        }
    }
}

#[test]
fn manifests_statements_and_reports_have_their_shape() {
    let (manifest, statement, report) =
        (validator("bundle-manifest"), validator("statement"), validator("verification-report"));
    let record = validator("record");
    let key = signing_key();
    for sample in [sample::plain(), sample::decision()] {
        let whole = bundle(&sample, Some(&key));
        let redacted = write(&sample, &Inclusion::Nothing, None);
        let mut broken = whole.clone();
        broken[5000] ^= 1;
        for bytes in [&whole, &redacted, &broken, &whole[..700].to_vec()] {
            check(&report, &serde_json::to_value(audit(bytes)).unwrap(), "report");
        }
        for bytes in [&whole, &redacted] {
            let entries = unpack(bytes);
            check(&manifest, &serde_json::from_slice(&entries[0].bytes).unwrap(), "manifest");
            for line in entries[1].bytes.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()) {
                check(&record, &serde_json::from_slice(line).unwrap(), "log");
            }
            let envelope: Envelope =
                serde_json::from_slice(&entries.last().unwrap().bytes).unwrap();
            let payload = serde_json::from_slice(&envelope.payload().unwrap()).unwrap();
            check(&statement, &payload, "statement");
        }
    }
    for validator in [manifest, statement, report] {
        assert!(!validator.is_valid(&serde_json::json!({})));
    }
}

#[test]
fn the_schemas_are_in_the_bundle() {
    let entries = unpack(&bundle(&sample::plain(), None));
    assert!(BUNDLE_SCHEMAS.is_sorted_by(|one, next| one.name < next.name));
    for schema in BUNDLE_SCHEMAS {
        let entry = entries.iter().find(|entry| entry.name == schema.name).unwrap();
        assert_eq!(entry.bytes, schema.text.as_bytes());
    }
}
