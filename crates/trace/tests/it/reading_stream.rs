//! The stream: pieces, threads, limits and files that break off.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use probity_report::CheckState;
use probity_trace::sample::{Ending, SampleRun};
use probity_trace::{
    FileEntry, FileError, MAX_LINE_BYTES, MemoryFiles, RunFiles, TraceAuditor, TracePolicy,
    Verdict, VerificationReport,
};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::reading::{audit, found, lines, text};

fn audit_in(threads: u8, files: &dyn RunFiles) -> VerificationReport {
    TraceAuditor::new(TracePolicy { threads, ..TracePolicy::default() }).audit(files, "run")
}

fn run_of(trace: Vec<u8>) -> MemoryFiles {
    let mut files = MemoryFiles::default();
    files.files.insert("trace.jsonl".to_owned(), trace);
    files
}

/// About `mib` MiB of events, every thousandth line damaged in one of many ways.
fn long_trace(mib: usize) -> Vec<u8> {
    let lines = lines();
    let mut trace = format!("{}\n", lines[0]).into_bytes();
    let damage: [&[u8]; 8] = [
        b"",
        b"junk",
        b"{\"record\":\"x\"}",
        b"{\"a\":1}",
        b" {}",
        b"\xff\xfe",
        b"{\"a\":NaN}",
        b"\r",
    ];
    for index in 0.. {
        if trace.len() > mib << 20 {
            break;
        }
        trace.extend_from_slice(lines[1 + index % (lines.len() - 1)].as_bytes());
        trace.push(b'\n');
        if index % 1000 == 999 {
            trace.extend_from_slice(damage[index / 1000 % damage.len()]);
            trace.push(b'\n');
        }
    }
    trace
}

/// A trace of some MiB in which every event is right.
fn sound_trace() -> Vec<u8> {
    let mut trace = Vec::new();
    SampleRun { pairs: 600, ..SampleRun::default() }.write_to(&mut |path, bytes| {
        if path == "trace.jsonl" {
            trace.extend_from_slice(bytes);
        }
    });
    assert!(trace.len() > 5 << 19, "{}", trace.len());
    trace
}

/// The same run with its trace damaged in few places.
fn damaged_run() -> MemoryFiles {
    let mut files = SampleRun { pairs: 600, ..SampleRun::default() }.files();
    let trace = files.files.get_mut("trace.jsonl").unwrap();
    for (part, damage) in [(7, b'x'), (5, 0xff), (3, b'\n'), (2, b'"')] {
        let at = trace.len() / part;
        trace[at] = damage;
    }
    files
}

/// Files whose bytes come a few at a time, or break off.
struct Slow {
    trace: Vec<u8>,
    step: usize,
    breaks_at: Option<usize>,
}

struct SlowInput<'a> {
    rest: &'a [u8],
    step: usize,
    breaks_in: Option<usize>,
}

impl Read for SlowInput<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.breaks_in == Some(0) {
            return Err(io::Error::other("the disk is gone"));
        }
        let most = self.breaks_in.unwrap_or(usize::MAX).min(self.step);
        let count = self.rest.len().min(into.len()).min(most);
        into[..count].copy_from_slice(&self.rest[..count]);
        self.rest = &self.rest[count..];
        self.breaks_in = self.breaks_in.map(|left| left - count);
        Ok(count)
    }
}

impl RunFiles for Slow {
    fn list(&self) -> Result<Vec<FileEntry>, FileError> {
        run_of(self.trace.clone()).list()
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, FileError> {
        if path != "trace.jsonl" {
            return Err(FileError::Missing);
        }
        let (rest, breaks_in) = (self.trace.as_slice(), self.breaks_at);
        Ok(Box::new(SlowInput { rest, step: self.step, breaks_in }))
    }
}

#[test]
fn one_thread_and_two_give_the_same_report_to_the_byte() {
    let trace = long_trace(3);
    let files = run_of(trace.clone());
    let alone = audit_in(1, &files);
    assert!(alone.failures.len() >= probity_report::MAX_FAILURES, "more than are kept");
    for threads in [0, 2] {
        assert_eq!(audit_in(threads, &files).bytes(), alone.bytes(), "{threads}");
    }
    // However the bytes come.
    let slow = Slow { trace, step: 1_000, breaks_at: None };
    assert_eq!(audit_in(2, &slow).bytes(), alone.bytes());
    // And where few things are found.
    let damaged = damaged_run();
    let alone = audit_in(1, &damaged);
    assert!(found(&alone).len() >= 4, "{:?}", found(&alone));
    assert!(alone.failures.len() < probity_report::MAX_FAILURES);
    assert_eq!(audit_in(2, &damaged).bytes(), alone.bytes());
}

#[test]
fn every_line_of_a_long_trace_is_read_once() {
    let lines = lines();
    let mut trace = text(&lines[..1]);
    let mut events = 0;
    // Lines of every length around the edges of pieces, one of them of several pieces.
    for length in [10, (1 << 20) - 700, 1 << 20, (1 << 20) + 1, 5 << 20, 10, 900_000, 900_000, 1] {
        let line = lines[2].replace("\"q\"", &format!("\"{}\"", "q".repeat(length)));
        trace.extend_from_slice(line.as_bytes());
        trace.push(b'\n');
        trace.extend_from_slice(lines[1].as_bytes());
        trace.push(b'\n');
        events += 2;
    }
    for threads in [1, 2] {
        let report = audit_in(threads, &run_of(trace.clone()));
        assert_eq!(found(&report), []);
        assert_eq!(report.summary_metrics["events"], events);
        assert_eq!(report.summary_metrics["lines"], events + 1);
        assert_eq!(report.summary_metrics["trace_bytes"], trace.len() as u64);
        assert_eq!(report.binds["trace_sha256"], hex::encode(Sha256::digest(&trace)));
    }
}

#[test]
fn a_finding_far_behind_has_its_line_and_its_bytes() {
    let mut trace = sound_trace();
    let before = trace.iter().filter(|byte| **byte == b'\n').count() as u64;
    let start = trace.len() as u64;
    trace.extend_from_slice(b"{\"a\":x}\n");
    for threads in [1, 2] {
        let report = audit_in(threads, &run_of(trace.clone()));
        let broken = report.failures.iter().find(|failure| failure.code == "trace_syntax").unwrap();
        assert_eq!(broken.place.line, Some(before + 1));
        assert_eq!(broken.place.span.unwrap().start, start + 5);
    }
}

#[test]
fn a_file_that_breaks_off_is_never_valid_and_has_no_digest() {
    let trace = sound_trace();
    for breaks_at in [0, 100, 5 << 19] {
        for threads in [1, 2] {
            let slow = Slow { trace: trace.clone(), step: 1 << 16, breaks_at: Some(breaks_at) };
            let report = audit_in(threads, &slow);
            assert_eq!(report.verdict, Verdict::Malformed);
            let unread = report.failures.iter().find(|failure| {
                failure.code == "trace_unreadable" && failure.place.file == "trace.jsonl"
            });
            assert!(unread.unwrap().message.contains("the disk is gone"), "{breaks_at}");
            assert!(!report.binds.contains_key("trace_sha256"));
            let seal = report.checks.iter().find(|check| check.name == "seal").unwrap();
            assert_ne!(seal.state, CheckState::Passed);
        }
    }
}

/// A trace with one endless line in it, made while it is read.
struct Endless {
    front: Vec<u8>,
    length: u64,
    behind: Vec<u8>,
}

impl RunFiles for Endless {
    fn list(&self) -> Result<Vec<FileEntry>, FileError> {
        Ok(Vec::new())
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, FileError> {
        match path {
            "trace.jsonl" => Ok(Box::new(
                self.front
                    .as_slice()
                    .chain(io::repeat(b'x').take(self.length))
                    .chain(self.behind.as_slice()),
            )),
            _ => Err(FileError::Missing),
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_told_and_the_next_one_read() {
    let max = MAX_LINE_BYTES as u64;
    for (length, is_ended) in [(max + 1, true), (max + (3 << 20), true), (max + 5, false)] {
        let lines = lines();
        let newline: &[u8] = if is_ended { b"\n" } else { b"" };
        let behind = if is_ended { text(&lines[1..3]) } else { Vec::new() };
        let files = Endless {
            front: text(&lines[..2]),
            length,
            behind: [newline, behind.as_slice()].concat(),
        };
        let report = audit_in(1, &files);
        let told = report.failures.iter().find(|failure| failure.code == "trace_line_too_long");
        let place = &told.unwrap().place;
        let start = files.front.len() as u64;
        assert_eq!(place.line, Some(3));
        assert_eq!(place.span.map(|span| (span.start, span.end)), Some((start, start + length)));
        assert_eq!(report.summary_metrics["lines"], if is_ended { 5 } else { 3 });
        assert_eq!(report.summary_metrics["events"], if is_ended { 3 } else { 1 });
    }
}

#[test]
fn the_report_names_what_it_is_about() {
    let files = SampleRun::default().files();
    let policy = TracePolicy { min_supports: Some(2), seal: false, ..TracePolicy::default() };
    let report = TraceAuditor::new(policy).audit(&files, "run");
    for (bound, path) in [
        ("trace_sha256", "trace.jsonl"),
        ("plan_sha256", "plan.json"),
        ("manifest_sha256", "manifest.json"),
    ] {
        assert_eq!(report.binds[bound], hex::encode(Sha256::digest(&files.files[path])), "{path}");
    }
    assert_eq!(
        report.binds["policy"],
        "{\"allow_marked_insufficient\":false,\"min_supports\":2,\"quotes\":\"exact\",\
         \"reading\":\"strict\",\"seal\":false}"
    );
    assert_eq!(report.binds["verifier_version"], env!("CARGO_PKG_VERSION"));
    for skipped in ["seal", "content_ids"] {
        let check = report.checks.iter().find(|check| check.name == skipped).unwrap();
        assert_eq!(check.state, CheckState::Skipped, "{skipped}");
    }
}

/// Runs of another writer: ours, and where they are at hand those of the source system.
fn runs() -> Vec<(String, MemoryFiles)> {
    let mut runs = Vec::new();
    for ending in [Ending::Answer, Ending::Insufficient, Ending::Marked] {
        for is_unicode in [false, true] {
            let run = SampleRun { pairs: 3, ending, is_unicode, ..SampleRun::default() };
            runs.push((format!("{run:?}"), run.files()));
        }
    }
    let Some(root) = std::env::var_os("PROBITY_REFERENCE") else { return runs };
    let root = PathBuf::from(root).join("bijux-reason/runs");
    for entry in std::fs::read_dir(&root).unwrap() {
        let folder = entry.unwrap().path();
        if folder.is_dir() {
            let mut files = MemoryFiles::default();
            add_files(&folder, &folder, &mut files);
            runs.push((folder.display().to_string(), files));
        }
    }
    assert!(runs.len() > 10);
    runs
}

fn add_files(root: &Path, folder: &Path, files: &mut MemoryFiles) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(root, &path, files);
        } else if !path.ends_with("expected.json") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn what_another_writer_wrote_is_read_and_its_id_is_found_again() {
    for (name, files) in runs() {
        let report = audit_in(2, &files);
        assert_eq!(found(&report), [], "{name}");
        assert!(!report.has("trace_id_trace"), "{name}");
        // One digit of one event: still canonical, no longer what the id was made of.
        let mut forged = files;
        let trace = forged.files.get_mut("trace.jsonl").unwrap();
        let changed =
            String::from_utf8(trace.clone()).unwrap().replacen("\"idx\":1,", "\"idx\":7,", 1);
        assert_ne!(changed.as_bytes(), trace);
        *trace = changed.into_bytes();
        let report = audit_in(2, &forged);
        assert_eq!(found(&report), [], "{name}");
        assert!(report.has("trace_id_trace"), "{name}");
    }
}

#[test]
fn the_id_is_that_of_the_content_however_it_is_spelled() {
    let mut files = SampleRun::default().files();
    let trace = files.files.get_mut("trace.jsonl").unwrap();
    *trace =
        String::from_utf8(trace.clone()).unwrap().replace("\"idx\":", "\"idx\": ").into_bytes();
    let report = audit_in(1, &files);
    assert!(report.has("trace_not_canonical"));
    assert!(!report.has("trace_id_trace"));
}

#[test]
fn the_id_of_a_trace_that_was_not_read_whole_is_not_compared() {
    for damage in ["junk", "{\"a\":NaN}", "{\"record\":\"note\"}"] {
        let mut files = SampleRun::default().files();
        let trace = files.files.get_mut("trace.jsonl").unwrap();
        let text = String::from_utf8(trace.clone()).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines[3] = damage;
        *trace = (lines.join("\n") + "\n").into_bytes();
        let report = audit_in(1, &files);
        assert_eq!(found(&report).len(), 1, "{damage}");
        assert!(!report.has("trace_id_trace"), "{damage}");
    }
}

#[test]
fn every_cut_of_a_run_is_told() {
    let files = SampleRun::default().files();
    let whole = files.files["trace.jsonl"].clone();
    for length in (0..whole.len()).step_by(97) {
        let mut cut = files.clone();
        cut.files.insert("trace.jsonl".to_owned(), whole[..length].to_vec());
        assert_ne!(audit_in(1, &cut).verdict, Verdict::Valid, "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_bytes_make_it_panic_or_agree(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_ne!(audit(bytes).verdict, Verdict::Valid);
    }

    #[test]
    fn no_flip_in_a_trace_makes_it_panic(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = text(&lines());
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (alone, paired) = (audit(bytes.clone()), audit_in(2, &run_of(bytes)));
        prop_assert_eq!(alone.bytes(), paired.bytes());
    }

    #[test]
    fn lines_in_any_order_are_read_without_a_panic(
        order in proptest::collection::vec(0_usize..12, 0..20),
    ) {
        let all = lines();
        let picked: Vec<String> = order.iter().map(|at| all[*at].clone()).collect();
        let report = audit(text(&picked));
        let headers = order.iter().filter(|at| **at == 0).count();
        let is_first = order.first() == Some(&0);
        let codes: Vec<_> = found(&report).into_iter().map(|(code, ..)| code).collect();
        prop_assert_eq!(codes.contains(&"trace_header_missing"), !is_first);
        let misplaced = codes.iter().filter(|code| **code == "trace_header_misplaced").count();
        prop_assert_eq!(misplaced, headers - usize::from(is_first));
    }
}
