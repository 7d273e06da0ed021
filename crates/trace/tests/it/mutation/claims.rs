//! F and H: claims, answers, too little evidence.

use probity_trace::sample::{Ending, SampleRun, sha256};
use serde_json::{Value, json};

use super::{CLAIM, DERIVED, FINALIZED, GATHERED, Row, Run, VERIFIED};

pub(super) const ROWS: &[Row] = &[
    ("F01 marker removed", "trace_support_without_marker", |run| {
        statement(run, |text| text[..text.rfind(" [evidence:").expect("a marker")].to_owned());
    }),
    ("F02 marker one shorter", "trace_marker_without_support", |run| {
        statement(run, |text| replace_end(text, |end| end - 1));
    }),
    ("F03 span shifted, hash kept", "citation_hash_mismatch", |run| {
        span(run, |[a, b]| [a + 1, b + 1])
    }),
    ("F04 span shifted, hash made again", "citation_quote_differs", |run| {
        cite(run, |[a, b]| [a + 1, b + 1]);
    }),
    ("F05 span beyond the file", "citation_out_of_bounds", |run| span(run, |[a, b]| [a, b + 9000])),
    ("F06 span reversed", "trace_span_shape", |run| span(run, |[a, b]| [b, a])),
    ("F07 empty span", "trace_span_shape", |run| span(run, |[a, _]| [a, a])),
    ("F08 negative span", "trace_span_shape", |run| support(run, "span", json!([-1, 5]))),
    ("F09 span of floats", "trace_span_shape", |run| support(run, "span", json!([0.0, 5.0]))),
    ("F10 span of texts", "trace_span_shape", |run| support(run, "span", json!(["0", "5"]))),
    ("F11 span of three", "trace_span_shape", |run| support(run, "span", json!([0, 5, 6]))),
    ("F12 span end 2^63", "trace_number", |run| {
        support(run, "span", json!([0, 9_223_372_036_854_775_808_u64]));
    }),
    ("F13 hashes exchanged", "citation_hash_mismatch", |run| {
        run.claim(|claim| {
            let first = claim["supports"][0]["snippet_sha256"].take();
            claim["supports"][0]["snippet_sha256"] = claim["supports"][1]["snippet_sha256"].take();
            claim["supports"][1]["snippet_sha256"] = first;
        });
    }),
    ("F14 upper-case hash", "trace_digest_shape", |run| {
        support(run, "snippet_sha256", "A".repeat(64).into());
    }),
    ("F15 hash of 63", "trace_digest_shape", |run| {
        support(run, "snippet_sha256", "a".repeat(63).into());
    }),
    ("F16 sha512", "trace_word", |run| support(run, "hash_algo", "sha512".into())),
    ("F17 no hash_algo", "trace_key_missing", |run| {
        run.claim(|claim| remove(&mut claim["supports"][0], "hash_algo"));
    }),
    ("F18 legacy marker", "citation_marker_malformed", |run| {
        statement(run, |text| text + " [evidence:ev_1]");
    }),
    ("F19 malformed marker", "citation_marker_malformed", |run| {
        statement(run, |text| text + " [evidence:ev_1:0-5:xyz]");
    }),
    ("F20 marker without support", "trace_marker_without_support", |run| {
        statement(run, |text| format!("{text} Also. [evidence:ev_1:0-5:{}]", "0".repeat(64)));
    }),
    ("F21 leading zeros", "citation_marker_malformed", |run| {
        statement(run, |text| text.replacen("-", "-00", 1));
    }),
    ("F22 other digits", "citation_marker_malformed", |run| {
        statement(run, |text| {
            let dash = text.find('-').expect("a span") + 1;
            format!("{}\u{0665}{}", &text[..dash], &text[dash + 1..])
        });
    }),
    ("F23 5000 digits", "citation_marker_malformed", |run| {
        let offset = "9".repeat(5000);
        statement(run, |text| format!("{text} [evidence:e:0-{offset}:{}]", "0".repeat(64)));
    }),
    ("F24 marker in upper case", "citation_marker_malformed", |run| {
        statement(run, |text| {
            let end = text.rfind(']').expect("a marker");
            format!("{}{}]", &text[..end - 64], text[end - 64..end].to_uppercase())
        });
    }),
    ("F25 blank in a marker", "citation_marker_malformed", |run| {
        statement(run, |text| text.replacen("[evidence:", "[evidence: ", 1));
    }),
    ("F26 marker twice", "trace_marker_without_support", |run| {
        statement(run, |text| {
            let marker = &text[text.find('[').expect("a marker")..=text.find(']').expect("an end")];
            format!("{text} {marker}")
        });
    }),
    ("F27 one piece cited twice", "citation_too_few_supports", |run| {
        run.claim(|claim| {
            claim["supports"][1] = claim["supports"][0].clone();
            let text = claim["statement"].as_str().expect("a text");
            let part = text[..=text.find(']').expect("a marker")].to_owned();
            claim["statement"] = format!("{part} {part}").into();
        });
    }),
    ("F29 one citation dropped", "citation_too_few_supports", |run| {
        run.claim(|claim| {
            claim["supports"].as_array_mut().expect("supports").pop();
            let text = claim["statement"].as_str().expect("a text");
            claim["statement"] = text[..=text.find(']').expect("a marker")].into();
        });
    }),
    ("F30 no supports", "trace_claim_unsupported", |run| {
        run.claim(|claim| claim["supports"] = json!([]));
    }),
    ("F31 evidence that is none", "citation_fabricated", |run| {
        support(run, "ref_id", format!("ev_v1_{}", "0".repeat(64)).into());
    }),
    ("F32 support by a call, made up", "citation_hash_mismatch", |run| {
        extra_support(run, "tool_call", true);
    }),
    ("F33 support by no call", "trace_support_call_unknown", |run| {
        extra_support(run, "tool_call", false);
    }),
    ("F34 support by a claim that is none", "trace_support_claim_unknown", |run| {
        extra_support(run, "claim", false);
    }),
    ("F35 too little evidence, and a claim", "trace_insufficient_claim", |run| {
        run.records(|_, events| {
            events[CLAIM]["claim"]["claim_type"] = "assumed".into();
            events[CLAIM]["claim"]["supports"] = json!([]);
            events[DERIVED]["output"] = insufficient(0, 2);
        });
    }),
    ("F36 nothing derived", "trace_no_claim", |run| {
        run.claim(|claim| claim["claim_type"] = "observed".into());
    }),
    ("F37 another claim id", "trace_derive_claim_ids", |run| {
        run.claim(|claim| claim["id"] = format!("claim_v1_{}", "0".repeat(64)).into());
    }),
    ("F38 other words", "citation_quote_differs", |run| {
        statement(run, |text| text.replacen("sinks", "swims", 1));
    }),
    ("F39 another answer", "trace_answer_differs", |run| {
        output(run, FINALIZED, "final_answer", "Yes.".into());
    }),
    ("F40 unknown final claim", "trace_final_unknown_claim", |run| {
        output(run, FINALIZED, "final_claim_ids", json!(["claim_v1_0"]));
    }),
    ("F41 unknown derived claim", "trace_derive_claim_ids", |run| {
        output(run, DERIVED, "claim_ids", json!(["claim_v1_0"]));
    }),
    ("F42 final claim rejected", "trace_final_not_validated", |run| {
        run.event(VERIFIED, |event| {
            let validated = event["output"]["validated_claim_ids"].take();
            event["output"]["rejected_claim_ids"] = validated;
            event["output"]["validated_claim_ids"] = json!([]);
        });
    }),
    ("F43 confidence -5", "trace_range", |run| run.claim(|claim| claim["confidence"] = json!(-5))),
    ("F44 confidence 1e308", "trace_range", |run| {
        run.claim(|claim| claim["confidence"] = json!(1e308));
    }),
    ("F45 rejected and final", "trace_claim_rejected", |run| {
        run.claim(|claim| claim["status"] = "rejected".into());
    }),
    ("F46 another result hash in the header", "trace_reasoning_result_sha256", |run| {
        run.header(|header| {
            let reasoning = &mut header["metadata"]["reasoning_trace"];
            reasoning["reasoning_trace_sha256"] = "0".repeat(64).into();
        });
    }),
    ("F47 another result hash", "trace_claim_result_sha256", |run| {
        run.records(|header, events| {
            let other: Value = "z".repeat(64).into();
            header["metadata"]["reasoning_trace"]["result_sha256"] = other.clone();
            header["metadata"]["reasoning_trace"]["reasoning_trace_sha256"] = other.clone();
            events[CLAIM]["claim"]["structured"]["result_sha256"] = other;
        });
    }),
    ("F48 no result hash", "trace_claim_result_sha256", |run| {
        run.claim(|claim| remove(&mut claim["structured"], "result_sha256"));
    }),
    ("F49 nothing structured", "trace_claim_result_sha256", |run| {
        run.claim(|claim| claim["structured"] = Value::Null);
    }),
    ("F51 alias support_refs", "trace_key_unknown", |run| {
        run.claim(|claim| {
            let supports = claim["supports"].clone();
            remove(claim, "supports");
            claim["support_refs"] = supports;
        });
    }),
    ("F52 other evidence listed", "trace_gather_evidence_ids", |run| {
        output(run, GATHERED, "evidence_ids", json!(["ev_v1_0"]));
    }),
    ("F56 picked something else", "trace_claim_picked", |run| {
        run.claim(|claim| claim["structured"]["reasoner"]["picked"] = json!([]));
    }),
    ("F57 unknown key in a claim", "trace_key_unknown", |run| {
        run.claim(|claim| claim["x"] = 1.into())
    }),
    ("F58 unknown key in a support", "trace_key_unknown", |run| support(run, "x", 1.into())),
    ("F59 hearsay", "trace_word", |run| run.claim(|claim| claim["claim_type"] = "hearsay".into())),
    ("F60 support by the web", "trace_word", |run| support(run, "kind", "web".into())),
    ("F61 empty statement", "trace_support_without_marker", |run| {
        statement(run, |_| String::new())
    }),
    ("F62 markers only", "citation_quote_differs", |run| {
        statement(run, |text| {
            let markers = text.split('[').skip(1);
            markers.map(|part| format!("[{}]", part.split_once(']').expect("an end").0)).collect()
        });
    }),
    ("F63 a letter that looks alike", "trace_marker_without_support", |run| {
        statement(run, |text| text.replacen("[evidence:ev", "[evidence:\u{0435}v", 1));
    }),
    ("F64 type and kind", "trace_key_unknown", |run| output(run, DERIVED, "kind", "gather".into())),
    ("F65 kind for type", "trace_key_missing", |run| {
        run.event(DERIVED, |event| {
            remove(&mut event["output"], "type");
            event["output"]["kind"] = "derive".into();
        });
    }),
    ("F66 the word of the documents", "trace_word", |run| {
        output(run, DERIVED, "type", "insufficient".into());
    }),
    ("F67 another question", "trace_claim_question", |run| {
        run.claim(|claim| claim["structured"]["reasoner"]["question"] = "Why?".into());
    }),
    ("F53 half a character", "citation_split_character", |run| {
        *run = Run::of(&SampleRun { pairs: 2, is_unicode: true, ..SampleRun::default() });
        // The last character before the full stop of the first sentence has four bytes.
        cite(run, |[a, b]| [a, b - 3]);
    }),
    ("E33 longer span, no corpus", "trace_result_span", |run| {
        *run = Run::of(&SampleRun { pairs: 2, ..SampleRun::default() });
        run.event(super::EVIDENCE, |event| {
            let end = event["evidence"]["span"][1].as_u64().expect("an end");
            event["evidence"]["span"][1] = (end + 1000).into();
        });
    }),
    ("H01 enough after all", "trace_insufficient_retrieved", |run| {
        ended(run);
        run.event(INSUFFICIENT, |event| event["output"] = insufficient(5, 2));
    }),
    ("H02 an empty derive output", "trace_no_claim", |run| {
        ended(run);
        run.event(INSUFFICIENT, |event| {
            event["output"] = json!({"claim_ids": [], "type": "derive"});
        });
    }),
    ("H03 told by the verify step", "trace_output_kind", |run| {
        ended(run);
        run.event(INSUFFICIENT + 2, |event| event["output"] = insufficient(1, 2));
    }),
    ("H04 an answer all the same", "trace_insufficient_answer", |run| {
        ended(run);
        run.event(INSUFFICIENT + 4, |event| event["output"]["final_answer"] = "Yes.".into());
    }),
    ("H06 a claim all the same", "trace_insufficient_claim", |run| {
        *run = Run::of(&SampleRun { ending: Ending::Marked, ..SampleRun::default() });
    }),
    ("H07 negative numbers", "trace_insufficient_numbers", |run| {
        ended(run);
        run.event(INSUFFICIENT, |event| event["output"] = insufficient(-1, -1));
    }),
    ("H08 a type and nothing more", "trace_key_missing", |run| {
        ended(run);
        run.event(INSUFFICIENT, |event| event["output"] = json!({"type": "insufficient_evidence"}));
    }),
    ("H09 a grounded claim flagged", "trace_insufficient_claim", |run| {
        run.event(DERIVED, |event| event["output"] = insufficient(2, 2));
        run.claim(|claim| claim["structured"]["insufficient"] = true.into());
    }),
];

/// Where the run without enough evidence says so.
const INSUFFICIENT: usize = 8;

fn ended(run: &mut Run) {
    *run = Run::of(&SampleRun { ending: Ending::Insufficient, ..SampleRun::default() });
}

fn insufficient(retrieved: i64, required: i64) -> Value {
    json!({
        "reason": "insufficient_evidence",
        "required": required,
        "retrieved": retrieved,
        "type": "insufficient_evidence",
    })
}

fn statement(run: &mut Run, change: impl FnOnce(String) -> String) {
    run.claim(|claim| {
        let text = claim["statement"].as_str().expect("a text").to_owned();
        claim["statement"] = change(text).into();
    });
}

/// Changes the end of the first marker's span.
fn replace_end(text: String, change: impl FnOnce(usize) -> usize) -> String {
    let from = text.find('-').expect("a span") + 1;
    let to = from + text[from..].find(':').expect("a hash");
    let end = change(text[from..to].parse().expect("a number"));
    format!("{}{end}{}", &text[..from], &text[to..])
}

fn support(run: &mut Run, key: &str, value: Value) {
    run.claim(|claim| claim["supports"][0][key] = value);
}

/// Changes the first span, in support and marker.
fn span(run: &mut Run, change: impl FnOnce([u64; 2]) -> [u64; 2]) {
    run.claim(|claim| {
        let before = &claim["supports"][0]["span"];
        let [a, b] = [0, 1].map(|at| before[at].as_u64().expect("an offset"));
        let [from, to] = change([a, b]);
        claim["supports"][0]["span"] = json!([from, to]);
        let text = claim["statement"].as_str().expect("a text");
        let text = text.replacen(&format!(":{a}-{b}:"), &format!(":{from}-{to}:"), 1);
        claim["statement"] = text.into();
    });
}

/// Cites other bytes of the first piece, hash and marker made again.
fn cite(run: &mut Run, change: impl FnOnce([u64; 2]) -> [u64; 2]) {
    span(run, change);
    let path = run.evidence_path();
    let bytes = run.files.files[&path].clone();
    run.claim(|claim| {
        let span = &claim["supports"][0]["span"];
        let [from, to] =
            [0, 1].map(|at| usize::try_from(span[at].as_u64().expect("an offset")).expect("small"));
        let digest = sha256(&bytes[from..to]);
        let before = claim["supports"][0]["snippet_sha256"].as_str().expect("a hash").to_owned();
        claim["statement"] =
            claim["statement"].as_str().expect("a text").replace(&before, &digest).into();
        claim["supports"][0]["snippet_sha256"] = digest.into();
    });
}

fn extra_support(run: &mut Run, kind: &str, is_known: bool) {
    run.records(|_, events| {
        let id = match is_known {
            true => events[super::CALL]["call"]["id"].clone(),
            false => "nothing".into(),
        };
        let support = json!({
            "hash_algo": "sha256",
            "kind": kind,
            "ref_id": id,
            "snippet_sha256": "0".repeat(64),
            "span": [0, 5],
        });
        events[CLAIM]["claim"]["supports"].as_array_mut().expect("supports").push(support);
    });
}

fn output(run: &mut Run, at: usize, key: &str, value: Value) {
    run.event(at, |event| event["output"][key] = value);
}

fn remove(object: &mut Value, key: &str) {
    object.as_object_mut().expect("an object").remove(key);
}
