//! The log of a run, as the host tells it.

use std::collections::BTreeSet;

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The events of a run, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    events: Vec<Event>,
}

/// One event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    json: Value,
}

/// What may be the last event of a run.
const TERMINAL: [&str; 3] = ["run.completed", "run.failed", "run.cancelled"];

impl Log {
    pub(crate) fn new(events: Vec<Value>) -> Self {
        Self { events: events.into_iter().map(|json| Event { json }).collect() }
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events of one type.
    pub(crate) fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Event> + 'a {
        self.events.iter().filter(move |event| event.kind() == kind)
    }

    pub(crate) fn has(&self, kind: &str) -> bool {
        self.of(kind).next().is_some()
    }

    /// The types, in order.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(Event::kind).collect()
    }

    /// The supervisor's decisions, in order.
    pub(crate) fn decisions(&self) -> Vec<&Event> {
        self.of("runOrchestrator.decided").collect()
    }

    /// Their kinds, in order.
    pub(crate) fn decision_kinds(&self) -> Vec<&str> {
        self.decisions().iter().map(|event| event.text("/decision/kind")).collect()
    }

    /// The verdicts, in order.
    pub(crate) fn verdicts(&self) -> Vec<&Event> {
        self.of("agent.verified").collect()
    }

    /// The steps of handing over, of one phase.
    pub(crate) fn handoffs<'a>(&'a self, phase: &'a str) -> impl Iterator<Item = &'a Event> + 'a {
        self.of("core.workflowChain.event").filter(move |event| event.text("/phase") == phase)
    }

    /// The event of that name.
    pub(crate) fn named(&self, id: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.id() == id)
    }

    /// The events that may be the last one.
    pub(crate) fn terminals(&self) -> Vec<&Event> {
        self.events.iter().filter(|event| TERMINAL.contains(&event.kind())).collect()
    }

    /// The children that work was handed to, in order.
    pub(crate) fn children(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let told = self.events.iter().map(|event| event.text("/childRunId"));
        told.filter(|child| !child.is_empty() && seen.insert(*child)).collect()
    }

    /// Whether the run says of itself that its goal was met although a verdict says otherwise: it
    /// completed, the last verdict on its last checked child is no `pass`, and its last decision names
    /// no criterion that is not met.
    pub(crate) fn succeeds_over_a_refusal(&self) -> bool {
        let is_refused =
            self.verdicts().last().is_some_and(|event| event.text("/verdict") != "pass");
        self.has("run.completed") && is_refused && !self.gives_up()
    }

    /// Whether its last decision says that a criterion is not met.
    pub(crate) fn gives_up(&self) -> bool {
        let decisions = self.decisions();
        let criteria =
            decisions.last().and_then(|event| event.payload().pointer("/decision/successCriteria"));
        let criteria = criteria.and_then(Value::as_array).into_iter().flatten();
        criteria.into_iter().any(|criterion| criterion.get("met") == Some(&Value::Bool(false)))
    }
}

impl Event {
    pub(crate) fn json(&self) -> &Value {
        &self.json
    }

    pub(crate) fn kind(&self) -> &str {
        self.member("type")
    }

    pub(crate) fn id(&self) -> &str {
        self.member("eventId")
    }

    /// The event that caused it; empty where none is named.
    pub(crate) fn cause(&self) -> &str {
        self.member("causationId")
    }

    /// The node that it is about; empty where none is named.
    pub(crate) fn node(&self) -> &str {
        match self.member("nodeId") {
            "" => self.text("/nodeId"),
            node => node,
        }
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.json.get("sequence").and_then(Value::as_u64).unwrap_or_default()
    }

    /// When, in milliseconds since the Unix epoch.
    pub(crate) fn at_ms(&self) -> Option<i128> {
        let at = OffsetDateTime::parse(self.member("timestamp"), &Rfc3339).ok()?;
        Some(at.unix_timestamp_nanos() / 1_000_000)
    }

    pub(crate) fn payload(&self) -> &Value {
        self.json.get("payload").unwrap_or(&Value::Null)
    }

    /// A text of the payload; empty where there is none.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.payload().pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn member(&self, name: &str) -> &str {
        self.json.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}
