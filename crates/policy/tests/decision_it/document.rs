//! Reading: strict text, names by their case, formats asserted.

use probity_policy::{Envelope, Format, MAX_DOCUMENT_BYTES, Pack, Schema, Severity};
use serde_json::{Value, json};

use crate::sample::{self, parse_envelope, parse_pack, told, with};

/// YAML of a value: JSON is YAML, but block style is what people write.
fn yaml(value: &Value, indent: usize) -> String {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .map(|(key, value)| match value {
                Value::Object(_) | Value::Array(_) => {
                    format!("{pad}{key}:\n{}", yaml(value, indent + 2))
                }
                value => format!("{pad}{key}: {value}\n"),
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| format!("{pad}- {item}\n")).collect(),
        value => format!("{pad}{value}\n"),
    }
}

#[test]
fn every_schema_compiles_and_refuses_an_empty_object() {
    for schema in Schema::ALL {
        let codes: Vec<&str> = schema.findings(&json!({})).iter().map(|found| found.code).collect();
        assert!(codes.contains(&"policy_missing_member"), "{schema:?}: {codes:?}");
        assert!(!codes.contains(&"internal"), "{schema:?}");
        let text: Value = serde_json::from_str(schema.text()).unwrap();
        assert_eq!(text["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
}

#[test]
fn no_schema_leads_out_of_itself() {
    for schema in Schema::ALL {
        for (at, _) in schema.text().match_indices("$ref\":") {
            assert!(schema.text()[at..].starts_with("$ref\": \"#/$defs/"), "{schema:?} at {at}");
        }
    }
}

#[test]
fn json_and_yaml_say_the_same() {
    let value = sample::envelope();
    let block = yaml(&value, 0);
    assert!(
        block.contains("stageBudgetsMs:\n  context: 100\n  plan: 200\n  act: 300\n"),
        "{block}"
    );
    let from_yaml = Envelope::parse(&block, Format::Yaml).unwrap();
    assert_eq!(from_yaml, parse_envelope(&value).unwrap());
    let pack = sample::pack();
    let from_yaml = Pack::parse(&yaml(&pack, 0), Format::Yaml).unwrap();
    assert_eq!(from_yaml, parse_pack(&pack).unwrap());
}

#[test]
fn a_key_that_occurs_twice_is_refused_at_every_level() {
    let json = sample::envelope().to_string();
    let inner = json.replace(r#""act":300"#, r#""act":300,"act":300"#);
    let outer = json.replacen('{', r#"{"version":"2.1.0","#, 1);
    for text in [inner, outer] {
        assert_ne!(text, json);
        assert_eq!(Envelope::parse(&text, Format::Json).unwrap_err().code(), "policy_key_twice");
        // JSON text is YAML text.
        assert_eq!(Envelope::parse(&text, Format::Yaml).unwrap_err().code(), "policy_key_twice");
    }
    let block = yaml(&sample::envelope(), 0);
    let twice = block.replace("  act: 300\n", "  act: 300\n  act: 300\n");
    assert_ne!(twice, block);
    assert_eq!(Envelope::parse(&twice, Format::Yaml).unwrap_err().code(), "policy_key_twice");
}

#[test]
fn text_that_is_no_document_is_refused() {
    let whole = sample::envelope().to_string();
    let cases = [
        ("", "policy_syntax"),
        ("{", "policy_syntax"),
        (&format!("{whole} {{}}"), "policy_syntax"),
        (&"[".repeat(100_000), "policy_syntax"),
        (&" ".repeat(MAX_DOCUMENT_BYTES + 1), "policy_too_large"),
        ("[]", "policy_value"),
        ("null", "policy_value"),
        ("12", "policy_value"),
    ];
    for (text, code) in cases {
        let refused = Envelope::parse(text, Format::Json).unwrap_err();
        assert_eq!(refused.code(), code, "{}", &text[..text.len().min(40)]);
    }
    for text in ["", "[", "a: [", "- 1", "12", "a: &x [*x]", "--- {}\n--- {}", "a: .nan"] {
        Envelope::parse(text, Format::Yaml).unwrap_err();
    }
}

#[test]
fn a_number_that_is_whole_is_an_integer() {
    let text = sample::envelope().to_string();
    for (from, to) in [
        ("900", "900.0"),
        ("900", "9e2"),
        ("300", "300.0"),
        ("\"maxExtraMs\":40", "\"maxExtraMs\":40.0"),
    ] {
        let spelled = text.replace(from, to);
        assert_ne!(spelled, text);
        for format in [Format::Json, Format::Yaml] {
            let envelope = Envelope::parse(&spelled, format).unwrap();
            assert_eq!(envelope, parse_envelope(&sample::envelope()).unwrap(), "{to}");
        }
    }
    for to in
        ["900.5", "true", "\"900\"", "null", "-1", "0", "-0.0", "1e400", "99999999999999999999"]
    {
        let spelled = text.replace("900", to);
        Envelope::parse(&spelled, Format::Json).unwrap_err();
        Envelope::parse(&spelled, Format::Yaml).unwrap_err();
    }
}

/// A schema is also asked for values that were read elsewhere.
#[test]
fn a_schema_takes_whole_numbers_however_they_are_spelled() {
    let text = sample::action().to_string();
    for (to, is_legal) in [("250", true), ("250.0", true), ("2.5e2", true), ("250.5", false)] {
        let action: Value = serde_json::from_str(&text.replace("250", to)).unwrap();
        assert_eq!(Schema::Action.findings(&action).is_empty(), is_legal, "{to}");
    }
    let text = sample::decision().to_string();
    let spelled = json!({"$serde_json::private::Number": "20.0"});
    let pointer = "/context/features/balance/ageMs";
    let decision: Value = serde_json::from_str(&text).unwrap();
    let decision = sample::parse_decision(&with(decision, pointer, Some(spelled))).unwrap();
    assert_eq!(decision.context.features["balance"].age_ms, Some(20));
}

#[test]
fn a_name_in_snake_case_is_refused_by_name_and_not_called_missing() {
    let mut value = sample::envelope();
    let deadline = value.as_object_mut().unwrap().remove("deadlineMs").unwrap();
    value["deadline_ms"] = deadline;
    let refused = parse_envelope(&value).unwrap_err();
    assert_eq!(told(&refused), [("policy_snake_case", "/deadline_ms")]);
    assert!(refused.as_slice()[0].message.contains("write `deadlineMs`"), "{refused}");
    let other = with(sample::envelope(), "/deadline", Some(json!(1)));
    assert_eq!(
        told(&parse_envelope(&other).unwrap_err()),
        [("policy_unknown_member", "/deadline")]
    );
}

#[test]
fn all_findings_come_at_once_with_their_places() {
    let mut value = sample::envelope();
    value["deadlineMs"] = json!("soon");
    value["limits"]["maxHops"] = json!(-1);
    value["safeAction"]["blastRadiusMax"] = json!("high");
    value["verification"]["extra"] = json!(1);
    value.as_object_mut().unwrap().remove("freshness");
    let refused = parse_envelope(&value).unwrap_err();
    let mut found = told(&refused);
    found.sort_unstable();
    let expected = [
        ("policy_missing_member", "/freshness"),
        ("policy_unknown_member", "/verification/extra"),
        ("policy_value", "/deadlineMs"),
        ("policy_value", "/limits/maxHops"),
        ("tier_unknown", "/safeAction/blastRadiusMax"),
    ];
    assert_eq!(found, expected);
    for finding in refused.as_slice() {
        assert_eq!(finding.severity, Severity::Error);
        assert!(!finding.message.is_empty() && finding.message.len() < 400, "{finding}");
    }
}

#[test]
fn a_time_is_a_time() {
    for text in ["yesterday-ish", "", "2026-02-30T00:00:00Z", "2026-01-02", "2026-01-02T03:04:05"] {
        let pack = sample::sealed(with(sample::bare_pack(), "/issuedAt", Some(json!(text))));
        assert_eq!(
            told(&parse_pack(&pack).unwrap_err()),
            [("policy_value", "/issuedAt")],
            "{text}"
        );
        let pointer = "/context/capturedAt";
        let decision = with(sample::decision(), pointer, Some(json!(text)));
        let refused = sample::parse_decision(&decision).unwrap_err();
        assert_eq!(told(&refused), [("policy_value", pointer)], "{text}");
    }
}
