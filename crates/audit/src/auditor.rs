//! Audits documents: episodes under their envelopes and packs, drift signals, envelopes, packs.

use std::collections::BTreeMap;

use probity_policy::{Envelope, Pack};

use crate::check::Case;
use crate::document::{MAX_LIST_BYTES, Node, Reader, Unreadable, pointer, read, tell_repeated};
use crate::episode::Receipt;
use crate::facts::Facts;
use crate::finding::{Findings, legible};
use crate::report::{DocumentKind, EpisodeReport};
use crate::shape::EPISODE;
use crate::vocabulary::{self, EPISODE_SIGNS};
use crate::{derive, drift, policy, rule, seal};

/// The most characters of a name that a report shows.
const MAX_NAME: usize = 200;

/// What episodes are held against. Reads nothing and remembers nothing between calls, so one can
/// serve many threads.
#[derive(Debug, Default)]
pub struct EpisodeAuditor {
    envelopes: BTreeMap<String, Envelope>,
    packs: Vec<Pack>,
}

impl EpisodeAuditor {
    /// Holds episodes against their own words alone, until envelopes and packs are given.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the envelope of a decision type, in the place of one given before. From then on, an
    /// episode whose decision type has no envelope is rejected: its rules are not known.
    #[must_use]
    pub fn with_envelope(mut self, envelope: Envelope) -> Self {
        self.envelopes.insert(envelope.decision_type.clone(), envelope);
        self
    }

    /// Adds a pack. Of several with rules for a decision type, the one that the episode names is
    /// taken, else the first.
    #[must_use]
    pub fn with_pack(mut self, pack: Pack) -> Self {
        self.packs.push(pack);
        self
    }

    /// Audits one document. Whatever is wrong with the bytes is a finding.
    #[must_use]
    pub fn episode(&self, bytes: &[u8], source: &str) -> EpisodeReport {
        self.one(bytes, source, None)
    }

    /// Audits one sealed episode and holds it against the receipt that was given for it, which covers
    /// what the seal does not: the time of sealing.
    #[must_use]
    pub fn episode_with_receipt(
        &self,
        bytes: &[u8],
        source: &str,
        receipt: &Receipt,
    ) -> EpisodeReport {
        self.one(bytes, source, Some(receipt))
    }

    /// Audits one line of a file with one document per line. Lines count from 1.
    #[must_use]
    pub fn line(&self, bytes: &[u8], source: &str, line: u64) -> EpisodeReport {
        EpisodeReport { line: Some(line), ..self.one(bytes, source, None) }
    }

    /// Audits a text that holds one document or an array of them, each read by itself: at most
    /// [`MAX_LIST_BYTES`] in all. An array that breaks off ends with a report that says so.
    #[must_use]
    pub fn document(&self, bytes: &[u8], source: &str) -> Vec<EpisodeReport> {
        let mut reports = Vec::new();
        self.document_each(bytes, source, &mut |report| reports.push(report));
        reports
    }

    /// As [`Self::document`], and hands each report on as soon as it is made, so that a list of many
    /// small documents takes no more memory than its bytes.
    pub fn document_each(&self, bytes: &[u8], source: &str, take: &mut dyn FnMut(EpisodeReport)) {
        if bytes.len() > MAX_LIST_BYTES {
            let message = format!("{} bytes; at most {MAX_LIST_BYTES} are read", bytes.len());
            let error = Unreadable { rule: &rule::DOCUMENT_TOO_LARGE, message };
            return take(unreadable(error, source));
        }
        let mut reader = match Reader::new(bytes) {
            Ok(reader) => reader,
            Err(error) => return take(unreadable(error, source)),
        };
        reader.blanks();
        if !reader.accept(b'[') {
            return take(self.episode(bytes, source));
        }
        if let Err(error) = self.items(&mut reader, source, take) {
            take(unreadable(error, source));
        }
    }

    fn items(
        &self,
        reader: &mut Reader,
        source: &str,
        take: &mut dyn FnMut(EpisodeReport),
    ) -> Result<(), Unreadable> {
        reader.blanks();
        let mut is_done = reader.accept(b']');
        let mut index = 0;
        while !is_done {
            let (node, repeated) = reader.document()?;
            let mut findings = Findings::default();
            tell_repeated(&repeated, &mut findings);
            let report = self.audit(&node, source, findings, None);
            take(EpisodeReport { index: Some(index), ..report });
            index += 1;
            reader.blanks();
            is_done = reader.accept(b']');
            if !is_done && !reader.accept(b',') {
                return Err(reader.broken(&rule::DOCUMENT_SYNTAX, "expected `,` or `]`"));
            }
        }
        reader.blanks();
        if reader.is_at_end() {
            return Ok(());
        }
        Err(reader.broken(&rule::DOCUMENT_TRAILING, "text behind the list"))
    }

    fn one(&self, bytes: &[u8], source: &str, receipt: Option<&Receipt>) -> EpisodeReport {
        match read(bytes) {
            Ok(document) => {
                let mut findings = Findings::default();
                document.tell(&mut findings);
                self.audit(&document.node, source, findings, receipt)
            }
            Err(error) => unreadable(error, source),
        }
    }

    fn audit(
        &self,
        node: &Node,
        source: &str,
        mut findings: Findings,
        receipt: Option<&Receipt>,
    ) -> EpisodeReport {
        match kind(node) {
            DocumentKind::Episode => self.sealed(node, source, findings, receipt),
            DocumentKind::Drift => drift::audit(node, source, findings),
            DocumentKind::Envelope => policy::envelope(node, source, findings),
            DocumentKind::Pack => policy::pack(node, source, findings),
            DocumentKind::Unknown => {
                let message = match node {
                    Node::Object(_) => {
                        "neither episode, drift signal, envelope nor pack".to_owned()
                    }
                    node => format!("{}, where an object must stand", node.kind()),
                };
                findings.add(&rule::DOCUMENT_UNKNOWN, "", message);
                EpisodeReport::of(DocumentKind::Unknown, source, findings)
            }
        }
    }

    fn sealed(
        &self,
        node: &Node,
        source: &str,
        mut findings: Findings,
        receipt: Option<&Receipt>,
    ) -> EpisodeReport {
        vocabulary::shape(node, &EPISODE, EPISODE_SIGNS, &mut findings);
        let state = seal::check(node, &mut findings);
        if state.is_none() {
            for member in node.members().iter().filter(|m| m.value.get("episodeId").is_some()) {
                let above = pointer(&member.key);
                let _ = seal::check_at(&member.value, &above, &mut findings);
            }
        }
        if let Some(receipt) = receipt {
            receipt.hold(node, &mut findings);
        }
        let facts = Facts::new(node);
        let class = facts.decision_type();
        let pack = self.pack(facts, class);
        let case = Case {
            facts,
            envelope: class.and_then(|class| self.envelopes.get(class)),
            pack,
            rules: pack.zip(class).and_then(|(pack, class)| pack.rules.get(class)),
        };
        if let Some(class) = class.filter(|_| case.envelope.is_none() && !self.envelopes.is_empty())
        {
            let message =
                format!("no envelope for `{class}` was given, so its rules are not known");
            findings.add(&rule::ENVELOPE_MISSING, "/decisionType", message);
        }
        if let Some(class) = class.filter(|_| pack.is_none() && !self.packs.is_empty()) {
            let message = format!("no pack that was given has rules for `{class}`");
            findings.add(&rule::PACK_MISSING, "/decisionType", message);
        }
        case.check(&mut findings);
        let reads_as = derive::reading(facts, &findings);
        let drift = derive::drift(facts, &findings, reads_as.as_ref(), state.as_ref());
        let name = ["episodeId", "episode_id", "decisionId"];
        EpisodeReport {
            episode_id: name.iter().find_map(|key| facts.text(&[key])).map(shown),
            seal: state,
            reads_as,
            drift,
            ..EpisodeReport::of(DocumentKind::Episode, source, findings)
        }
    }

    fn pack(&self, facts: Facts, class: Option<&str>) -> Option<&Pack> {
        let class = class?;
        let named = facts.text(&["policy", "policyPackId"]);
        let mut packs = self.packs.iter().filter(|pack| pack.rules.contains_key(class));
        let first = packs.clone().next();
        packs.find(|pack| Some(pack.policy_pack_id.as_str()) == named).or(first)
    }
}

fn unreadable(error: Unreadable, source: &str) -> EpisodeReport {
    let mut findings = Findings::default();
    findings.add(error.rule, "", error.message);
    EpisodeReport::of(DocumentKind::Unknown, source, findings)
}

/// A name as a report shows it.
pub(crate) fn shown(name: &str) -> String {
    legible(name, MAX_NAME)
}

/// What a document is, by the members that only such a document has.
fn kind(node: &Node) -> DocumentKind {
    let has = |names: &[&str]| names.iter().any(|name| node.get(name).is_some());
    if has(&["episodeId"]) && !has(&["driftId", "driftType"]) {
        return DocumentKind::Episode;
    }
    let is_drift = has(&["driftId", "driftType", "ds_id"]);
    if is_drift || (has(&["trigger"]) && has(&["severity"])) {
        return DocumentKind::Drift;
    }
    let inner = node.get("content").and_then(|content| content.get("document_type"));
    let is_envelope = has(&["deadlineMs", "deadline_ms", "stageBudgetsMs", "stage_budgets_ms"]);
    if is_envelope || inner.and_then(Node::text) == Some("DTE") {
        return DocumentKind::Envelope;
    }
    if has(&["policyPackId"]) && has(&["rules"]) {
        return DocumentKind::Pack;
    }
    let holds_one = || node.members().iter().any(|m| m.value.get("episodeId").is_some());
    let is_episode = has(&["episode_id", "decisionId", "seal", "verification"]);
    if is_episode || holds_one() {
        return DocumentKind::Episode;
    }
    DocumentKind::Unknown
}
