//! Claims: what each cites is there, to the byte.

mod citation;
mod marker;
mod reasoning;
mod text;

use std::collections::{HashMap, HashSet};

use probity_report::{Failures, Rule};
use sha2::{Digest as _, Sha256};

use crate::answer::Answers;
use crate::evidence::Evidences;
use crate::identity::Key;
use crate::model::{Body, Claim, ClaimType, Event, Status, SupportKind};
use crate::scene::{Family, Scene};

use marker::Cites;
use reasoning::Reasoning;
use text::Texts;

const CHECK: &str = "claims";
const GROUNDING: &str = "INV-GRD-001";

static TWICE: Rule = Rule::error("trace_claim_twice", CHECK, "a claim with the id of another");
static UNSUPPORTED: Rule =
    Rule::error("trace_claim_unsupported", CHECK, "a derived claim that cites no evidence")
        .under(GROUNDING);
static TOO_FEW_SUPPORTS: Rule = Rule::error(
    "citation_too_few_supports",
    CHECK,
    "a derived claim that cites fewer distinct pieces of evidence than it must",
)
.under("INV-GRD-002");
static REJECTED: Rule =
    Rule::error("trace_claim_rejected", CHECK, "a derived claim that says it was rejected");

/// What is found of claims.
pub(crate) static RULES: &[&Rule] = &[
    &TWICE,
    &UNSUPPORTED,
    &TOO_FEW_SUPPORTS,
    &REJECTED,
    &citation::FABRICATED,
    &citation::CLAIM_UNKNOWN,
    &citation::ITSELF,
    &citation::CALL_UNKNOWN,
    &citation::OUT_OF_BOUNDS,
    &citation::SPLIT_CHARACTER,
    &citation::HASH_MISMATCH,
    &citation::CHANGED,
    &citation::LIMIT,
    &marker::MALFORMED,
    &marker::WITHOUT_SUPPORT,
    &marker::SUPPORT_WITHOUT,
    &marker::ORDER,
    &marker::QUOTE_DIFFERS,
    &marker::UNMARKED,
    &marker::NO_CLAIM,
    &reasoning::RESULT_SHA256,
    &reasoning::PICKED,
    &reasoning::REASONER,
    &reasoning::QUESTION,
    &reasoning::MISSING,
    &reasoning::UNFOUNDED,
    &reasoning::HEADER_RESULT,
    &reasoning::HEADER_QUESTION,
    &reasoning::HEADER_EVIDENCE,
    &reasoning::MIN_SUPPORTS,
];

/// What was claimed, what it rests on, and what became of it: one family, because each is held
/// against the others.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    facts: Facts,
    evidences: Evidences,
    texts: Texts,
    reasoning: Reasoning,
    answers: Answers,
}

/// What is remembered of the claims.
pub(crate) type Facts = HashMap<Key, Fact>;

/// What is remembered of a claim.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fact {
    /// The line of its event.
    pub(crate) line: u64,
    pub(crate) statement_sha256: [u8; 32],
    pub(crate) is_derived: bool,
    pub(crate) is_rejected: bool,
    /// Derived, rejected, and said to be insufficient.
    pub(crate) is_marked: bool,
    /// It fulfils what a derived claim must.
    pub(crate) is_grounded: bool,
    /// A verify step named it: as validated, or not.
    pub(crate) is_validated: Option<bool>,
}

impl Claims {
    /// SHA-256 of the evidence files that are what they should be, by id.
    pub(crate) fn evidence_sums(&self) -> HashMap<Key, [u8; 32]> {
        self.evidences.sums()
    }
}

impl Family for Claims {
    fn event(&mut self, scene: &Scene, event: &Event, failures: &mut Failures) {
        self.reasoning.open(scene);
        match &event.body {
            Body::EvidenceRegistered(evidence) => {
                self.reasoning.registered(&evidence.id);
                self.evidences.register(scene, event, evidence, failures);
            }
            Body::ToolReturned(returned) => self.texts.returned(returned),
            Body::ClaimEmitted(claim) => self.claim(scene, event, claim, failures),
            Body::StepFinished(output) => {
                let counts = self.evidences.counts();
                self.answers.output(scene, event, output, &mut self.facts, counts, failures);
            }
            Body::StepStarted | Body::ToolCalled(_) => {}
        }
    }

    fn finish(&mut self, scene: &Scene, failures: &mut Failures) {
        self.reasoning.open(scene);
        self.reasoning.finish(scene, failures);
        self.answers.finish(scene, &self.facts, failures);
    }
}

impl Claims {
    fn claim(&mut self, scene: &Scene, event: &Event, claim: &Claim, failures: &mut Failures) {
        let key = Key::of(&claim.id);
        let is_derived = claim.claim_type == ClaimType::Derived;
        let is_rejected = claim.status == Status::Rejected;
        let is_marked = is_derived && is_rejected && says_insufficient(claim);
        if is_derived && is_rejected && !is_marked {
            failures.add(&REJECTED, event.place("/claim/status"), REJECTED.finds);
        }
        // What only derived claims must fulfil is told only of them.
        let (mut found, mut ungrounded) = (Failures::new(), Failures::new());
        let cites = Cites::of(scene, event, claim, &mut ungrounded);
        self.hold_supports(scene, event, claim, &cites, (&mut found, &mut ungrounded));
        if !is_marked {
            check_count(scene, event, claim, &mut ungrounded);
        }
        let is_grounded = found.is_clean() && ungrounded.is_clean();
        failures.append(found);
        if is_derived {
            failures.append(ungrounded);
            self.reasoning.derived(scene, event, claim, failures);
        }
        if self.facts.contains_key(&key) {
            failures.add(&TWICE, event.place("/claim/id"), TWICE.finds);
            return;
        }
        self.texts.claimed(key, &claim.statement);
        let statement_sha256 = Sha256::digest(claim.statement.as_bytes()).into();
        self.facts.insert(
            key,
            Fact {
                line: event.line,
                statement_sha256,
                is_derived,
                is_rejected,
                is_marked,
                is_grounded,
                is_validated: None,
            },
        );
    }
}

/// Whether the claim itself says that its evidence is insufficient.
fn says_insufficient(claim: &Claim) -> bool {
    claim.structured.get("insufficient").and_then(|said| said.bool()) == Some(true)
}

/// Evidence counts once, however often it is cited. It is told apart by id: equal text may stand at
/// two places of a document, and both count.
fn check_count(scene: &Scene, event: &Event, claim: &Claim, failures: &mut Failures) {
    let evidence = claim.supports.iter().filter(|support| support.kind == SupportKind::Evidence);
    let distinct: HashSet<&str> = evidence.map(|support| support.ref_id.as_ref()).collect();
    let (found, required) = (distinct.len() as u64, required(scene));
    if found == 0 {
        failures.add(&UNSUPPORTED, event.place("/claim/supports"), UNSUPPORTED.finds);
    } else if found < required {
        failures.differs(&TOO_FEW_SUPPORTS, event.place("/claim/supports"), required, found);
    }
}

/// Distinct pieces of evidence that a claim must cite: the problem says it, the caller may raise it.
fn required(scene: &Scene) -> u64 {
    stated(scene).max(scene.policy.min_supports.unwrap_or(0))
}

/// The same as the problem says it.
pub(crate) fn stated(scene: &Scene) -> u64 {
    const DEFAULT: u64 = 2;
    scene.spec.and_then(|spec| spec.min_supports).unwrap_or(DEFAULT)
}
