//! The spans of a run: one trace, one span for the run, one for each node that began, each wait, each turn
//! of a supervisor and each verification. A pure function of what is recorded: names, places, times and
//! words of closed lists go in, and nothing that anybody wrote or checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_core::RunId;
use probity_workflow::{Bound, Decision, Entry, Event, Judgement, Origin};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::wire::v1::event_type;

/// One span.
pub(super) struct Span {
    pub(super) name: String,
    id: String,
    trace: String,
    parent: Option<String>,
    begun_ms: u64,
    /// Nothing while it goes on.
    ended_ms: Option<u64>,
    is_error: bool,
    attributes: Map<String, Value>,
    events: Vec<Value>,
    /// Spans of other traces that it comes from: trace and span.
    links: Vec<(String, String)>,
}

/// The spans of a run, in the order in which they began.
pub(super) fn spans(run: &RunId, entries: &[Arc<Entry>]) -> Vec<Span> {
    let mut trace =
        Trace { run, workflow: String::new(), spans: Vec::new(), open: BTreeMap::new() };
    for entry in entries {
        trace.take(entry, entries);
    }
    trace.spans
}

/// What is open at a place of the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Open {
    Node(String),
    Wait(String),
    Turn,
}

struct Trace<'a> {
    run: &'a RunId,
    workflow: String,
    spans: Vec<Span>,
    open: BTreeMap<Open, usize>,
}

impl Trace<'_> {
    fn take(&mut self, entry: &Entry, all: &[Arc<Entry>]) {
        match &entry.event {
            Event::RunStarted { workflow, origin, .. } => {
                self.begin_run(entry, workflow, origin.as_ref())
            }
            Event::NodeStarted { type_id, attempt } => self.begin_node(entry, type_id, *attempt),
            Event::NodeSuspended { interrupt, kind, .. } => {
                let at = self.begin(entry, "openwop.interrupt".to_owned(), self.node_of(entry));
                self.put(at, "openwop.interrupt_id", json!(interrupt));
                self.put(at, "openwop.interrupt_kind", json!(kind));
                self.open.insert(Open::Wait(interrupt.clone()), at);
            }
            Event::NodeResumed { interrupt, .. } => {
                self.close(&Open::Wait(interrupt.clone()), entry.at_ms, false);
            }
            Event::SupervisorDecided { agent, decision, iteration } => {
                self.close(&Open::Turn, entry.at_ms, false);
                let at = self.begin(entry, "probity.turn".to_owned(), Some(0));
                self.put(at, "probity.iteration", json!(iteration));
                self.put(at, "probity.agent_id", json!(agent));
                self.put(at, "probity.decision", json!(word(decision)));
                self.open.insert(Open::Turn, at);
            }
            Event::AgentVerified(verification) => self.verify(entry, verification, all),
            Event::CapBreached(breach) => {
                let kind = match breach.kind {
                    Bound::NodeExecutions => "node-executions",
                    Bound::RunDuration => "run-duration",
                    Bound::LoopIterations => "loop-iterations",
                };
                self.put(0, "openwop.cap_kind", json!(kind));
                self.put(0, "openwop.cap_limit", json!(breach.limit));
                self.put(0, "openwop.cap_observed", json!(breach.observed));
            }
            _ => {}
        }
        self.note(entry);
        match &entry.event {
            Event::NodeCompleted { .. } | Event::NodeFailed { .. } => {
                let is_error = matches!(entry.event, Event::NodeFailed { .. });
                let node = entry.node.clone().unwrap_or_default();
                self.close(&Open::Node(node), entry.at_ms, is_error);
            }
            event if event.is_terminal() => self.end(entry),
            _ => {}
        }
    }

    fn begin_run(&mut self, entry: &Entry, workflow: &str, origin: Option<&Origin>) {
        workflow.clone_into(&mut self.workflow);
        let at = self.begin(entry, "openwop.run".to_owned(), None);
        match origin {
            Some(Origin::Child { parent, node, .. }) => {
                self.put(at, "openwop.parent.run_id", json!(parent));
                self.put(at, "openwop.parent.node_id", json!(node));
                self.link(at, parent);
            }
            Some(Origin::Fork { source, from_sequence, is_replay }) => {
                self.put(at, "openwop.replay.source_run_id", json!(source));
                self.put(at, "openwop.replay.from_seq", json!(from_sequence));
                let mode = if *is_replay { "replay" } else { "branch" };
                self.put(at, "openwop.replay.mode", json!(mode));
                self.link(at, source);
            }
            None => {}
        }
    }

    fn begin_node(&mut self, entry: &Entry, type_id: &str, attempt: u64) {
        let at = self.begin(entry, format!("openwop.node.{type_id}"), Some(0));
        let node = entry.node.clone().unwrap_or_default();
        self.put(at, "openwop.node_id", json!(node));
        self.put(at, "openwop.node_type", json!(type_id));
        self.put(at, "openwop.node_attempt", json!(attempt));
        self.open.insert(Open::Node(node), at);
    }

    /// From what led to it, which is what was to be checked, to the verdict.
    fn verify(
        &mut self,
        entry: &Entry,
        verification: &probity_workflow::Verification,
        all: &[Arc<Entry>],
    ) {
        let at = self.begin(entry, "probity.verification".to_owned(), self.node_of(entry));
        let cause = entry.cause.and_then(|cause| all.iter().find(|other| other.sequence == cause));
        let begun_ms = cause.map_or(entry.at_ms, |cause| cause.at_ms);
        let verdict = match verification.verdict {
            Judgement::Pass => "pass",
            Judgement::Fail => "fail",
            Judgement::Revise => "revise",
        };
        self.put(at, "probity.verifier.agent_id", json!(verification.agent));
        self.put(at, "probity.verifier.target", json!(verification.target));
        self.put(at, "probity.verifier.verdict", json!(verdict));
        self.put(at, "openwop.event_type", json!(event_type(&entry.event)));
        if let Some(span) = self.spans.get_mut(at) {
            span.begun_ms = begun_ms;
            span.ended_ms = Some(entry.at_ms);
        }
    }

    fn begin(&mut self, entry: &Entry, name: String, parent: Option<usize>) -> usize {
        let at = self.spans.len();
        let mut attributes = Map::new();
        attributes.insert("openwop.run_id".to_owned(), json!(self.run));
        attributes.insert("openwop.workflow_id".to_owned(), json!(self.workflow));
        attributes.insert("openwop.protocol_version".to_owned(), json!("1.0"));
        attributes.insert("openwop.event_seq".to_owned(), json!(entry.sequence));
        self.spans.push(Span {
            id: span_id(self.run, entry.sequence),
            trace: trace_id(self.run),
            parent: parent.and_then(|at| self.spans.get(at)).map(|span| span.id.clone()),
            name,
            begun_ms: entry.at_ms,
            ended_ms: None,
            is_error: false,
            attributes,
            events: Vec::new(),
            links: Vec::new(),
        });
        at
    }

    fn put(&mut self, at: usize, name: &str, value: Value) {
        if let Some(span) = self.spans.get_mut(at) {
            span.attributes.insert(name.to_owned(), value);
        }
    }

    fn link(&mut self, at: usize, run: &RunId) {
        if let Some(span) = self.spans.get_mut(at) {
            span.links.push((trace_id(run), span_id(run, 0)));
        }
    }

    /// The node's span, or the run's.
    fn node_of(&self, entry: &Entry) -> Option<usize> {
        let node = entry.node.clone().map(Open::Node);
        node.and_then(|node| self.open.get(&node)).copied().or(Some(0))
    }

    /// Puts an event where it happened.
    fn note(&mut self, entry: &Entry) {
        let kind = event_type(&entry.event);
        let Some(span) = self.node_of(entry).and_then(|at| self.spans.get_mut(at)) else { return };
        span.attributes.insert("openwop.event_seq".to_owned(), json!(entry.sequence));
        span.events.push(json!({
            "name": kind,
            "timeUnixMs": entry.at_ms,
            "attributes": {"openwop.event_type": kind, "openwop.event_seq": entry.sequence},
        }));
    }

    fn close(&mut self, open: &Open, at_ms: u64, is_error: bool) {
        let at = self.open.remove(open);
        if let Some(span) = at.and_then(|at| self.spans.get_mut(at)) {
            span.ended_ms = Some(at_ms);
            span.is_error = is_error;
        }
    }

    /// Nothing outlives the run.
    fn end(&mut self, entry: &Entry) {
        for span in self.spans.iter_mut().filter(|span| span.ended_ms.is_none()) {
            span.ended_ms = Some(entry.at_ms);
        }
        if let Some(run) = self.spans.first_mut() {
            run.is_error = matches!(entry.event, Event::RunFailed { .. });
        }
    }
}

impl Span {
    pub(super) fn json(&self) -> Value {
        let links: Vec<Value> = self
            .links
            .iter()
            .map(|(trace, span)| json!({"traceId": trace, "spanId": span}))
            .collect();
        let mut json = json!({
            "name": self.name,
            "traceId": self.trace,
            "spanId": self.id,
            "startTimeUnixMs": self.begun_ms,
            "status": if self.is_error { "error" } else { "unset" },
            "attributes": self.attributes,
            "events": self.events,
            "links": links,
        });
        if let Some(members) = json.as_object_mut() {
            members.extend(self.parent.as_ref().map(|id| ("parentSpanId".to_owned(), json!(id))));
            members.extend(self.ended_ms.map(|ms| ("endTimeUnixMs".to_owned(), json!(ms))));
        }
        json
    }
}

const fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::NextWorker { .. } => "next-worker",
        Decision::AskUser { .. } => "ask-user",
        Decision::Terminate { .. } => "terminate",
    }
}

/// The same for the same run, wherever it is asked for: 32 hex digits.
fn trace_id(run: &RunId) -> String {
    named(&["trace", run.as_str()], 16)
}

/// 16 hex digits.
fn span_id(run: &RunId, sequence: u64) -> String {
    named(&["span", run.as_str(), &sequence.to_string()], 8)
}

fn named(parts: &[&str], bytes: usize) -> String {
    let mut name = hex::encode(Sha256::digest(parts.join("\0").as_bytes()));
    name.truncate(bytes.saturating_mul(2));
    name
}
