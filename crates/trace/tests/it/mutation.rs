//! One change to a sound run at a time: none is accepted, and each is named.
//!
//! Letters and numbers are those of the table in `docs/trace-mutations.md`. Every change is made twice: once
//! as it is, and once with everything sealed again, as somebody with write access would do. What only
//! the seal sees is marked so.

mod claims;
mod evidence;
mod framing;
mod header;
mod order;
mod plan;
mod table;
mod tools;

use probity_trace::sample::{Retrieval, SampleRun, canonical, reseal};
use probity_trace::{MemoryFiles, TraceAuditor, Verdict, VerificationReport};
use serde_json::Value;

/// A change: its name, the code of what is found, and how it is made.
pub(crate) type Row = (&'static str, &'static str, fn(&mut Run));

/// A run with a corpus and two pairs of steps, that is changed.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) files: MemoryFiles,
}

impl Run {
    pub(crate) fn of(sample: &SampleRun) -> Self {
        Self { files: sample.files() }
    }

    pub(crate) fn new() -> Self {
        let retrieval = Retrieval::Bm25;
        Self::of(&SampleRun { pairs: 2, retrieval, ..SampleRun::default() })
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.files.files[path].clone()).expect("UTF-8")
    }

    pub(crate) fn put(&mut self, path: &str, text: impl Into<Vec<u8>>) {
        self.files.files.insert(path.to_owned(), text.into());
    }

    /// Changes the text of a file.
    pub(crate) fn rewrite(&mut self, path: &str, change: impl FnOnce(String) -> String) {
        let before = self.text(path);
        let after = change(before.clone());
        assert_ne!(before, after, "{path} is as it was");
        self.put(path, after);
    }

    /// Changes the text of the trace.
    pub(crate) fn trace(&mut self, change: impl FnOnce(String) -> String) {
        self.rewrite("trace.jsonl", change);
    }

    /// Puts one text in the place of the first such in the trace.
    pub(crate) fn swap(&mut self, from: &str, to: &str) {
        self.trace(|text| text.replacen(from, to, 1));
    }

    /// Changes a document.
    pub(crate) fn json(&mut self, path: &str, change: impl FnOnce(&mut Value)) {
        self.rewrite(path, |text| {
            let mut value = serde_json::from_str(&text).expect("JSON");
            change(&mut value);
            canonical(&value) + if text.ends_with('\n') { "\n" } else { "" }
        });
    }

    /// Changes the records of the trace: the header, and the events as they are numbered.
    pub(crate) fn records(&mut self, change: impl FnOnce(&mut Value, &mut Vec<Value>)) {
        self.trace(|text| {
            let mut lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
            let mut header: Value = lines.next().expect("a header");
            let mut events: Vec<Value> =
                lines.map(|mut line: Value| line["event"].take()).collect();
            change(&mut header, &mut events);
            let line = |event: &Value| {
                format!("{{\"event\":{},\"record\":\"trace_event\"}}\n", canonical(event))
            };
            canonical(&header) + "\n" + &events.iter().map(line).collect::<String>()
        });
    }

    pub(crate) fn header(&mut self, change: impl FnOnce(&mut Value)) {
        self.records(|header, _| change(header));
    }

    /// Changes the events, and numbers them anew.
    pub(crate) fn events(&mut self, change: impl FnOnce(&mut Vec<Value>)) {
        self.records(|_, events| {
            change(events);
            for (at, event) in events.iter_mut().enumerate() {
                event["idx"] = at.into();
            }
        });
    }

    pub(crate) fn event(&mut self, at: usize, change: impl FnOnce(&mut Value)) {
        self.records(|_, events| change(&mut events[at]));
    }

    pub(crate) fn claim(&mut self, change: impl FnOnce(&mut Value)) {
        self.event(CLAIM, |event| change(&mut event["claim"]));
    }

    /// The path of the first evidence file that is cited.
    pub(crate) fn evidence_path(&self) -> String {
        let record =
            self.text("trace.jsonl").lines().nth(EVIDENCE + 1).expect("evidence").to_owned();
        let record: Value = serde_json::from_str(&record).expect("JSON");
        record["event"]["evidence"]["content_path"].as_str().expect("a path").to_owned()
    }

    pub(crate) fn audit(&self) -> VerificationReport {
        TraceAuditor::default().audit(&self.files, "a run")
    }
}

/// Places of events in a run of two pairs.
pub(crate) const STARTED: usize = 0;
pub(crate) const UNDERSTOOD: usize = 1;
pub(crate) const CALL: usize = 3;
pub(crate) const RESULT: usize = 4;
pub(crate) const EVIDENCE: usize = 5;
pub(crate) const OTHER_EVIDENCE: usize = 6;
pub(crate) const GATHERED: usize = 7;
pub(crate) const DERIVING: usize = 8;
pub(crate) const CLAIM: usize = 9;
pub(crate) const DERIVED: usize = 10;
pub(crate) const VERIFYING: usize = 20;
pub(crate) const VERIFIED: usize = 21;
pub(crate) const FINALIZED: usize = 23;

/// Makes every change, plain and sealed again, and tells what was not found.
fn misses(rows: &[Row], is_seen_by_seal_only: bool) -> Vec<String> {
    let mut misses = Vec::new();
    let mut check = |name: &str, code: &str, run: &Run| {
        let report = run.audit();
        if report.verdict == Verdict::Valid || !report.has(code) {
            let codes: Vec<&str> = report.failures.iter().map(|failure| failure.code).collect();
            misses.push(format!("{name}: not {code}: {:?} {codes:?}", report.verdict));
        }
    };
    for (name, code, change) in rows {
        let mut run = Run::new();
        change(&mut run);
        check(name, code, &run);
        if !is_seen_by_seal_only {
            reseal(&mut run.files);
            check(&format!("{name}, sealed again"), code, &run);
        }
    }
    misses
}

fn assert_none(misses: &[String]) {
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

#[test]
fn the_run_that_is_changed_is_valid() {
    let report = Run::new().audit();
    assert_eq!(report.verdict, Verdict::Valid, "{:?}", report.failures);
}

#[test]
fn framing_is_found() {
    assert_none(&misses(framing::ROWS, false));
}

#[test]
fn headers_are_found() {
    assert_none(&misses(header::ROWS, false));
    assert_none(&misses(header::SEALED_ROWS, true));
}

#[test]
fn orders_are_found() {
    assert_none(&misses(order::ROWS, false));
}

#[test]
fn tools_are_found() {
    assert_none(&misses(tools::ROWS, false));
}

#[test]
fn evidence_is_found() {
    assert_none(&misses(evidence::ROWS, false));
    assert_none(&misses(evidence::SEALED_ROWS, true));
}

#[test]
fn claims_are_found() {
    assert_none(&misses(claims::ROWS, false));
}

#[test]
fn plans_are_found() {
    assert_none(&misses(plan::ROWS, false));
    assert_none(&misses(plan::SEALED_ROWS, true));
}
