//! What a delegate does: the attempt, its work, the calls it notes, the claim.

use probity_core::{
    Code, Digest, Drift, Event, Judgement, NoteKind, Step, SubmissionId, Turn, Usage,
};

use super::{Frame, Projection};
use crate::signal::{
    Attribute, Content, ContentKind, Log, Metric, Point, Severity, Signal, Span, Status, Value,
};
use crate::{SpanId, key};

/// A round that is not over.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) id: SpanId,
    seq: u64,
    start_ms: u64,
    turn: Turn,
    number: u32,
    step: Option<Step>,
    work: Option<Work>,
    /// The last work of the round: what verdicts are about.
    pub(super) judged: Option<SpanId>,
}

/// A delegate at work.
#[derive(Debug, Clone)]
struct Work {
    id: SpanId,
    seq: u64,
    start_ms: u64,
    /// When what it is doing now began.
    mark_ms: u64,
    usage: Usage,
}

impl Attempt {
    pub(super) fn work_id(&self) -> Option<SpanId> {
        self.work.as_ref().map(|work| work.id)
    }

    /// Behind a wait.
    pub(super) fn goes_on(&mut self, at_ms: u64) {
        if let Some(work) = &mut self.work {
            work.mark_ms = at_ms;
        }
    }
}

impl Projection {
    pub(super) fn dispatched(
        &mut self,
        at_ms: u64,
        turn: Turn,
        number: u32,
        step: Option<Step>,
        out: &mut Vec<Signal>,
    ) {
        self.cut_work(at_ms, out);
        let is_same = |attempt: &Attempt| attempt.turn == turn;
        if !self.attempt.as_ref().is_some_and(is_same) {
            self.cut_attempt(at_ms, out);
            let id = SpanId::of(&self.run, "attempt", self.seq);
            let (seq, start_ms) = (self.seq, at_ms);
            let (work, judged) = (None, None);
            self.attempt = Some(Attempt { id, seq, start_ms, turn, number, step, work, judged });
            self.asked_again(at_ms, id, out);
        }
        let id = SpanId::of(&self.run, "work", self.seq);
        let (seq, start_ms, mark_ms) = (self.seq, at_ms, at_ms);
        if let Some(attempt) = &mut self.attempt {
            attempt.step = step;
            attempt.judged = Some(id);
            attempt.work = Some(Work { id, seq, start_ms, mark_ms, usage: Usage::default() });
        }
    }

    /// The prompt of a retry: the reasons that it is made of, by digest.
    fn asked_again(&mut self, at_ms: u64, attempt: SpanId, out: &mut Vec<Signal>) {
        let Some(last) = self.last_attempt else { return };
        let (seq, start_ms) = (self.seq, at_ms);
        let frame = Frame { role: "retry", name: "delegation.retry_prompt", seq, start_ms };
        let mut span = self.span(&frame, at_ms, Some(attempt));
        span.links.push((self.trace(), last));
        let told = std::mem::take(&mut self.told);
        let digests = told.iter().map(|told| told.reason.to_string()).collect();
        span.attributes.push(Attribute { key: key::RETRY_REASONS, value: Value::Texts(digests) });
        out.push(Signal::Span(Box::new(span)));
    }

    pub(super) fn noted(
        &mut self,
        at_ms: u64,
        kind: NoteKind,
        content: Digest,
        usage: Usage,
        out: &mut Vec<Signal>,
    ) {
        self.spent(usage, out);
        let Some(work) = self.attempt.as_mut().and_then(|attempt| attempt.work.as_mut()) else {
            return;
        };
        work.usage = work.usage.plus(usage);
        let start_ms = std::mem::replace(&mut work.mark_ms, at_ms);
        let parent = work.id;
        let (name, operation, kind) = match kind {
            NoteKind::Model => ("chat", "chat", ContentKind::ModelNote),
            NoteKind::Tool => ("execute_tool", "execute_tool", ContentKind::ToolNote),
            NoteKind::Session => return,
        };
        let frame = Frame { role: "note", name, seq: self.seq, start_ms };
        let mut span = self.span(&frame, at_ms, Some(parent));
        span.is_client = kind == ContentKind::ModelNote;
        span.attributes.push(Attribute::text(key::GEN_AI_OPERATION, operation));
        if kind == ContentKind::ModelNote {
            span.attributes.push(Attribute::number(key::TOKENS, usage.tokens));
            self.name_model(&mut span);
        }
        span.content.push(Content { kind, digest: content });
        out.push(Signal::Span(Box::new(span)));
    }

    pub(super) fn parked(&mut self, at_ms: u64, until_ms: Option<u64>, out: &mut Vec<Signal>) {
        match until_ms {
            Some(_) => self.wait_for(at_ms, "time"),
            None => self.escalated(at_ms, "parked", out),
        }
    }

    pub(super) fn claimed(
        &mut self,
        at_ms: u64,
        submission: &SubmissionId,
        candidate: Digest,
        claim: Digest,
        usage: Usage,
        out: &mut Vec<Signal>,
    ) {
        self.is_round_counted = false;
        self.told.clear();
        self.spent(usage, out);
        if let Some(work) = self.attempt.as_mut().and_then(|attempt| attempt.work.as_mut()) {
            work.usage = work.usage.plus(usage);
        }
        let Some(mut span) = self.work_over(at_ms) else { return };
        span.attributes.push(Attribute::text(key::SUBMISSION, submission.as_str()));
        span.attributes.push(Attribute::text(key::CANDIDATE, candidate.to_string()));
        span.content.push(Content { kind: ContentKind::Claim, digest: claim });
        out.push(Signal::Span(Box::new(span)));
    }

    pub(super) fn failed(
        &mut self,
        at_ms: u64,
        code: &Code,
        detail: Digest,
        out: &mut Vec<Signal>,
    ) {
        if let Some(mut span) = self.work_over(at_ms) {
            span.status = Status::Error(code.as_str().to_owned());
            span.attributes.push(Attribute::text(key::ERROR_TYPE, code.as_str()));
            span.content.push(Content { kind: ContentKind::Fault, digest: detail });
            out.push(Signal::Span(Box::new(span)));
        }
        if let Some(mut span) = self.attempt_over(at_ms) {
            span.status = Status::Error(code.as_str().to_owned());
            span.attributes.push(Attribute::text(key::CODE, code.as_str()));
            out.push(Signal::Span(Box::new(span)));
        }
    }

    /// All findings of a claim were merged.
    pub(super) fn judged(&mut self, at_ms: u64, event: &Event, out: &mut Vec<Signal>) {
        let Event::VerdictMerged {
            submission,
            candidate,
            judgement,
            code,
            counted,
            attempts,
            drift,
            reused,
            flaky,
            ..
        } = event
        else {
            return;
        };
        self.attempts_counted = *attempts;
        self.judgement = Some(*judgement);
        self.cut_checks(at_ms, out);
        let mut attributes = vec![
            Attribute::text(key::JUDGEMENT, judgement.as_str()),
            Attribute::text(key::CODE, code.as_str()),
            Attribute::truth(key::COUNTED, *counted),
            Attribute::number(key::ATTEMPTS_COUNTED, *attempts),
            Attribute::text(key::SUBMISSION, submission.as_str()),
            Attribute::text(key::CANDIDATE, candidate.to_string()),
            Attribute::truth(key::REUSED, reused.is_some()),
            Attribute::truth(key::FLAKY, *flaky),
        ];
        attributes.extend(drift.map(|drift| Attribute::text(key::DRIFT, drift_word(drift))));
        let attempt = self.attempt.as_ref();
        let span = attempt.map(|attempt| attempt.id).or_else(|| self.leg_id());
        if let Some(span) = span {
            let trace = self.trace();
            let mut told = attributes.clone();
            told.push(Attribute::text(key::KIND, self.source.kind.clone()));
            let (name, severity) = ("probity.verdict", severity(*judgement));
            let content = Vec::new();
            let log = Log { trace, span, name, severity, at_ms, attributes: told, content };
            out.push(Signal::Log(Box::new(log)));
        }
        if let Some(mut span) = self.attempt_over(at_ms) {
            span.attributes.extend(attributes);
            span.status = match judgement {
                Judgement::Pass => Status::Ok,
                Judgement::Unverified => Status::Unset,
                refused => Status::Error(refused.as_str().to_owned()),
            };
            out.push(Signal::Span(Box::new(span)));
        }
    }

    /// What was under way is cut off: whoever did it crashed, or was told to stop.
    pub(super) fn cut_attempt(&mut self, at_ms: u64, out: &mut Vec<Signal>) {
        self.cut_work(at_ms, out);
        if let Some(mut span) = self.attempt_over(at_ms) {
            span.attributes.push(Attribute::truth(key::CUT, true));
            out.push(Signal::Span(Box::new(span)));
        }
    }

    fn cut_work(&mut self, at_ms: u64, out: &mut Vec<Signal>) {
        if let Some(mut span) = self.work_over(at_ms) {
            span.attributes.push(Attribute::truth(key::CUT, true));
            out.push(Signal::Span(Box::new(span)));
        }
    }

    fn work_over(&mut self, at_ms: u64) -> Option<Span> {
        let attempt = self.attempt.as_mut()?;
        let work = attempt.work.take()?;
        let (parent, step) = (attempt.id, attempt.step);
        let (seq, start_ms) = (work.seq, work.start_ms);
        let frame = Frame { role: "work", name: "invoke_agent", seq, start_ms };
        let mut span = self.span(&frame, at_ms, Some(parent));
        span.attributes = vec![
            Attribute::text(key::GEN_AI_OPERATION, "invoke_agent"),
            Attribute::text(key::GEN_AI_CONVERSATION, self.run.as_str()),
            Attribute::text(key::KIND, self.source.kind.clone()),
            Attribute::number(key::TOKENS, work.usage.tokens),
            Attribute::number(key::TOOL_CALLS, work.usage.tool_calls),
        ];
        let agent = self.source.agent.as_ref().unwrap_or(&self.source.kind);
        span.attributes.push(Attribute::text(key::GEN_AI_AGENT, agent.clone()));
        span.attributes.extend(step.map(|step| Attribute::text(key::STEP, step.as_str())));
        self.name_model(&mut span);
        Some(span)
    }

    fn attempt_over(&mut self, at_ms: u64) -> Option<Span> {
        let attempt = self.attempt.take()?;
        self.last_attempt = Some(attempt.id);
        let (seq, start_ms) = (attempt.seq, attempt.start_ms);
        let frame = Frame { role: "attempt", name: "delegation.attempt", seq, start_ms };
        let mut span = self.span(&frame, at_ms, self.leg_id());
        span.attributes = vec![
            Attribute::number(key::ATTEMPT, attempt.number),
            Attribute::number(key::TURN, attempt.turn.number),
            Attribute::text(key::KIND, self.source.kind.clone()),
        ];
        Some(span)
    }

    fn name_model(&self, span: &mut Span) {
        let model = self.source.model.as_ref();
        span.attributes.extend(model.map(|it| Attribute::text(key::GEN_AI_MODEL, it.clone())));
        let provider = self.source.provider;
        span.attributes.extend(provider.map(|it| Attribute::text(key::GEN_AI_PROVIDER, it)));
    }

    fn spent(&mut self, usage: Usage, out: &mut Vec<Signal>) {
        self.usage = self.usage.plus(usage);
        if usage.tokens > 0 {
            let labels = vec![self.source.kind.clone()];
            let value = crate::signal::as_value(usage.tokens);
            out.push(Signal::Point(Point { metric: Metric::Tokens, value, labels }));
        }
    }
}

const fn severity(judgement: Judgement) -> Severity {
    match judgement {
        Judgement::Pass => Severity::Info,
        Judgement::Fault => Severity::Error,
        Judgement::Revise | Judgement::Fail | Judgement::Inconclusive | Judgement::Unverified => {
            Severity::Warn
        }
    }
}

const fn drift_word(drift: Drift) -> &'static str {
    match drift {
        Drift::Yellow => "yellow",
        Drift::Red => "red",
    }
}
