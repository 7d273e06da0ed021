//! The whole return table: every row is a verdict or a fault of its own code.

use probity_core::VerdictKind::{Fail, Inconclusive, Pass, Revise};

use crate::support::{Setup, World};

/// The two functions a file may define: what they return means the same.
const FUNCTIONS: [(&str, &str); 2] = [("run", "result"), ("verify", "context")];
const NO_REASON: &str = "the verifier gave no reason";
const NO_DETAIL: &str = "the verifier gave no detail";
const UNTOLD: &str = "the verifier could not tell and gave no reason";

fn of_both<T>(rows: &[T]) -> impl Iterator<Item = (&'static (&'static str, &'static str), &T)> {
    FUNCTIONS.iter().flat_map(move |function| rows.iter().map(move |row| (function, row)))
}

#[tokio::test]
async fn rows_that_are_verdicts() {
    let bare_false = "the verifier returned False and gave no reason";
    let rows = [
        ("True", Pass, "ok", ""),
        ("False", Revise, "not_verified", bare_false),
        ("'True'", Pass, "ok", ""),
        ("'true'", Pass, "ok", ""),
        ("'False'", Revise, "not_verified", bare_false),
        ("'false'", Revise, "not_verified", bare_false),
        (r#"json.encode({"verified": True})"#, Pass, "ok", ""),
        (r#"json.encode({"verified": False, "reason": "no"})"#, Revise, "not_verified", "no"),
        (r#"'  {"verified": true}\n'"#, Pass, "ok", ""),
        (r#"{"verified": True}"#, Pass, "ok", ""),
        (r#"{"verified": False}"#, Revise, "not_verified", NO_REASON),
        (r#"{"verified": False, "reason": ""}"#, Revise, "not_verified", NO_REASON),
        (r#"struct(verified = False, reason = "no")"#, Revise, "not_verified", "no"),
        (r#"{"verified": True, "verdict": "pass"}"#, Pass, "ok", ""),
        (r#"{"verified": False, "verdict": "revise", "reason": "x"}"#, Revise, "not_verified", "x"),
        (r#"{"verified": False, "verdict": "fail", "reason": "x"}"#, Fail, "not_verified", "x"),
        (
            r#"{"verified": False, "verdict": "inconclusive", "reason": "x"}"#,
            Inconclusive,
            "inconclusive",
            "x",
        ),
        (r#"{"verified": False, "code": "file_missing"}"#, Revise, "file_missing", NO_REASON),
        (r#"{"verified": True, "anything": [1, 2.5, None]}"#, Pass, "ok", ""),
        (r#"{"verified": False, "reason": "no", "detail": 1}"#, Revise, "not_verified", "no"),
        (r#"{"outcome": "pass"}"#, Pass, "ok", ""),
        (r#"{"outcome": "pass", "detail": "seen"}"#, Pass, "ok", "seen"),
        (r#"{"outcome": "fail"}"#, Revise, "verify_failed", NO_DETAIL),
        (r#"{"outcome": "fail", "detail": "gone"}"#, Revise, "verify_failed", "gone"),
        (r#"{"outcome": "fail", "reason": "it is gone"}"#, Revise, "verify_failed", "it is gone"),
        (r#"{"outcome": "fail", "reason": "mismatch"}"#, Revise, "mismatch", "mismatch"),
        // A text that could be a code may be the delegate's, and codes stand in events.
        (r#"{"outcome": "fail", "reason": "hunter2"}"#, Revise, "verify_failed", "hunter2"),
        (r#"{"outcome": "fail", "reason": "mismatch_"}"#, Revise, "verify_failed", "mismatch_"),
        (r#"{"outcome": "pass", "reason": "acct-7"}"#, Pass, "ok", "acct-7"),
        (
            r#"{"outcome": "inconclusive", "reason": "acct-7"}"#,
            Inconclusive,
            "inconclusive",
            "acct-7",
        ),
        (
            r#"{"outcome": "fail", "reason": "budget_exhausted"}"#,
            Revise,
            "budget_exhausted",
            "budget_exhausted",
        ),
        (r#"{"outcome": "fail", "reason": "x", "code": "acct-7"}"#, Revise, "acct-7", "x"),
        (r#"{"outcome": "fail", "reason": "mismatch", "detail": "x"}"#, Revise, "mismatch", "x"),
        (
            r#"{"outcome": "fail", "reason": "mismatch", "code": "gone"}"#,
            Revise,
            "gone",
            "mismatch",
        ),
        (r#"{"outcome": "fail", "code": "gone"}"#, Revise, "gone", NO_DETAIL),
        (r#"{"outcome": "inconclusive"}"#, Inconclusive, "inconclusive", UNTOLD),
        (r#"{"outcome": "inconclusive", "reason": "timeout"}"#, Inconclusive, "timeout", "timeout"),
        (r#"struct(outcome = "fail", detail = "x")"#, Revise, "verify_failed", "x"),
        (r#"json.encode({"outcome": "fail", "detail": "x"})"#, Revise, "verify_failed", "x"),
        (r#"{"outcome": "pass", "verified": True, "verdict": "pass"}"#, Pass, "ok", ""),
        (r#"{"outcome": "fail", "verified": False, "detail": "x"}"#, Revise, "verify_failed", "x"),
        (
            r#"{"outcome": "fail", "verdict": "revise", "detail": "x"}"#,
            Revise,
            "verify_failed",
            "x",
        ),
        (r#"{"outcome": "fail", "verdict": "fail", "detail": "x"}"#, Fail, "verify_failed", "x"),
        (
            r#"{"outcome": "inconclusive", "verdict": "inconclusive", "verified": False}"#,
            Inconclusive,
            "inconclusive",
            UNTOLD,
        ),
        (r#"VerificationResult(outcome = "pass", detail = "ok")"#, Pass, "ok", "ok"),
        (r#"VerificationResult(outcome = "fail", detail = "x")"#, Revise, "verify_failed", "x"),
        (r#"VerificationResult("fail", "x")"#, Revise, "verify_failed", "x"),
        (r#"VerificationResult("fail")"#, Revise, "verify_failed", NO_DETAIL),
        (
            r#"VerificationResult(outcome = "inconclusive", detail = "x")"#,
            Inconclusive,
            "inconclusive",
            "x",
        ),
        (r#"json.encode(VerificationResult("fail", "x"))"#, Revise, "verify_failed", "x"),
    ];
    for setup in Setup::both() {
        let world = World::new(&[]);
        for ((name, argument), (value, kind, code, reason)) in of_both(&rows) {
            let source = format!("def {name}({argument}):\n    return {value}\n");
            let verdict =
                setup.run(&source, &world).await.unwrap_or_else(|f| panic!("{value}: {f}"));
            let got = (verdict.kind, verdict.code.as_str(), verdict.reason.as_str());
            assert_eq!(got, (*kind, *code, *reason), "{value}");
        }
    }
}

#[tokio::test]
async fn rows_that_are_faults() {
    let rows = [
        ("None", "script_return_none"),
        ("json.encode(None)", "script_return_null"),
        ("{}", "script_return_verified_missing"),
        ("'{}'", "script_return_verified_missing"),
        ("struct()", "script_return_verified_missing"),
        (r#"{"Verified": True}"#, "script_return_verified_missing"),
        ("''", "script_return_text"),
        ("'ok'", "script_return_text"),
        ("'TRUE'", "script_return_text"),
        (r#"'{"verified": true} trailing'"#, "script_return_text"),
        (r#"'leading {"verified": true}'"#, "script_return_text"),
        ("' true'", "script_return_text"),
        ("1", "script_return_type"),
        ("0", "script_return_type"),
        ("1.5", "script_return_type"),
        ("[True]", "script_return_type"),
        ("(True,)", "script_return_type"),
        ("set([True])", "script_return_type"),
        ("fail", "script_return_type"),
        ("lambda: True", "script_return_type"),
        ("'[true]'", "script_return_type"),
        ("'1'", "script_return_type"),
        (r#"'"true"'"#, "script_return_type"),
        (r#"{"verified": 1}"#, "script_return_verified_type"),
        (r#"{"verified": "true"}"#, "script_return_verified_type"),
        (r#"{"verified": None}"#, "script_return_verified_type"),
        (r#"{"verified": True, "reason": 1}"#, "script_return_reason_type"),
        (r#"{"verified": True, "reason": None}"#, "script_return_reason_type"),
        (r#"{"verified": True, "verdict": "maybe"}"#, "script_return_verdict"),
        (r#"{"verified": True, "verdict": "Pass"}"#, "script_return_verdict"),
        (r#"{"verified": True, "verdict": None}"#, "script_return_verdict"),
        (r#"{"verified": True, "verdict": "revise"}"#, "script_return_contradiction"),
        (r#"{"verified": True, "verdict": "fail"}"#, "script_return_contradiction"),
        (r#"{"verified": True, "verdict": "inconclusive"}"#, "script_return_contradiction"),
        (r#"{"verified": False, "verdict": "pass"}"#, "script_return_contradiction"),
        (r#"'{"verified": false, "verified": true}'"#, "script_return_duplicate_key"),
        (r#"{"verified": True, "code": "Not A Word"}"#, "script_return_code"),
        (r#"{"verified": True, "code": ""}"#, "script_return_code"),
        (r#"{"verified": True, "criteria": "one"}"#, "script_return_criteria"),
        (r#"{"verified": True, "criteria": ["Not A Word"]}"#, "script_return_criteria"),
        (r#"{"verified": True, "criteria": ["a"] * 65}"#, "script_return_criteria"),
        (r#"{"verified": True, "confidence": 1.5}"#, "script_return_confidence"),
        (r#"{"verified": True, "confidence": "high"}"#, "script_return_confidence"),
        (r#"{"outcome": "Pass"}"#, "script_return_outcome"),
        (r#"{"outcome": "passed"}"#, "script_return_outcome"),
        (r#"{"outcome": "revise"}"#, "script_return_outcome"),
        (r#"{"outcome": "na"}"#, "script_return_outcome"),
        (r#"{"outcome": "error"}"#, "script_return_outcome"),
        (r#"{"outcome": ""}"#, "script_return_outcome"),
        (r#"{"outcome": None}"#, "script_return_outcome"),
        (r#"{"outcome": True}"#, "script_return_outcome"),
        (r#"{"outcome": ["pass"]}"#, "script_return_outcome"),
        (r#"{"outcome": "passed", "verified": True}"#, "script_return_outcome"),
        (r#"{"Outcome": "pass"}"#, "script_return_verified_missing"),
        (r#"{"detail": "pass"}"#, "script_return_verified_missing"),
        (r#"{"outcome": "pass", "detail": None}"#, "script_return_detail_type"),
        (r#"{"outcome": "fail", "detail": {"a": 1}}"#, "script_return_detail_type"),
        (r#"{"outcome": "fail", "reason": 1}"#, "script_return_reason_type"),
        (r#"{"outcome": "fail", "verified": 0}"#, "script_return_verified_type"),
        (r#"{"outcome": "fail", "verdict": "maybe"}"#, "script_return_verdict"),
        (r#"{"outcome": "pass", "verified": False}"#, "script_return_contradiction"),
        (r#"{"outcome": "fail", "verified": True}"#, "script_return_contradiction"),
        (r#"{"outcome": "inconclusive", "verified": True}"#, "script_return_contradiction"),
        (r#"{"outcome": "pass", "verdict": "revise"}"#, "script_return_contradiction"),
        (r#"{"outcome": "pass", "verdict": "fail"}"#, "script_return_contradiction"),
        (r#"{"outcome": "pass", "verdict": "inconclusive"}"#, "script_return_contradiction"),
        (r#"{"outcome": "fail", "verdict": "pass"}"#, "script_return_contradiction"),
        (r#"{"outcome": "fail", "verdict": "inconclusive"}"#, "script_return_contradiction"),
        (r#"{"outcome": "inconclusive", "verdict": "pass"}"#, "script_return_contradiction"),
        (r#"{"outcome": "inconclusive", "verdict": "revise"}"#, "script_return_contradiction"),
        (r#"{"outcome": "inconclusive", "verdict": "fail"}"#, "script_return_contradiction"),
        (r#"'{"outcome": "fail", "outcome": "pass"}'"#, "script_return_duplicate_key"),
        (r#"{"outcome": "pass", "code": "Not A Word"}"#, "script_return_code"),
        ("VerificationResult", "script_return_type"),
        ("VerificationResult()", "script_raise"),
        ("VerificationResult('pass', 'x', 'y')", "script_raise"),
        ("VerificationResult(outcome = 'pass', reason = 'x')", "script_raise"),
        ("VerificationResult(True)", "script_return_outcome"),
        ("VerificationResult(None, 'x')", "script_return_outcome"),
        ("VerificationResult('pass', None)", "script_return_detail_type"),
        (r#"{"verified": True, "f": fail}"#, "script_raise"),
        (r#"{"verified": True, "f": float("nan")}"#, "script_raise"),
    ];
    for setup in Setup::both() {
        let world = World::new(&[]);
        for ((name, argument), (value, code)) in of_both(&rows) {
            let source = format!("def {name}({argument}):\n    return {value}\n");
            let fault = setup.run(&source, &world).await.expect_err(value);
            assert_eq!(fault.code.as_str(), *code, "{value}: {fault}");
            assert!(fault.location.unwrap().starts_with("check.star:"), "{value}");
        }
    }
}

#[tokio::test]
async fn criteria_confidence_and_output_are_kept() {
    let source = r#"
def run(result):
    return {
        "verified": True,
        "criteria": ["files", "tests.green"],
        "confidence": 0.25,
        "output": {"n": 1},
    }
"#;
    let verdict = Setup::worker().run(source, &World::new(&[])).await.unwrap();
    let criteria: Vec<&str> = verdict.criteria.iter().map(probity_core::Code::as_str).collect();
    assert_eq!(criteria, ["files", "tests.green"]);
    assert_eq!(verdict.confidence_bp, Some(2500));
    assert_eq!(verdict.output, Some(serde_json::json!({"n": 1})));
}

#[tokio::test]
async fn an_output_is_taken_from_a_pass_only() {
    let source = "def run(result):\n    return {'verified': False, 'output': 1}\n";
    let verdict = Setup::worker().run(source, &World::new(&[])).await.unwrap();
    assert_eq!(verdict.output, None);
}

#[tokio::test]
async fn a_long_reason_is_cut_at_a_character() {
    let source = "def run(result):\n    return {'verified': False, 'reason': 'ä' * 5000}\n";
    let verdict = Setup::worker().run(source, &World::new(&[])).await.unwrap();
    assert!(verdict.reason.len() <= 4096, "{}", verdict.reason.len());
    assert!(verdict.reason.ends_with("(cut)"));
    assert!(verdict.reason.starts_with("ää"));
}
