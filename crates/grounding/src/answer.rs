//! An answer, held against its evidence.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::evidence::Shelf;
use crate::statement::{Statement, statements, states_something};
use crate::{Bound, EvidenceSource, Fault, Piece, PieceKind};

/// The longest answer that is read.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The most markers of one answer that are read.
pub const MAX_MARKERS: usize = 10_000;

/// The most bytes of evidence that one audit holds, all cited evidence together.
pub const MAX_EVIDENCE_BYTES: usize = 256 << 20;

/// The most cited bytes that one audit hashes, spans that several markers cite counted each time.
pub const MAX_HASHED_BYTES: usize = 256 << 20;

/// The most pieces of evidence in which a misattributed text is looked for.
pub const MAX_SEARCHED: usize = 64;

/// The most faults of one answer that are kept; what is beyond is counted.
pub const MAX_FAULTS: usize = 1000;

/// What an answer must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerPolicy {
    /// Distinct pieces of evidence that each claim must cite, at least; 0 is read as 1. Evidence of
    /// equal content counts once.
    pub min_supports: u64,
    /// Whether the text before a marker must be what the marker cites.
    pub quotes: Quotes,
    /// Whether [`crate::INSUFFICIENT`] is an answer.
    pub allow_insufficient: bool,
    /// Whether claims may stand beside lines that say [`crate::INSUFFICIENT`].
    pub allow_marked_insufficient: bool,
}

/// Whether the text before a marker must be what the marker cites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quotes {
    /// It must be, to the byte; white space around either does not count. Markers in a row share the
    /// text before them. Nothing but white space may be left over.
    Exact,
    /// It may be any text; the cited bytes must still hash as the marker says. A marker covers its
    /// line, back to the marker before it.
    Any,
}

impl Default for AnswerPolicy {
    fn default() -> Self {
        Self {
            min_supports: 1,
            quotes: Quotes::Exact,
            allow_insufficient: true,
            allow_marked_insufficient: false,
        }
    }
}

/// What an answer came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerAudit {
    /// Claims that it makes.
    pub claims: u64,
    /// Markers that it holds.
    pub markers: u64,
    /// Distinct pieces of evidence that it cites.
    pub evidence: u64,
    /// Whether it says that the evidence is insufficient, for all of it or for a line.
    pub is_insufficient: bool,
    /// What is wrong, in the order of the text: at most [`MAX_FAULTS`].
    pub faults: Vec<Found>,
    /// How many faults there are, those not kept included.
    pub faults_total: u64,
}

/// A fault and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Bytes of the answer.
    pub at: Range<usize>,
    /// The evidence that it is about; empty where it is about none.
    pub id: String,
    /// What is wrong.
    pub fault: Fault,
}

impl AnswerAudit {
    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_grounded(&self) -> bool {
        self.faults_total == 0
    }
}

/// Holds an answer against its evidence. Every claim must be covered by markers that hold; an answer
/// without any claim must say so. Equal arguments give equal results.
#[must_use]
pub fn audit_answer(text: &str, source: &dyn EvidenceSource, policy: AnswerPolicy) -> AnswerAudit {
    let mut audit = Audit::new(text, source, policy);
    if text.len() > MAX_ANSWER_BYTES {
        audit.fault(0..text.len(), "", Fault::Limit(Bound::Answer));
        return audit.out;
    }
    let is_whole = statements(text, policy.quotes).iter().all(|one| audit.statement(one));
    match is_whole {
        true => audit.finish(),
        false => audit.out,
    }
}

struct Audit<'a> {
    text: &'a str,
    policy: AnswerPolicy,
    shelf: Shelf<'a>,
    cited: BTreeSet<Support>,
    insufficient_at: Option<Range<usize>>,
    out: AnswerAudit,
}

/// What tells one support from another: the content, or the id where there is none.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Support {
    Content([u8; 32]),
    Id(String),
}

impl<'a> Audit<'a> {
    fn new(text: &'a str, source: &'a dyn EvidenceSource, policy: AnswerPolicy) -> Self {
        let (cited, out) = (BTreeSet::new(), AnswerAudit::default());
        Self { text, policy, shelf: Shelf::new(source), cited, insufficient_at: None, out }
    }

    /// Audits one statement; `false` where a bound ends the audit.
    fn statement(&mut self, statement: &Statement) -> bool {
        let is_quote = self.policy.quotes == Quotes::Exact && !statement.is_insufficient;
        let mut supports = BTreeSet::new();
        let mut before = 0..0;
        let mut is_covered = true;
        let mut says_something = is_quote;
        for part in &statement.parts {
            if part.kind == PieceKind::Text {
                let text = self.trimmed(&part.at);
                if self.says(&text) {
                    (before, is_covered, says_something) = (text, false, true);
                }
                continue;
            }
            is_covered = true;
            if self.out.markers >= MAX_MARKERS as u64 {
                self.fault(part.at.clone(), "", Fault::Limit(Bound::Markers));
                return false;
            }
            self.out.markers = self.out.markers.saturating_add(1);
            let quote = is_quote.then(|| before.clone());
            supports.extend(self.marker(part, quote));
        }
        if statement.is_insufficient {
            self.insufficient_at.get_or_insert(before);
        } else if says_something {
            self.out.claims = self.out.claims.saturating_add(1);
            if !is_covered {
                self.fault(before, "", Fault::Unmarked);
            }
            self.count(statement, &supports);
        }
        self.cited.append(&mut supports);
        true
    }

    /// Holds one marker against its evidence. Gives what it supports, whether it holds or not.
    fn marker(&mut self, part: &Piece, quote: Option<Range<usize>>) -> Option<Support> {
        let marker = match part.kind {
            PieceKind::Marker(marker) => marker,
            PieceKind::Malformed(malformation) => {
                self.fault(part.at.clone(), "", Fault::MarkerMalformed(malformation));
                return None;
            }
            PieceKind::Text => return None,
        };
        let text = self.text;
        let quoted = quote.clone().map(|at| text.get(at).unwrap_or_default());
        if let Err(fault) = self.shelf.hold(&marker, quoted) {
            let is_text = matches!(fault, Fault::Unmarked | Fault::QuoteDiffers);
            let at = quote.filter(|quote| is_text && !quote.is_empty());
            self.fault(at.unwrap_or_else(|| part.at.clone()), marker.id, fault);
        }
        let content = self.shelf.sha256(marker.id).map(Support::Content);
        Some(content.unwrap_or_else(|| Support::Id(marker.id.to_owned())))
    }

    /// Whether a claim that has markers has enough of them.
    fn count(&mut self, statement: &Statement, supports: &BTreeSet<Support>) {
        let (found, required) = (supports.len() as u64, self.policy.min_supports.max(1));
        let parts = statement.parts.first().zip(statement.parts.last());
        if let Some((first, last)) = parts
            && (1..required).contains(&found)
        {
            let at = self.trimmed(&(first.at.start..last.at.end));
            self.fault(at, "", Fault::TooFewSupports { found, required });
        }
    }

    fn finish(mut self) -> AnswerAudit {
        self.out.evidence = self.cited.len() as u64;
        let insufficient_at = self.insufficient_at.take();
        self.out.is_insufficient = insufficient_at.is_some();
        let AnswerPolicy { allow_insufficient, allow_marked_insufficient, .. } = self.policy;
        match (insufficient_at, self.out.claims) {
            (None, 0) => self.fault(0..self.text.len(), "", Fault::NoClaim),
            (Some(at), 0) if !allow_insufficient => {
                self.fault(at, "", Fault::InsufficientRefused);
            }
            (Some(at), 1..) if !allow_marked_insufficient => {
                self.fault(at, "", Fault::InsufficientBesideClaims);
            }
            _ => {}
        }
        let place = |found: &Found| (found.at.start, found.at.end, found.fault.code());
        self.out.faults.sort_by_key(place);
        self.out
    }

    /// Whether a text, blanks around it taken off, says something that a marker must cover.
    fn says(&self, at: &Range<usize>) -> bool {
        let text = self.text.get(at.clone()).unwrap_or_default();
        match self.policy.quotes {
            Quotes::Exact => !text.is_empty(),
            Quotes::Any => states_something(text),
        }
    }

    fn trimmed(&self, at: &Range<usize>) -> Range<usize> {
        let text = self.text.get(at.clone()).unwrap_or_default().trim_end();
        let blanks = text.len().saturating_sub(text.trim_start().len());
        at.start.saturating_add(blanks)..at.start.saturating_add(text.len())
    }

    fn fault(&mut self, at: Range<usize>, id: &str, fault: Fault) {
        self.out.faults_total = self.out.faults_total.saturating_add(1);
        if self.out.faults.len() < MAX_FAULTS {
            self.out.faults.push(Found { at, id: id.to_owned(), fault });
        }
    }
}
