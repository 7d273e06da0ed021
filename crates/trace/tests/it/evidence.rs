//! Evidence and its files.

use std::io::{Cursor, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use probity_trace::sample::{SampleRun, sha256};
use probity_trace::{
    FileEntry, FileError, FileKind, MemoryFiles, RunFiles, TraceAuditor, TracePolicy,
};
use serde_json::{Value, json};

use crate::claim_desk::{assert_files, changed, found, marker, support};
use crate::plan_tamper::{CLAIM, EVIDENCE, Run};

const FIRST: usize = EVIDENCE[0];

/// The path of the first piece of evidence.
fn path(run: &Run) -> String {
    run.events[FIRST]["evidence"]["content_path"].as_str().unwrap().to_owned()
}

/// The run after a change to the file of its first piece of evidence.
fn with_file(change: impl FnOnce(&mut MemoryFiles, &str)) -> MemoryFiles {
    let run = Run::new();
    let mut files = run.files();
    change(&mut files, &path(&run));
    files
}

fn edit(change: impl FnOnce(&mut Vec<u8>)) -> MemoryFiles {
    with_file(|files, path| change(files.files.get_mut(path).unwrap()))
}

#[test]
fn a_sample_run_is_sound() {
    let samples =
        [SampleRun::default(), SampleRun { pairs: 5, is_unicode: true, ..SampleRun::default() }];
    for sample in samples {
        assert_files("a sample", &sample.files(), &[]);
    }
}

#[test]
fn every_change_of_a_file_is_found() {
    let cases: [(&str, MemoryFiles, &[&str]); 5] = [
        ("a bit", edit(|bytes| bytes[3] ^= 1), &["trace_evidence_sha256"]),
        (
            "a byte more",
            edit(|bytes| bytes.push(b'\n')),
            &["trace_evidence_sha256", "trace_evidence_length"],
        ),
        (
            "cut",
            edit(|bytes| bytes.truncate(20)),
            &["trace_evidence_sha256", "trace_evidence_length"],
        ),
        ("emptied", edit(Vec::clear), &["trace_evidence_sha256", "trace_evidence_length"]),
        (
            "no UTF-8",
            edit(|bytes| bytes[3] = 0xff),
            &["trace_evidence_sha256", "trace_evidence_not_utf8"],
        ),
    ];
    for (name, files, expected) in cases {
        assert_files(name, &files, expected);
    }
}

#[test]
fn every_byte_of_a_file_counts() {
    let run = Run::new();
    let (files, path) = (run.files(), path(&run));
    for at in 0..files.files[&path].len() {
        let mut files = files.clone();
        files.files.get_mut(&path).unwrap()[at] ^= 1 << (at % 8);
        let found = found(&files, &TracePolicy::default());
        assert!(found.contains("trace_evidence_sha256"), "byte {at}");
    }
}

#[test]
fn what_is_no_file_is_told_apart() {
    let gone = with_file(|files, path| drop(files.files.remove(path)));
    assert_files("gone", &gone, &["trace_evidence_missing"]);
    let kinds = [
        (FileKind::Link, "trace_evidence_link"),
        (FileKind::Special, "trace_evidence_not_a_file"),
        (FileKind::Folder, "trace_evidence_not_a_file"),
    ];
    for (kind, code) in kinds {
        let files = with_file(|files, path| {
            files.files.remove(path);
            files.others.insert(path.to_owned(), kind);
        });
        assert_files("another kind", &files, &[code]);
    }
}

#[test]
fn only_the_one_path_is_opened() {
    let run = Run::new();
    let right = path(&run);
    let id = right.strip_prefix("evidence/").unwrap();
    let wrong = [
        String::new(),
        ".".to_owned(),
        "evidence".to_owned(),
        format!("/{right}"),
        format!("./{right}"),
        format!("evidence//{id}"),
        format!("evidence/../evidence/{id}"),
        format!("evidence\\{id}"),
        format!("C:{right}"),
        right.replace('/', "%2f"),
        format!("{right}\0"),
        format!("{right} "),
        "spec.json".to_owned(),
        right.to_uppercase(),
    ];
    for path in wrong {
        let files = changed(|run| run.events[FIRST]["evidence"]["content_path"] = json!(path));
        assert_files(&path, &files, &["trace_evidence_path"]);
    }
}

#[test]
fn an_id_that_is_a_path_is_no_file_name() {
    for id in ["../spec", "..", "a/b", "a\\b", ".hidden", "a b", "C:x", &"i".repeat(201)] {
        let mut run = Run::new();
        let old = run.events[FIRST]["evidence"]["id"].as_str().unwrap().to_owned();
        run.replace(&old, &id.replace('\\', "\\\\"));
        run.events[FIRST]["evidence"]["content_path"] = json!(format!("evidence/{id}.txt"));
        let mut files = run.files();
        files.files.insert(format!("evidence/{id}.txt"), b"any".to_vec());
        let found = found(&files, &TracePolicy::default());
        assert!(found.contains("trace_evidence_path"), "{id}: {found:?}");
    }
}

#[test]
fn what_is_registered_agrees_with_itself() {
    let chunk = changed(|run| run.events[FIRST]["evidence"]["chunk_id"] = json!("0".repeat(64)));
    assert_files("another chunk", &chunk, &["trace_evidence_chunk_id"]);
    let span = changed(|run| run.events[FIRST]["evidence"]["span"][1] = json!(1000));
    assert_files("a wider span", &span, &["trace_evidence_length"]);
    // Evidence is a part of its document: it need not begin where that begins.
    let moved = changed(|run| {
        let span = &mut run.events[FIRST]["evidence"]["span"];
        *span = json!([span[0].as_u64().unwrap() + 500, span[1].as_u64().unwrap() + 500]);
    });
    assert_files("a later part", &moved, &[]);
    let hashes = changed(|run| {
        let [first, second] = EVIDENCE.map(|at| run.events[at]["evidence"]["sha256"].clone());
        run.events[EVIDENCE[0]]["evidence"]["sha256"] = second;
        run.events[EVIDENCE[1]]["evidence"]["sha256"] = first;
    });
    assert_files(
        "exchanged hashes",
        &hashes,
        &["trace_evidence_sha256", "trace_evidence_chunk_id"],
    );
}

#[test]
fn an_id_is_registered_once() {
    let files = changed(|run| {
        let mut second = run.events[EVIDENCE[1]].clone();
        second["evidence"]["id"] = run.events[FIRST]["evidence"]["id"].clone();
        run.events.insert(EVIDENCE[1] + 1, second);
        let twice = run.events.remove(EVIDENCE[1] + 1);
        // In the place of an event that does not count here.
        run.events[CLAIM - 1] = twice;
    });
    assert_files("twice", &files, &["trace_evidence_twice", "trace_reasoning_evidence_ids"]);
}

/// Files of which one, from a certain opening on, is another one or none.
struct Unsteady {
    files: MemoryFiles,
    path: String,
    openings: AtomicUsize,
    steady: usize,
    then: fn() -> Result<Vec<u8>, FileError>,
}

impl RunFiles for Unsteady {
    fn list(&self) -> Result<Vec<FileEntry>, FileError> {
        self.files.list()
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, FileError> {
        if path == self.path && self.openings.fetch_add(1, Ordering::Relaxed) >= self.steady {
            return (self.then)().map(|bytes| Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>);
        }
        self.files.open(path)
    }
}

/// What is found of files of which one is another after some openings.
fn unsteady(
    files: MemoryFiles,
    steady: usize,
    then: fn() -> Result<Vec<u8>, FileError>,
) -> Vec<String> {
    let files = Unsteady { files, path: path(&Run::new()), openings: 0.into(), steady, then };
    let policy = TracePolicy { seal: false, ..TracePolicy::default() };
    let report = TraceAuditor::new(policy).audit(&files, "unsteady");
    let ours = report.failures.iter().filter(|one| ["evidence", "claims"].contains(&one.check));
    ours.map(|one| one.code.to_owned()).collect()
}

#[test]
fn what_cannot_be_read_is_told() {
    let files = Run::new().files();
    let broken = || Err(FileError::Io("the disk is gone".to_owned()));
    assert_eq!(unsteady(files.clone(), 0, broken), ["trace_evidence_unreadable"]);
    let large = || Err(FileError::TooLarge { max_bytes: 1 });
    assert_eq!(unsteady(files, 0, large), ["trace_evidence_too_large"]);
}

/// A run whose first piece of evidence is larger than what is read whole, cited far inside.
fn with_large_evidence(change: impl FnOnce(&mut Value)) -> MemoryFiles {
    let content: Vec<u8> = (b'a'..=b'z').cycle().take(5 << 20).collect();
    let mut files = changed(|run| {
        let evidence = &mut run.events[FIRST]["evidence"];
        evidence["sha256"] = json!(sha256(&content));
        evidence["chunk_id"] = evidence["sha256"].clone();
        evidence["span"] = json!([0, content.len()]);
        let (start, end) = (4_999_990, 5_000_020);
        let first = support(evidence["id"].as_str().unwrap(), &content, (start, end));
        let quote = std::str::from_utf8(&content[start..end]).unwrap();
        let claim = &mut run.events[CLAIM]["claim"];
        let (_, second) = claim["statement"].as_str().unwrap().split_once("] ").unwrap();
        claim["statement"] = json!(format!("{quote} {} {second}", marker(&first)));
        claim["supports"][0] = first;
        change(claim);
    });
    files.files.insert(path(&Run::new()), content);
    files
}

#[test]
fn a_claim_on_a_large_file_is_held_to_the_byte() {
    assert_files("as it is", &with_large_evidence(|_| {}), &[]);
    let far = with_large_evidence(|claim| claim["supports"][0]["span"][1] = json!(6_000_000));
    let codes = found(&far, &TracePolicy::default());
    assert!(codes.contains("citation_out_of_bounds"), "{codes:?}");
    let shifted = with_large_evidence(|claim| claim["supports"][0]["span"][0] = json!(4_999_991));
    let codes = found(&shifted, &TracePolicy::default());
    assert!(codes.contains("citation_hash_mismatch"), "{codes:?}");
}

/// What is not held is read again for a claim, and must be what it was.
#[test]
fn evidence_that_changes_under_the_audit_is_told() {
    let files = with_large_evidence(|_| {});
    // Twice for the registration: it is too large to be read whole.
    let gone = || Err(FileError::Missing);
    assert_eq!(unsteady(files.clone(), 2, gone), ["trace_evidence_changed"]);
    let other = || Ok(vec![b'x'; 5 << 20]);
    assert_eq!(unsteady(files.clone(), 2, other), ["citation_hash_mismatch"]);
    let binary = || Ok(vec![0xff; 5 << 20]);
    assert_eq!(unsteady(files, 2, binary), ["trace_evidence_changed"]);
}
