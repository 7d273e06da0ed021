//! The answer: it is what was claimed and validated, or there is none.

mod insufficiency;

use std::borrow::Cow;
use std::collections::HashSet;

use probity_report::{Failures, Place, Rule};
use sha2::{Digest as _, Sha256};

use crate::claim::{Fact, Facts};
use crate::evidence::Counts;
use crate::identity::Key;
use crate::model::{Event, Output, TRACE};
use crate::scene::Scene;

use insufficiency::Insufficiency;

const CHECK: &str = "answer";

static VERIFY_UNKNOWN: Rule =
    Rule::error("trace_verify_unknown_claim", CHECK, "a verdict on a claim that was not made");
static VERIFY_TWICE: Rule = Rule::error("trace_verify_twice", CHECK, "a second verdict on a claim");
static VERIFY_REJECTED: Rule =
    Rule::error("trace_verify_rejected", CHECK, "a validated claim that says it was rejected");
static VERIFY_SUPPORTED: Rule =
    Rule::error("trace_verify_supported", CHECK, "a claim that is said to lack support and has it");
static VERIFY_LEFT_OUT: Rule =
    Rule::error("trace_verify_left_out", CHECK, "a claim without a verdict");
static FINAL_UNKNOWN: Rule =
    Rule::error("trace_final_unknown_claim", CHECK, "a final claim that was not made");
static FINAL_NOT_VALIDATED: Rule =
    Rule::error("trace_final_not_validated", CHECK, "a final claim that was not validated");
static FINAL_TWICE: Rule =
    Rule::error("trace_final_twice", CHECK, "a claim that is listed twice as final");
static ANSWER_DIFFERS: Rule =
    Rule::error("trace_answer_differs", CHECK, "an answer that is not the first final claim");
static ANSWER_UNFOUNDED: Rule =
    Rule::error("trace_answer_unfounded", CHECK, "an answer without a final claim");
static ANSWER_UNGROUNDED: Rule =
    Rule::error("trace_answer_ungrounded", CHECK, "an answer from a claim that is not grounded");
static ANSWER_MISSING: Rule =
    Rule::error("trace_answer_missing", CHECK, "validated claims, and no answer");

/// What is found of verdicts on claims, answers, and the lack of one.
pub(crate) static RULES: &[&Rule] = &[
    &VERIFY_UNKNOWN,
    &VERIFY_TWICE,
    &VERIFY_REJECTED,
    &VERIFY_SUPPORTED,
    &VERIFY_LEFT_OUT,
    &FINAL_UNKNOWN,
    &FINAL_NOT_VALIDATED,
    &FINAL_TWICE,
    &ANSWER_DIFFERS,
    &ANSWER_UNFOUNDED,
    &ANSWER_UNGROUNDED,
    &ANSWER_MISSING,
    &insufficiency::NUMBERS,
    &insufficiency::REQUIRED,
    &insufficiency::RETRIEVED,
    &insufficiency::ANSWERED,
    &insufficiency::CLAIMED,
    &insufficiency::MARKED,
    &insufficiency::NO_CLAIM,
];

/// What the run ended with. No family by itself: [`crate::claim::Claims`] hands it its events.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    has_verdicts: bool,
    /// The final output: where, and whether it answers.
    ended: Option<(Place, bool)>,
    insufficiency: Insufficiency,
}

impl Answers {
    /// Holds what a step gave against the claims so far.
    pub(crate) fn output(
        &mut self,
        scene: &Scene,
        event: &Event,
        output: &Output,
        facts: &mut Facts,
        counts: Counts,
        failures: &mut Failures,
    ) {
        match output {
            Output::Verify { validated, rejected, missing_support } => {
                self.has_verdicts = true;
                verdicts(event, "validated_claim_ids", validated, true, facts, failures);
                verdicts(event, "rejected_claim_ids", rejected, false, facts, failures);
                missing(event, missing_support, facts, failures);
            }
            Output::Finalize { claim_ids, answer, .. } => {
                self.ended = Some((event.place("/output/final_answer"), answer.is_some()));
                finals(event, claim_ids, facts, failures);
                check_answer(event, claim_ids, answer.as_deref(), facts, failures);
            }
            Output::Insufficient { retrieved, required, .. } => {
                let said = (*retrieved, *required);
                self.insufficiency.said(scene, event, said, counts, failures);
            }
            Output::Understand { .. } | Output::Gather { .. } | Output::Derive { .. } => {}
        }
    }

    /// Holds the end of the run against all claims.
    pub(crate) fn finish(&self, scene: &Scene, facts: &Facts, failures: &mut Failures) {
        if self.has_verdicts {
            let open = facts.values().filter(|fact| fact.is_validated.is_none());
            let mut lines: Vec<u64> = open.map(|fact| fact.line).collect();
            lines.sort_unstable();
            for line in lines {
                let place = Place::file(TRACE).line(line).pointer("/event/claim/id");
                failures.add(&VERIFY_LEFT_OUT, place, VERIFY_LEFT_OUT.finds);
            }
        }
        let ended = self.ended.as_ref();
        let has_answer = ended.is_some_and(|(_, has_answer)| *has_answer);
        self.insufficiency.finish(scene, facts, has_answer, failures);
        let is_validated = |fact: &Fact| fact.is_validated == Some(true);
        if let Some((place, false)) = ended
            && !self.insufficiency.is_said()
            && facts.values().any(is_validated)
        {
            failures.add(&ANSWER_MISSING, place.clone(), ANSWER_MISSING.finds);
        }
    }
}

/// Takes the verdicts of one list: each claim has exactly one.
fn verdicts(
    event: &Event,
    key: &str,
    ids: &[Cow<str>],
    is_validated: bool,
    facts: &mut Facts,
    failures: &mut Failures,
) {
    for (at, id) in ids.iter().enumerate() {
        let mut tell = |rule: &'static Rule| {
            if failures.is_only_counted(rule) {
                return;
            }
            failures.add(rule, event.place(&format!("/output/{key}/{at}")), rule.finds);
        };
        match facts.get_mut(&Key::of(id)) {
            None => tell(&VERIFY_UNKNOWN),
            Some(Fact { is_validated: Some(_), .. }) => tell(&VERIFY_TWICE),
            Some(fact) => {
                fact.is_validated = Some(is_validated);
                if is_validated && fact.is_rejected {
                    tell(&VERIFY_REJECTED);
                }
            }
        }
    }
}

/// Takes the claims that are said to lack support. The source system lists them as rejected too.
fn missing(event: &Event, ids: &[Cow<str>], facts: &mut Facts, failures: &mut Failures) {
    let mut seen = HashSet::new();
    for (at, id) in ids.iter().enumerate() {
        let key = Key::of(id);
        let rule = match facts.get_mut(&key) {
            None => &VERIFY_UNKNOWN,
            Some(_) if !seen.insert(key) => &VERIFY_TWICE,
            Some(Fact { is_validated: Some(true), .. }) => &VERIFY_TWICE,
            Some(fact) => {
                fact.is_validated = Some(false);
                if !fact.is_grounded {
                    continue;
                }
                &VERIFY_SUPPORTED
            }
        };
        if !failures.is_only_counted(rule) {
            let pointer = format!("/output/missing_support_claim_ids/{at}");
            failures.add(rule, event.place(&pointer), rule.finds);
        }
    }
}

/// Holds the final claims against what became of them.
fn finals(event: &Event, ids: &[Cow<str>], facts: &Facts, failures: &mut Failures) {
    let mut seen = HashSet::new();
    for (at, id) in ids.iter().enumerate() {
        let key = Key::of(id);
        let rule = match facts.get(&key) {
            None => &FINAL_UNKNOWN,
            Some(_) if !seen.insert(key) => &FINAL_TWICE,
            Some(fact) if fact.is_validated != Some(true) => &FINAL_NOT_VALIDATED,
            Some(_) => continue,
        };
        if failures.is_only_counted(rule) {
            continue;
        }
        failures.add(rule, event.place(&format!("/output/final_claim_ids/{at}")), rule.finds);
    }
}

/// The answer is the statement of the first final claim, to the byte; and that is grounded, of
/// whatever type it says it is.
fn check_answer(
    event: &Event,
    ids: &[Cow<str>],
    answer: Option<&str>,
    facts: &Facts,
    failures: &mut Failures,
) {
    let rule = match (answer, ids.first()) {
        (None, None) => return,
        (Some(_), None) => &ANSWER_UNFOUNDED,
        (None, Some(_)) => &ANSWER_MISSING,
        (Some(answer), Some(first)) => {
            // A final claim that was not made is told as such.
            let Some(fact) = facts.get(&Key::of(first)) else { return };
            let digest: [u8; 32] = Sha256::digest(answer.as_bytes()).into();
            if digest != fact.statement_sha256 {
                &ANSWER_DIFFERS
            } else if !fact.is_derived && !fact.is_grounded {
                &ANSWER_UNGROUNDED
            } else {
                return;
            }
        }
    };
    failures.add(rule, event.place("/output/final_answer"), rule.finds);
}
