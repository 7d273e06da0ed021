//! What checks and hooks came to.

use probity_core::{
    CheckIndex, Digest, Discrimination, Finding, HookDecision, HookIndex, Phase, Subject, Trigger,
    VerdictKind,
};

use super::leg::seconds;
use super::{Frame, Projection};
use crate::key;
use crate::signal::{
    Attribute, Content, ContentKind, Log, Metric, Point, Severity, Signal, Span, SpanEvent, Status,
    Value,
};

/// A check that is under way.
#[derive(Debug, Clone)]
pub(super) struct OpenCheck {
    check: CheckIndex,
    phase: Phase,
    tries: u32,
    seq: u64,
    start_ms: u64,
}

/// A reason that the delegate will be told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    check: CheckIndex,
    pub(super) reason: Digest,
}

/// The event of the convention.
const EVALUATION: &str = "gen_ai.evaluation.result";

impl Projection {
    pub(super) fn check_started(
        &mut self,
        at_ms: u64,
        phase: Phase,
        check: CheckIndex,
        tries: u32,
        out: &mut Vec<Signal>,
    ) {
        // Begun and never finished: whoever ran it crashed.
        self.cut_check(at_ms, check, out);
        if phase == Phase::After {
            self.round();
        }
        let (seq, start_ms) = (self.seq, at_ms);
        self.open_checks.push(OpenCheck { check, phase, tries, seq, start_ms });
    }

    pub(super) fn check_awaits(&mut self, at_ms: u64, check: CheckIndex, out: &mut Vec<Signal>) {
        self.check_started(at_ms, Phase::After, check, 1, out);
        self.escalated(at_ms, "awaits_human", out);
    }

    pub(super) fn check_red(
        &mut self,
        at_ms: u64,
        check: CheckIndex,
        discrimination: Discrimination,
        finding: &Finding,
        elapsed_ms: u64,
        out: &mut Vec<Signal>,
    ) {
        let mut span = self.check_over(at_ms, check, Phase::Before);
        let word = discrimination_word(discrimination);
        span.attributes.push(Attribute::text(key::CHECK_DISCRIMINATION, word));
        span.attributes.push(Attribute::text(key::VERDICT, verdict_word(finding)));
        out.push(Signal::Span(Box::new(span)));
        self.took(check, Phase::Before, finding, elapsed_ms, out);
    }

    pub(super) fn check_finished(
        &mut self,
        at_ms: u64,
        check: CheckIndex,
        finding: &Finding,
        elapsed_ms: Option<u64>,
        out: &mut Vec<Signal>,
    ) {
        self.woken(at_ms, out);
        let mut span = self.check_over(at_ms, check, Phase::After);
        let elapsed_ms = elapsed_ms.unwrap_or_else(|| at_ms.saturating_sub(span.start_ms));
        let found = evaluation(self.check_name(check), finding);
        let content = content_of(finding);
        self.remember(check, finding);
        span.attributes.push(Attribute::text(key::VERDICT, verdict_word(finding)));
        span.attributes.extend(code_of(finding));
        span.status = match finding {
            Finding::Verdict { verdict: VerdictKind::Pass, .. } => Status::Ok,
            Finding::NotApplicable => Status::Unset,
            Finding::Verdict { .. } | Finding::Fault { .. } => {
                Status::Error(verdict_word(finding).to_owned())
            }
        };
        span.content.extend(content);
        span.events.push(SpanEvent { name: EVALUATION, at_ms, attributes: found.clone() });
        // The convention hangs the event below the operation that is evaluated.
        let work = self.attempt.as_ref().and_then(|attempt| attempt.judged).unwrap_or(span.id);
        out.push(Signal::Span(Box::new(span)));
        if *finding != Finding::NotApplicable {
            let log = Log {
                trace: self.trace(),
                span: work,
                name: EVALUATION,
                severity: severity(finding),
                at_ms,
                attributes: found,
                content: content.into_iter().collect(),
            };
            out.push(Signal::Log(Box::new(log)));
        }
        self.took(check, Phase::After, finding, elapsed_ms, out);
        let labels = vec![self.check_kind(check).to_owned(), verdict_word(finding).to_owned()];
        out.push(Signal::Point(Point { metric: Metric::CheckVerdicts, value: 1.0, labels }));
    }

    pub(super) fn hook_answered(
        &mut self,
        at_ms: u64,
        hook: HookIndex,
        decision: &HookDecision,
        out: &mut Vec<Signal>,
    ) {
        let Some(mut span) = self.hook_over(at_ms, hook) else { return };
        let (action, code) = match decision {
            HookDecision::Allow => ("allow", None),
            HookDecision::NotApplicable => ("not_applicable", None),
            HookDecision::Block { .. } => ("block", None),
            HookDecision::Modify { .. } => ("modify", None),
            HookDecision::Inconclusive { code, .. } => ("inconclusive", Some(code)),
            HookDecision::Fault { code, .. } => ("fault", Some(code)),
        };
        span.attributes.push(Attribute::text(key::HOOK_ACTION, action));
        span.attributes.extend(code.map(|code| Attribute::text(key::CODE, code.as_str())));
        match decision {
            HookDecision::Block { reason } => {
                span.content.push(Content { kind: ContentKind::Reason, digest: *reason });
                span.status = Status::Error(action.to_owned());
            }
            HookDecision::Inconclusive { detail, .. } | HookDecision::Fault { detail, .. } => {
                span.content.push(Content { kind: ContentKind::Fault, digest: *detail });
                span.status = Status::Error(action.to_owned());
            }
            HookDecision::Allow | HookDecision::NotApplicable | HookDecision::Modify { .. } => {}
        }
        out.push(Signal::Span(Box::new(span)));
    }

    pub(super) fn cut_hook(&mut self, at_ms: u64, out: &mut Vec<Signal>) {
        let Some((hook, ..)) = self.open_hook else { return };
        if let Some(mut span) = self.hook_over(at_ms, hook) {
            span.attributes.push(Attribute::truth(key::CUT, true));
            out.push(Signal::Span(Box::new(span)));
        }
    }

    pub(super) fn cut_checks(&mut self, at_ms: u64, out: &mut Vec<Signal>) {
        while let Some(check) = self.open_checks.last().map(|open| open.check) {
            self.cut_check(at_ms, check, out);
        }
    }

    fn cut_check(&mut self, at_ms: u64, check: CheckIndex, out: &mut Vec<Signal>) {
        let open = self.open_checks.iter().find(|open| open.check == check);
        if let Some(phase) = open.map(|open| open.phase) {
            let mut span = self.check_over(at_ms, check, phase);
            span.attributes.push(Attribute::truth(key::CUT, true));
            out.push(Signal::Span(Box::new(span)));
        }
    }

    /// A verifier looks at the claim: once for every claim, however many checks there are.
    fn round(&mut self) {
        if !self.is_round_counted {
            self.is_round_counted = true;
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn check_over(&mut self, at_ms: u64, check: CheckIndex, phase: Phase) -> Span {
        let place = self.open_checks.iter().position(|open| open.check == check);
        let open = place.map(|place| self.open_checks.remove(place));
        // A check that was cut off by the run's time never began.
        let (seq, start_ms) = open.as_ref().map_or((self.seq, at_ms), |it| (it.seq, it.start_ms));
        let tries = open.map_or(1, |open| open.tries);
        let parent = match phase {
            Phase::Before => self.leg_id(),
            Phase::After => {
                let attempt = self.attempt.as_ref().map(|attempt| attempt.id);
                attempt.or_else(|| self.leg_id())
            }
        };
        let frame = Frame { role: "check", name: "delegation.check", seq, start_ms };
        let mut span = self.span(&frame, at_ms, parent);
        span.attributes = vec![
            Attribute::text(key::CHECK_ID, self.check_name(check)),
            Attribute::text(key::CHECK_KIND, self.check_kind(check)),
            Attribute::text(key::CHECK_PHASE, phase_word(phase)),
            Attribute::number(key::CHECK_TRIES, tries),
        ];
        span
    }

    fn hook_over(&mut self, at_ms: u64, hook: HookIndex) -> Option<Span> {
        let (_, seq, start_ms) = self.open_hook.take()?;
        let frame = Frame { role: "hook", name: "delegation.hook", seq, start_ms };
        let mut span = self.span(&frame, at_ms, self.leg_id());
        if let Some(decl) = self.hooks.get(hook.as_usize()) {
            span.attributes.push(Attribute::text(key::HOOK_ID, decl.id.as_str()));
            span.attributes.push(Attribute::text(key::HOOK_POINT, decl.point.as_str()));
        }
        Some(span)
    }

    fn took(
        &self,
        check: CheckIndex,
        phase: Phase,
        finding: &Finding,
        elapsed_ms: u64,
        out: &mut Vec<Signal>,
    ) {
        let words = [self.check_kind(check), phase_word(phase), verdict_word(finding)];
        let labels = words.map(str::to_owned).to_vec();
        let value = seconds(elapsed_ms);
        out.push(Signal::Point(Point { metric: Metric::CheckDuration, value, labels }));
    }

    /// Of a check that is tried again only the last answer counts.
    fn remember(&mut self, check: CheckIndex, finding: &Finding) {
        self.told.retain(|told| told.check != check);
        if let Finding::Verdict { verdict: VerdictKind::Revise, reason: Some(reason), .. } = finding
        {
            self.told.push(Told { check, reason: *reason });
        }
    }

    fn check_name(&self, check: CheckIndex) -> &str {
        self.checks.get(check.as_usize()).map_or("unknown", |decl| decl.id.as_str())
    }

    fn check_kind(&self, check: CheckIndex) -> &'static str {
        match self.checks.get(check.as_usize()).map(|decl| decl.subject) {
            Some(Subject::World) => "world",
            Some(Subject::Claim) => "claim",
            Some(Subject::Hook) => "hook",
            Some(Subject::Human) => "human",
            None => "unknown",
        }
    }
}

fn evaluation(name: &str, finding: &Finding) -> Vec<Attribute> {
    let mut attributes = vec![
        Attribute::text(key::GEN_AI_EVALUATION_NAME, name),
        Attribute::text(key::GEN_AI_EVALUATION_LABEL, verdict_word(finding)),
    ];
    let score = match finding {
        Finding::Verdict { verdict: VerdictKind::Pass, .. } => Some(1.0),
        Finding::Verdict { verdict: VerdictKind::Revise | VerdictKind::Fail, .. } => Some(0.0),
        _ => None,
    };
    attributes.extend(
        score.map(|it| Attribute { key: key::GEN_AI_EVALUATION_SCORE, value: Value::Score(it) }),
    );
    attributes.extend(code_of(finding));
    if let Finding::Fault { code, .. } = finding {
        attributes.push(Attribute::text(key::ERROR_TYPE, code.as_str()));
    }
    attributes
}

fn code_of(finding: &Finding) -> Option<Attribute> {
    match finding {
        Finding::Verdict { code, .. } | Finding::Fault { code, .. } => {
            Some(Attribute::text(key::CODE, code.as_str()))
        }
        Finding::NotApplicable => None,
    }
}

const fn content_of(finding: &Finding) -> Option<Content> {
    match finding {
        Finding::Verdict { reason: Some(reason), .. } => {
            Some(Content { kind: ContentKind::Reason, digest: *reason })
        }
        Finding::Fault { detail, .. } => {
            Some(Content { kind: ContentKind::Fault, digest: *detail })
        }
        Finding::Verdict { .. } | Finding::NotApplicable => None,
    }
}

const fn severity(finding: &Finding) -> Severity {
    match finding {
        Finding::Verdict { verdict: VerdictKind::Pass, .. } | Finding::NotApplicable => {
            Severity::Info
        }
        Finding::Verdict { .. } => Severity::Warn,
        Finding::Fault { .. } => Severity::Error,
    }
}

/// What a finding is called.
pub(super) const fn verdict_word(finding: &Finding) -> &'static str {
    match finding {
        Finding::Fault { .. } => "fault",
        Finding::NotApplicable => "not_applicable",
        Finding::Verdict { verdict, .. } => match verdict {
            VerdictKind::Pass => "pass",
            VerdictKind::Revise => "revise",
            VerdictKind::Fail => "fail",
            VerdictKind::Inconclusive => "inconclusive",
        },
    }
}

pub(super) const fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Before => "before",
        Phase::After => "after",
    }
}

pub(super) const fn trigger_word(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Freshness => "freshness",
        Trigger::Time => "time",
        Trigger::Verification => "verification",
        Trigger::Approval => "approval",
    }
}

const fn discrimination_word(discrimination: Discrimination) -> &'static str {
    match discrimination {
        Discrimination::Discriminating => "discriminating",
        Discrimination::NonDiscriminating => "non_discriminating",
        Discrimination::NotAssessed => "not_assessed",
        Discrimination::Exempt => "exempt",
    }
}
