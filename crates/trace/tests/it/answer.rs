//! What a run ends with: an answer that was validated, or honest insufficiency.

use probity_trace::TracePolicy;
use probity_trace::sample::{Ending, Retrieval, SampleRun};
use serde_json::{Value, json};

use crate::claim_desk::{Case, assert_files, assert_policy, found};
use crate::plan_tamper::{CLAIM, DERIVE_END, FINAL_END, Run, VERIFY_END};

/// A name and a change of a claim.
type Change = (&'static str, fn(&mut Value));

fn of(ending: Ending) -> Run {
    Run::of(&SampleRun { ending, ..SampleRun::default() })
}

/// The output of a step of a run, by its type.
fn output<'r>(run: &'r mut Run, kind: &str) -> &'r mut Value {
    let event = run.events.iter_mut().find(|event| event["output"]["type"] == kind);
    &mut event.unwrap()["output"]
}

#[test]
fn every_ending_is_accepted_where_the_policy_allows_it() {
    let marked = TracePolicy { allow_marked_insufficient: true, ..TracePolicy::default() };
    for retrieval in [Retrieval::Memory, Retrieval::Bm25] {
        for ending in [Ending::Answer, Ending::Insufficient] {
            let files = SampleRun { ending, retrieval, ..SampleRun::default() }.files();
            assert_files("by default", &files, &[]);
            assert_policy("with marks", &files, &marked, &[]);
        }
    }
    let files = of(Ending::Marked).files();
    assert_policy("marked", &files, &marked, &[]);
    assert_files("marked", &files, &["trace_insufficient_claim"]);
}

#[test]
fn the_answer_is_the_first_final_claim() {
    let final_output = |change: fn(&mut Value)| {
        let mut run = Run::new();
        change(&mut run.events[FINAL_END]["output"]);
        run.files()
    };
    let cases: [Case<Value>; 7] = [
        ("made up", |end| end["final_answer"] = json!("It rains."), &["trace_answer_differs"]),
        ("a byte", |end| push(&mut end["final_answer"], " "), &["trace_answer_differs"]),
        ("none", |end| end["final_answer"] = json!(null), &["trace_answer_missing"]),
        ("no claim", |end| end["final_claim_ids"] = json!([]), &["trace_answer_unfounded"]),
        (
            "neither",
            |end| {
                end["final_claim_ids"] = json!([]);
                end["final_answer"] = json!(null);
            },
            &["trace_answer_missing"],
        ),
        (
            "an unknown claim",
            |end| end["final_claim_ids"].as_array_mut().unwrap().push(json!("claim_x")),
            &["trace_final_unknown_claim"],
        ),
        (
            "a claim twice",
            |end| {
                let first = end["final_claim_ids"][0].clone();
                end["final_claim_ids"].as_array_mut().unwrap().push(first);
            },
            &["trace_final_twice"],
        ),
    ];
    for (name, change, expected) in cases {
        assert_files(name, &final_output(change), expected);
    }
}

fn push(text: &mut Value, more: &str) {
    *text = json!(format!("{}{more}", text.as_str().unwrap()));
}

#[test]
fn every_claim_has_one_verdict() {
    let keys = ["validated_claim_ids", "rejected_claim_ids", "missing_support_claim_ids"];
    let verify = |change: &dyn Fn(&mut Value, Value)| {
        let mut run = Run::new();
        let id = run.events[CLAIM]["claim"]["id"].clone();
        change(&mut run.events[VERIFY_END]["output"], id);
        run.files()
    };
    for key in keys {
        let unknown = verify(&|output, _| append(&mut output[key], json!("claim_x")));
        assert_files(key, &unknown, &["trace_verify_unknown_claim"]);
        let twice = verify(&|output, id| append(&mut output[key], id));
        assert_files(key, &twice, &["trace_verify_twice"]);
    }
    let unsupported = ["trace_verify_supported", "trace_final_not_validated"];
    for (key, codes) in
        [("rejected_claim_ids", &unsupported[1..]), ("missing_support_claim_ids", &unsupported)]
    {
        let moved = verify(&|output, id| {
            output["validated_claim_ids"] = json!([]);
            output[key] = json!([id]);
        });
        assert_files(key, &moved, codes);
    }
    let none = verify(&|output, _| output["validated_claim_ids"] = json!([]));
    assert_files("none", &none, &["trace_verify_left_out", "trace_final_not_validated"]);
}

fn append(list: &mut Value, item: Value) {
    list.as_array_mut().unwrap().push(item);
}

#[test]
fn a_run_that_says_nothing_never_passes() {
    let mut run = of(Ending::Insufficient);
    *output(&mut run, "insufficient_evidence") = json!({"claim_ids": [], "type": "derive"});
    assert_files("neither", &run.files(), &["trace_no_claim"]);
    for kind in ["observed", "assumed"] {
        let mut run = Run::new();
        run.events[CLAIM]["claim"]["claim_type"] = json!(kind);
        assert_files(kind, &run.files(), &["trace_no_claim", "trace_reasoning_unfounded"]);
    }
}

/// A claim that is not derived needs no markers, but then it is no answer.
#[test]
fn an_observed_claim_is_an_answer_only_if_it_is_grounded() {
    let sample = SampleRun { pairs: 2, ..SampleRun::default() };
    let answer = |change: fn(&mut Value)| {
        let mut run = Run::of(&sample);
        let at = run.events.iter().position(|one| one["claim"]["claim_type"] == "observed");
        let claim = &mut run.events[at.unwrap()]["claim"];
        change(claim);
        let (id, statement) = (claim["id"].clone(), claim["statement"].clone());
        let end = output(&mut run, "finalize");
        end["final_claim_ids"] = json!([id]);
        end["final_answer"] = statement;
        run.files()
    };
    assert_files("as it is", &answer(|_| {}), &[]);
    let cases: [fn(&mut Value); 3] = [
        |claim| claim["statement"] = json!("It rains."),
        |claim| claim["supports"] = json!([]),
        |claim| push(&mut claim["statement"], " So it is."),
    ];
    for change in cases {
        assert_files("not grounded", &answer(change), &["trace_answer_ungrounded"]);
    }
}

#[test]
fn insufficiency_is_honest() {
    let numbers = |retrieved: i64, required: i64| {
        let mut run = of(Ending::Insufficient);
        let said = output(&mut run, "insufficient_evidence");
        said["retrieved"] = json!(retrieved);
        said["required"] = json!(required);
        run.files()
    };
    assert_files("as it is", &numbers(1, 2), &[]);
    assert_files("enough", &numbers(2, 2), &NOT_ENOUGH);
    assert_files("more than enough", &numbers(5, 2), &NOT_ENOUGH);
    assert_files("negative", &numbers(-1, 2), &NOT_ENOUGH);
    assert_files("too few", &numbers(0, 2), &["trace_insufficient_retrieved"]);
    assert_files("raised", &numbers(1, 3), &["trace_insufficient_required"]);
    let none = numbers(-3, -2);
    let expected = [
        "trace_insufficient_numbers",
        "trace_insufficient_required",
        "trace_insufficient_retrieved",
    ];
    assert_files("both negative", &none, &expected);
    // A stricter caller does not make an honest insufficiency dishonest.
    let strict = TracePolicy { min_supports: Some(5), ..TracePolicy::default() };
    assert_policy("stricter", &numbers(1, 2), &strict, &[]);
}

const NOT_ENOUGH: [&str; 2] = ["trace_insufficient_numbers", "trace_insufficient_retrieved"];

#[test]
fn insufficiency_has_no_answer() {
    let mut run = of(Ending::Insufficient);
    output(&mut run, "finalize")["final_answer"] = json!("It rains.");
    let expected = ["trace_insufficient_answer", "trace_answer_unfounded"];
    assert_files("an answer", &run.files(), &expected);
}

#[test]
fn only_marked_claims_stand_beside_insufficiency() {
    let policy = TracePolicy { allow_marked_insufficient: true, ..TracePolicy::default() };
    let claim = |change: fn(&mut Value)| {
        let mut run = of(Ending::Marked);
        let at = run.events.iter().position(|event| event["kind"] == "claim_emitted").unwrap();
        change(&mut run.events[at]["claim"]);
        run.files()
    };
    let cases: [Change; 5] = [
        ("no mark", |claim| claim["structured"]["insufficient"] = json!(false)),
        ("a mark that is no boolean", |claim| claim["structured"]["insufficient"] = json!("true")),
        ("not rejected", |claim| claim["status"] = json!("proposed")),
        ("observed", |claim| claim["claim_type"] = json!("observed")),
        ("assumed", |claim| claim["claim_type"] = json!("assumed")),
    ];
    for (name, change) in cases {
        let files = claim(change);
        for policy in [&policy, &TracePolicy::default()] {
            let codes = found(&files, policy);
            assert!(codes.contains("trace_insufficient_claim"), "{name}: {codes:?}");
        }
    }
    // What it cites must be there all the same.
    let wrong = claim(|claim| claim["supports"][0]["snippet_sha256"] = json!("0".repeat(64)));
    assert!(found(&wrong, &policy).contains("citation_hash_mismatch"));
}

#[test]
fn a_marked_claim_is_never_final() {
    let policy = TracePolicy { allow_marked_insufficient: true, ..TracePolicy::default() };
    let mut run = of(Ending::Marked);
    let at = run.events.iter().position(|event| event["kind"] == "claim_emitted").unwrap();
    let id = run.events[at]["claim"]["id"].clone();
    output(&mut run, "finalize")["final_claim_ids"] = json!([id]);
    let expected = ["trace_final_not_validated", "trace_answer_missing"];
    assert_policy("final", &run.files(), &policy, &expected);
    let verdict = output(&mut run, "verify");
    verdict["validated_claim_ids"] = json!([id]);
    verdict["rejected_claim_ids"] = json!([]);
    let expected = ["trace_verify_rejected", "trace_answer_missing"];
    assert_policy("validated", &run.files(), &policy, &expected);
}

#[test]
fn a_mark_without_insufficiency_is_told() {
    let mut run = of(Ending::Marked);
    let at = run.events.iter().position(|event| event["kind"] == "claim_emitted").unwrap();
    let id = run.events[at]["claim"]["id"].clone();
    *output(&mut run, "insufficient_evidence") = json!({"claim_ids": [id], "type": "derive"});
    let policy = TracePolicy { allow_marked_insufficient: true, ..TracePolicy::default() };
    assert_policy("alone", &run.files(), &policy, &["trace_claim_marked"]);
    assert_eq!(DERIVE_END, CLAIM + 1);
}
