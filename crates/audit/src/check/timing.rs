//! When things happened, and how long they took.

use time::OffsetDateTime;

use super::Case;
use crate::finding::Findings;
use crate::rule::{self, Rule};

/// The longest decision that is believed, in milliseconds: the longest that an envelope allows.
const PLAUSIBLE_MS: u64 = probity_core::MAX_WALL_MS;

const STAGES: [&str; 4] = ["context", "plan", "act", "verify"];

/// Whether a time lies before another one. Where one of them has no fraction of a second, whole
/// seconds are compared: clocks of different grain put the same moment at two places.
fn is_before(one: OffsetDateTime, other: OffsetDateTime) -> bool {
    if one.nanosecond() == 0 || other.nanosecond() == 0 {
        return one.unix_timestamp() < other.unix_timestamp();
    }
    one < other
}

impl Case<'_> {
    pub(super) fn times(&self, findings: &mut Findings) {
        let ended = self.facts.time(&["endedAt"]);
        let mut order = |earlier, later, rule: &Rule, place: &str, what: &str| {
            if let (Some(earlier), Some(later)) = (earlier, later)
                && is_before(later, earlier)
            {
                findings.add(rule, place, what);
            }
        };
        let started = self.facts.time(&["startedAt"]);
        order(started, ended, &rule::TIME_ORDER, "/endedAt", "the episode ended before it started");
        let sealed = self.facts.time(&["seal", "sealedAt"]);
        let what = "sealed before it ended";
        order(ended, sealed, &rule::SEALED_BEFORE_END, "/seal/sealedAt", what);
        let captured = self.facts.time(&["context", "capturedAt"]);
        let what = "the context was captured after the episode had ended";
        order(captured, ended, &rule::CAPTURED_AFTER_END, "/context/capturedAt", what);

        let Some(whole) = self.facts.end_to_end() else { return };
        let stages = STAGES.map(|stage| self.facts.stage(stage));
        let sum = stages.into_iter().flatten().fold(0, u64::saturating_add);
        if sum > whole {
            let message = format!("the stages take {sum} ms, the whole {whole} ms");
            findings.add(&rule::STAGE_SUM, "/telemetry/stageMs", message);
        }
        let is_idle = self.facts.at(&["actions"]).is_some() && self.facts.actions().count() == 0;
        if let Some(act) = self.facts.stage("act").filter(|act| *act > 0 && is_idle) {
            let message = format!("{act} ms of acting, and no action");
            findings.add(&rule::ACT_WITHOUT_ACTION, "/telemetry/stageMs/act", message);
        }
        if whole > PLAUSIBLE_MS {
            let days = whole / 86_400_000;
            let message = format!("{whole} ms are {days} days");
            findings.add(&rule::DURATION_IMPLAUSIBLE, "/telemetry/endToEndMs", message);
        }
    }

    pub(super) fn budgets(&self, findings: &mut Findings) {
        let window = self.facts.natural(&["decisionWindowMs"]);
        let deadline = self.envelope.map(|envelope| envelope.deadline_ms);
        if let (Some(window), Some(deadline)) = (window, deadline)
            && window > deadline
        {
            let message = format!("a window of {window} ms under a deadline of {deadline} ms");
            findings.add(&rule::WINDOW_DIFFERS, "/decisionWindowMs", message);
        }
        // A pack's window stands in for the deadline of an envelope that is not there.
        let defaults = self.rules.and_then(|rules| rules.dte_defaults);
        let default = defaults.filter(|_| deadline.is_none()).and_then(|d| d.decision_window_ms);
        let bound = [window, deadline, default].into_iter().flatten().min();
        if let (Some(whole), Some(bound)) = (self.facts.end_to_end(), bound)
            && whole > bound
        {
            let message = format!("took {whole} ms, had {bound} ms");
            findings.add(&rule::DEADLINE_EXCEEDED, "/telemetry/endToEndMs", message);
        }
        let Some(envelope) = self.envelope else { return };
        let budgets = envelope.stage_budgets_ms;
        let budgets = [budgets.context, budgets.plan, budgets.act, budgets.verify];
        for (stage, budget) in STAGES.into_iter().zip(budgets) {
            if let Some(took) = self.facts.stage(stage).filter(|took| *took > budget) {
                let message = format!("the {stage} stage took {took} ms of {budget} ms");
                let place = format!("/telemetry/stageMs/{stage}");
                findings.add(&rule::STAGE_OVER_BUDGET, place, message);
            }
        }
        for action in self.facts.actions() {
            let timeout = action.at(&["execution", "timeoutMs"]);
            let timeout = timeout.and_then(crate::document::Node::natural);
            let budget = envelope.stage_budgets_ms.act;
            if let Some(timeout) = timeout.filter(|timeout| *timeout > budget) {
                let message = format!("may run {timeout} ms in a stage of {budget} ms");
                let place = action.pointer("/execution/timeoutMs");
                findings.add(&rule::ACTION_TIMEOUT_OVER_BUDGET, place, message);
            }
        }
    }
}
