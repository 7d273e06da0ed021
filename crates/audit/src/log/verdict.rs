//! The verdict of a round.

use probity_core::{Code, Digest, Drift, Event, Judgement, SubmissionId, Turn};

use super::charge::Work;
use super::dispatch::round;
use super::flight::Flight;
use super::rule;
use super::ruling::Ruling;
use super::submission::Submission;
use super::walk::Walk;

/// The last verdict.
pub(super) struct Judged {
    pub(super) turn: Turn,
    pub(super) judgement: Judgement,
    pub(super) code: Code,
    /// It is about the claim that was checked, and its findings lead to it.
    pub(super) is_backed: bool,
}

/// A verdict as the log holds it.
pub(super) struct Merged<'a> {
    turn: Turn,
    submission: &'a SubmissionId,
    candidate: Digest,
    judgement: Judgement,
    code: &'a Code,
    counted: bool,
    attempts: u32,
    drift: Option<Drift>,
    repeat_of: Option<Turn>,
    reused: Option<Turn>,
    flaky: bool,
}

impl<'a> Merged<'a> {
    pub(super) const fn of(event: &'a Event) -> Option<Self> {
        let Event::VerdictMerged {
            turn,
            submission,
            candidate,
            judgement,
            code,
            counted,
            attempts,
            drift,
            repeat_of,
            reused,
            flaky,
        } = event
        else {
            return None;
        };
        Some(Self {
            turn: *turn,
            submission,
            candidate: *candidate,
            judgement: *judgement,
            code,
            counted: *counted,
            attempts: *attempts,
            drift: *drift,
            repeat_of: *repeat_of,
            reused: *reused,
            flaky: *flaky,
        })
    }
}

impl Walk<'_> {
    pub(super) fn merged(&mut self, merged: &Merged<'_>) {
        self.begin(Flight::None);
        self.total(merged);
        if !self.judged.insert(merged.turn) {
            let message = format!("round {} has a verdict", round(merged.turn));
            self.found(&rule::VERDICT_RERUN, message);
        }
        let Some(claim) = self.claim.take() else {
            self.found(&rule::WITHOUT_CLAIM, "a verdict on no claim");
            return;
        };
        let is_about = self.is_about(merged, &claim);
        let ruling = self.ruling(&claim);
        self.hold(merged, &claim, &ruling);
        let (candidate, work) = (claim.candidate, claim.work);
        let is_attempt = self.charges.is_attempt(merged.judgement, candidate, work);
        match (is_attempt, merged.counted) {
            (true, false) => self.found(&rule::UNCOUNTED, rule::UNCOUNTED.finds),
            (false, true) => self.found(&rule::OVERCOUNTED, rule::OVERCOUNTED.finds),
            _ => {}
        }
        self.repeat(merged, candidate, work);
        self.charges.judged(claim.turn, merged.judgement, is_attempt, candidate, work);
        self.last = Some(Judged {
            turn: merged.turn,
            judgement: merged.judgement,
            code: merged.code.clone(),
            is_backed: is_about && ruling.judgement == merged.judgement,
        });
    }

    /// The total is that of the verdict before, and this one where it is charged.
    fn total(&mut self, merged: &Merged<'_>) {
        let expected = self.charges.stated.saturating_add(merged.counted.into());
        if merged.attempts != expected {
            self.differs(&rule::ATTEMPTS, expected, merged.attempts);
        }
        self.charges.stated = merged.attempts;
    }

    fn is_about(&mut self, merged: &Merged<'_>, claim: &Submission) -> bool {
        let said = [
            (round(claim.turn), round(merged.turn)),
            (claim.id.to_string(), merged.submission.to_string()),
            (claim.candidate.to_string(), merged.candidate.to_string()),
        ];
        let mut is_about = true;
        for (expected, actual) in said {
            if expected != actual {
                self.differs(&rule::OTHER_CLAIM, expected, actual);
                is_about = false;
            }
        }
        is_about
    }

    /// The verdict is the one that the findings lead to.
    fn hold(&mut self, merged: &Merged<'_>, claim: &Submission, ruling: &Ruling) {
        if let Some(check) = &ruling.skipped {
            self.found(&rule::CHECK_SKIPPED, format!("check `{check}` did not run on the claim"));
        }
        let word = |judgement: Judgement, code: &Code, reused: Option<Turn>| {
            let earlier = reused.map_or_else(String::new, |turn| format!(" of {}", round(turn)));
            format!("{} ({code}{earlier})", judgement.as_str())
        };
        let expected = word(ruling.judgement, &ruling.code, ruling.reused);
        let actual = word(merged.judgement, merged.code, merged.reused);
        let is_same = merged.judgement == ruling.judgement && merged.reused == ruling.reused;
        if claim.is_tampered && (!is_same || *merged.code != ruling.code) {
            self.differs(&rule::JUDGE_SWAPPED, expected, actual);
        } else if merged.judgement == Judgement::Pass && ruling.judgement == Judgement::Unverified {
            self.differs(&rule::PASS_WITHOUT_CHECK, expected, actual);
        } else if !is_same {
            self.differs(&rule::VERDICT, expected, actual);
        } else if *merged.code != ruling.code {
            self.differs(&rule::VERDICT_CODE, expected, actual);
        }
        let drift = self.drift(merged.judgement, merged.code);
        if merged.drift != drift {
            let word = |drift| match drift {
                None => "none",
                Some(Drift::Yellow) => "yellow",
                Some(Drift::Red) => "red",
            };
            self.differs(&rule::DRIFT, word(drift), word(merged.drift));
        }
    }

    fn repeat(&mut self, merged: &Merged<'_>, candidate: Digest, work: Work) {
        let repeat_of = self.charges.repeat_of(candidate);
        let is_flaky =
            merged.judgement == Judgement::Pass && self.charges.was_rejected(candidate, work);
        if (merged.repeat_of, merged.flaky) != (repeat_of, is_flaky) {
            let word = |repeat_of: Option<Turn>, is_flaky| {
                let first = repeat_of.map_or_else(|| "no round".to_owned(), round);
                format!("a repeat of {first}{}", if is_flaky { ", flaky" } else { "" })
            };
            let expected = word(repeat_of, is_flaky);
            self.differs(&rule::REPEAT, expected, word(merged.repeat_of, merged.flaky));
        }
    }
}
