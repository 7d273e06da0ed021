//! A run while it goes on, for whoever called. Events hold no content, so these are words and codes only.

use std::sync::{Mutex, PoisonError};

use probity_core::{Entry, Event, Finding, Phase, VerdictKind};
use probity_engine::Watch;
use probity_mcp::serve::Progress;

/// Tells of every step of a run that a caller can make something of.
pub(super) struct Narrator {
    progress: Progress,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    run: String,
    checks: Vec<String>,
    attempt: u32,
    max_attempts: u32,
}

impl Narrator {
    pub(super) fn new(progress: Progress) -> Self {
        Self { progress, seen: Mutex::default() }
    }
}

impl Watch for Narrator {
    fn entry(&self, entry: &Entry) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(step) = seen.step(&entry.event) {
            // Steps that follow each other closely are told as one, so each says whose it is.
            self.progress.step(format!("run {}: {step}", seen.run));
        }
    }
}

impl Seen {
    fn step(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::RunOpened { run, policy, checks, .. } => {
                self.checks = checks.iter().map(|check| check.id.to_string()).collect();
                self.max_attempts = policy.max_attempts;
                self.run = run.to_string();
                Some(format!("opened; checks: {}", checks.len()))
            }
            Event::DelegateDispatched { attempt, .. } => {
                self.attempt = *attempt;
                Some(self.at("the delegate works"))
            }
            Event::ClaimReceived { .. } => {
                Some(self.at("the delegate has answered; it is checked"))
            }
            Event::DelegateFailed { code, .. } => {
                Some(self.at(&format!("the delegate failed [{code}]")))
            }
            Event::DelegateParked { .. } => Some(self.at("the delegate waits")),
            Event::CheckStarted { phase: Phase::Before, check, .. } => {
                Some(format!("before the start: check {}", self.name(check.as_usize())))
            }
            Event::CheckFinished { check, finding, .. } => {
                let name = self.name(check.as_usize());
                Some(self.at(&format!("check {name}: {}", said(finding))))
            }
            Event::CheckAwaits { check, .. } => {
                Some(format!("check {} waits for a human", self.name(check.as_usize())))
            }
            Event::Escalated { code, .. } => Some(format!("a human is asked [{code}]")),
            Event::OutcomeDecided { outcome, code, .. } => Some(format!("{outcome} [{code}]")),
            _ => None,
        }
    }

    fn at(&self, what: &str) -> String {
        format!("attempt {} of {}: {what}", self.attempt, self.max_attempts)
    }

    fn name(&self, index: usize) -> &str {
        self.checks.get(index).map_or("?", String::as_str)
    }
}

fn said(finding: &Finding) -> String {
    match finding {
        Finding::NotApplicable => "does not apply".to_owned(),
        Finding::Fault { code, .. } => format!("fault [{code}]"),
        Finding::Verdict { verdict: VerdictKind::Pass, .. } => "pass".to_owned(),
        Finding::Verdict { code, .. } => format!("not passed [{code}]"),
    }
}
