//! From a line to an event: shapes, and what breaks them.
//!
//! Every breach is told at its value, by line, bytes and JSON pointer, and one record tells all of
//! its breaches. A record with any is not handed on.

mod desk;
mod line;
mod output;
mod parts;
mod rule;

use probity_report::Failures;

use crate::identity;
use crate::model::{Body, Event};
use crate::scene::Header;
use crate::tape::{Kind, Value};

use desk::{Desk, Field, Way};

pub(crate) use line::{tell_broken, tell_spelling};
pub(crate) use rule::{
    BLANK_LINE, BOM, CARRIAGE_RETURN, FILE_TOO_LARGE, HEADER_MISSING, LINE_TOO_LONG,
    NO_FINAL_NEWLINE, NOT_UTF8, RULES, UNREADABLE,
};

/// A line of the trace that is JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    /// 1-based.
    pub(crate) line: u64,
    /// Offset in the file of its first byte.
    pub(crate) offset: u64,
    /// What it says.
    pub(crate) value: Value<'a>,
    /// It stands in its canonical form.
    pub(crate) is_canonical: bool,
}

/// What a record says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Header,
    Event,
    /// Neither: it is told when it is read.
    Other,
}

/// The one version of each kind that is accepted.
const VERSION: i64 = 1;

const HEADER: &str = "trace_header";
const EVENT: &str = "trace_event";
const ALGORITHM: &[(&str, ())] = &[("sha256", ())];

impl<'a> Record<'a> {
    /// What it says that it is.
    pub(crate) fn kind(&self) -> RecordKind {
        match self.value.get("record").and_then(Value::text).as_deref() {
            Some(HEADER) => RecordKind::Header,
            Some(EVENT) => RecordKind::Event,
            _ => RecordKind::Other,
        }
    }

    /// The header that it is. What of it has no shape is told, and left empty.
    pub(crate) fn header(&self, failures: &mut Failures) -> Header {
        let mut desk = Desk::new(self, failures);
        let mut header = Header { line: self.value.raw().to_owned(), ..Header::default() };
        let Some(fields) = desk.fields(self.value, &Way::Record, &rule::HEADER_KEYS) else {
            return header;
        };
        for version in rule::VERSION_KEYS {
            version_is_known(&mut desk, fields.get(version));
        }
        let _ = desk.word(fields.get("fingerprint_algo"), ALGORITHM);
        let mut text = |key| desk.text(fields.get(key)).unwrap_or_default().into_owned();
        header.id = text("id");
        header.spec_id = text("spec_id");
        header.plan_id = text("plan_id");
        if let Some(metadata) = desk.object(fields.get("metadata")) {
            header.metadata = identity::canonical(metadata);
        }
        header
    }

    /// The event that it is; `None` if any shape is broken.
    pub(crate) fn event(&self, failures: &mut Failures) -> Option<Event<'a>> {
        let mut desk = Desk::new(self, failures);
        let event = match self.kind() {
            RecordKind::Event => self.event_at(&mut desk),
            kind => {
                self.tell_stranger(kind, &mut desk);
                None
            }
        };
        event.filter(|_| desk.is_clean())
    }

    fn event_at(&self, desk: &mut Desk) -> Option<Event<'a>> {
        let record = desk.fields(self.value, &Way::Record, &["event", "record"])?;
        let way = Way::Key(&Way::Record, "event");
        let value = desk.object(record.get("event"))?;
        let kind = desk.discriminator(value, &way, "kind", &rule::EVENT_KINDS)?;
        match kind {
            rule::EventKind::StepStarted => {
                let fields = desk.fields(value, &way, &["idx", "kind", "step_id"])?;
                let (idx, step_id) = (fields.get("idx"), fields.get("step_id"));
                self.event_of(desk, value, (idx, step_id), Some(Body::StepStarted))
            }
            rule::EventKind::StepFinished => {
                let fields = desk.fields(value, &way, &["idx", "kind", "output", "step_id"])?;
                let body = output::read(desk, fields.get("output")).map(Body::StepFinished);
                self.event_of(desk, value, (fields.get("idx"), fields.get("step_id")), body)
            }
            rule::EventKind::ToolCalled => {
                let fields = desk.fields(value, &way, &["call", "idx", "kind", "step_id"])?;
                let body = parts::call(desk, fields.get("call")).map(Body::ToolCalled);
                self.event_of(desk, value, (fields.get("idx"), fields.get("step_id")), body)
            }
            rule::EventKind::ToolReturned => {
                let fields = desk.fields(value, &way, &["idx", "kind", "result", "step_id"])?;
                let body = parts::returned(desk, fields.get("result")).map(Body::ToolReturned);
                self.event_of(desk, value, (fields.get("idx"), fields.get("step_id")), body)
            }
            rule::EventKind::EvidenceRegistered => {
                let fields = desk.fields(value, &way, &["evidence", "idx", "kind", "step_id"])?;
                let evidence = parts::evidence(desk, fields.get("evidence"));
                let body = evidence.map(Body::EvidenceRegistered);
                self.event_of(desk, value, (fields.get("idx"), fields.get("step_id")), body)
            }
            rule::EventKind::ClaimEmitted => {
                let fields = desk.fields(value, &way, &["claim", "idx", "kind", "step_id"])?;
                let body = parts::claim(desk, fields.get("claim")).map(Body::ClaimEmitted);
                self.event_of(desk, value, (fields.get("idx"), fields.get("step_id")), body)
            }
        }
    }

    fn event_of(
        &self,
        desk: &mut Desk,
        value: Value<'a>,
        (idx, step_id): (Field<'a, '_>, Field<'a, '_>),
        body: Option<Body<'a>>,
    ) -> Option<Event<'a>> {
        let (idx, step_id) = (desk.natural(idx), desk.text(step_id));
        Some(Event {
            line: self.line,
            offset: self.offset,
            idx: idx?,
            step_id: step_id?,
            body: body?,
            value,
        })
    }

    /// Tells a record that is no event.
    fn tell_stranger(&self, kind: RecordKind, desk: &mut Desk) {
        let way = Way::Key(&Way::Record, "record");
        let record = self.value.get("record");
        match (kind, self.value.kind(), record) {
            (RecordKind::Header, _, _) => {
                let text = "a second header, or one that is not the first record";
                desk.tell(&rule::HEADER_MISPLACED, &Way::Record, self.value.span(), text);
            }
            (_, Kind::Object, Some(record)) => {
                desk.differs(&rule::RECORD_UNKNOWN, &way, record.span(), EVENT, record.raw());
            }
            (_, Kind::Object, None) => desk.missing(&Way::Record, self.value, "record"),
            _ => desk.mistyped(&Way::Record, self.value, "an object"),
        }
    }
}

fn version_is_known(desk: &mut Desk, field: Field) {
    let Some(version) = desk.integer(field) else { return };
    if version != VERSION
        && let Some(value) = field.value
    {
        desk.differs(&rule::VERSION, &field.way, value.span(), VERSION, version);
    }
}
