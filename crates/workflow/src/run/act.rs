//! What an input asks for: first whether it may, then what it does. Refusing changes nothing.

use probity_core::{Code, RunId};

use super::Run;
use super::answer::Answer;
use super::state::Work;
use crate::bounds::Bound;
use crate::event::{Event, Failure};
use crate::input::{ChildEnd, DelegationEnd, Input};
use crate::owner::Origin;
use crate::refusal::Refusal;
use crate::verification::Judgement;

/// Keys of one verdict.
pub(super) const MAX_CRITERIA: usize = 100;

/// What an input comes to.
pub(super) enum Act<'a> {
    Overdue,
    Due,
    ChildStarted,
    ChildEnded(&'a ChildEnd),
    DelegationEnded(&'a DelegationEnd),
    Verdict { verdict: Judgement, keys: Vec<Code>, confidence: Option<f64> },
    Broke(&'a Code),
    Answered { answer: Answer, by: &'a str },
    Cancel(Event),
    Pause(Event),
    Resume(Event),
    Diverge { event: Event, is_refusal: bool },
}

impl Run {
    pub(super) fn judge<'a>(&self, now_ms: u64, input: &'a Input) -> Result<Act<'a>, Refusal> {
        if self.end.is_some() {
            return Err(Refusal::Ended);
        }
        let act = match input {
            Input::Start(_) => Err(Refusal::Begun),
            Input::Timer if now_ms >= self.overdue_ms() => Ok(Act::Overdue),
            Input::Timer => {
                let is_due = self.work.due_ms().is_some_and(|due_ms| now_ms >= due_ms);
                if is_due { Ok(Act::Due) } else { Err(Refusal::NothingDue) }
            }
            Input::ChildStarted { child } => match &self.work {
                Work::Child(errand) if errand.child == *child && errand.succeeded.is_none() => {
                    Ok(Act::ChildStarted)
                }
                _ => Err(Refusal::Stale { id: child.clone() }),
            },
            Input::ChildEnded { child, end } => match &self.work {
                Work::Child(errand) if errand.child == *child => Ok(Act::ChildEnded(end)),
                _ => Err(Refusal::Stale { id: child.clone() }),
            },
            Input::DelegationEnded { delegation: of, end } => match &self.work {
                Work::Delegation { delegation, .. } if delegation == of => {
                    Ok(Act::DelegationEnded(end))
                }
                _ => Err(Refusal::Stale { id: of.clone() }),
            },
            Input::Verified { verification, candidate, verdict, criteria, confidence } => {
                self.judge_verdict(verification, candidate)?;
                let keys = keys(criteria, *confidence)?;
                Ok(Act::Verdict { verdict: *verdict, keys, confidence: *confidence })
            }
            Input::VerifierBroke { verification: of, code } => match &self.work {
                Work::Verifying(check) if check.verification == *of => Ok(Act::Broke(code)),
                _ => Err(Refusal::Stale { id: of.clone() }),
            },
            Input::Resolve { node, value, by, interrupt } => {
                let wait = self.judge_wait(now_ms, node, interrupt.as_deref())?;
                Ok(Act::Answered { answer: super::answer::judge(wait, value, by)?, by })
            }
            Input::Cancel { .. } | Input::Diverged { .. } => return self.judge_word(input),
            Input::Pause { .. } | Input::Resume { .. } => self.judge_word(input),
        }?;
        // Whatever comes too late for the run as a whole is on record, and nothing comes of it.
        Ok(if now_ms >= self.overdue_ms() { Act::Overdue } else { act })
    }

    /// A verdict is on what is held, or it is refused.
    fn judge_verdict(&self, of: &RunId, candidate: &str) -> Result<(), Refusal> {
        let check = match &self.work {
            Work::Verifying(check) if check.verification == *of => check,
            _ => return Err(Refusal::Stale { id: of.clone() }),
        };
        let held = super::verdict::digest(&check.delivery.outputs).unwrap_or_default();
        if held == candidate && check.delivery.digest.as_deref() == Some(candidate) {
            return Ok(());
        }
        Err(Refusal::CandidateDiffers { held, got: candidate.to_owned() })
    }

    fn judge_word<'a>(&self, input: &Input) -> Result<Act<'a>, Refusal> {
        Ok(match input {
            Input::Cancel { reason, by, parent } => Act::Cancel(Event::RunCancelled {
                reason: reason.clone(),
                by: by.clone(),
                parent: parent.clone(),
            }),
            Input::Pause { .. } if self.is_paused => return Err(Refusal::Paused),
            Input::Pause { reason, drain_policy } => Act::Pause(Event::RunPaused {
                reason: reason.clone(),
                drain_policy: drain_policy.clone(),
            }),
            Input::Resume { .. } if !self.is_paused => return Err(Refusal::NotPaused),
            Input::Resume { reason } => Act::Resume(Event::RunResumed { reason: reason.clone() }),
            Input::Diverged { at_sequence, refusal } => {
                self.judge_divergence(*at_sequence, *refusal)?
            }
            _ => return Err(Refusal::Begun),
        })
    }

    fn judge_divergence<'a>(
        &self,
        at_sequence: u64,
        refusal: Option<(bool, bool)>,
    ) -> Result<Act<'a>, Refusal> {
        let Some(Origin::Fork { source, .. }) = &self.start.origin else {
            return Err(Refusal::NotAFork);
        };
        let source = source.clone();
        let event = match refusal {
            None => Event::ReplayDiverged { source, at_sequence },
            Some((was_refusal, is_refusal)) => {
                Event::ReplayDivergedAtRefusal { source, at_sequence, was_refusal, is_refusal }
            }
        };
        Ok(Act::Diverge { event, is_refusal: refusal.is_some() })
    }

    pub(super) fn act(&mut self, act: Act<'_>) {
        match act {
            Act::Overdue => {
                let limit = self.start.bounds.max_run_duration_ms;
                let observed = self.now_ms.saturating_sub(self.started_ms);
                self.breach(None, Bound::RunDuration, limit, observed);
            }
            Act::Due => self.expire(),
            Act::ChildStarted => {
                if let Work::Child(mut errand) = std::mem::take(&mut self.work) {
                    self.note_started(&mut errand);
                    self.work = Work::Child(errand);
                }
            }
            Act::ChildEnded(end) => {
                if let Work::Child(errand) = std::mem::take(&mut self.work) {
                    self.end_child(*errand, end);
                }
            }
            Act::DelegationEnded(end) => self.end_delegation(end),
            Act::Verdict { verdict, keys, confidence } => {
                if let Work::Verifying(check) = std::mem::take(&mut self.work) {
                    self.take_verdict(check.delivery, verdict, keys, confidence);
                }
            }
            Act::Broke(code) => {
                if let Work::Verifying(check) = std::mem::take(&mut self.work) {
                    self.go_without_verdict(check.delivery, code.clone());
                }
            }
            Act::Answered { answer, by } => self.take_answer(answer, by),
            Act::Cancel(event) => self.cancel(event),
            Act::Pause(event) => {
                self.is_paused = true;
                self.emit(None, None, event);
            }
            Act::Resume(event) => {
                self.is_paused = false;
                self.emit(None, None, event);
            }
            Act::Diverge { event, is_refusal } => {
                let code =
                    if is_refusal { "replay_diverged_at_refusal" } else { "replay_diverged" };
                let at = match &self.work {
                    Work::Delegation { at, .. } if is_refusal => Some(*at),
                    _ => None,
                };
                self.emit(at, None, event);
                let why = "the replay came to something else than its source";
                self.fail(Failure::new(code, why), at);
            }
        }
    }

    /// A time came.
    fn expire(&mut self) {
        match std::mem::take(&mut self.work) {
            Work::Delay { at, .. } => self.complete_node(at, serde_json::Map::new()),
            Work::Verifying(check) => {
                self.stop(check.verification, crate::effect::Kin::Verification);
                self.go_without_verdict(check.delivery, Code::slug("verifier_timeout"));
            }
            Work::Waiting(wait) => self.expire_wait(*wait),
            other => self.work = other,
        }
    }
}

/// The keys of what was checked, sorted, each once.
fn keys(criteria: &[Code], confidence: Option<f64>) -> Result<Vec<Code>, Refusal> {
    if criteria.len() > MAX_CRITERIA {
        let why = format!("a verdict names no more than {MAX_CRITERIA} criteria");
        return Err(Refusal::Answer { why });
    }
    if confidence.is_some_and(|sure| !(0.0..=1.0).contains(&sure)) {
        return Err(Refusal::Answer { why: "`confidence` must be from 0 to 1".to_owned() });
    }
    let keys: std::collections::BTreeSet<&Code> = criteria.iter().collect();
    Ok(keys.into_iter().cloned().collect())
}
