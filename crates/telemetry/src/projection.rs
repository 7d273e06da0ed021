//! The fold from a run's log to what OpenTelemetry is told. It keeps no account of its own: everything
//! is in the entries and their times.

mod attempt;
mod check;
mod leg;

use probity_core::{CheckDecl, Entry, Event, HookDecl, HookIndex, Judgement, RunId, Usage};

use crate::signal::{Attribute, Signal, Span, SpanEvent, Status};
use crate::{Origin, Source, SpanId, TraceId, key};
use attempt::Attempt;
use check::{OpenCheck, Told};
use leg::{Decided, Leg, Waiting};

/// The most events that one span of a delegation holds.
const MAX_SPAN_EVENTS: usize = 128;

/// One run as it is projected. Equal entries and an equal source give equal signals, whoever folds.
#[derive(Debug, Clone)]
pub struct Projection {
    run: RunId,
    source: Source,
    origin: Origin,
    /// The next record.
    seq: u64,
    checks: Vec<CheckDecl>,
    hooks: Vec<HookDecl>,
    max_attempts: u32,
    leg: Option<Leg>,
    legs: u32,
    /// The first leg, which the others hang below, and the last.
    first_leg: Option<SpanId>,
    last_leg: Option<SpanId>,
    attempt: Option<Attempt>,
    last_attempt: Option<SpanId>,
    open_checks: Vec<OpenCheck>,
    open_hook: Option<(HookIndex, u64, u64)>,
    waiting: Option<Waiting>,
    /// What the delegate is told when it is asked again.
    told: Vec<Told>,
    rounds: u32,
    is_round_counted: bool,
    attempts_counted: u32,
    judgement: Option<Judgement>,
    usage: Usage,
    interruptions: u32,
    /// Time in which nobody was waited for, of the legs that are over.
    active_ms: u64,
    decided: Option<Decided>,
    is_sealed: bool,
    /// When the last thing happened.
    now_ms: u64,
}

/// Where a signal belongs to, of which only the run changes from span to span.
struct Frame {
    role: &'static str,
    name: &'static str,
    seq: u64,
    start_ms: u64,
}

impl Projection {
    /// A run of which no entry was read yet.
    #[must_use]
    pub fn new(run: RunId, source: Source, origin: Origin) -> Self {
        Self {
            run,
            source,
            origin,
            seq: 0,
            checks: Vec::new(),
            hooks: Vec::new(),
            max_attempts: 0,
            leg: None,
            legs: 0,
            first_leg: None,
            last_leg: None,
            attempt: None,
            last_attempt: None,
            open_checks: Vec::new(),
            open_hook: None,
            waiting: None,
            told: Vec::new(),
            rounds: 0,
            is_round_counted: false,
            attempts_counted: 0,
            judgement: None,
            usage: Usage::default(),
            interruptions: 0,
            active_ms: 0,
            decided: None,
            is_sealed: false,
            now_ms: 0,
        }
    }

    /// Everything that a log says.
    #[must_use]
    pub fn whole(run: RunId, source: Source, origin: Origin, entries: &[Entry]) -> Vec<Signal> {
        let mut projection = Self::new(run, source, origin);
        entries.iter().flat_map(|entry| projection.apply(entry)).collect()
    }

    /// Takes in the next entry and gives what is over with it.
    pub fn apply(&mut self, entry: &Entry) -> Vec<Signal> {
        let mut out = Vec::new();
        let Entry { at_ms, event } = entry;
        self.now_ms = *at_ms;
        if self.leg.is_none() && !is_beside_a_wait(event) && !self.is_sealed {
            self.open_leg(*at_ms);
        }
        self.step(*at_ms, event, &mut out);
        self.seq = self.seq.saturating_add(1);
        out
    }

    /// The number of the next record.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether the log is at its end.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    fn step(&mut self, at_ms: u64, event: &Event, out: &mut Vec<Signal>) {
        match event {
            Event::RunOpened { policy, checks, hooks, .. } => {
                self.checks.clone_from(checks);
                self.hooks.clone_from(hooks);
                self.max_attempts = policy.max_attempts;
            }
            Event::LeaseTaken { worker, interruptions, .. } => {
                self.interruptions = *interruptions;
                let worker = Attribute::text(key::WORKER, worker.as_str());
                self.happened(at_ms, "probity.lease_taken", vec![worker]);
            }
            Event::RunResumed { interruptions } => {
                self.interruptions = *interruptions;
                let count = Attribute::number(key::INTERRUPTIONS, *interruptions);
                self.happened(at_ms, "probity.resumed", vec![count]);
            }
            Event::RunReleased => self.happened(at_ms, "probity.released", Vec::new()),
            Event::CancelRequested { .. } => {
                self.happened(at_ms, "probity.cancel_requested", Vec::new());
            }
            Event::Steered { .. } => self.happened(at_ms, "probity.steered", Vec::new()),
            Event::WorldObserved { .. } => {}
            Event::WorldUnreadable { phase, code, .. } => {
                let phase = Attribute::text(key::WORLD_PHASE, check::phase_word(*phase));
                let code = Attribute::text(key::CODE, code.as_str());
                self.happened(at_ms, "probity.world_unreadable", vec![phase, code]);
            }
            Event::DegradeChosen { trigger, step, .. } => {
                let trigger = Attribute::text(key::TRIGGER, check::trigger_word(*trigger));
                let step = Attribute::text(key::STEP, step.as_str());
                self.happened(at_ms, "probity.degraded", vec![trigger, step]);
            }
            _ => self.step_of_work(at_ms, event, out),
        }
    }

    fn step_of_work(&mut self, at_ms: u64, event: &Event, out: &mut Vec<Signal>) {
        match event {
            Event::DelegateDispatched { turn, attempt, step } => {
                self.dispatched(at_ms, *turn, *attempt, *step, out);
            }
            Event::DelegateNoted { kind, content, usage, .. } => {
                self.noted(at_ms, *kind, *content, *usage, out);
            }
            Event::DelegateParked { until_ms, .. } => self.parked(at_ms, *until_ms, out),
            Event::DelegateWoken { .. } | Event::Answered { .. } => self.woken(at_ms, out),
            Event::ClaimReceived { submission, candidate, claim, usage, .. } => {
                self.claimed(at_ms, submission, *candidate, *claim, *usage, out);
            }
            Event::DelegateFailed { code, detail, .. } => self.failed(at_ms, code, *detail, out),
            _ => self.step_of_verdict(at_ms, event, out),
        }
    }

    fn step_of_verdict(&mut self, at_ms: u64, event: &Event, out: &mut Vec<Signal>) {
        match event {
            Event::CheckStarted { phase, check, tries } => {
                self.check_started(at_ms, *phase, *check, *tries, out);
            }
            Event::CheckRed { check, discrimination, finding, elapsed_ms } => {
                self.check_red(at_ms, *check, *discrimination, finding, *elapsed_ms, out);
            }
            Event::CheckFinished { check, finding, elapsed_ms, .. } => {
                self.check_finished(at_ms, *check, finding, Some(*elapsed_ms), out);
            }
            Event::CheckAwaits { check, .. } => self.check_awaits(at_ms, *check, out),
            Event::CheckAnswered { check, finding, .. } => {
                self.woken(at_ms, out);
                self.check_finished(at_ms, *check, finding, None, out);
            }
            Event::HookCalled { hook, .. } => {
                self.cut_hook(at_ms, out);
                self.open_hook = Some((*hook, self.seq, at_ms));
            }
            Event::HookAnswered { hook, decision, .. } => {
                self.hook_answered(at_ms, *hook, decision, out);
            }
            Event::VerdictMerged { .. } => self.judged(at_ms, event, out),
            Event::Escalated { code, .. } => self.escalated(at_ms, code.as_str(), out),
            Event::OutcomeDecided { outcome, code, waived } => {
                self.woken(at_ms, out);
                let (seq, code) = (self.seq, code.clone());
                let (outcome, waived) = (*outcome, *waived);
                self.decided = Some(Decided { outcome, code, waived, seq, at_ms });
                self.cut_all(at_ms, out);
            }
            Event::Sealed { .. } => self.sealed(at_ms, out),
            _ => {}
        }
    }

    /// Says that something happened, in the span of the leg.
    fn happened(&mut self, at_ms: u64, name: &'static str, attributes: Vec<Attribute>) {
        if let Some(leg) = &mut self.leg
            && leg.events.len() < MAX_SPAN_EVENTS
        {
            leg.events.push(SpanEvent { name, at_ms, attributes });
        }
    }

    /// A span below another, of this run.
    fn span(&self, frame: &Frame, end_ms: u64, parent: Option<SpanId>) -> Span {
        Span {
            trace: self.origin.trace,
            id: SpanId::of(&self.run, frame.role, frame.seq),
            parent,
            is_parent_remote: false,
            name: frame.name,
            is_client: false,
            start_ms: frame.start_ms,
            end_ms: end_ms.max(frame.start_ms),
            attributes: Vec::new(),
            events: Vec::new(),
            links: Vec::new(),
            status: Status::Unset,
            content: Vec::new(),
        }
    }

    const fn trace(&self) -> TraceId {
        self.origin.trace
    }

    /// The span that work of this run hangs below.
    fn leg_id(&self) -> Option<SpanId> {
        self.leg.as_ref().map(|leg| leg.id).or(self.last_leg)
    }

    /// Everything that is under way is cut off.
    fn cut_all(&mut self, at_ms: u64, out: &mut Vec<Signal>) {
        self.cut_checks(at_ms, out);
        self.cut_hook(at_ms, out);
        self.cut_attempt(at_ms, out);
    }
}

/// Whether a run that waits for somebody goes on waiting behind such an entry.
const fn is_beside_a_wait(event: &Event) -> bool {
    matches!(
        event,
        Event::LeaseTaken { .. }
            | Event::RunReleased
            | Event::RunResumed { .. }
            | Event::CancelRequested { .. }
            | Event::Steered { .. }
    )
}
