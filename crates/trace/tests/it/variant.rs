//! Runs that were made in another way and agree with themselves: all are valid.

use probity_trace::sample::{Retrieval, SampleRun, canonical, content_id, reid, sha256};
use probity_trace::{Verdict, VerificationReport};
use serde_json::{Value, json};

use super::mutation::{CLAIM, FINALIZED, Run, VERIFIED};

const OTHER_CLAIM: usize = 18;

type Variant = (&'static str, fn(&mut Run));

const VARIANTS: &[Variant] = &[
    ("no report of the source system", |run| {
        run.files.files.remove("verify.json");
    }),
    ("other notes", |run| {
        run.json("plan.json", |plan| plan["nodes"][1]["step"]["notes"] = "Look it up.".into());
    }),
    ("another preset", |run| {
        run.json("run_meta.json", |meta| meta["preset"] = "careful".into());
        nodes(run, |node| node["parameters"]["preset"] = "careful".into());
    }),
    ("steps without a preset", |run| nodes(run, |node| node["parameters"] = json!({}))),
    ("steps with more parameters", |run| {
        nodes(run, |node| node["parameters"]["temperature"] = json!(0.5));
    }),
    ("another runtime", |run| {
        run.json("run_meta.json", |meta| {
            meta["runtime"]["kind"] = "OurRuntime".into();
            meta["runtime_descriptor"]["kind"] = "OurRuntime".into();
            meta["runtime_descriptor"]["tools"][0]["config_fingerprint"] = "x".into();
            let text = canonical(&meta["runtime_descriptor"]);
            meta["runtime_fingerprint"] = sha256(text.as_bytes()).into();
        });
        let meta: Value = serde_json::from_str(&run.text("run_meta.json")).unwrap();
        run.header(|header| {
            header["metadata"]["runtime_fingerprint"] = meta["runtime_fingerprint"].clone();
            header["metadata"]["run_meta"]["runtime_kind"] = "OurRuntime".into();
        });
    }),
    ("another seed", |run| {
        run.json("run_meta.json", |meta| meta["seed"] = (-7).into());
        run.header(|header| header["metadata"]["run_meta"]["seed"] = (-7).into());
    }),
    ("more metadata", |run| {
        run.header(|header| header["metadata"]["author"] = json!({"name": "é", "at": 1e-7}));
    }),
    ("more in a claim", |run| run.claim(|claim| claim["structured"]["model"] = "m".into())),
    ("another certainty", |run| run.claim(|claim| claim["confidence"] = json!(0.25))),
    ("a problem without a version", |run| {
        run.json("spec.json", |spec| spec["version"] = Value::Null);
    }),
    ("a question in other words", |run| {
        run.event(1, |event| event["output"]["normalized_question"] = "basalt?".into());
    }),
    ("a claim that a call and a claim support too", |run| {
        let records: Vec<Value> =
            run.text("trace.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let text = canonical(&records[5]["event"]["result"]["result"]);
        let call = json!({"hash_algo": "sha256", "kind": "tool_call",
            "ref_id": records[5]["event"]["result"]["call_id"],
            "snippet_sha256": sha256(&text.as_bytes()[..9]), "span": [0, 9]});
        let claim = &records[CLAIM + 1]["event"]["claim"];
        let text = claim["statement"].as_str().unwrap();
        let claim = json!({"hash_algo": "sha256", "kind": "claim", "ref_id": claim["id"],
            "snippet_sha256": sha256(text.as_bytes()), "span": [0, text.len()]});
        run.event(OTHER_CLAIM, |event| {
            event["claim"]["supports"].as_array_mut().unwrap().extend([call, claim]);
        });
    }),
    ("an observed claim without markers", |run| {
        run.event(OTHER_CLAIM, |event| {
            event["claim"]["statement"] = "Basalt was seen to sink.".into();
            event["claim"]["structured"] = Value::Null;
        });
    }),
    ("a claim without support, rejected and said to lack it", |run| {
        let id = claim_id(run, OTHER_CLAIM);
        run.event(OTHER_CLAIM, |event| event["claim"]["supports"] = json!([]));
        run.event(VERIFIED, |event| {
            let output = &mut event["output"];
            output["validated_claim_ids"].as_array_mut().unwrap().retain(|other| *other != id);
            output["rejected_claim_ids"] = json!([id]);
            output["missing_support_claim_ids"] = json!([id]);
        });
        run.event(FINALIZED, |event| {
            let ids = &mut event["output"]["final_claim_ids"];
            ids.as_array_mut().unwrap().retain(|other| *other != id);
        });
    }),
    ("a demand of one support", |run| demand(run, json!(1), 1)),
    ("a demand of no support is one of one", |run| demand(run, json!(0), 1)),
    ("a demand below none", |run| demand(run, json!(-4), 1)),
    ("a demand with a fraction", |run| demand(run, json!(2.9), 2)),
    ("a demand as a text", |run| demand(run, json!(" 2 "), 2)),
    ("a demand that is true", |run| demand(run, json!(true), 1)),
    ("a demand that is none", |run| demand(run, Value::Null, 2)),
];

fn run() -> Run {
    Run::of(&SampleRun { pairs: 2, retrieval: Retrieval::Memory, ..SampleRun::default() })
}

fn audited(change: impl FnOnce(&mut Run)) -> VerificationReport {
    let mut run = run();
    change(&mut run);
    reid(&mut run.files);
    run.audit()
}

fn demand(run: &mut Run, asked: Value, stated: u64) {
    const SAMPLE: u64 = 2;
    run.json("spec.json", |spec| spec["constraints"]["min_supports_per_claim"] = asked);
    if stated != SAMPLE {
        run.header(|header| {
            header["metadata"]["reasoning_policy"]["min_supports_per_claim"] = stated.into();
        });
    }
}

fn claim_id(run: &Run, at: usize) -> Value {
    let line = run.text("trace.jsonl").lines().nth(at + 1).unwrap().to_owned();
    let record: Value = serde_json::from_str(&line).unwrap();
    record["event"]["claim"]["id"].clone()
}

/// Changes every step of the plan, and makes their ids again wherever they stand.
fn nodes(run: &mut Run, change: fn(&mut Value)) {
    let plan: Value = serde_json::from_str(&run.text("plan.json")).unwrap();
    for at in 0..plan["nodes"].as_array().unwrap().len() {
        let mut ids = Vec::new();
        run.json("plan.json", |plan| {
            let node = &mut plan["nodes"][at];
            change(node);
            let named = json!({"kind": node["kind"], "deps": node["dependencies"],
                "params": node["parameters"]});
            ids = vec![node["id"].as_str().unwrap().to_owned(), content_id("node", &named)];
        });
        for path in ["plan.json", "trace.jsonl"] {
            let text = run.text(path).replace(&ids[0], &ids[1]);
            run.put(path, text);
        }
    }
}

#[test]
fn runs_that_agree_with_themselves_are_valid() {
    let mut refused = Vec::new();
    for (name, change) in VARIANTS {
        let report = audited(change);
        if report.verdict != Verdict::Valid {
            let codes: Vec<&str> = report.failures.iter().map(|failure| failure.code).collect();
            refused.push(format!("{name}: {codes:?} {:?}", report.failures.first()));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn a_demand_as_a_text_is_a_demand() {
    let report = audited(|run| demand(run, json!("3"), 3));
    assert_eq!(report.verdict, Verdict::Invalid);
    assert!(report.has("citation_too_few_supports"));
    assert!(!report.has("trace_policy_min_supports"), "{:?}", report.failures);
}
