//! Run directories of the source system, and answers that cite.

use std::sync::LazyLock;

use probity_grounding::{AnswerPolicy, MemoryEvidence, Quotes, audit_answer};
use probity_report::Verdict;
use probity_trace::sample::{Ending, Retrieval, SampleRun, reseal};
use probity_trace::{MemoryFiles, TraceAuditor, TracePolicy, compat};

use super::Target;

pub(super) const TARGETS: [Target; 5] = [
    Target::new("trace", trace, || vec![file(&RUN, "trace.jsonl")]),
    Target::new("resealed", resealed, endings),
    Target::new("run_file", run_file, run_files),
    Target::new("compat", compat_reading, endings),
    Target::new("answer", answer, answers),
];

/// A run with a ranked search behind it, so that every kind of file is there.
static RUN: LazyLock<MemoryFiles> = LazyLock::new(|| {
    SampleRun { pairs: 2, retrieval: Retrieval::Bm25, is_unicode: true, ..SampleRun::default() }
        .files()
});

const SUN: &[u8] = b"The Sun adds a smaller pull.";

fn file(run: &MemoryFiles, path: &str) -> Vec<u8> {
    run.files.get(path).cloned().unwrap_or_default()
}

fn endings() -> Vec<Vec<u8>> {
    let endings = [Ending::Answer, Ending::Insufficient, Ending::Marked];
    let run = |ending| SampleRun { ending, ..SampleRun::default() }.files();
    endings.map(|ending| file(&run(ending), "trace.jsonl")).to_vec()
}

fn run_files() -> Vec<Vec<u8>> {
    let seed = |(at, path): (usize, &str)| {
        let first = u8::try_from(at).unwrap_or_default();
        [&[first], file(&RUN, path).as_slice()].concat()
    };
    paths().enumerate().map(seed).collect()
}

fn answers() -> Vec<Vec<u8>> {
    let cited = probity_grounding::cite("sun", SUN, 0..SUN.len()).unwrap_or_default();
    vec![b"INSUFFICIENT EVIDENCE: none".to_vec(), cited.into_bytes()]
}

/// The files of the run besides the trace.
fn paths() -> impl Iterator<Item = &'static str> {
    RUN.files.keys().map(String::as_str).filter(|path| *path != "trace.jsonl")
}

fn with(path: &str, bytes: &[u8]) -> MemoryFiles {
    let mut files = RUN.clone();
    files.files.insert(path.to_owned(), bytes.to_vec());
    files
}

fn audit(files: &MemoryFiles, threads: u8) -> probity_trace::VerificationReport {
    TraceAuditor::new(TracePolicy { threads, ..TracePolicy::default() }).audit(files, "run")
}

/// `trace.jsonl` of an otherwise whole run: any other bytes than the genuine ones are refused.
fn trace(bytes: &[u8]) {
    let files = with("trace.jsonl", bytes);
    let is_genuine = RUN.files.get("trace.jsonl").is_some_and(|genuine| genuine == bytes);
    assert_eq!(audit(&files, 1).verdict == Verdict::Valid, is_genuine);
}

/// The same, and somebody made the seal anew: content rules alone. One thread and two say the same.
fn resealed(bytes: &[u8]) {
    let mut files = with("trace.jsonl", bytes);
    if std::str::from_utf8(bytes).is_ok() {
        reseal(&mut files);
    }
    assert_eq!(audit(&files, 1).bytes(), audit(&files, 2).bytes());
}

/// Any other file of a run: the first byte says which.
fn run_file(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let count = paths().count().max(1);
    let Some(path) = paths().nth(usize::from(*first) % count) else { return };
    let is_genuine = RUN.files.get(path).is_some_and(|genuine| genuine == rest);
    assert_eq!(audit(&with(path, rest), 1).verdict == Verdict::Valid, is_genuine, "{path}");
}

/// A run as the source system's own verifier reads it.
fn compat_reading(bytes: &[u8]) {
    let report = compat::audit(&with("trace.jsonl", bytes), "run");
    assert_ne!(report.verdict, Verdict::Valid, "an acceptance by the compat reading is its own");
}

/// An answer with citations.
fn answer(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let contents = [("sun".to_owned(), Some(SUN.to_vec())), ("gone".to_owned(), None)];
    let source = MemoryEvidence { contents: contents.into_iter().collect() };
    for quotes in [Quotes::Exact, Quotes::Any] {
        let audit = audit_answer(text, &source, AnswerPolicy { quotes, ..AnswerPolicy::default() });
        let says_nothing = audit.claims == 0 && !audit.is_insufficient;
        assert!(
            !(audit.is_grounded() && says_nothing),
            "nothing was said, and it read as grounded"
        );
    }
}
