//! Genuine runs of the source system, and what was done to them.
//!
//! The data are third-party and not part of this repository: without `PROBITY_REFERENCE` these tests
//! look at nothing. What they hold is held by `mutation` and `damage` on runs of our own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use probity_trace::sample::{canonical, content_id, sha256};
use probity_trace::{FileKind, MemoryFiles, Quotes, TraceAuditor, TracePolicy, Verdict};
use serde_json::{Value, json};

/// The folder of the reference data.
fn root() -> Option<PathBuf> {
    let root = PathBuf::from(std::env::var_os("PROBITY_REFERENCE")?);
    [root.clone(), root.join("bijux-reason")].into_iter().find(|root| root.join("fuzz").is_dir())
}

fn read_below(root: &Path, folder: &Path, files: &mut MemoryFiles) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read_below(root, &path, files);
            continue;
        }
        let name = path.strip_prefix(root).expect("below").to_str().expect("UTF-8").to_owned();
        if name != "expected.json" {
            files.files.insert(name, fs::read(&path).expect("a file"));
        }
    }
}

/// The genuine runs by name: what they hold, and what is promised of them.
fn runs(root: &Path) -> BTreeMap<String, (MemoryFiles, Value)> {
    let mut runs = BTreeMap::new();
    for entry in fs::read_dir(root.join("runs")).expect("runs") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let mut files = MemoryFiles::default();
            read_below(&path, &path, &mut files);
            let expected = fs::read(path.join("expected.json")).expect("expected.json");
            let name = path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
            runs.insert(name, (files, serde_json::from_slice(&expected).expect("JSON")));
        }
    }
    assert!(!runs.is_empty());
    runs
}

fn rows(path: PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("rows");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn verdict(files: &MemoryFiles) -> Verdict {
    TraceAuditor::default().audit(files, "reference").verdict
}

/// What an audit found, in one line.
fn findings(files: &MemoryFiles, policy: TracePolicy) -> (Verdict, String) {
    let report = TraceAuditor::new(policy).audit(files, "reference");
    let found: Vec<String> = report
        .failures
        .iter()
        .map(|failure| {
            let place = &failure.place;
            format!("{} {}:{:?} {}", failure.code, place.file, place.line, place.pointer)
        })
        .take(4)
        .collect();
    (report.verdict, found.join("; "))
}

fn lines_of(files: &MemoryFiles, path: &str) -> Vec<Value> {
    let text = std::str::from_utf8(&files.files[path]).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn put_lines(files: &mut MemoryFiles, path: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| canonical(line) + "\n").collect();
    files.files.insert(path.to_owned(), text.into_bytes());
}

#[test]
fn genuine_runs_get_their_contract() {
    let Some(root) = root() else { return };
    let mut misses = Vec::new();
    for (name, (files, expected)) in runs(&root) {
        let (verdict, found) = findings(&files, TracePolicy::default());
        let contract = expected["contract"].as_str().expect("a contract");
        // By policy: a quote that is not what is cited, and a marker within a quote. The first is
        // accepted on demand, the second never.
        let (is_quote, is_marker) = (name.starts_with("g11"), name.starts_with("g19"));
        let right = match contract {
            "accept" => Verdict::Valid,
            _ => Verdict::Invalid,
        };
        if verdict != right || (contract == "policy") != (is_quote || is_marker) {
            misses.push(format!("{name} {contract}: {verdict:?} {found}"));
        }
        if is_quote {
            let policy = TracePolicy { quotes: Quotes::Any, ..TracePolicy::default() };
            let (verdict, found) = findings(&files, policy);
            if verdict != Verdict::Valid {
                misses.push(format!("{name} with any quotes: {verdict:?} {found}"));
            }
        }
    }
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

fn decoded(base64: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for digit in base64.bytes().filter(|digit| *digit != b'=') {
        let value = DIGITS.iter().position(|known| *known == digit).expect("a digit");
        bits = bits << 6 | u32::try_from(value).expect("small");
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).expect("a byte"));
        }
    }
    bytes
}

fn payload(operation: &Value) -> Vec<u8> {
    if let Some(text) = operation["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(text) = operation["b64"].as_str() {
        return decoded(text);
    }
    let runs = operation["runs"].as_array().expect("a payload");
    let run = |run: &Value| {
        let count = usize::try_from(run[1].as_u64().expect("a count")).expect("small");
        run[0].as_str().expect("a text").repeat(count)
    };
    runs.iter().map(run).collect::<String>().into_bytes()
}

fn apply(files: &mut MemoryFiles, operation: &Value) {
    let path = operation["path"].as_str().expect("a path").to_owned();
    let at =
        |key: &str| usize::try_from(operation[key].as_u64().expect("an offset")).expect("small");
    match operation["op"].as_str().expect("an operation") {
        "splice" => {
            let bytes = files.files.get_mut(&path).expect("a file");
            bytes.splice(at("start")..at("end"), payload(operation));
        }
        "write" => {
            files.files.insert(path, payload(operation));
        }
        "delete" => {
            files.files.remove(&path);
        }
        operation => {
            let kind = match operation {
                "symlink" => FileKind::Link,
                "mkfifo" => FileKind::Special,
                other => panic!("{other}"),
            };
            // What lies behind a link is not reached.
            files.files.retain(|file, _| *file != path && !file.starts_with(&format!("{path}/")));
            files.others.insert(path, kind);
        }
    }
}

#[test]
fn mutants_are_never_valid() {
    let Some(root) = root() else { return };
    let runs = runs(&root);
    let mut misses = Vec::new();
    let mut count = 0;
    for row in rows(root.join("runs/mutants.jsonl")) {
        let (base, _) = &runs[row["base"].as_str().expect("a base")];
        let mut files = base.clone();
        for operation in row["ops"].as_array().expect("operations") {
            apply(&mut files, operation);
        }
        let contract = row["expected"]["contract"].as_str().expect("a contract");
        count += usize::from(contract == "reject");
        if contract == "reject" && verdict(&files) == Verdict::Valid {
            misses.push(format!("{} {}", row["id"], row["description"]));
        }
    }
    assert_eq!(count, 185);
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

/// The mutants that were sealed again, without a look at any hash over a whole file or record: what
/// the rules on content see of them.
#[test]
fn resealed_mutants_break_a_rule_on_content() {
    let Some(root) = root() else { return };
    let runs = runs(&root);
    let policy = TracePolicy { seal: false, ..TracePolicy::default() };
    let mut misses = Vec::new();
    for row in rows(root.join("runs/mutants.jsonl")) {
        let id = row["id"].as_str().expect("an id");
        if !id.ends_with('R') || row["expected"]["contract"] != "reject" {
            continue;
        }
        let (base, _) = &runs[row["base"].as_str().expect("a base")];
        let mut files = base.clone();
        for operation in row["ops"].as_array().expect("operations") {
            apply(&mut files, operation);
        }
        let report = TraceAuditor::new(policy.clone()).audit(&files, "reference");
        let sees = |failure: &probity_report::Failure| {
            failure.severity == probity_report::Severity::Error
                && failure.check != "seal"
                && failure.code != "trace_invariant_checksum"
                && failure.code != "trace_id_trace"
        };
        if !report.failures.iter().any(sees) {
            misses.push(format!("{id} {}", row["description"]));
        }
    }
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

/// What a JSON pointer names, to be changed.
fn edit(document: &mut Value, pointer: &str, row: &Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let key = key.replace("~1", "/").replace("~0", "~");
    let parent = document.pointer_mut(parent).expect("a parent");
    let new = match row["op"].as_str().expect("an operation") {
        "change" => Some(row["new"].clone()),
        "null" => Some(Value::Null),
        _ => None,
    };
    match (parent, new) {
        (Value::Object(members), Some(new)) => drop(members.insert(key, new)),
        (Value::Object(members), None) => drop(members.remove(&key)),
        (Value::Array(items), Some(new)) => items[key.parse::<usize>().expect("a place")] = new,
        (Value::Array(items), None) => drop(items.remove(key.parse().expect("a place"))),
        (other, _) => panic!("{other}"),
    }
}

#[test]
fn changed_fields_are_never_valid() {
    let Some(root) = root() else { return };
    let runs = runs(&root);
    let (base, _) = &runs["g03-bm25-small-k2"];
    let mut misses = Vec::new();
    for row in rows(root.join("fuzz/g03-field-edits.jsonl")) {
        let mut files = base.clone();
        let path = row["file"].as_str().expect("a file");
        let mut lines = lines_of(&files, path);
        let line = usize::try_from(row["line"].as_u64().unwrap_or(0)).expect("small");
        edit(&mut lines[line], row["pointer"].as_str().expect("a pointer"), &row);
        put_lines(&mut files, path, &lines);
        if row["contract"] == "reject" && verdict(&files) == Verdict::Valid {
            misses.push(row.to_string());
        }
    }
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

#[test]
fn flipped_bits_are_never_valid() {
    let Some(root) = root() else { return };
    let runs = runs(&root);
    let (base, _) = &runs["g03-bm25-small-k2"];
    let mut misses = Vec::new();
    for row in rows(root.join("fuzz/g03-byte-flips.jsonl")) {
        let mut files = base.clone();
        let bytes = files.files.get_mut(row["path"].as_str().expect("a path")).expect("a file");
        let at = usize::try_from(row["offset"].as_u64().expect("an offset")).expect("small");
        bytes[at] ^= u8::try_from(row["xor"].as_u64().expect("bits")).expect("a byte");
        if row["contract"] == "reject" && verdict(&files) == Verdict::Valid {
            misses.push(row.to_string());
        }
    }
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

#[test]
fn other_orders_are_never_valid() {
    let Some(root) = root() else { return };
    let runs = runs(&root);
    let (base, _) = &runs["g03-bm25-small-k2"];
    let lines = lines_of(base, "trace.jsonl");
    let mut misses = Vec::new();
    for row in rows(root.join("fuzz/g03-event-order.jsonl")) {
        let mut reordered = vec![lines[0].clone()];
        for (idx, event) in row["order"].as_array().expect("an order").iter().enumerate() {
            let at = usize::try_from(event.as_u64().expect("a number")).expect("small");
            let mut record = lines[at + 1].clone();
            record["event"]["idx"] = json!(idx);
            reordered.push(record);
        }
        let mut files = base.clone();
        put_lines(&mut files, "trace.jsonl", &reordered);
        let is_valid = verdict(&files) == Verdict::Valid;
        if is_valid != (row["contract"] == "accept") {
            misses.push(row.to_string());
        }
    }
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

/// The formulas of the sample writer, held against every id of every genuine run.
#[test]
fn sample_formulas_are_those_of_genuine_runs() {
    let Some(root) = root() else { return };
    for (name, (files, _)) in runs(&root) {
        let document = |path: &str| lines_of(&files, path).remove(0);
        let without = |value: &Value, keys: &[&str]| {
            let mut value = value.clone();
            value
                .as_object_mut()
                .expect("an object")
                .retain(|key, _| !keys.contains(&key.as_str()));
            value
        };
        let (spec, plan) = (document("spec.json"), document("plan.json"));
        assert_eq!(spec["id"], json!(content_id("spec", &without(&spec, &["id"]))), "{name}");
        assert_eq!(plan["id"], json!(content_id("plan", &without(&plan, &["id"]))), "{name}");
        for node in plan["nodes"].as_array().expect("nodes") {
            let named = json!({
                "deps": node["dependencies"],
                "kind": node["kind"],
                "params": node["parameters"],
            });
            assert_eq!(node["id"], json!(content_id("node", &named)), "{name}");
        }
        let trace = lines_of(&files, "trace.jsonl");
        for event in trace.iter().skip(1).map(|record| &record["event"]) {
            let (found, right) = match event["kind"].as_str().expect("a kind") {
                "tool_called" => {
                    let call = &event["call"];
                    let named = json!({
                        "args": call["arguments"],
                        "i": call["call_idx"],
                        "step_id": call["step_id"],
                        "tool": call["tool_name"],
                    });
                    (&call["id"], content_id("call", &named))
                }
                "evidence_registered" => {
                    let evidence = &event["evidence"];
                    let named = without(evidence, &["content_path", "id"]);
                    (&evidence["id"], content_id("ev", &named))
                }
                "claim_emitted" => {
                    let claim = &event["claim"];
                    (&claim["id"], content_id("claim", &without(claim, &["id"])))
                }
                _ => continue,
            };
            assert_eq!(found, &json!(right), "{name}");
        }
        // Trace id, checksum, run id, fingerprint and manifest.
        let mut sealed = files.clone();
        probity_trace::sample::reseal(&mut sealed);
        assert_eq!(sealed, files, "{name}");
        let meta = document("run_meta.json");
        let runtime = sha256(canonical(&meta["runtime_descriptor"]).as_bytes());
        assert_eq!(meta["runtime_fingerprint"], json!(runtime), "{name}");
        let report = document("verify.json");
        let named = json!({"checks": report["checks"], "failures": report["failures"]});
        assert_eq!(report["id"], json!(sha256(canonical(&named).as_bytes())), "{name}");
    }
}
