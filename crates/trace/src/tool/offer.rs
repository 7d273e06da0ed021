//! What results offer as evidence, and the evidence that is made of it: the same, in the same order.

use std::borrow::Cow;
use std::collections::VecDeque;

use probity_report::{Failures, Place, Rule};
use sha2::{Digest as _, Sha256};

use super::CHECK;
use crate::identity::digest;
use crate::model::{Event, Evidence, TRACE};
use crate::tape::Value;

const EVIDENCE: &str = "INV-EVD-001";

pub(super) static LEFT_OUT: Rule =
    Rule::error("trace_evidence_left_out", CHECK, "retrieved evidence that was not registered");
pub(super) static ORDER: Rule =
    Rule::error("trace_evidence_order", CHECK, "evidence in another order than the result has");
pub(super) static TEXT: Rule =
    Rule::error("trace_result_text", CHECK, "evidence with another text than the result has")
        .under(EVIDENCE);
pub(super) static URI: Rule =
    Rule::error("trace_result_uri", CHECK, "evidence with another source than the result has");
pub(super) static SPAN: Rule =
    Rule::error("trace_result_span", CHECK, "evidence with another span than the result has")
        .under(EVIDENCE);
pub(super) static CHUNK_ID: Rule =
    Rule::error("trace_result_chunk_id", CHECK, "evidence with another chunk than the result has");
pub(super) static ITEM: Rule =
    Rule::error("trace_result_item", CHECK, "retrieved evidence that contradicts itself");

/// How far ahead an evidence is looked for that is not the next one: a bound on the work, not on what
/// is found. Further away it is told as another evidence.
const MAX_AHEAD: usize = 64;

/// What the results of the open step offer and nothing was made of so far.
#[derive(Debug, Default)]
pub(super) struct Offers(VecDeque<Offer>);

/// One item of `evidences` in a result.
#[derive(Debug)]
struct Offer {
    line: u64,
    item: usize,
    /// It must be registered.
    is_retrieved: bool,
    text_sha256: [u8; 32],
    /// `None` if it is not 64 lower-case hex digits.
    chunk_id: Option<[u8; 32]>,
    span: Option<(u64, u64)>,
    /// As [`short`] makes it.
    uri: Box<str>,
}

impl Offers {
    /// Takes over what a result offers. A result without `evidences` offers nothing.
    pub(super) fn add(
        &mut self,
        event: &Event,
        result: Value,
        is_retrieved: bool,
        failures: &mut Failures,
    ) {
        let Some(evidences) = result.get("evidences") else { return };
        for (item, value) in evidences.items().enumerate() {
            // The source system passes over what is no object.
            if value.kind() != crate::tape::Kind::Object {
                continue;
            }
            let offer = Offer::of(event.line, item, is_retrieved, value);
            if is_retrieved {
                offer.check(event, value, failures);
            }
            self.0.push_back(offer);
        }
    }

    /// Holds evidence against the next offer; `false` if there is none.
    pub(super) fn take(
        &mut self,
        event: &Event,
        evidence: &Evidence,
        failures: &mut Failures,
    ) -> bool {
        let registered = Registered::of(evidence);
        // What other tools offer may be left alone.
        while self.0.front().is_some_and(|next| !next.is_retrieved && !next.is_same(&registered)) {
            self.0.pop_front();
        }
        let ahead = self.0.iter().take(MAX_AHEAD);
        let found = ahead.enumerate().find(|(_, offer)| offer.is_same(&registered));
        match found.map(|(at, _)| at) {
            Some(0) => self.0.pop_front().is_some(),
            Some(at) => {
                failures.add(&ORDER, event.place("/evidence"), ORDER.finds);
                self.0.remove(at).is_some()
            }
            None => self.0.pop_front().map(|next| next.tell(event, evidence, failures)).is_some(),
        }
    }

    /// The step is over: what must be registered was.
    pub(super) fn close(&mut self, failures: &mut Failures) {
        for offer in self.0.drain(..).filter(|offer| offer.is_retrieved) {
            let pointer = format!("/event/result/result/evidences/{}", offer.item);
            let place = Place::file(TRACE).line(offer.line).pointer(pointer);
            failures.add(&LEFT_OUT, place, LEFT_OUT.finds);
        }
    }
}

/// Evidence, to be compared.
struct Registered<'e> {
    sha256: Option<[u8; 32]>,
    chunk_id: Option<[u8; 32]>,
    span: (u64, u64),
    uri: Cow<'e, str>,
}

impl<'e> Registered<'e> {
    fn of(evidence: &'e Evidence) -> Self {
        Self {
            sha256: digest(&evidence.sha256),
            chunk_id: digest(&evidence.chunk_id),
            span: evidence.span,
            uri: short(&evidence.uri),
        }
    }
}

impl Offer {
    /// Text and source default as they do for the source system.
    fn of(line: u64, item: usize, is_retrieved: bool, value: Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::text);
        Self {
            line,
            item,
            is_retrieved,
            text_sha256: Sha256::digest(text("text").unwrap_or_default().as_bytes()).into(),
            chunk_id: text("chunk_id").and_then(|id| digest(&id)),
            span: value.get("span").and_then(span),
            uri: short(text("uri").as_deref().unwrap_or("mem://unknown")).into(),
        }
    }

    /// What is said twice in an item is said the same way.
    fn check(&self, event: &Event, value: Value, failures: &mut Failures) {
        let pointer = |key: &str| format!("/result/result/evidences/{}/{key}", self.item);
        if let Some(hash) = value.get("chunk_sha256") {
            let right = hex::encode(self.text_sha256);
            if hash.text().as_deref() != Some(&right) && !failures.is_only_counted(&ITEM) {
                failures.differs(&ITEM, event.place(&pointer("chunk_sha256")), right, hash.raw());
            }
        }
        if let Some(chunk_span) = value.get("chunk_span")
            && span(chunk_span) != self.span
            && !failures.is_only_counted(&ITEM)
        {
            let right = value.get("span").map(Value::raw).unwrap_or_default();
            failures.differs(&ITEM, event.place(&pointer("chunk_span")), right, chunk_span.raw());
        }
    }

    fn is_same(&self, registered: &Registered) -> bool {
        registered.sha256 == Some(self.text_sha256)
            && self.chunk_id.is_some()
            && registered.chunk_id == self.chunk_id
            && self.span == Some(registered.span)
            && *self.uri == *registered.uri
    }

    /// Tells where evidence is not what was offered.
    fn tell(&self, event: &Event, evidence: &Evidence, failures: &mut Failures) {
        let place = |key: &str| event.place(&format!("/evidence/{key}"));
        let text = hex::encode(self.text_sha256);
        if text != evidence.sha256 {
            failures.differs(&TEXT, place("sha256"), text, &evidence.sha256);
        }
        if self.chunk_id.is_none() || self.chunk_id != digest(&evidence.chunk_id) {
            let right = self.chunk_id.map_or_else(|| "64 hex digits".to_owned(), hex::encode);
            failures.differs(&CHUNK_ID, place("chunk_id"), right, &evidence.chunk_id);
        }
        if self.span != Some(evidence.span) {
            let shown = |(start, end)| format!("[{start},{end}]");
            let right = self.span.map_or_else(|| "a span".to_owned(), shown);
            failures.differs(&SPAN, place("span"), right, shown(evidence.span));
        }
        let uri = short(&evidence.uri);
        if *self.uri != *uri {
            failures.differs(&URI, place("uri"), &self.uri, uri);
        }
    }
}

/// A source as it is remembered: a long one by its front and its hash.
fn short(uri: &str) -> Cow<'_, str> {
    const MAX_BYTES: usize = 1024;
    if uri.len() <= MAX_BYTES {
        return Cow::Borrowed(uri);
    }
    let front = uri.get(..uri.floor_char_boundary(MAX_BYTES)).unwrap_or_default();
    Cow::Owned(format!("{front}… with SHA-256 {}", hex::encode(Sha256::digest(uri))))
}

/// Two numbers that are not negative.
fn span(value: Value) -> Option<(u64, u64)> {
    let mut items = value.items();
    match (items.next(), items.next(), items.next()) {
        (Some(start), Some(end), None) => Some((start.natural()?, end.natural()?)),
        _ => None,
    }
}
