//! A run while it goes on, on standard error: one live line on a terminal, plain lines in a pipe.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use probity_core::{
    Answer, CheckDecl, CheckIndex, Discrimination, Entry, Event, Finding, HookDecision, HookDecl,
    HookIndex, NoteKind, Phase, RunId, VerdictKind,
};
use probity_engine::{Plan, Watch};

use super::log::timestamp;
use super::present::count;

/// How often the live line moves.
const TICK: Duration = Duration::from_millis(120);

/// Watches a run for whoever started it.
pub(super) struct Progress {
    face: Face,
    state: Mutex<State>,
}

/// Where progress is shown.
enum Face {
    /// Nowhere.
    Quiet,
    /// As lines, each behind these words.
    Lines(String),
    /// As one line that changes.
    Live(ProgressBar),
}

/// What the entries said so far.
#[derive(Default)]
struct State {
    checks: Vec<CheckDecl>,
    hooks: Vec<HookDecl>,
    max_attempts: u32,
    attempt: u32,
    rejected: Option<String>,
    /// The claim was made elsewhere: no delegate works.
    is_given: bool,
}

impl Progress {
    /// Live where standard error is a terminal, otherwise lines; quiet where JSON was asked for and
    /// nobody looks on.
    pub(super) fn new(json: bool) -> Self {
        let face = match (io::stderr().is_terminal(), json) {
            (true, _) => Face::Live(live_line()),
            (false, true) => Face::Quiet,
            (false, false) => Face::Lines(String::new()),
        };
        Self { face, state: Mutex::default() }
    }

    /// The same, of a claim that was made elsewhere.
    pub(super) fn of_claim(json: bool) -> Self {
        let progress = Self::new(json);
        progress.state().is_given = true;
        progress
    }

    /// Lines that name their run, for where there are several.
    pub(super) fn of_run(run: &RunId) -> Self {
        Self { face: Face::Lines(format!("{run}  ")), state: Mutex::default() }
    }

    /// Takes in what a run's opening entry would have said: it is not told again on a resume.
    pub(super) fn knows(&self, plan: &Plan) {
        let mut state = self.state();
        state.checks = plan.checks.iter().map(|check| check.decl.clone()).collect();
        state.hooks = plan.hooks.iter().map(|hook| hook.decl.clone()).collect();
        state.max_attempts = plan.policy.max_attempts;
    }

    /// Clears the live line, so that the result stands alone.
    pub(super) fn finish(&self) {
        if let Face::Live(bar) = &self.face {
            bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Watch for Progress {
    fn entry(&self, entry: &Entry) {
        let mut state = self.state();
        let told = state.step(&entry.event);
        match &self.face {
            Face::Quiet => {}
            Face::Lines(before) => {
                if let Some(line) = told {
                    let _ = writeln!(io::stderr(), "{before}{line}");
                }
            }
            Face::Live(bar) => {
                if let Some(now) = state.now(&entry.event) {
                    bar.set_message(now);
                    bar.reset_elapsed();
                }
            }
        }
    }
}

impl State {
    /// Takes an event in, and says it in a line where it matters to people.
    fn step(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::RunOpened { run, policy, checks, hooks, .. } => {
                self.checks.clone_from(checks);
                self.hooks.clone_from(hooks);
                self.max_attempts = policy.max_attempts;
                let checks = u64::try_from(checks.len()).unwrap_or(u64::MAX);
                let attempts = count(policy.max_attempts.into(), "attempt");
                Some(format!("run {run}: {}, at most {attempts}", count(checks, "check")))
            }
            Event::CheckRed {
                check, discrimination: Discrimination::NonDiscriminating, ..
            } => Some(format!("{} passes already, before the delegate starts", self.name(*check))),
            Event::DelegateDispatched { attempt, .. } => {
                self.attempt = *attempt;
                (!self.is_given).then(|| format!("{}: the delegate works", self.attempt()))
            }
            Event::DelegateNoted { kind, .. } => self.noted(*kind),
            Event::DelegateParked { until_ms, .. } => {
                Some(format!("{}: the delegate waits {}", self.attempt(), awaited(*until_ms)))
            }
            Event::DelegateWoken { .. } => {
                Some(format!("{}: the delegate goes on", self.attempt()))
            }
            Event::ClaimReceived { .. } => Some(format!("{}: claim received", self.attempt())),
            Event::DelegateFailed { code, .. } => {
                Some(format!("{}: the delegate failed [{code}]", self.attempt()))
            }
            Event::WorldUnreadable { code, .. } => {
                Some(format!("the workspace cannot be read [{code}]"))
            }
            Event::CheckFinished { check, finding, elapsed_ms, .. } => {
                Some(self.finished(*check, finding, *elapsed_ms))
            }
            Event::LeaseTaken { worker, .. } => Some(format!("worker {worker} drives the run")),
            Event::RunReleased => Some("left for a worker".to_owned()),
            Event::CancelRequested { .. } => Some("asked to stop".to_owned()),
            Event::Steered { .. } => Some("something is said to the delegate".to_owned()),
            Event::RunResumed { interruptions } => {
                let times = count((*interruptions).into(), "interruption");
                Some(format!("taken up again after {times}"))
            }
            Event::HookAnswered { hook, decision, .. } => self.hooked(*hook, decision),
            Event::DegradeChosen { step, .. } => Some(format!("falls back to {step}")),
            Event::CheckAwaits { check, .. } => {
                Some(format!("{}: waits for a human", self.name(*check)))
            }
            Event::CheckAnswered { check, finding, .. } => {
                Some(format!("{}: {} {}", self.attempt(), self.name(*check), said(finding)))
            }
            Event::Escalated { code, .. } => Some(format!("a human is asked [{code}]")),
            Event::Answered { answer, .. } => {
                if let Answer::Continue { attempts } = answer {
                    self.max_attempts = self.max_attempts.saturating_add(*attempts);
                }
                Some("the human answered".to_owned())
            }
            Event::OutcomeDecided { outcome, code, .. } => Some(format!("{outcome} [{code}]")),
            Event::CheckRed { .. }
            | Event::WorldObserved { .. }
            | Event::CheckStarted { .. }
            | Event::HookCalled { .. }
            | Event::VerdictMerged { .. }
            | Event::Sealed { .. } => None,
        }
    }

    fn noted(&self, kind: NoteKind) -> Option<String> {
        let what = match kind {
            NoteKind::Model => "a model answered",
            NoteKind::Tool => "a tool was used",
            NoteKind::Session => return None,
        };
        Some(format!("{}: {what}", self.attempt()))
    }

    fn finished(&mut self, check: CheckIndex, finding: &Finding, elapsed_ms: u64) -> String {
        let said = said(finding);
        if finding.verdict() != Some(VerdictKind::Pass) {
            self.rejected = Some(said.clone());
        }
        format!("{}: {} {said}, {elapsed_ms} ms", self.attempt(), self.name(check))
    }

    fn hooked(&self, hook: HookIndex, decision: &HookDecision) -> Option<String> {
        match decision {
            HookDecision::Allow | HookDecision::NotApplicable => None,
            decision => {
                let hook = self.hooks.get(hook.as_usize()).map_or("?", |hook| hook.id.as_str());
                Some(format!("hook {hook}: {}", decided(decision)))
            }
        }
    }

    /// What is going on from this event on, for the live line.
    fn now(&self, event: &Event) -> Option<String> {
        let doing = match event {
            Event::RunOpened { .. } => "reading the workspace".to_owned(),
            Event::CheckStarted { phase: Phase::Before, check, .. } => {
                return Some(format!("before the start · check {}", self.name(*check)));
            }
            Event::CheckStarted { check, tries: 1, .. } => format!("check {}", self.name(*check)),
            Event::CheckStarted { check, tries, .. } => {
                format!("check {}, try {tries}", self.name(*check))
            }
            Event::DelegateParked { until_ms, .. } => {
                format!("the delegate waits {}", awaited(*until_ms))
            }
            Event::DelegateDispatched { .. } | Event::DelegateWoken { .. } => {
                match &self.rejected {
                    Some(said) => format!("the delegate works (last: {said})"),
                    None => "the delegate works".to_owned(),
                }
            }
            Event::ClaimReceived { .. } => "reading the workspace".to_owned(),
            _ => return None,
        };
        Some(match self.attempt {
            0 => doing,
            _ => format!("{} · {doing}", self.attempt()),
        })
    }

    fn attempt(&self) -> String {
        match (self.attempt, self.max_attempts) {
            // Taken up in the middle of an attempt, whose number stands in the log.
            (0, _) => "this attempt".to_owned(),
            (attempt, 0) => format!("attempt {attempt}"),
            (attempt, max_attempts) => format!("attempt {attempt} of {max_attempts}"),
        }
    }

    fn name(&self, check: CheckIndex) -> String {
        match self.checks.get(check.as_usize()) {
            Some(decl) => decl.id.to_string(),
            None => format!("check {}", check.as_usize().saturating_add(1)),
        }
    }
}

/// What a delegate waits for.
pub(super) fn awaited(until_ms: Option<u64>) -> String {
    until_ms.map_or_else(
        || "for an answer".to_owned(),
        |until_ms| format!("until {}", timestamp(until_ms)),
    )
}

fn live_line() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The template is a constant; the fallback only changes how it looks.
    let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    bar.set_style(style);
    bar.enable_steady_tick(TICK);
    bar
}

/// A hook's decision in a few words.
pub(super) fn decided(decision: &HookDecision) -> String {
    match decision {
        HookDecision::Allow => "allow".to_owned(),
        HookDecision::NotApplicable => "does not apply".to_owned(),
        HookDecision::Block { .. } => "block".to_owned(),
        HookDecision::Modify { .. } => "modify".to_owned(),
        HookDecision::Inconclusive { code, .. } => format!("inconclusive [{code}]"),
        HookDecision::Fault { code, .. } => format!("fault [{code}]"),
    }
}

/// A finding in a few words. Events hold no content, so these are words and codes only.
pub(super) fn said(finding: &Finding) -> String {
    match finding {
        Finding::NotApplicable => "does not apply".to_owned(),
        Finding::Fault { code, .. } => format!("fault [{code}]"),
        Finding::Verdict { verdict: VerdictKind::Pass, .. } => "pass".to_owned(),
        Finding::Verdict { verdict, code, .. } => {
            let verdict = match verdict {
                VerdictKind::Pass => "pass",
                VerdictKind::Revise => "revise",
                VerdictKind::Fail => "fail",
                VerdictKind::Inconclusive => "inconclusive",
            };
            format!("{verdict} [{code}]")
        }
    }
}
