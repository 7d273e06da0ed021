//! `external:CMDLINE`: a program as the verifier.

use std::time::{Duration, Instant};

use probity_verifier::reason_code;
use serde_json::{Value, json};

use super::bed::{Bed, PATIENCE};

/// A check that prints this text.
fn prints(bed: &Bed, text: &str) -> String {
    bed.write("verdict.json", text);
    bed.says("external:cat verdict.json")
}

#[test]
fn the_return_table_row_by_row() {
    let mut bed = Bed::new();
    bed.start();
    for (text, expected) in [
        ("true", "pass"),
        ("false\n", "revise not_verified"),
        (r#"{"verified": true}"#, "pass"),
        (r#"{"verified": true, "verdict": "pass", "unknown": 1}"#, "pass"),
        (r#"{"verified": false}"#, "revise not_verified"),
        (r#"{"verified": false, "code": "no_rows"}"#, "revise no_rows"),
        (r#"{"verified": false, "verdict": "revise"}"#, "revise not_verified"),
        (r#"{"verified": false, "verdict": "fail", "code": "fraud"}"#, "fail fraud"),
        (r#"{"verified": false, "verdict": "inconclusive"}"#, "inconclusive inconclusive"),
        (r#"{"verified": true, "verdict": "revise"}"#, "fault external_output"),
        (r#"{"verified": false, "verdict": "pass"}"#, "fault external_output"),
        (r#"{"verified": true, "verdict": "yes"}"#, "fault external_output"),
        (r#"{"verified": "yes"}"#, "fault external_output"),
        (r#"{"verified": 1}"#, "fault external_output"),
        (r#"{"verified": null}"#, "fault external_output"),
        (r#"[true, null, "", null, [], null, null]"#, "fault external_output"),
        (r#"{"verified": true, "verified": false}"#, "fault external_output"),
        (r#"{"verified": false, "reason": 3}"#, "fault external_output"),
        (r#"{"verified": false, "code": "Not A Word"}"#, "fault external_output"),
        (r#"{"verified": false, "criteria": "rows"}"#, "fault external_output"),
        (r#"{"verified": true, "confidence": 1.5}"#, "fault external_output"),
        (r#"{"verified": true, "confidence": -0.1}"#, "fault external_output"),
        // Seed 001's words.
        (r#"{"outcome": "pass"}"#, "pass"),
        (r#"{"outcome": "pass", "detail": "fine"}"#, "pass"),
        (r#"{"outcome": "fail", "detail": "no"}"#, "revise verify_failed"),
        (r#"{"outcome": "fail", "reason": "mismatch", "detail": "no"}"#, "revise mismatch"),
        (r#"{"outcome": "fail", "reason": "Not a word"}"#, "revise verify_failed"),
        // A text that could be a code may be the delegate's, and codes stand in events.
        (r#"{"outcome": "fail", "reason": "hunter2"}"#, "revise verify_failed"),
        (r#"{"outcome": "fail", "reason": "mismatch_"}"#, "revise verify_failed"),
        (r#"{"outcome": "fail", "reason": "mismatch "}"#, "revise verify_failed"),
        (r#"{"outcome": "fail", "reason": ""}"#, "revise verify_failed"),
        (r#"{"outcome": "pass", "reason": "acct-7"}"#, "pass"),
        (r#"{"outcome": "inconclusive", "reason": "acct-7"}"#, "inconclusive inconclusive"),
        (r#"{"outcome": "fail", "reason": "x", "code": "acct-7"}"#, "revise acct-7"),
        (r#"{"outcome": "fail", "reason": "mismatch", "code": "given"}"#, "revise given"),
        (r#"{"outcome": "inconclusive", "reason": "timeout"}"#, "inconclusive timeout"),
        (r#"{"outcome": "inconclusive"}"#, "inconclusive inconclusive"),
        (r#"{"outcome": "na"}"#, "fault external_output"),
        (r#"{"outcome": "Pass"}"#, "fault external_output"),
        (r#"{"outcome": true}"#, "fault external_output"),
        (r#"{"outcome": null}"#, "fault external_output"),
        (r#"{"outcome": "pass", "verified": true}"#, "fault external_output"),
        (r#"{"outcome": "fail", "verified": false}"#, "fault external_output"),
        (r#"{"outcome": "fail", "verdict": "fail"}"#, "fault external_output"),
        (r#"{"outcome": "fail", "detail": {"a": 1}}"#, "fault external_output"),
        (r#"{"detail": "fine"}"#, "fault external_output"),
        (r#"{"reason": "fine"}"#, "fault external_output"),
        ("{}", "fault external_output"),
        ("null", "fault external_output"),
        ("3", "fault external_output"),
        ("\"true\"", "fault external_output"),
        ("[true]", "fault external_output"),
        ("", "fault external_output"),
        ("all good", "fault external_output"),
        ("true false", "fault external_output"),
        (r#"{"verified": true} trailing"#, "fault external_output"),
    ] {
        assert_eq!(prints(&bed, text), expected, "{text}");
    }
}

/// Every word that stands for a code beside an outcome.
const WORDS: [&str; 13] = [
    "match",
    "mismatch",
    "condition_true",
    "condition_false",
    "timeout",
    "verify_timeout",
    "error",
    "read_error",
    "missing_data",
    "no_method",
    "unsupported",
    "cancelled",
    "budget_exhausted",
];

#[test]
fn a_reason_beside_an_outcome_is_a_code_if_it_is_a_known_word() {
    let bed = Bed::new();
    for word in WORDS {
        assert_eq!(reason_code(word).unwrap().as_str(), word);
        let text = format!(r#"{{"outcome": "inconclusive", "reason": "{word}"}}"#);
        assert_eq!(prints(&bed, &text), format!("inconclusive {word}"));
    }
    for text in ["", "ok", "hunter2", "verify_failed", "Mismatch", " match", "match\n"] {
        assert_eq!(reason_code(text), None, "{text}");
    }
    bed.write("verdict.json", r#"{"outcome": "fail", "reason": "hunter2"}"#);
    assert_eq!(bed.reason("external:cat verdict.json"), "hunter2");
}

#[test]
fn every_part_of_the_table_arrives() {
    let mut bed = Bed::new();
    bed.start();
    bed.write(
        "verdict.json",
        r#"{"verified": true, "code": "counted", "reason": "12 rows", "criteria": ["rows", "sum"], "confidence": 0.5, "output": {"n": 12}}"#,
    );
    let verdict = bed.verify("external:cat verdict.json").unwrap();
    assert_eq!((verdict.code.as_str(), verdict.reason.as_str()), ("counted", "12 rows"));
    assert_eq!(verdict.criteria.len(), 2);
    assert_eq!(verdict.confidence_bp, Some(5_000));
    assert_eq!(verdict.output, Some(serde_json::json!({"n": 12})));

    let long = format!(r#"{{"verified": false, "reason": "{}"}}"#, "ä".repeat(5_000));
    bed.write("verdict.json", long);
    assert_eq!(bed.reason("external:cat verdict.json").len(), 4_096);
}

#[test]
fn a_program_that_breaks_is_a_fault_each_with_its_own_code() {
    let mut bed = Bed::new();
    bed.start();
    bed.write("not-executable", "");
    bed.table(&[
        ("external:no-such-program-here", "fault external_start"),
        ("external:./gone", "fault external_start"),
        ("external:./not-executable", "fault external_start"),
        ("external:echo true; exit 1", "fault external_exit"),
        ("external:kill -9 $$", "fault external_exit"),
        ("external:head -c 2000000 /dev/zero", "fault external_output"),
    ]);
    let fault = bed.verify("external:echo Traceback >&2; exit 1").unwrap_err();
    assert!(fault.message.ends_with("it said: Traceback"), "{fault:?}");
    assert_eq!(fault.location.as_deref(), Some("echo Traceback >&2; exit 1"));

    bed.timeout = Duration::from_millis(300);
    let started = Instant::now();
    assert_eq!(bed.says("external:trap '' TERM; sleep 60"), "fault external_timeout");
    assert!(started.elapsed() < bed.timeout + PATIENCE, "{:?}", started.elapsed());
    bed.timeout = Duration::from_secs(20);

    bed.claim.response = "x".repeat(17 << 20);
    assert_eq!(bed.says("external:echo true"), "fault external_input");
}

#[test]
fn the_program_is_given_the_claim_the_task_and_the_changes() {
    let mut bed = Bed::new();
    bed.write("kept.txt", "1");
    bed.start();
    bed.claim.response = "I did it".to_owned();
    bed.write("new.txt", "2");
    assert_eq!(bed.says(r#"external:cat > ../input.json; echo true,args={"n": 7}"#), "pass");
    let text = std::fs::read(bed.outside().join("input.json")).unwrap();
    let input: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(input["result"]["response"], "I did it");
    assert_eq!(input["result"]["tool_calls"], serde_json::json!([]));
    assert_eq!(input["changes"]["created"], serde_json::json!(["new.txt"]));
    assert_eq!((&input["args"]["n"], &input["attempt"]), (&7.into(), &1.into()));
    assert_eq!((&input["phase"], &input["check"]), (&"after".into(), &"it".into()));
    assert_eq!(input["workspace"], bed.path("").display().to_string().trim_end_matches('/'));

    assert_eq!((&input["decision"], &input["context"]["args"]["n"]), (&Value::Null, &7.into()));

    bed.decision = json!({"decisionType": "d", "action": {"targetRefs": [{"id": "a"}]},
                          "result": "of its own", "workspace": "elsewhere"});
    assert_eq!(bed.says("external:cat > ../input.json; echo true"), "pass");
    let text = std::fs::read(bed.outside().join("input.json")).unwrap();
    let input: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(input["decision"], bed.decision);
    let context = &input["context"];
    assert_eq!(context["action"]["targetRefs"][0]["id"], "a");
    assert_eq!((&context["decisionType"], &context["attempt"]), (&"d".into(), &1.into()));
    // What the run knows wins over members of the decision.
    assert_eq!((&context["result"], &context["task"]), (&input["result"], &input["task"]));
    assert_eq!(context["workspace"], input["workspace"]);

    let red = r#"external:grep -q '"phase":"before"' && grep -q x /dev/null || echo false"#;
    assert_eq!(bed.red(red), "revise not_verified");
}
