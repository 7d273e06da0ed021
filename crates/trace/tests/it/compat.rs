//! The verdict of the source system's own verifier, gaps included, on a run of our own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::LazyLock;

use probity_trace::compat::{
    CHECKS, CompatError, LinkTarget, Links, MAX_TRACE_BYTES, audit, audit_with_links,
    original_report, original_report_with_links, rules,
};
use probity_trace::sample::sha256;
use probity_trace::{FileEntry, FileError, FileKind, MemoryFiles, RunFiles, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

const CONTENT: &str = "hello world evidence";
const PATH: &str = "evidence/e.txt";

static RESULT: LazyLock<String> = LazyLock::new(|| "r".repeat(64));
static CHUNK: LazyLock<String> = LazyLock::new(|| "a".repeat(64));

/// A run in parts that a test may change.
#[derive(Debug, Clone)]
struct Parts {
    header: Value,
    events: Vec<Value>,
    plan: Value,
    chunks: Option<String>,
    content: Vec<u8>,
}

fn marker(id: &str, start: u64, end: u64, hash: &str) -> String {
    format!("[evidence:{id}:{start}-{end}:{hash}]")
}

fn support(kind: &str, id: &str, start: u64, end: u64) -> Value {
    json!({"kind": kind, "ref_id": id, "span": [start, end], "snippet_sha256": snippet()})
}

fn snippet() -> String {
    sha256(&CONTENT.as_bytes()[..5])
}

fn claim(id: &str) -> Value {
    json!({"kind": "claim_emitted", "claim": {
        "id": id,
        "statement": format!("hello {}", marker("e", 0, 5, &snippet())),
        "supports": [support("evidence", "e", 0, 5)],
        "structured": {"result_sha256": *RESULT},
    }})
}

fn started(step: &str) -> Value {
    json!({"kind": "step_started", "step_id": step})
}

fn finished(output: &str) -> Value {
    json!({"kind": "step_finished", "step_id": "s", "output":
        {"type": output, "normalized_question": "q"}})
}

fn output(name: &str) -> Value {
    let mut event = finished(name);
    if name != "understand" {
        event["output"].as_object_mut().expect("an object").remove("normalized_question");
    }
    event
}

fn called(id: &str) -> Value {
    json!({"kind": "tool_called", "step_id": "s", "call":
        {"id": id, "tool_name": "t", "step_id": "s", "call_idx": 0}})
}

fn returned(id: &str) -> Value {
    json!({"kind": "tool_returned", "step_id": "s", "result": {"call_id": id, "success": true}})
}

/// Events 0 to 4 are outputs, 5 is the evidence, 6 the claim.
fn base() -> Parts {
    let outputs = ["understand", "gather", "derive", "verify", "finalize"];
    let mut events: Vec<Value> = outputs.into_iter().map(output).collect();
    events.push(json!({"kind": "evidence_registered", "step_id": "s", "evidence": {
        "id": "e", "uri": "u", "sha256": sha256(CONTENT.as_bytes()), "span": [0, 20],
        "chunk_id": *CHUNK, "content_path": PATH,
    }}));
    events.push(claim("c"));
    Parts {
        header: json!({"record": "trace_header", "id": "t", "schema_version": 1, "metadata": {
            "reasoning_policy": {"min_supports_per_claim": 1},
            "reasoning_trace": {"reasoning_trace_sha256": *RESULT},
        }}),
        events,
        plan: json!({"spec_id": "x"}),
        chunks: None,
        content: CONTENT.as_bytes().to_vec(),
    }
}

fn row(start: u64, hash: &str) -> String {
    let row =
        json!({"chunk_id": *CHUNK, "start_byte": start, "end_byte": 20, "chunk_sha256": hash});
    row.to_string()
}

impl Parts {
    fn trace(&self) -> String {
        let mut lines = vec![self.header.to_string()];
        for (at, event) in self.events.iter().enumerate() {
            let mut event = event.clone();
            if event.get("idx").is_none() {
                event["idx"] = at.into();
            }
            lines.push(json!({"record": "trace_event", "event": event}).to_string());
        }
        lines.join("\n") + "\n"
    }

    fn files(&self) -> MemoryFiles {
        let mut files = MemoryFiles::default();
        let mut put = |path: &str, bytes: Vec<u8>| drop(files.files.insert(path.to_owned(), bytes));
        put("trace.jsonl", self.trace().into_bytes());
        put("plan.json", self.plan.to_string().into_bytes());
        put(PATH, self.content.clone());
        if let Some(chunks) = &self.chunks {
            put("provenance/chunks.jsonl", chunks.clone().into_bytes());
        }
        files
    }

    /// The base with one change.
    fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut parts = base();
        change(&mut parts);
        parts
    }
}

/// The exception that the original raises, if it does.
fn exception(files: &MemoryFiles) -> Option<&'static str> {
    match original_report(files) {
        Err(CompatError::Raised { exception }) => Some(exception),
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    }
}

fn messages(files: &MemoryFiles) -> Vec<String> {
    let report = original_report(files).expect("a report");
    let failures = report["failures"].as_array().expect("failures");
    failures.iter().map(|it| it["message"].as_str().expect("a text").to_owned()).collect()
}

/// A string in the trace's text replaced once.
fn replaced(from: &str, to: &str) -> MemoryFiles {
    let parts = base();
    let (trace, mut files) = (parts.trace(), parts.files());
    assert!(trace.contains(from), "{from}");
    files.files.insert("trace.jsonl".to_owned(), trace.replacen(from, to, 1).into_bytes());
    files
}

#[test]
fn a_run_without_failures_is_accepted_by_compat_and_never_valid() {
    let files = base().files();
    let report = audit(&files, "here");
    assert_eq!(report.verdict, Verdict::AcceptedByCompat, "{:?}", report.failures);
    assert_eq!(report.checks.iter().map(|check| check.name).collect::<Vec<_>>(), CHECKS);
    let original = original_report(&files).expect("a report");
    // As the original computes it of ten passed checks without failures.
    let id = "d80ddaa5a7cc4a65fc0a789f1ac4f48705b7dc0b66cc936c2845582d741ccd3c";
    assert_eq!(original["id"], id);
    assert_eq!(report.binds["original_report_id"], id);
    assert_eq!(original["trace_id"], Value::Null);
    let metrics = json!({ "checks_failed": 0.0, "checks_total": 10.0, "failures": 0.0 });
    assert_eq!(original["summary_metrics"], metrics);
}

/// What is changed of a run.
type Change = fn(&mut Parts);

/// The code, what is changed, and the message and invariant of the original.
type Case = (&'static str, Change, &'static str, Option<&'static str>);

const CORE: Option<&str> = Some("INV-SCH-001");
const GROUNDED: Option<&str> = Some("INV-GRD-001");
const FILES: Option<&str> = Some("INV-EVD-001");

fn nodes(parts: &mut Parts, nodes: Value) {
    parts.plan["nodes"] = nodes;
}

fn claim_of(parts: &mut Parts) -> &mut Value {
    &mut parts.events[6]["claim"]
}

fn cite(parts: &mut Parts, support: Value) {
    claim_of(parts)["supports"].as_array_mut().expect("supports").push(support);
}

fn evidence_of(parts: &mut Parts) -> &mut Value {
    &mut parts.events[5]["evidence"]
}

const CASES: [Case; 36] = [
    (
        "compat_node_repeated",
        |it| nodes(it, json!([{"id": "a", "kind": "derive"}, {"id": "a", "kind": "derive"}])),
        "Plan contains duplicate node ids.",
        CORE,
    ),
    (
        "compat_dependency_missing",
        |it| nodes(it, json!([{"id": "a", "kind": "derive", "dependencies": ["z"]}])),
        "PlanNode a depends on missing node id: z",
        CORE,
    ),
    (
        "compat_plan_cycle",
        |it| nodes(it, json!([{"id": "a", "kind": "derive", "dependencies": ["a"]}])),
        "Plan contains a cycle (DAG invariant violated).",
        CORE,
    ),
    (
        "compat_version",
        |it| it.header["schema_version"] = json!("3"),
        "Unsupported trace schema_version=3 (supported: [1, 2])",
        CORE,
    ),
    (
        "compat_version",
        |it| it.header["fingerprint_algo"] = json!("md5"),
        "Unsupported trace fingerprint_algo=md5 (supported: ['sha256'])",
        CORE,
    ),
    (
        "compat_idx_missing",
        |it| it.events[0]["idx"] = Value::Null,
        "Trace event missing idx field",
        CORE,
    ),
    (
        "compat_idx_order",
        |it| it.events[0]["idx"] = json!(7),
        "Trace idx must be monotonically increasing from 0",
        CORE,
    ),
    (
        "compat_call_repeated",
        |it| it.events.extend([called("k"), called("k"), returned("k")]),
        "Duplicate tool call id: k",
        CORE,
    ),
    (
        "compat_return_unknown",
        |it| it.events.push(returned("k")),
        "ToolReturned references unknown call: k",
        CORE,
    ),
    (
        "compat_evidence_step",
        |it| it.events[5]["step_id"] = json!(""),
        "Evidence event missing step_id",
        CORE,
    ),
    (
        "compat_evidence_repeated",
        |it| it.events.push(it.events[5].clone()),
        "Duplicate evidence id: e",
        CORE,
    ),
    (
        "compat_call_unanswered",
        |it| it.events.extend([called("z\u{200b}"), called("k'")]),
        r#"Missing tool results for call ids: ["k'", 'z\u200b']"#,
        CORE,
    ),
    (
        "compat_step_unknown",
        |it| {
            nodes(it, json!([{"id": "a", "kind": "derive"}]));
            it.events.push(started("s"));
        },
        "step_started references unknown step s",
        CORE,
    ),
    (
        "compat_step_unfinished",
        |it| it.events.extend([started("b"), started("a")]),
        "Unfinished steps: ['a', 'b']",
        CORE,
    ),
    (
        "compat_tool_linkage",
        |it| it.events.push(called("k")),
        "tool_linkage: Missing tool results for call ids: ['k']",
        Some("INV-TLK-001"),
    ),
    (
        "compat_ref_unknown",
        |it| cite(it, support("tool_call", "k", 0, 1)),
        "claim_justifications: unknown tool ref k",
        Some("INV-LNK-001"),
    ),
    (
        "compat_ref_unknown",
        |it| cite(it, support("claim", "k", 0, 1)),
        "claim_justifications: unknown claim ref k",
        Some("INV-LNK-001"),
    ),
    (
        "compat_claim_unsupported",
        |it| claim_of(it)["supports"] = json!([]),
        "derived_claim_grounding: claim c has no evidence supports",
        GROUNDED,
    ),
    (
        "compat_supports_few",
        |it| drop(it.header["metadata"].as_object_mut().expect("one").remove("reasoning_policy")),
        "derived_claim_grounding: claim c has 1 supports < required 2",
        Some("INV-GRD-002"),
    ),
    (
        "compat_marker_missing",
        |it| claim_of(it)["statement"] = json!("none"),
        "derived_claim_grounding: claim c missing canonical citation marker \
         [evidence:e:0-5:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824]",
        GROUNDED,
    ),
    (
        "compat_marker_unmatched",
        |it| {
            let marker = marker("z", 0, 5, &snippet());
            let statement = format!("{}{marker}", claim_of(it)["statement"].as_str().expect("one"));
            claim_of(it)["statement"] = json!(statement);
        },
        "derived_claim_grounding: marker for evidence z has no matching support",
        GROUNDED,
    ),
    (
        "compat_reasoning_missing",
        |it| it.header["metadata"]["reasoning_trace"] = json!([]),
        "reasoning_trace: missing reasoning metadata",
        None,
    ),
    (
        "compat_reasoning_hash_missing",
        |it| it.header["metadata"]["reasoning_trace"] = json!({}),
        "reasoning_trace: missing result hash",
        None,
    ),
    (
        "compat_claim_hash_missing",
        |it| claim_of(it)["structured"] = Value::Null,
        "reasoning_trace: claim c missing result_sha256",
        None,
    ),
    (
        "compat_claim_hashes_differ",
        |it| {
            let mut other = claim("d");
            other["claim"]["structured"]["result_sha256"] = json!("q".repeat(64));
            it.events.push(other);
        },
        "reasoning_trace: multiple result hashes present",
        None,
    ),
    (
        "compat_reasoning_hash_differs",
        |it| claim_of(it)["structured"]["result_sha256"] = json!("é".repeat(64)),
        "reasoning_trace: metadata hash mismatch",
        None,
    ),
    (
        "compat_no_conclusion",
        |it| claim_of(it)["claim_type"] = json!("observed"),
        "No derived claims and no insufficiency marker present",
        None,
    ),
    (
        "compat_two_conclusions",
        |it| it.events.push(output("insufficient_evidence")),
        "Both derived claims and insufficiency present (ambiguous)",
        None,
    ),
    (
        "compat_finalize_missing",
        |it| it.events[4] = output("verify"),
        "Missing finalize output",
        Some("INV-ORD-001"),
    ),
    (
        "compat_steps_missing",
        |it| (it.events[4], it.events[0]) = (output("verify"), output("gather")),
        "Missing required step outputs: ['finalize', 'understand']",
        Some("INV-ORD-001"),
    ),
    (
        "compat_evidence_path",
        |it| evidence_of(it)["content_path"] = json!("./evidence//none"),
        "Evidence path escapes artifacts_dir: evidence/none",
        FILES,
    ),
    (
        "compat_evidence_hash",
        |it| evidence_of(it)["sha256"] = json!(""),
        "Evidence e sha256 mismatch",
        FILES,
    ),
    (
        "compat_evidence_bytes",
        |it| cite(it, support("evidence", "z", 0, 1)),
        "support_spans: evidence z bytes missing for claim c",
        FILES,
    ),
    (
        "compat_span_beyond",
        |it| claim_of(it)["supports"][0]["span"] = json!(["0", 21.0]),
        "support_spans: invalid span (0, 21) for evidence e in claim c",
        FILES,
    ),
    (
        "compat_span_outside",
        |it| evidence_of(it)["span"] = json!([10, 30]),
        "support_spans: support span (0, 5) not within evidence span (10, 30) for e",
        FILES,
    ),
    (
        "compat_snippet_hash",
        |it| claim_of(it)["supports"][0]["span"] = json!([0, 6]),
        "support_spans: snippet hash mismatch for evidence e in claim c",
        FILES,
    ),
];

#[test]
fn every_kind_of_message_has_its_code_and_its_invariant() {
    for (code, change, message, invariant) in CASES {
        let files = Parts::with(change).files();
        let report = audit(&files, "here");
        assert_eq!(report.verdict, Verdict::Invalid, "{code}");
        let found = report.failures.iter().find(|failure| failure.code == code);
        let found = found.unwrap_or_else(|| panic!("{code}: {:?}", report.failures));
        assert_eq!(found.invariant_id, invariant, "{code}");
        let original = original_report(&files).expect("a report");
        let stated = json!({"severity": "error", "message": message, "invariant_id": invariant});
        let failures = original["failures"].as_array().expect("failures");
        assert!(failures.contains(&stated), "{code}: {failures:?}");
        let check = original["checks"].as_array().expect("checks").iter();
        let failed: Vec<&Value> = check.filter(|check| check["passed"] == json!(false)).collect();
        assert!(failed.iter().any(|check| check["name"] == found.check), "{code}");
    }
}

#[test]
fn the_table_of_chunks_is_compared_where_it_speaks() {
    let hash = sha256(CONTENT.as_bytes());
    let said =
        |chunks: &str| messages(&Parts::with(|it| it.chunks = Some(chunks.to_owned())).files());
    let moved = format!(
        "support_spans: evidence span (0, 20) does not match chunk span (1, 20) for chunk {}",
        *CHUNK
    );
    let altered = format!("support_spans: evidence hash mismatch vs chunk hash for {}", *CHUNK);
    assert_eq!(said(&row(0, &hash)), [""; 0]);
    assert_eq!(said(&row(1, "z")), [moved.as_str()], "only the span is told");
    assert_eq!(said(&row(0, "z")), [altered]);
    // The last line counts, and any line break of Unicode ends one.
    assert_eq!(said(&format!("{}\u{b}{}", row(1, &hash), row(0, &hash))), [""; 0]);
    assert_eq!(said(&format!("{}\u{2028}\u{a0}\r{}", row(0, &hash), row(1, &hash))), [moved]);
    assert_eq!(said(&row(0, &hash).replace(&*CHUNK, "other")), [""; 0]);
    let report = audit(&Parts::with(|it| it.chunks = Some(row(1, "z"))).files(), "here");
    assert!(report.has("compat_chunk_span"));
    let report = audit(&Parts::with(|it| it.chunks = Some(row(0, "z"))).files(), "here");
    assert!(report.has("compat_chunk_hash"));
}

#[test]
fn every_code_is_found_by_a_test_and_has_a_page() {
    let mut found: BTreeSet<&str> = CASES.iter().map(|(code, ..)| *code).collect();
    found.extend(["compat_chunk_span", "compat_chunk_hash"]);
    found.extend(["compat_unreadable", "compat_not_regular", "compat_limit"]);
    let codes: BTreeSet<&str> = rules().iter().map(|rule| rule.code).collect();
    assert_eq!(codes, found);
    assert_eq!(codes.len(), rules().len(), "a code stands twice");
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/codes");
    for code in codes {
        let page = std::fs::read_to_string(format!("{pages}/{code}.md")).expect(code);
        assert!(page.starts_with(&format!("# {code}\n")), "{code}");
    }
}

#[test]
fn what_the_original_takes_for_right_is_taken() {
    let wrapped = |it: &mut Parts| {
        it.plan = json!({"canonical_version": 99, "data": {"spec_id": "x"}, "more": 1});
    };
    let taken: [(&str, Change); 13] = [
        ("numbers in strings", |it| it.events[0]["idx"] = json!(" +0_0.0 ")),
        ("numbers with a fraction", |it| it.events[5]["evidence"]["span"] = json!([0.0, 20.0])),
        ("true for 1", |it| it.events[1]["idx"] = json!(true)),
        ("version 2", |it| it.header["schema_version"] = json!("2")),
        ("unknown keys of the header", |it| it.header["more"] = json!(1)),
        ("a wrapped plan", wrapped),
        ("other names of keys", |it| {
            let claim = claim_of(it).as_object_mut().expect("an object");
            let supports = claim.remove("supports").expect("supports");
            claim.insert("support_refs".to_owned(), supports);
        }),
        ("the kind of an output under another name", |it| {
            it.events[1]["output"] = json!({"kind": "gather", "evidence_refs": ["z"]});
        }),
        ("a result under two names", |it| {
            let event = json!({"kind": "tool_returned", "step_id": "s", "result": 1,
                "tool_result": {"call_id": "k", "ok": "yes"}});
            it.events.extend([called("k"), event]);
        }),
        ("any confidence", |it| claim_of(it)["confidence"] = json!("nan")),
        ("an evidence cited twice", |it| {
            it.header["metadata"]["reasoning_policy"] = json!({"min_supports_per_claim": 2});
            cite(it, support("evidence", "e", 0, 5));
        }),
        ("offsets in digits of any script", |it| {
            let statement = format!("[evidence:e:٠-٠٥:{}]", snippet());
            claim_of(it)["statement"] = json!(statement);
        }),
        ("a policy that is no number", |it| {
            it.header["metadata"]["reasoning_policy"] = json!({"min_supports_per_claim": "junk"});
        }),
    ];
    for (what, change) in taken {
        assert_eq!(messages(&Parts::with(change).files()), [""; 0], "{what}");
    }
    let texts = [
        ("\n", "\r"),
        ("\n", "\r\n\r\n"),
        ("\"id\":\"t\"", "\"id\":1,\"id\":\"t\""),
        ("\"id\":\"t\"", "\"id\":\"\\ud800\""),
        ("\"id\":\"t\"", "\"id\":\"t\",\"x\":[NaN,-Infinity,1e400]"),
    ];
    for (from, to) in texts {
        let parts = base();
        let mut files = parts.files();
        let trace = parts.trace().replace(from, to).into_bytes();
        files.files.insert("trace.jsonl".to_owned(), trace);
        assert_eq!(messages(&files), [""; 0], "{from} {to}");
    }
}

#[test]
fn what_the_original_raises_is_told() {
    let long = "9".repeat(4301);
    let nested = format!("\"id\":{}", "[".repeat(2000));
    let deep = format!("\"id\":\"t\",\"x\":{}{}", "[".repeat(982), "]".repeat(982));
    assert_eq!(exception(&replaced("\"id\":\"t\"", &deep)), None);
    let free = format!("\"metadata\":{{\"x\":{}{},", "[".repeat(256), "]".repeat(256));
    let raised = [
        ("\"id\":\"t\"", "\"id\":null", "ValidationError"),
        ("\"id\":\"t\"", "\"id\":\"t\",", "JSONDecodeError"),
        ("\"id\":\"t\"", "\"id\":\"\u{1}\"", "JSONDecodeError"),
        ("\"id\":\"t\"", &format!("\"id\":{long}"), "ValueError"),
        ("\"id\":\"t\"", &nested, "RecursionError"),
        ("\"metadata\":{", &free, "ValidationError"),
        ("trace_header", "trace_footer", "ValueError"),
        ("trace_event", "trace_end", "ValueError"),
        ("\"event\"", "\"even\"", "KeyError"),
        ("\n{", "\n[1]\n{", "AttributeError"),
        ("\n{", "\n \n{", "JSONDecodeError"),
        ("\"kind\":\"claim_emitted\"", "\"kind\":\"claim\"", "ValidationError"),
        ("\"min_supports_per_claim\":1", "\"min_supports_per_claim\":-1e999", "OverflowError"),
        ("hello [evidence:e:0", &format!("[evidence:e:{long}"), "ValueError"),
        ("\"content_path\":\"evidence/e.txt\"", "\"content_path\":\".\"", "IsADirectoryError"),
        ("\"content_path\":\"evidence/e.txt\"", "\"content_path\":\"a/../e\"", "ValidationError"),
        ("\"ref_id\":\"e\"", "\"ref_id\":\"\\ud800\"", "UnicodeEncodeError"),
    ];
    for (from, to, class) in raised {
        let files = replaced(from, to);
        assert_eq!(exception(&files), Some(class), "{from} {to}");
        let report = audit(&files, "here");
        assert_eq!(report.verdict, Verdict::Malformed);
        let failure = &report.failures[0];
        assert_eq!((failure.code, failure.actual.as_deref()), ("compat_unreadable", Some(class)));
        assert_eq!(report.summary_metrics["checks_skipped"], 10);
    }
}

#[test]
fn what_is_raised_over_plan_and_chunks_is_told() {
    let plans = [
        ("", "JSONDecodeError"),
        ("null", "ValidationError"),
        ("{}", "ValidationError"),
        (r#"{"spec_id":1,"nodes":[null]}"#, "TypeError"),
        (r#"{"spec_id":"x","nodes":["kind"]}"#, "TypeError"),
        (r#"{"spec_id":"x","nodes":["step"]}"#, "ValidationError"),
        (r#"{"spec_id":"x","edges":[["a"]]}"#, "ValidationError"),
        (r#"{"spec_id":"x","more":1}"#, "ValidationError"),
    ];
    for (plan, class) in plans {
        let mut files = base().files();
        files.files.insert("plan.json".to_owned(), plan.into());
        assert_eq!(exception(&files), Some(class), "{plan}");
    }
    let chunks = [
        ("x", "JSONDecodeError"),
        ("1", "AttributeError"),
        (r#"{"chunk_id":"x","start_byte":null,"end_byte":1}"#, "TypeError"),
        (r#"{"chunk_id":"x","start_byte":"1.0","end_byte":1}"#, "ValueError"),
        (r#"{"chunk_id":"x","start_byte":1e999,"end_byte":1}"#, "OverflowError"),
    ];
    for (chunks, class) in chunks {
        let files = Parts::with(|it| it.chunks = Some(chunks.to_owned())).files();
        assert_eq!(exception(&files), Some(class), "{chunks}");
    }
    for path in ["trace.jsonl", "plan.json"] {
        let mut files = base().files();
        files.files.insert(path.to_owned(), vec![0xff]);
        assert_eq!(exception(&files), Some("UnicodeDecodeError"), "{path}");
        files.files.remove(path);
        assert_eq!(exception(&files), Some("FileNotFoundError"), "{path}");
    }
}

/// The original decodes 8192 bytes at a time: what is wrong before them is raised first.
#[test]
fn a_broken_byte_hides_only_its_own_piece() {
    let with = |blanks: usize| {
        let mut files = base().files();
        let trace = [b"xx\n".as_slice(), &vec![b'\n'; blanks], b"\xff\n"].concat();
        files.files.insert("trace.jsonl".to_owned(), trace);
        exception(&files)
    };
    assert_eq!(with(8188), Some("UnicodeDecodeError"));
    assert_eq!(with(8189), Some("JSONDecodeError"));
}

#[test]
fn an_empty_id_is_made_of_the_content() {
    let events = [
        (
            r#"{"kind":"tool_called","step_id":"s","call":{"tool_name":"n","step_id":"s","call_idx":0}}"#,
            "call_v1_2492eafda1a97b5832b341979847038938f2ee1297e928bf4a4c05b040af4508",
        ),
        (
            r#"{"kind":"claim_emitted","claim":{"statement":"s"}}"#,
            "claim_v1_8cf1129c9d831bafc9bc0d7b8dc954fd962d6db70b932cfcf197eefb2afa2903",
        ),
    ];
    for (event, id) in events {
        let event: Value = serde_json::from_str(event).expect("JSON");
        let said = messages(&Parts::with(|it| it.events.push(event)).files()).join("\n");
        assert!(said.contains(id), "{said}");
    }
    let node = json!([{"kind": "derive", "dependencies": ["z"]}, {"kind": "derive"}]);
    let said = messages(&Parts::with(|it| it.plan["nodes"] = node).files()).join("\n");
    assert!(said.contains("PlanNode node_v1_"), "{said}");
}

/// Where links lead.
struct Leads(BTreeMap<&'static str, LinkTarget>);

impl Links for Leads {
    fn follow(&self, path: &str) -> LinkTarget {
        self.0.get(path).cloned().unwrap_or(LinkTarget::Unknown)
    }
}

#[test]
fn links_are_followed_only_as_far_as_somebody_looked() {
    let mut files = base().files();
    let content = files.files.remove(PATH).expect("the evidence");
    files.files.insert("elsewhere".to_owned(), content);
    files.others.insert(PATH.to_owned(), FileKind::Link);
    let report = audit(&files, "here");
    assert_eq!(report.verdict, Verdict::Malformed);
    assert!(report.has("compat_not_regular"));
    let led = |target: LinkTarget| {
        original_report_with_links(&files, &Leads(BTreeMap::from([(PATH, target)])))
    };
    let inside = led(LinkTarget::Inside("elsewhere".to_owned())).expect("a report");
    assert_eq!(inside["failures"], json!([]));
    for target in [LinkTarget::Outside, LinkTarget::Missing] {
        let report = led(target).expect("a report");
        let message = format!("Evidence path escapes artifacts_dir: {PATH}");
        assert_eq!(report["failures"][0]["message"], message);
    }
    let raised = |exception| Err(CompatError::Raised { exception });
    assert_eq!(led(LinkTarget::Loop), raised("RuntimeError"));
    assert_eq!(led(LinkTarget::Inside(String::new())), raised("IsADirectoryError"));

    let mut files = base().files();
    files.others.insert("provenance/chunks.jsonl".to_owned(), FileKind::Link);
    let verdict = |target: LinkTarget| {
        let leads = Leads(BTreeMap::from([("provenance/chunks.jsonl", target)]));
        audit_with_links(&files, &leads, "here").verdict
    };
    // The original reads that file; we cannot, and do not guess.
    assert_eq!(verdict(LinkTarget::Outside), Verdict::Malformed);
    assert_eq!(verdict(LinkTarget::Loop), Verdict::AcceptedByCompat);
    assert_eq!(verdict(LinkTarget::Missing), Verdict::AcceptedByCompat);
}

#[test]
fn a_pipe_is_not_waited_for() {
    for path in ["trace.jsonl", "plan.json", PATH, "provenance/chunks.jsonl"] {
        let mut files = base().files();
        files.files.remove(path);
        files.others.insert(path.to_owned(), FileKind::Special);
        let report = audit(&files, "here");
        assert_eq!(report.verdict, Verdict::Malformed, "{path}");
        assert_eq!(report.failures[0].code, "compat_not_regular", "{path}");
        assert_eq!(report.failures[0].place.file, path);
    }
}

/// Says of the trace that it is too large, whatever the bound.
struct Large(MemoryFiles);

impl RunFiles for Large {
    fn list(&self) -> Result<Vec<FileEntry>, FileError> {
        self.0.list()
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, FileError> {
        self.0.open(path)
    }

    fn read(&self, path: &str, max_bytes: u64, into: &mut Vec<u8>) -> Result<(), FileError> {
        match path {
            "trace.jsonl" => Err(FileError::TooLarge { max_bytes }),
            _ => self.0.read(path, max_bytes, into),
        }
    }
}

#[test]
fn bounds_are_told_as_bounds() {
    let large = Large(base().files());
    assert_eq!(audit(&large, "here").verdict, Verdict::LimitExceeded);
    let limit = CompatError::Limit { what: "bytes of a file", max: MAX_TRACE_BYTES };
    assert_eq!(original_report(&large), Err(limit));
    // Few bytes of trace that come to many bytes of messages.
    let talkative = Parts::with(|it| {
        let id = "c".repeat(1 << 20);
        let supports: Vec<Value> = (0..300).map(|_| support("evidence", "z", 0, 1)).collect();
        it.events.push(json!({"kind": "claim_emitted", "claim":
            {"id": id, "statement": "", "claim_type": "observed", "supports": supports}}));
    });
    let report = audit(&talkative.files(), "here");
    assert_eq!(report.verdict, Verdict::LimitExceeded);
    assert!(report.has("compat_limit"));
}

fn lines() -> Vec<Vec<u8>> {
    let mut parts = base();
    parts.events.extend([started("s"), called("k"), returned("k")]);
    parts.trace().lines().map(|line| line.as_bytes().to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Arbitrary bytes in any of the files end in a report, and the two forms of it agree.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), file in 0..4_usize) {
        let names = ["trace.jsonl", "plan.json", PATH, "provenance/chunks.jsonl"];
        let mut files = base().files();
        files.files.insert(names[file].to_owned(), bytes);
        let accepted = audit(&files, "here").verdict == Verdict::AcceptedByCompat;
        let original = original_report(&files).map(|report| report["failures"] == json!([]));
        prop_assert_eq!(accepted, original == Ok(true));
    }

    /// As do damaged lines of a trace.
    #[test]
    fn no_damage_panics(
        line in 0..10_usize,
        at in any::<prop::sample::Index>(),
        cut in 0..6_usize,
        put in prop::collection::vec(
            prop::sample::select(b"\"\\{}[]:,0123eE+-._ \n\r\xff\xc3\xa9NaInftruel/".to_vec()),
            0..6,
        ),
    ) {
        let mut lines = lines();
        let line = &mut lines[line];
        let start = at.index(line.len());
        let end = (start + cut).min(line.len());
        line.splice(start..end, put);
        let mut files = base().files();
        files.files.insert("trace.jsonl".to_owned(), lines.join(&b'\n'));
        let accepted = audit(&files, "here").verdict == Verdict::AcceptedByCompat;
        let original = original_report(&files).map(|report| report["failures"] == json!([]));
        prop_assert_eq!(accepted, original == Ok(true));
    }
}
