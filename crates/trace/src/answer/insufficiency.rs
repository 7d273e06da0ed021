//! Too little evidence: said honestly, and instead of an answer.

use probity_report::{Failures, Place, Rule};

use crate::claim::{Facts, stated};
use crate::evidence::Counts;
use crate::model::{Event, TRACE};
use crate::scene::Scene;

const CHECK: &str = "insufficiency";

pub(super) static NUMBERS: Rule = Rule::error(
    "trace_insufficient_numbers",
    CHECK,
    "insufficient evidence that would be enough by its own numbers",
);
pub(super) static REQUIRED: Rule = Rule::error(
    "trace_insufficient_required",
    CHECK,
    "insufficient evidence by another measure than the problem's",
);
pub(super) static RETRIEVED: Rule = Rule::error(
    "trace_insufficient_retrieved",
    CHECK,
    "insufficient evidence that counts other evidence than was registered",
);
pub(super) static ANSWERED: Rule =
    Rule::error("trace_insufficient_answer", CHECK, "an answer in spite of insufficient evidence");
pub(super) static CLAIMED: Rule =
    Rule::error("trace_insufficient_claim", CHECK, "a claim in spite of insufficient evidence");
pub(super) static MARKED: Rule = Rule::error(
    "trace_claim_marked",
    CHECK,
    "a claim marked insufficient where nothing else says that evidence is",
);
pub(super) static NO_CLAIM: Rule = Rule::error(
    "trace_no_claim",
    CHECK,
    "no derived claim, and nothing that says that evidence is insufficient",
);

/// Whether the run says that its evidence is insufficient.
#[derive(Debug, Default)]
pub(super) struct Insufficiency {
    said: Option<Place>,
}

impl Insufficiency {
    pub(super) const fn is_said(&self) -> bool {
        self.said.is_some()
    }

    /// Holds the numbers against the problem and against what was registered so far.
    pub(super) fn said(
        &mut self,
        scene: &Scene,
        event: &Event,
        (retrieved, required): (i64, i64),
        counts: Counts,
        failures: &mut Failures,
    ) {
        self.said.get_or_insert_with(|| event.place("/output"));
        if !(0..required).contains(&retrieved) {
            let message = format!("{retrieved} retrieved, {required} required");
            failures.add(&NUMBERS, event.place("/output/retrieved"), message);
        }
        let stated = stated(scene);
        if u64::try_from(required) != Ok(stated) {
            failures.differs(&REQUIRED, event.place("/output/required"), stated, required);
        }
        // Whether a blank text counts as retrieved is left open.
        let is_counted = u64::try_from(retrieved)
            .is_ok_and(|count| (counts.non_blank..=counts.non_empty).contains(&count));
        if !is_counted {
            let place = event.place("/output/retrieved");
            failures.differs(&RETRIEVED, place, counts.non_empty, retrieved);
        }
    }

    /// Either derived claims or insufficiency, never both, never neither.
    pub(super) fn finish(
        &self,
        scene: &Scene,
        facts: &Facts,
        has_answer: bool,
        failures: &mut Failures,
    ) {
        let Some(place) = &self.said else {
            let is_marked = facts.values().filter(|fact| fact.is_marked);
            tell_all(&MARKED, is_marked.map(|fact| fact.line), failures);
            if !facts.values().any(|fact| fact.is_derived) {
                failures.add(&NO_CLAIM, Place::file(TRACE), NO_CLAIM.finds);
            }
            return;
        };
        if has_answer {
            failures.add(&ANSWERED, place.clone(), ANSWERED.finds);
        }
        let allows_marked = scene.policy.allow_marked_insufficient;
        let refused = facts.values().filter(|fact| !(allows_marked && fact.is_marked));
        tell_all(&CLAIMED, refused.map(|fact| fact.line), failures);
    }
}

fn tell_all(rule: &'static Rule, lines: impl Iterator<Item = u64>, failures: &mut Failures) {
    let mut lines: Vec<u64> = lines.collect();
    lines.sort_unstable();
    for line in lines {
        let place = Place::file(TRACE).line(line).pointer("/event/claim");
        failures.add(rule, place, rule.finds);
    }
}
