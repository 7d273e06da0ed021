//! Supports of claims: each points at something that came before, and at the bytes that it says.

use probity_grounding::{Fault, Marker, cited};
use probity_report::{Failures, Rule};

use super::marker::Cites;
use super::{CHECK, Claims};
use crate::evidence::Withheld;
use crate::identity::Key;
use crate::model::{Claim, Event, Support, SupportKind};
use crate::scene::Scene;

const LINKAGE: &str = "INV-LNK-001";
const CONTENT: &str = "INV-EVD-001";

pub(super) static FABRICATED: Rule =
    Rule::error("citation_fabricated", CHECK, "a support by evidence that was not registered")
        .under(LINKAGE);
pub(super) static CLAIM_UNKNOWN: Rule = Rule::error(
    "trace_support_claim_unknown",
    CHECK,
    "a support by a claim that was not made before",
)
.under(LINKAGE);
pub(super) static ITSELF: Rule =
    Rule::error("trace_support_itself", CHECK, "a claim that supports itself").under(LINKAGE);
pub(super) static CALL_UNKNOWN: Rule = Rule::error(
    "trace_support_call_unknown",
    CHECK,
    "a support by a tool call that had not returned before",
)
.under(LINKAGE);
pub(super) static OUT_OF_BOUNDS: Rule =
    Rule::error("citation_out_of_bounds", CHECK, "a span that ends behind what is cited")
        .under(CONTENT);
pub(super) static SPLIT_CHARACTER: Rule =
    Rule::error("citation_split_character", CHECK, "a span that begins or ends in a character")
        .under(CONTENT);
pub(super) static HASH_MISMATCH: Rule =
    Rule::error("citation_hash_mismatch", CHECK, "cited bytes with another SHA-256").under(CONTENT);
pub(super) static CHANGED: Rule =
    Rule::error("trace_evidence_changed", CHECK, "evidence that changed while it was audited")
        .under(CONTENT);
pub(super) static LIMIT: Rule =
    Rule::limit("citation_limit", CHECK, "a citation beyond what is read again for it");

/// Why the text of a support is not given.
enum Untold {
    /// What is wrong was told elsewhere.
    Told,
    /// A rule is broken.
    Rule(&'static Rule),
    /// The bytes are not what the support says.
    Fault(Fault),
}

impl Claims {
    /// Holds every support against what it cites, and the quotes of the statement against that. What
    /// is wrong with quotes goes to `ungrounded`.
    pub(super) fn hold_supports(
        &mut self,
        scene: &Scene,
        event: &Event,
        claim: &Claim,
        cites: &Cites,
        (failures, ungrounded): (&mut Failures, &mut Failures),
    ) {
        for (at, support) in claim.supports.iter().enumerate() {
            let held = match support.kind {
                SupportKind::Evidence => self
                    .evidence(scene, support)
                    .map(|text| cites.hold(event, at, text, ungrounded)),
                SupportKind::Claim => self.by_claim(claim, support),
                SupportKind::ToolCall => self.by_call(support),
            };
            match held {
                Ok(()) | Err(Untold::Told) => {}
                Err(Untold::Rule(rule)) if failures.is_only_counted(rule) => {}
                Err(Untold::Rule(rule)) => {
                    let place = event.place(&format!("/claim/supports/{at}/ref_id"));
                    failures.add(rule, place, rule.finds);
                }
                Err(Untold::Fault(fault)) => tell(&fault, event, support, at, failures),
            }
        }
    }

    /// The cited text of a piece of evidence.
    fn evidence(&mut self, scene: &Scene, support: &Support) -> Result<&str, Untold> {
        let (_, end) = support.span;
        let window = self.evidences.window(scene, &support.ref_id, support.span);
        let window = window.map_err(|withheld| match withheld {
            Withheld::Unknown => Untold::Rule(&FABRICATED),
            Withheld::Told => Untold::Told,
            Withheld::Changed => Untold::Rule(&CHANGED),
            Withheld::Limit => Untold::Rule(&LIMIT),
            Withheld::Outside(len) => Untold::Fault(Fault::OutOfBounds { end, len }),
        })?;
        cited(&marker(support, window.base), window.bytes).map_err(Untold::Fault)
    }

    /// A claim supports another by its statement.
    fn by_claim(&mut self, claim: &Claim, support: &Support) -> Result<(), Untold> {
        let key = Key::of(&support.ref_id);
        if support.ref_id == claim.id {
            return Err(Untold::Rule(&ITSELF));
        }
        if !self.facts.contains_key(&key) {
            return Err(Untold::Rule(&CLAIM_UNKNOWN));
        }
        let statement = self.texts.statement(key).ok_or(Untold::Rule(&LIMIT))?;
        cited(&marker(support, 0), statement).map(drop).map_err(Untold::Fault)
    }

    /// A tool call supports by the canonical text of what it returned.
    fn by_call(&mut self, support: &Support) -> Result<(), Untold> {
        let key = Key::of(&support.ref_id);
        if !self.texts.has_returned(key) {
            return Err(Untold::Rule(&CALL_UNKNOWN));
        }
        let result = self.texts.result(key).ok_or(Untold::Rule(&LIMIT))?;
        cited(&marker(support, 0), result.as_bytes()).map(drop).map_err(Untold::Fault)
    }
}

/// A support as a marker into bytes that begin at `base` of what it cites.
fn marker<'s>(support: &'s Support, base: u64) -> Marker<'s> {
    let (start, end) = support.span;
    Marker {
        id: &support.ref_id,
        start: start.saturating_sub(base),
        end: end.saturating_sub(base),
        sha256: &support.snippet_sha256,
    }
}

fn tell(fault: &Fault, event: &Event, support: &Support, at: usize, failures: &mut Failures) {
    if failures.is_only_counted(rule_of(fault)) {
        return;
    }
    let place = |key: &str| event.place(&format!("/claim/supports/{at}/{key}"));
    match fault {
        Fault::HashMismatch { actual } => {
            let expected = &support.snippet_sha256;
            failures.differs(&HASH_MISMATCH, place("snippet_sha256"), expected, actual);
        }
        fault => failures.add(rule_of(fault), place("span"), fault.to_string()),
    }
}

const fn rule_of(fault: &Fault) -> &'static Rule {
    match fault {
        Fault::OutOfBounds { .. } => &OUT_OF_BOUNDS,
        Fault::SplitCharacter => &SPLIT_CHARACTER,
        // All of it was UTF-8 when it was registered.
        Fault::NotUtf8 => &CHANGED,
        Fault::HashMismatch { .. } => &HASH_MISMATCH,
        // Nothing else is wrong with one citation; if it were, it was not proved.
        _ => &LIMIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One kind of fault has one code, in a live check and in a trace.
    #[test]
    fn a_fault_has_the_code_of_its_rule() {
        let actual = String::new();
        let faults = [
            Fault::OutOfBounds { end: 1, len: 0 },
            Fault::SplitCharacter,
            Fault::HashMismatch { actual },
        ];
        for fault in faults {
            assert_eq!(rule_of(&fault).code, fault.code());
        }
        assert_eq!(FABRICATED.code, Fault::Fabricated.code());
        let found = Fault::TooFewSupports { found: 1, required: 2 };
        assert_eq!(super::super::TOO_FEW_SUPPORTS.code, found.code());
    }
}
