//! The compatible reading beside what the original said of the same files, report by report.
//!
//! The data are third-party and not part of this repository: without `PROBITY_REFERENCE` this test
//! looks at nothing. `compat` holds the same rules on a run of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use probity_trace::compat::{
    CompatError, LinkTarget, Links, audit_with_links, original_report_with_links,
};
use probity_trace::sample::canonical;
use probity_trace::{FileKind, MemoryFiles, Verdict};
use serde_json::Value;

const BASE: &str = "g03-bm25-small-k2";

/// A run with its links.
#[derive(Debug, Clone, Default)]
struct Run {
    files: MemoryFiles,
    links: BTreeMap<String, LinkTarget>,
}

impl Links for Run {
    fn follow(&self, path: &str) -> LinkTarget {
        self.links.get(path).cloned().unwrap_or(LinkTarget::Unknown)
    }
}

impl Run {
    fn apply(&mut self, operation: &Value) {
        let path = operation["path"].as_str().expect("a path").to_owned();
        match operation["op"].as_str().expect("an operation") {
            "splice" => {
                let bytes = self.files.files.get_mut(&path).expect("a file");
                let at = |key: &str| number(&operation[key]);
                bytes.splice(at("start")..at("end"), payload(operation));
            }
            "write" => drop(self.files.files.insert(path, payload(operation))),
            "delete" => drop(self.files.files.remove(&path)),
            "mkfifo" => drop(self.files.others.insert(path, FileKind::Special)),
            "symlink" => {
                let target = operation["target"].as_str().expect("a target");
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let leads = match format!("{folder}/{target}") {
                    itself if itself == path => LinkTarget::Loop,
                    _ if target.starts_with("@OUTSIDE@") => LinkTarget::Outside,
                    inside => LinkTarget::Inside(inside),
                };
                self.files.others.insert(path.clone(), FileKind::Link);
                self.links.insert(path, leads);
            }
            other => panic!("{other}"),
        }
    }

    fn lines(&self, path: &str) -> Vec<Value> {
        let text = std::str::from_utf8(&self.files.files[path]).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn put_lines(&mut self, path: &str, lines: &[Value]) {
        let text: String = lines.iter().map(|line| canonical(line) + "\n").collect();
        self.files.files.insert(path.to_owned(), text.into_bytes());
    }

    /// `pass`, `fail`, or `error:` with the class of the exception; `hang` where the original waits.
    fn verdict(&self) -> String {
        let verdict = match original_report_with_links(&self.files, self) {
            Ok(report) if report["failures"] == Value::Array(Vec::new()) => "pass".to_owned(),
            Ok(_) => "fail".to_owned(),
            Err(CompatError::Raised { exception }) => format!("error:{exception}"),
            Err(CompatError::NotRegular { kind: FileKind::Special, .. }) => "hang".to_owned(),
            Err(error) => format!("ours: {error}"),
        };
        let report = audit_with_links(&self.files, self, "reference");
        let told = match report.verdict {
            Verdict::AcceptedByCompat => "pass".to_owned(),
            Verdict::Invalid => "fail".to_owned(),
            Verdict::Malformed => match report.failures[0].actual.as_deref() {
                Some(exception) => format!("error:{exception}"),
                None => "hang".to_owned(),
            },
            other => format!("{other:?}"),
        };
        assert_eq!(verdict, told, "the report and the original's report disagree");
        verdict
    }
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a number")).expect("small")
}

fn payload(operation: &Value) -> Vec<u8> {
    if let Some(text) = operation["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(text) = operation["b64"].as_str() {
        return decoded(text);
    }
    let run = |run: &Value| run[0].as_str().expect("a text").repeat(number(&run[1]));
    operation["runs"].as_array().expect("a payload").iter().map(run).collect::<String>().into()
}

fn decoded(base64: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte: u8| DIGITS.iter().position(|known| *known == byte).expect("a digit");
    let digits: Vec<usize> = base64.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let bits = digits.iter().flat_map(|digit| (0..6).rev().map(move |bit| digit >> bit & 1));
    let bits: Vec<usize> = bits.collect();
    let byte = |bits: &[usize]| bits.iter().fold(0, |byte, bit| byte << 1 | bit);
    bits.chunks_exact(8).map(|bits| u8::try_from(byte(bits)).expect("a byte")).collect()
}

fn root() -> Option<PathBuf> {
    let root = PathBuf::from(std::env::var_os("PROBITY_REFERENCE")?);
    [root.clone(), root.join("bijux-reason")].into_iter().find(|root| root.join("fuzz").is_dir())
}

fn rows(path: PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("rows");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn add_files(root: &Path, folder: &Path, run: &mut Run) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_files(root, &path, run);
            continue;
        }
        let name = path.strip_prefix(root).expect("below").to_str().expect("UTF-8").to_owned();
        if name != "expected.json" {
            run.files.files.insert(name, fs::read(&path).expect("a file"));
        }
    }
}

/// The genuine runs by name: what they hold, and what the original says of them.
fn runs(root: &Path) -> BTreeMap<String, (Run, Value)> {
    let mut runs = BTreeMap::new();
    for entry in fs::read_dir(root.join("runs")).expect("runs") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let mut run = Run::default();
            add_files(&path, &path, &mut run);
            let expected = fs::read(path.join("expected.json")).expect("expected.json");
            let name = path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
            runs.insert(name, (run, serde_json::from_slice(&expected).expect("JSON")));
        }
    }
    runs
}

/// The report without its id, the failures of unmatched markers in an order of their own: the
/// original tells them in the order of a hash set.
fn settled(report: &Value) -> Value {
    let mut report = report.clone();
    report.as_object_mut().expect("an object").remove("id");
    let is_free = |failure: &Value| {
        failure["message"].as_str().is_some_and(|text| text.contains(": marker for evidence "))
    };
    let failures = report["failures"].as_array_mut().expect("failures");
    for group in failures.chunk_by_mut(|a, b| is_free(a) && is_free(b)) {
        group.sort_by_key(|failure| failure["message"].to_string());
    }
    report
}

/// What differs from what the original said: verdict, exception, and the report where it is given.
fn differences(run: &Run, python: &Value) -> Option<String> {
    let stated = python["verdict"].as_str().expect("a verdict");
    let expected = match python["exception"].as_str() {
        Some(exception) => format!("{stated}:{exception}"),
        None => stated.to_owned(),
    };
    let verdict = run.verdict();
    if verdict != expected {
        return Some(format!("{verdict} for {expected}"));
    }
    let theirs = python.get("report")?;
    let ours = original_report_with_links(&run.files, run).expect("a report");
    let is_ordered = ours["failures"] == theirs["failures"];
    let is_same = settled(&ours) == settled(theirs) && (!is_ordered || ours["id"] == theirs["id"]);
    (!is_same).then(|| format!("{ours}\n    for {theirs}"))
}

fn edit(document: &mut Value, pointer: &str, row: &Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let key = key.replace("~1", "/").replace("~0", "~");
    let new = match row["op"].as_str().expect("an operation") {
        "change" => Some(row["new"].clone()),
        "null" => Some(Value::Null),
        _ => None,
    };
    match (document.pointer_mut(parent).expect("a parent"), new) {
        (Value::Object(members), Some(new)) => drop(members.insert(key, new)),
        (Value::Object(members), None) => drop(members.remove(&key)),
        (Value::Array(items), Some(new)) => items[key.parse::<usize>().expect("a place")] = new,
        (Value::Array(items), None) => drop(items.remove(key.parse().expect("a place"))),
        (other, _) => panic!("{other}"),
    }
}

#[test]
fn the_verdict_and_the_report_are_those_of_the_original() {
    let Some(root) = root() else { return };
    let runs = runs(&root);
    let (base, _) = &runs[BASE];
    let mut misses = Vec::new();
    let mut counts = BTreeMap::new();
    let mut look = |of: &'static str, name: String, found: Option<String>| {
        *counts.entry(of).or_insert(0) += 1;
        misses.extend(found.map(|found| format!("{of} {name}: {found}")));
    };
    for (name, (run, expected)) in &runs {
        look("runs", name.clone(), differences(run, &expected["python"]));
    }
    for row in rows(root.join("runs/mutants.jsonl")) {
        let mut run = runs[row["base"].as_str().expect("a base")].0.clone();
        row["ops"].as_array().expect("operations").iter().for_each(|it| run.apply(it));
        look("mutants", row["id"].to_string(), differences(&run, &row["expected"]["python"]));
    }
    let fuzzed = |run: &Run, row: &Value| {
        let (verdict, python) = (run.verdict(), row["python"].as_str().expect("a verdict"));
        (verdict != python).then(|| format!("{verdict} for {python}"))
    };
    for row in rows(root.join("fuzz/g03-field-edits.jsonl")) {
        let mut run = base.clone();
        let path = row["file"].as_str().expect("a file");
        let mut lines = run.lines(path);
        let line = row["line"].as_u64().map_or(0, |_| number(&row["line"]));
        edit(&mut lines[line], row["pointer"].as_str().expect("a pointer"), &row);
        run.put_lines(path, &lines);
        look("field edits", row.to_string(), fuzzed(&run, &row));
    }
    for row in rows(root.join("fuzz/g03-byte-flips.jsonl")) {
        let mut run = base.clone();
        let bytes = run.files.files.get_mut(row["path"].as_str().expect("a path"));
        let byte = &mut bytes.expect("a file")[number(&row["offset"])];
        *byte ^= u8::try_from(number(&row["xor"])).expect("a byte");
        look("byte flips", row.to_string(), fuzzed(&run, &row));
    }
    for row in rows(root.join("fuzz/g03-event-order.jsonl")) {
        let mut run = base.clone();
        let lines = run.lines("trace.jsonl");
        let mut kept = vec![lines[0].clone()];
        for (idx, event) in row["order"].as_array().expect("an order").iter().enumerate() {
            let mut record = lines[number(event) + 1].clone();
            record["event"]["idx"] = idx.into();
            kept.push(record);
        }
        run.put_lines("trace.jsonl", &kept);
        look("event orders", row.to_string(), fuzzed(&run, &row));
    }
    let all = [
        ("byte flips", 390),
        ("event orders", 145),
        ("field edits", 787),
        ("mutants", 208),
        ("runs", 10),
    ];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), all);
    assert!(misses.is_empty(), "{} differences:\n{}", misses.len(), misses.join("\n"));
}
