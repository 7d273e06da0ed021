//! A sample run taken apart, changed, and put together again.

use std::collections::BTreeSet;

use probity_trace::sample::{SampleRun, canonical, content_id, reseal};
use probity_trace::{MemoryFiles, TraceAuditor, TracePolicy, VerificationReport};
use serde_json::Value;

/// Places of the events of a run with one pair of steps.
pub(crate) const GATHER_START: usize = 2;
pub(crate) const CALL: usize = 3;
pub(crate) const RESULT: usize = 4;
pub(crate) const EVIDENCE: [usize; 2] = [5, 6];
pub(crate) const GATHER_END: usize = 7;
pub(crate) const DERIVE_START: usize = 8;
pub(crate) const CLAIM: usize = 9;
pub(crate) const DERIVE_END: usize = 10;
pub(crate) const VERIFY_START: usize = 11;
pub(crate) const VERIFY_END: usize = 12;
pub(crate) const FINAL_START: usize = 13;
pub(crate) const FINAL_END: usize = 14;

/// Checks whose findings are looked at here; those on the shape of `plan.json` are in others.
const CHECKS: [&str; 4] = ["lifecycle", "plan", "tools", "content_ids"];

const PLAN: &str = "trace_plan_";

/// A run, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) plan: Value,
    pub(crate) header: Value,
    pub(crate) events: Vec<Value>,
    files: MemoryFiles,
}

impl Run {
    /// The run with one pair of steps.
    pub(crate) fn new() -> Self {
        Self::of(&SampleRun::default())
    }

    pub(crate) fn of(sample: &SampleRun) -> Self {
        let files = sample.files();
        let json = |path: &str| serde_json::from_slice(&files.files[path]).expect("JSON");
        let trace = String::from_utf8(files.files["trace.jsonl"].clone()).expect("UTF-8");
        let mut records =
            trace.lines().map(|line| -> Value { serde_json::from_str(line).expect("JSON") });
        let header = records.next().expect("a header");
        let events = records.map(|record| record["event"].clone()).collect();
        Self { plan: json("plan.json"), header, events, files }
    }

    /// Numbers the events as they stand.
    pub(crate) fn renumber(&mut self) {
        for (at, event) in self.events.iter_mut().enumerate() {
            event["idx"] = at.into();
        }
    }

    /// Takes events out and puts them in front of what is at a place then.
    pub(crate) fn shift(&mut self, from: std::ops::Range<usize>, to: usize) {
        let taken: Vec<Value> = self.events.drain(from).collect();
        self.events.splice(to..to, taken);
        self.renumber();
    }

    /// Recomputes the ids of the nodes and of the plan, and puts them where they are referred to.
    pub(crate) fn rename_plan(&mut self) {
        for at in 0..self.plan["nodes"].as_array().map_or(0, Vec::len) {
            let node = &self.plan["nodes"][at];
            let named = serde_json::json!({
                "deps": node["dependencies"],
                "kind": node["kind"],
                "params": node["parameters"],
            });
            let (old, new) = (node["id"].clone(), content_id("node", &named));
            self.replace(old.as_str().expect("an id"), &new);
        }
        let mut named = self.plan.clone();
        let old = named.as_object_mut().expect("a plan").remove("id").expect("an id");
        self.replace(old.as_str().expect("an id"), &content_id("plan", &named));
    }

    /// Puts one text in the place of another, everywhere.
    pub(crate) fn replace(&mut self, old: &str, new: &str) {
        let swap = |value: &mut Value| {
            let text = value.to_string().replace(old, new);
            *value = serde_json::from_str(&text).expect("JSON");
        };
        swap(&mut self.plan);
        swap(&mut self.header);
        self.events.iter_mut().for_each(swap);
    }

    /// The files, sealed again.
    pub(crate) fn files(&self) -> MemoryFiles {
        let mut files = self.files.clone();
        let mut trace = format!("{}\n", canonical(&self.header));
        for event in &self.events {
            let line = format!("{{\"event\":{},\"record\":\"trace_event\"}}\n", canonical(event));
            trace.push_str(&line);
        }
        files.files.insert("trace.jsonl".to_owned(), trace.into_bytes());
        let plan = format!("{}\n", canonical(&self.plan));
        files.files.insert("plan.json".to_owned(), plan.into_bytes());
        reseal(&mut files);
        files
    }

    /// What the audit of the run finds in the checks of this file, content ids left out.
    pub(crate) fn found(&self) -> BTreeSet<String> {
        let report = audit(&self.files());
        let is_ours = |code: &str| !code.starts_with("trace_id_");
        codes(&report).into_iter().filter(|code| is_ours(code)).collect()
    }
}

pub(crate) fn audit(files: &MemoryFiles) -> VerificationReport {
    TraceAuditor::new(TracePolicy::default()).audit(files, "a sample")
}

/// The codes of what was found in the checks of this file.
pub(crate) fn codes(report: &VerificationReport) -> BTreeSet<String> {
    let is_ours = |check: &str, code: &str| CHECKS.contains(&check) || code.starts_with(PLAN);
    let ours = report.failures.iter().filter(|found| is_ours(found.check, found.code));
    ours.map(|found| found.code.to_owned()).collect()
}

/// Holds what a change leads to against what it must lead to: exactly these codes.
pub(crate) fn assert_found(name: &str, change: impl Fn(&mut Run), expected: &[&str]) {
    let mut run = Run::new();
    change(&mut run);
    let expected: BTreeSet<String> = expected.iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(run.found(), expected, "{name}");
}
