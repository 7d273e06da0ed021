//! What a derived claim says of its own making, and what the header says of it.

use probity_report::{Failures, Place, Rule};
use sha2::{Digest as _, Sha256};

use super::{CHECK, stated};
use crate::identity::Key;
use crate::model::{Claim, Event, Support, SupportKind, TRACE};
use crate::scene::Scene;
use crate::tape::{Tape, Value};

pub(super) static RESULT_SHA256: Rule =
    Rule::error("trace_claim_result_sha256", CHECK, "a result hash that is not that of the claim");
pub(super) static PICKED: Rule =
    Rule::error("trace_claim_picked", CHECK, "a reasoner that picked other evidence than it cites");
pub(super) static REASONER: Rule =
    Rule::error("trace_claim_reasoner", CHECK, "a derived claim that does not name its reasoner");
pub(super) static QUESTION: Rule =
    Rule::error("trace_claim_question", CHECK, "a reasoner that answers another question");
pub(super) static MISSING: Rule =
    Rule::error("trace_reasoning_missing", CHECK, "a header that tells nothing of the reasoning");
pub(super) static UNFOUNDED: Rule =
    Rule::error("trace_reasoning_unfounded", CHECK, "a header that tells of reasoning without any");
pub(super) static HEADER_RESULT: Rule =
    Rule::error("trace_reasoning_result_sha256", CHECK, "a header with another result hash");
pub(super) static HEADER_QUESTION: Rule =
    Rule::error("trace_reasoning_question", CHECK, "a header with another question");
pub(super) static HEADER_EVIDENCE: Rule =
    Rule::error("trace_reasoning_evidence_ids", CHECK, "a header that lists other evidence");
pub(super) static MIN_SUPPORTS: Rule = Rule::error(
    "trace_policy_min_supports",
    "policy",
    "a header that demands other supports than the problem",
);

/// The reasoning of a run, as its header tells it and as its claims show it.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    header: Option<Header>,
    /// Evidence registered so far.
    registered: usize,
    /// How much of it agrees with the header's list, from the beginning.
    agreeing: usize,
    /// The first derived claim: its result hash, and the evidence that there was.
    first: Option<(String, usize)>,
}

/// What the header says.
#[derive(Debug)]
struct Header {
    /// As it stands there.
    min_supports: Option<String>,
    told: Option<Told>,
}

/// What the header says of the reasoning.
#[derive(Debug)]
struct Told {
    question: Option<String>,
    /// By key.
    results: [(&'static str, Option<String>); 2],
    evidence: Option<Vec<Key>>,
}

impl Reasoning {
    /// Reads the header, once.
    pub(super) fn open(&mut self, scene: &Scene) {
        if self.header.is_none() {
            self.header = Some(Header::read(&scene.header.metadata));
        }
    }

    pub(super) fn registered(&mut self, id: &str) {
        let told = self.header.as_ref().and_then(|header| header.told.as_ref());
        let listed = told.and_then(|told| told.evidence.as_ref());
        let is_next = self.agreeing == self.registered
            && listed.and_then(|ids| ids.get(self.registered)) == Some(&Key::of(id));
        self.agreeing = self.agreeing.saturating_add(usize::from(is_next));
        self.registered = self.registered.saturating_add(1);
    }

    /// Holds what a derived claim says of its making against its supports.
    pub(super) fn derived(
        &mut self,
        scene: &Scene,
        event: &Event,
        claim: &Claim,
        failures: &mut Failures,
    ) {
        let result = result_sha256(claim);
        let said = claim.structured.get("result_sha256").and_then(Value::text);
        if said.as_deref() != Some(&result) {
            let place = event.place("/claim/structured/result_sha256");
            failures.differs(&RESULT_SHA256, place, &result, said.unwrap_or_default());
        }
        let reasoner = claim.structured.get("reasoner");
        let picked = reasoner.and_then(|reasoner| reasoner.get("picked"));
        if !picked.is_some_and(|picked| is_picked(picked, claim)) {
            let place = event.place("/claim/structured/reasoner/picked");
            failures.add(&PICKED, place, PICKED.finds);
        }
        let name = reasoner.and_then(|reasoner| reasoner.get("reasoner")?.text());
        if name.is_none_or(|name| name.is_empty()) {
            let place = event.place("/claim/structured/reasoner/reasoner");
            failures.add(&REASONER, place, REASONER.finds);
        }
        let question = reasoner.and_then(|reasoner| reasoner.get("question")?.text());
        if let Some(spec) = scene.spec
            && question.as_deref() != Some(&spec.description)
        {
            let place = event.place("/claim/structured/reasoner/question");
            let question = question.unwrap_or_default();
            failures.differs(&QUESTION, place, &spec.description, question);
        }
        self.first.get_or_insert((result, self.registered));
    }

    /// Holds the header against the first derived claim.
    pub(super) fn finish(&self, scene: &Scene, failures: &mut Failures) {
        // A trace without a header was found when it was read.
        let Some(header) = self.header.as_ref().filter(|_| !scene.header.metadata.is_empty())
        else {
            return;
        };
        let stated = stated(scene).to_string();
        if header.min_supports.as_ref() != Some(&stated) {
            let place = place("/reasoning_policy/min_supports_per_claim");
            let said = header.min_supports.as_deref().unwrap_or_default();
            failures.differs(&MIN_SUPPORTS, place, stated, said);
        }
        let whole = || place("/reasoning_trace");
        match (&self.first, &header.told) {
            (None, None) => {}
            (None, Some(_)) => failures.add(&UNFOUNDED, whole(), UNFOUNDED.finds),
            (Some(_), None) => failures.add(&MISSING, whole(), MISSING.finds),
            (Some((result, registered)), Some(told)) => {
                told.hold(scene, result, failures);
                // All that there was for the claim, or all of the run.
                let listed = told.evidence.as_ref().map(Vec::len);
                let is_listed = listed == Some(*registered) && self.agreeing >= *registered;
                let is_all = listed == Some(self.registered) && self.agreeing == self.registered;
                if !is_listed && !is_all {
                    let place = place("/reasoning_trace/evidence_ids");
                    failures.add(&HEADER_EVIDENCE, place, HEADER_EVIDENCE.finds);
                }
            }
        }
    }
}

impl Header {
    fn read(metadata: &str) -> Self {
        let mut tape = Tape::default();
        let root = tape.read(metadata).ok().map(|_| tape.root(metadata));
        let at = |pointer: &str| root.and_then(|root| root.pointer(pointer));
        let min_supports = at("/reasoning_policy/min_supports_per_claim");
        Self {
            min_supports: min_supports.map(|value| value.raw().to_owned()),
            told: at("/reasoning_trace").filter(|told| !told.is_null()).map(Told::read),
        }
    }
}

impl Told {
    fn read(told: Value) -> Self {
        let text = |key: &str| told.get(key).and_then(Value::text).map(String::from);
        let ids = |list: Value| {
            list.items().map(|id| id.text().map(|id| Key::of(&id))).collect::<Option<Vec<_>>>()
        };
        Self {
            question: text("question"),
            results: ["reasoning_trace_sha256", "result_sha256"].map(|key| (key, text(key))),
            evidence: told.get("evidence_ids").and_then(ids),
        }
    }

    fn hold(&self, scene: &Scene, result: &str, failures: &mut Failures) {
        for (key, said) in &self.results {
            if said.as_deref() != Some(result) {
                let place = place(&format!("/reasoning_trace/{key}"));
                let said = said.as_deref().unwrap_or_default();
                failures.differs(&HEADER_RESULT, place, result, said);
            }
        }
        let Some(spec) = scene.spec else { return };
        if self.question.as_ref() != Some(&spec.description) {
            let place = place("/reasoning_trace/question");
            let said = self.question.as_deref().unwrap_or_default();
            failures.differs(&HEADER_QUESTION, place, &spec.description, said);
        }
    }
}

/// The hash that a derived claim carries: over its statement and what it cites.
fn result_sha256(claim: &Claim) -> String {
    let mut hash = Sha256::new();
    hash.update(claim.statement.as_bytes());
    hash.update(b"|");
    for (at, support) in cited(claim).enumerate() {
        let (start, end) = support.span;
        let separator = if at == 0 { "" } else { ";" };
        let Support { ref_id, snippet_sha256, .. } = support;
        hash.update(format!("{separator}{ref_id}:{start}-{end}:{snippet_sha256}"));
    }
    hex::encode(hash.finalize())
}

/// Whether a reasoner says that it picked what the claim cites, in order.
fn is_picked(picked: Value, claim: &Claim) -> bool {
    let is_one = |item: Value, support: &Support| {
        let span: Option<Vec<u64>> =
            item.get("span").and_then(|span| span.items().map(Value::natural).collect());
        let text = |key: &str| item.get(key).and_then(Value::text);
        item.members().count() == 3
            && text("evidence_id").as_deref() == Some(&support.ref_id)
            && text("sha").as_deref() == Some(&support.snippet_sha256)
            && span.as_deref() == Some(&[support.span.0, support.span.1])
    };
    let mut items = picked.items();
    picked.kind() == crate::tape::Kind::List
        && cited(claim).all(|support| items.next().is_some_and(|item| is_one(item, support)))
        && items.next().is_none()
}

fn cited<'c>(claim: &'c Claim) -> impl Iterator<Item = &'c Support<'c>> {
    claim.supports.iter().filter(|support| support.kind == SupportKind::Evidence)
}

/// A place in the metadata of the header.
fn place(pointer: &str) -> Place {
    Place::file(TRACE).line(1).pointer(format!("/metadata{pointer}"))
}
