//! A fold of its own over the events of a log. It shares no rule with the machine, so that the two
//! can disagree, and it goes on behind what it finds.

use std::collections::BTreeSet;
use std::fmt::Display;

use probity_core::{
    Code, Digest, Discrimination, Entry, Event, Outcome, Phase, RedFirst, Step, Subject, Trigger,
    Turn,
};
use probity_report::{Draft, Failures, Rule};

use super::charge::Charges;
use super::clock::Clock;
use super::flight::Flight;
use super::hooks::Hooks;
use super::lease::Hands;
use super::read::{Lines, Log, Opened};
use super::rule;
use super::submission::Submission;
use super::verdict::{Judged, Merged};

/// Goes through a whole log.
pub(super) fn check(log: &Log<'_>, draft: &mut Draft) {
    let (Some(run), Some(first)) = (log.opened(), log.entries.first()) else { return };
    let mut walk = Walk::new(run, first.at_ms, &log.lines, &mut draft.failures);
    walk.opened();
    for (seq, entry) in (1..).zip(log.entries.iter().skip(1)) {
        walk.take(seq, entry);
    }
    let (attempts, verdicts) = (walk.charges.attempts, walk.judged.len());
    draft.metrics.insert("log_attempts", attempts.into());
    draft.metrics.insert("log_verdicts", verdicts as u64);
}

/// An outcome that must come next.
pub(super) struct Due {
    pub(super) outcome: Outcome,
    pub(super) code: Code,
    pub(super) waived: bool,
    /// What it is not to come.
    pub(super) rule: &'static Rule,
}

pub(super) struct Walk<'a> {
    pub(super) run: Opened<'a>,
    pub(super) clock: Clock<'a>,
    pub(super) charges: Charges<'a>,
    pub(super) hooks: Hooks<'a>,
    pub(super) flight: Flight,
    /// How each check stands after it ran before the delegate.
    pub(super) red: Vec<Option<Discrimination>>,
    /// The judge's files as they were sealed.
    pub(super) judge: Option<Digest>,
    /// The round that the delegate was given last.
    pub(super) dispatched: Option<Turn>,
    /// The rounds that have a claim.
    pub(super) claimed: BTreeSet<Turn>,
    pub(super) steps: u64,
    pub(super) claim: Option<Submission>,
    /// The rounds that have a verdict.
    pub(super) judged: BTreeSet<Turn>,
    pub(super) last: Option<Judged>,
    /// The budget that the delegate of the last round used up, as it said itself.
    pub(super) kept_budget: Option<Code>,
    /// What the decision fell back to.
    pub(super) fallen: Vec<(Turn, Trigger, Step)>,
    pub(super) escalated: Option<(Outcome, Code)>,
    /// A human let the run go on, ever.
    pub(super) is_approved: bool,
    /// A human let the run go on, and the delegate was not given the task since.
    pub(super) is_granted: bool,
    pub(super) interruptions: u32,
    pub(super) hands: Hands,
    pub(super) due: Option<Due>,
    pub(super) outcome: Option<Outcome>,
    pub(super) at_ms: u64,
    seq: u64,
    lines: &'a Lines<'a>,
    failures: &'a mut Failures,
}

impl<'a> Walk<'a> {
    fn new(run: Opened<'a>, at_ms: u64, lines: &'a Lines<'a>, failures: &'a mut Failures) -> Self {
        Self {
            run,
            clock: Clock::new(run, at_ms),
            charges: Charges::new(run.policy),
            hooks: Hooks::new(run.hooks),
            flight: Flight::Reading(Phase::Before),
            red: vec![None; run.checks.len()],
            judge: None,
            dispatched: None,
            claimed: BTreeSet::new(),
            steps: 0,
            claim: None,
            judged: BTreeSet::new(),
            last: None,
            kept_budget: None,
            fallen: Vec::new(),
            escalated: None,
            is_approved: false,
            is_granted: false,
            interruptions: 0,
            hands: Hands::default(),
            due: None,
            outcome: None,
            at_ms,
            seq: 0,
            lines,
            failures,
        }
    }

    fn take(&mut self, seq: u64, entry: &Entry) {
        (self.seq, self.at_ms) = (seq, entry.at_ms);
        let event = &entry.event;
        let may_follow = matches!(
            event,
            Event::RunResumed { .. } | Event::LeaseTaken { .. } | Event::Sealed { .. }
        );
        if self.outcome.is_some() && !may_follow {
            let message = format!("`{}` after the outcome", event.name());
            self.found(&rule::AFTER_OUTCOME, message);
            return;
        }
        if let Some(due) = self.due.take()
            && self.settles(&due, event)
        {
            return;
        }
        self.fold(event);
        self.hands.driven(event);
    }

    /// One arm for every kind of event.
    fn fold(&mut self, event: &Event) {
        match event {
            // A second one is for the reader of records.
            Event::RunOpened { .. } => {}
            Event::WorldObserved { phase, manifest, judge } => {
                self.observed(*phase, *manifest, *judge);
            }
            Event::WorldUnreadable { phase, code, .. } => self.unreadable(*phase, code),
            Event::CheckStarted { phase: Phase::Before, check, tries } => {
                self.red_started(*check, *tries);
            }
            Event::CheckStarted { phase: Phase::After, check, tries } => {
                self.check_started(*check, *tries);
            }
            Event::CheckRed { check, discrimination, finding, .. } => {
                self.check_red(*check, *discrimination, finding);
            }
            Event::HookCalled { hook, turn } => self.hook_called(*hook, *turn),
            Event::HookAnswered { hook, decision, .. } => self.hook_answered(*hook, decision),
            Event::DegradeChosen { turn, trigger, step } => self.fell_back(*turn, *trigger, *step),
            Event::DelegateDispatched { turn, attempt, step } => {
                self.dispatched(*turn, *attempt, *step);
            }
            Event::DelegateNoted { turn, usage, .. } => self.noted(*turn, *usage),
            Event::DelegateParked { turn, until_ms, .. } => self.parked(*turn, *until_ms),
            Event::DelegateWoken { turn, answer } => self.woken(*turn, *answer),
            Event::ClaimReceived { turn, submission, candidate, work, usage, .. } => {
                self.claimed(*turn, submission, *candidate, *work, *usage);
            }
            Event::DelegateFailed { turn, code, .. } => self.delegate_failed(*turn, code),
            Event::CheckFinished { check, finding, judge, rewrite, .. } => {
                self.check_finished(*check, finding, *judge, rewrite.as_ref());
            }
            Event::CheckAwaits { check, submission, until_ms } => {
                self.check_awaits(*check, submission, *until_ms);
            }
            Event::CheckAnswered { check, submission, finding, judge, .. } => {
                self.check_answered(*check, submission, finding, *judge);
            }
            Event::VerdictMerged { .. } => {
                if let Some(merged) = Merged::of(event) {
                    self.merged(&merged);
                }
            }
            Event::RunResumed { interruptions } => self.resumed(*interruptions),
            Event::LeaseTaken { epoch, interruptions, .. } => self.leased(*epoch, *interruptions),
            Event::RunReleased => self.released(),
            Event::CancelRequested { .. } => self.cancel_requested(),
            Event::Steered { .. } => self.steered(),
            Event::Escalated { instead_of, code } => self.escalated(*instead_of, code),
            Event::Answered { answer, .. } => self.answered(*answer),
            Event::OutcomeDecided { outcome, code, waived } => {
                self.decided(*outcome, code, *waived);
            }
            Event::Sealed { outcome } => self.sealed(*outcome),
        }
    }

    /// What must come next is here, or another outcome in its place.
    fn settles(&mut self, due: &Due, event: &Event) -> bool {
        let Event::OutcomeDecided { outcome, code, waived } = event else {
            let message = format!("`{}` where the run ends as {}", event.name(), due.outcome);
            self.found(due.rule, message);
            return false;
        };
        if (*outcome, code, *waived) != (due.outcome, &due.code, due.waived) {
            let word = |outcome: Outcome, code: &Code, waived| {
                format!("{outcome} ({code}){}", if waived { ", waived" } else { "" })
            };
            let expected = word(due.outcome, &due.code, due.waived);
            self.differs(due.rule, expected, word(*outcome, code, *waived));
        }
        self.end(*outcome);
        true
    }

    /// The run has its outcome; the seal comes next.
    pub(super) fn end(&mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
        self.flight = Flight::Release;
    }

    pub(super) fn found(&mut self, rule: &Rule, message: impl Into<String>) {
        let place = self.lines.record(self.seq);
        self.failures.add(rule, place, message);
    }

    pub(super) fn differs(&mut self, rule: &Rule, expected: impl Display, actual: impl Display) {
        let place = self.lines.record(self.seq);
        self.failures.differs(rule, place, expected, actual);
    }

    /// Begins an effect, or decides something: nothing may be in flight.
    pub(super) fn begin(&mut self, next: Flight) {
        let before = std::mem::replace(&mut self.flight, next);
        if before != Flight::None {
            let message = format!("{} was announced and has no result", before.as_str());
            self.found(&rule::UNFINISHED, message);
        }
    }

    /// Whether this is what is in flight; it is no longer, either way.
    pub(super) fn lands(&mut self, expected: &Flight) -> bool {
        let before = std::mem::replace(&mut self.flight, Flight::None);
        before == *expected
    }

    /// A result that was not announced.
    pub(super) fn unannounced(&mut self, what: &Flight) {
        let message = format!("a result of {}, which no event announces", what.as_str());
        self.found(&rule::UNANNOUNCED, message);
    }

    /// What a check is, if the run has it.
    pub(super) fn subject(&mut self, check: probity_core::CheckIndex) -> Option<Subject> {
        let subject = self.run.checks.get(check.as_usize()).map(|decl| decl.subject);
        if subject.is_none() {
            let message = format!("check {} of {}", check.0, self.run.checks.len());
            self.found(&rule::INDEX, message);
        }
        subject
    }

    /// Whether a check runs before the delegate.
    pub(super) fn has_red(&self, check: usize) -> bool {
        let subject = self.run.checks.get(check).map(|decl| decl.subject);
        self.run.policy.red_first != RedFirst::Off && subject == Some(Subject::World)
    }

    /// The first check that has yet to run before the delegate.
    pub(super) fn red_missing(&self) -> Option<usize> {
        let missing = |(check, red): (usize, &Option<_>)| {
            (red.is_none() && self.has_red(check)).then_some(check)
        };
        self.red.iter().enumerate().find_map(missing)
    }

    /// The step whose delegate acts.
    pub(super) fn acting_step(&self) -> Option<Step> {
        let mut steps = self.fallen.iter().map(|(.., step)| *step);
        steps.rfind(|step| !matches!(step, Step::Hitl | Step::Abstain))
    }
}
