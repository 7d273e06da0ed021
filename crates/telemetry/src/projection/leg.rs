//! The span of the delegation itself. It ends where the run ends, or where it waits for somebody: then
//! another leg begins behind the wait.

use probity_core::{Code, Outcome};

use super::{Frame, Projection};
use crate::signal::{Attribute, Log, Metric, Point, Severity, Signal, Span, SpanEvent, Status};
use crate::verify::{Standing, VerifyOutcome};
use crate::{SpanId, key};

/// A leg that is not over.
#[derive(Debug, Clone)]
pub(super) struct Leg {
    pub(super) id: SpanId,
    seq: u64,
    start_ms: u64,
    number: u32,
    pub(super) events: Vec<SpanEvent>,
}

/// Somebody or some time is waited for.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) seq: u64,
    pub(super) start_ms: u64,
    pub(super) what: &'static str,
    pub(super) parent: Option<SpanId>,
}

/// How the run ends.
#[derive(Debug, Clone)]
pub(super) struct Decided {
    pub(super) outcome: Outcome,
    pub(super) code: Code,
    pub(super) waived: bool,
    pub(super) seq: u64,
    pub(super) at_ms: u64,
}

/// The name of the span that every dashboard looks for.
const EXECUTE: &str = "delegation.execute";

impl Projection {
    pub(super) fn open_leg(&mut self, at_ms: u64) {
        let id = SpanId::of(&self.run, "execute", self.seq);
        self.first_leg.get_or_insert(id);
        let number = self.legs;
        self.legs = self.legs.saturating_add(1);
        self.leg = Some(Leg { id, seq: self.seq, start_ms: at_ms, number, events: Vec::new() });
    }

    /// Whoever drives the run leaves it where it is, without an outcome. What it does again later
    /// hangs below the same span, which is told then.
    #[must_use]
    pub fn left(&self, code: &str) -> Vec<Signal> {
        let Some(leg) = self.leg.as_ref().filter(|_| !self.is_sealed) else { return Vec::new() };
        let (role, start_ms) = ("left", leg.start_ms);
        let frame = Frame { role, name: EXECUTE, seq: self.seq, start_ms };
        let mut span = self.span(&frame, self.now_ms, Some(leg.id));
        span.attributes = self.execution(Standing::Interrupted, code, leg.number);
        span.status = Status::Error(Standing::Interrupted.as_str().to_owned());
        span.events.clone_from(&leg.events);
        vec![Signal::Span(Box::new(span))]
    }

    /// The run waits for a human: this leg is over.
    pub(super) fn escalated(&mut self, at_ms: u64, code: &str, out: &mut Vec<Signal>) {
        let standing = Standing::Ended(Outcome::Escalated);
        self.wait_for(at_ms, "human");
        self.close_leg(at_ms, standing, code, out);
    }

    pub(super) fn wait_for(&mut self, at_ms: u64, what: &'static str) {
        let work = self.attempt.as_ref().and_then(|attempt| attempt.work_id());
        let parent = work.or_else(|| self.leg_id());
        self.waiting = Some(Waiting { seq: self.seq, start_ms: at_ms, what, parent });
    }

    /// A wait is over, if there was one.
    pub(super) fn woken(&mut self, at_ms: u64, out: &mut Vec<Signal>) {
        let Some(waiting) = self.waiting.take() else { return };
        let (seq, start_ms) = (waiting.seq, waiting.start_ms);
        let frame = Frame { role: "wait", name: "delegation.wait", seq, start_ms };
        let mut span = self.span(&frame, at_ms, waiting.parent);
        span.attributes.push(Attribute::text(key::WAIT_FOR, waiting.what));
        out.push(Signal::Span(Box::new(span)));
        if let Some(attempt) = &mut self.attempt {
            attempt.goes_on(at_ms);
        }
    }

    pub(super) fn sealed(&mut self, at_ms: u64, out: &mut Vec<Signal>) {
        self.is_sealed = true;
        let Some(decided) = self.decided.take() else { return };
        let standing = Standing::Ended(decided.outcome);
        if decided.outcome.delivers() {
            out.push(Signal::Span(Box::new(self.commit(&decided, at_ms))));
        }
        self.close_leg_of(at_ms, standing, decided.code.as_str(), decided.waived, out);
    }

    /// The claim is handed on.
    fn commit(&self, decided: &Decided, at_ms: u64) -> Span {
        let (seq, start_ms) = (decided.seq, decided.at_ms);
        let frame = Frame { role: "commit", name: "delegation.commit", seq, start_ms };
        let mut span = self.span(&frame, at_ms, self.leg_id());
        span.links.extend(self.last_attempt.map(|attempt| (self.trace(), attempt)));
        span.attributes.push(Attribute::text(key::OUTCOME, decided.outcome.as_str()));
        span.attributes.push(Attribute::text(key::CODE, decided.code.as_str()));
        if decided.outcome == Outcome::Verified {
            span.status = Status::Ok;
        }
        span
    }

    fn close_leg(&mut self, at_ms: u64, standing: Standing, code: &str, out: &mut Vec<Signal>) {
        self.close_leg_of(at_ms, standing, code, false, out);
    }

    fn close_leg_of(
        &mut self,
        at_ms: u64,
        standing: Standing,
        code: &str,
        waived: bool,
        out: &mut Vec<Signal>,
    ) {
        let Some(leg) = self.leg.take() else { return };
        self.active_ms = self.active_ms.saturating_add(at_ms.saturating_sub(leg.start_ms));
        let (seq, start_ms) = (leg.seq, leg.start_ms);
        let is_first = self.first_leg == Some(leg.id);
        let (parent, is_remote) = match (is_first, self.origin.parent) {
            (true, parent) => (parent, parent.is_some()),
            (false, _) => (self.first_leg, false),
        };
        let frame = Frame { role: "execute", name: EXECUTE, seq, start_ms };
        let mut span = self.span(&frame, at_ms, parent);
        span.is_parent_remote = is_remote;
        span.attributes = self.execution(standing, code, leg.number);
        if waived {
            span.attributes.push(Attribute::truth(key::WAIVED, true));
        }
        span.status = status(standing);
        if let Status::Error(word) = &span.status {
            span.attributes.push(Attribute::text(key::ERROR_TYPE, word.clone()));
        }
        span.links.extend(self.last_leg.map(|last| (self.trace(), last)));
        span.events = leg.events;
        self.last_leg = Some(leg.id);
        let log = self.told_outcome(leg.id, at_ms, standing, &span.attributes);
        out.push(Signal::Span(Box::new(span)));
        out.push(Signal::Log(Box::new(log)));
        out.extend(self.counted(standing).into_iter().map(Signal::Point));
    }

    fn told_outcome(
        &self,
        span: SpanId,
        at_ms: u64,
        standing: Standing,
        attributes: &[Attribute],
    ) -> Log {
        let severity = match standing {
            Standing::Ended(Outcome::Verified) => Severity::Info,
            Standing::Ended(Outcome::Faulted | Outcome::DelegateFailed) => Severity::Error,
            _ => Severity::Warn,
        };
        Log {
            trace: self.trace(),
            span,
            name: "probity.delegation.outcome",
            severity,
            at_ms,
            attributes: attributes.to_vec(),
            content: Vec::new(),
        }
    }

    fn counted(&self, standing: Standing) -> Vec<Point> {
        let kind = self.source.kind.clone();
        let point = |metric, value, label: &str| {
            let labels = vec![kind.clone(), label.to_owned()];
            Point { metric, value, labels }
        };
        let mut points = vec![point(Metric::Delegations, 1.0, standing.as_str())];
        if standing != Standing::Ended(Outcome::Escalated) {
            let passed = VerifyOutcome::of(standing, self.rounds).as_str();
            points.push(point(Metric::VerifyAttempts, f64::from(self.rounds), passed));
            let seconds = seconds(self.active_ms);
            points.push(point(Metric::DelegationDuration, seconds, standing.as_str()));
        }
        points
    }

    /// What every span of a delegation says, whichever way it ends.
    fn execution(&self, standing: Standing, code: &str, number: u32) -> Vec<Attribute> {
        let verify = VerifyOutcome::of(standing, self.rounds);
        let mut attributes = vec![
            Attribute::number(key::VERIFY_ATTEMPTS, self.rounds),
            Attribute::truth(key::VERIFY_PASSED, verify == VerifyOutcome::Passed),
            Attribute::text(key::VERIFY_OUTCOME, verify.as_str()),
            Attribute::text(key::KIND, self.source.kind.clone()),
            Attribute::text(key::OUTCOME, standing.as_str()),
            Attribute::text(key::CODE, code),
            Attribute::number(key::ATTEMPTS_COUNTED, self.attempts_counted),
            Attribute::number(key::MAX_ATTEMPTS, self.max_attempts),
            Attribute::number(key::INTERRUPTIONS, self.interruptions),
            Attribute::number(key::LEG, number),
            Attribute::number(key::TOKENS, self.usage.tokens),
            Attribute::number(key::TOOL_CALLS, self.usage.tool_calls),
            Attribute::text(key::DELEGATION_ID, self.run.as_str()),
            Attribute::text(key::GEN_AI_CONVERSATION, self.run.as_str()),
        ];
        let judgement = self.judgement.map(|it| Attribute::text(key::JUDGEMENT, it.as_str()));
        attributes.extend(judgement);
        let agent = self.source.agent.as_ref();
        attributes.extend(agent.map(|agent| Attribute::text(key::GEN_AI_AGENT, agent.clone())));
        let parent = self.origin.parent_run.as_ref();
        attributes.extend(
            parent.map(|parent| Attribute::text(key::DELEGATION_PARENT_ID, parent.as_str())),
        );
        attributes
    }
}

/// Milliseconds as the unit of metrics.
pub(super) fn seconds(millis: u64) -> f64 {
    std::time::Duration::from_millis(millis).as_secs_f64()
}

fn status(standing: Standing) -> Status {
    match standing {
        Standing::Ended(Outcome::Verified) => Status::Ok,
        // Neither is a failure of anything: nothing checked it, or nobody answered yet.
        Standing::Ended(Outcome::Unverified | Outcome::Escalated) => Status::Unset,
        other => Status::Error(other.as_str().to_owned()),
    }
}
