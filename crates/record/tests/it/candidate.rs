use probity_core::{Claim, ToolCall, ToolResult};
use probity_record::canonical::jcs;
use probity_record::{blob_digest, candidate, candidate_hash, claim_candidate};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::read;

#[derive(Deserialize)]
struct Vector {
    input: String,
    candidate_text: String,
    candidate_sha256: String,
    jcs_text: Option<String>,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(&read("candidate/vectors.json")).unwrap()
}

#[test]
fn the_published_vectors_hold_for_both_rules() {
    for vector in vectors() {
        let value: Value = serde_json::from_str(&vector.input).unwrap();
        assert_eq!(candidate::candidate_text(&value), vector.candidate_text, "{}", vector.input);
        assert_eq!(candidate_hash(&value).to_string(), vector.candidate_sha256, "{}", vector.input);
        let jcs_text = jcs(&value).ok().map(|bytes| String::from_utf8(bytes).unwrap());
        // Where JCS stays silent, ECMAScript rounds; here that is an error or an exact double.
        if let Some(wanted) = vector.jcs_text {
            assert_eq!(jcs_text, Some(wanted), "{}", vector.input);
        }
    }
}

#[test]
fn the_vectors_tell_the_two_rules_apart() {
    let apart: Vec<String> = vectors()
        .into_iter()
        .filter(|vector| vector.jcs_text.as_ref() != Some(&vector.candidate_text))
        .map(|vector| vector.input)
        .collect();
    for input in ["1.0", "1e16", "1e-7", "\"é\"", "{\"😂\":1,\"｡\":2}", "18446744073709551615"]
    {
        assert!(apart.iter().any(|other| other == input), "{input}");
    }
}

#[test]
fn the_hashes_that_a_python_host_computed_are_reproduced() {
    let same = candidate_hash(&json!({ "summary": "same", "score": 3 })).to_string();
    assert_eq!(same, "20793936b6cdac786ce85ad01293536229459e1c0401dae6f6f8043c65800e95");
    let other = candidate_hash(&json!({ "summary": "x", "score": 2 })).to_string();
    assert_eq!(other, "56159f9abc877121b412147b4d9f94d4c5e81b046afcd445e2f43e6e575dd7f3");
}

#[test]
fn floats_are_laid_out_as_python_lays_them_out() {
    let table = read("candidate/floats.txt");
    assert!(table.lines().count() > 400);
    for line in table.lines() {
        let (bits, wanted) = line.split_once(' ').unwrap();
        let double = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        assert_eq!(candidate::candidate_text(&json!(double)), wanted, "{line}");
    }
}

#[test]
fn a_parsed_float_is_the_nearest_double() {
    // Off by one bit under serde_json's fast float parsing.
    let value: Value = serde_json::from_str("[6.5e-323, 8.41e21, 9007199254740993.0]").unwrap();
    assert_eq!(candidate::candidate_text(&value), "[6.4e-323,8.41e+21,9007199254740992.0]");
}

#[test]
fn what_looks_like_an_integer_and_is_a_float_is_one_in_every_build() {
    for (input, wanted) in [
        ("-0", "-0.0"),
        ("-0.0", "-0.0"),
        ("0", "0"),
        ("-1", "-1"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e+19"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775809", "-9.223372036854776e+18"),
    ] {
        let value: Value = serde_json::from_str(input).unwrap();
        assert_eq!(candidate::candidate_text(&value), wanted, "{input}");
    }
}

fn claim() -> Claim {
    Claim {
        response: "Done.".to_owned(),
        tool_calls: vec![ToolCall {
            id: "call_1".to_owned(),
            name: "write".to_owned(),
            arguments: json!({ "path": "out.txt" }),
        }],
        tool_results: vec![ToolResult {
            call_id: "call_1".to_owned(),
            name: "write".to_owned(),
            content: "ok".to_owned(),
            is_error: false,
        }],
        output: None,
    }
}

#[test]
fn an_untyped_candidate_is_what_was_said_and_done() {
    let text =
        r#"{"response":"Done.","tool_calls":[{"arguments":{"path":"out.txt"},"name":"write"}]}"#;
    assert_eq!(claim_candidate(&claim()), blob_digest(text.as_bytes()));
    assert_eq!(
        claim_candidate(&Claim::text("Done.")),
        blob_digest(br#"{"response":"Done.","tool_calls":[]}"#)
    );

    // The same claim made again carries new ids, and the world may answer otherwise.
    let mut again = claim();
    again.tool_calls[0].id = "call_2".to_owned();
    again.tool_results[0].call_id = "call_2".to_owned();
    again.tool_results[0].content = "ok, overwritten".to_owned();
    assert_eq!(claim_candidate(&again), claim_candidate(&claim()));

    let changes: [fn(&mut Claim); 4] = [
        |claim| claim.response.push('!'),
        |claim| claim.tool_calls[0].name = "append".to_owned(),
        |claim| claim.tool_calls[0].arguments = json!({ "path": "other.txt" }),
        |claim| drop(claim.tool_calls.pop()),
    ];
    for change in changes {
        let mut other = claim();
        change(&mut other);
        assert_ne!(claim_candidate(&other), claim_candidate(&claim()));
    }
}

#[test]
fn a_typed_candidate_is_its_output() {
    let output = json!({ "score": 2, "summary": "x" });
    let typed = Claim { output: Some(output.clone()), ..claim() };
    assert_eq!(claim_candidate(&typed), candidate_hash(&output));
    let null = Claim { output: Some(Value::Null), ..claim() };
    assert_eq!(claim_candidate(&null), candidate_hash(&Value::Null));
}
