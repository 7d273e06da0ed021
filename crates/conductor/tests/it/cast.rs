//! Delegations that follow a script, and count.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use probity_conductor::{Delegations, DelegationsError, Ended, Job};
use probity_core::{Code, RunId};
use probity_workflow::{DelegationEnd, Judgement, MockVerdict};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

/// What is played.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    /// Every critic says this, and every delegation is verified.
    Verdict(Judgement),
    /// Critics say these in turn, then pass.
    Verdicts(Vec<Judgement>),
    /// What the definition's `mockVerdicts` say.
    Mock,
    /// A verdict on something else.
    Lie,
    /// No critic ever answers.
    Hang,
    /// Asked again later, so many times; then pass.
    Late(u32),
    /// Never to be had.
    Never,
    /// It panics.
    Panic,
}

#[derive(Default)]
struct Seen {
    begun: Vec<RunId>,
    stopped: Vec<RunId>,
    verdicts: HashMap<RunId, Judgement>,
    tries: u32,
}

pub(crate) struct Cast {
    part: Part,
    seen: Mutex<Seen>,
    never: Notify,
}

impl Cast {
    pub(crate) fn new(part: Part) -> Self {
        Self { part, seen: Mutex::default(), never: Notify::new() }
    }

    /// Everything that was begun, each time that it was.
    pub(crate) fn begun(&self) -> Vec<RunId> {
        self.seen().begun.clone()
    }

    pub(crate) fn stopped(&self) -> Vec<RunId> {
        self.seen().stopped.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// The same verification has the same verdict, however often it is asked for.
    fn verdict(&self, run: &RunId) -> Judgement {
        let mut seen = self.seen();
        let said = seen.verdicts.len();
        let verdict = match &self.part {
            Part::Verdict(verdict) => *verdict,
            Part::Verdicts(verdicts) => verdicts.get(said).copied().unwrap_or(Judgement::Pass),
            _ => Judgement::Pass,
        };
        *seen.verdicts.entry(run.clone()).or_insert(verdict)
    }
}

#[async_trait]
impl Delegations for Cast {
    async fn begin(&self, run: &RunId, _: &Job) -> Result<(), DelegationsError> {
        let mut seen = self.seen();
        seen.begun.push(run.clone());
        seen.tries += 1;
        let (code, message) = (Code::slug("no_room"), "no room".to_owned());
        match self.part {
            Part::Late(tries) if seen.tries <= tries => {
                Err(DelegationsError::Later { code, message })
            }
            Part::Never => Err(DelegationsError::Never { code, message }),
            Part::Panic => {
                drop(seen);
                panic!("the part is to panic")
            }
            _ => Ok(()),
        }
    }

    async fn ended(&self, run: &RunId, job: &Job) -> Result<Ended, DelegationsError> {
        if self.part == Part::Hang {
            self.never.notified().await;
        }
        Ok(match job {
            Job::Delegate { request } => Ended::Delegation(delivered(request)),
            Job::Verify { digest, mock, .. } => {
                let verdict = match (&self.part, mock) {
                    (Part::Mock, Some(MockVerdict::Fail)) => Judgement::Fail,
                    (Part::Mock, Some(MockVerdict::Revise)) => Judgement::Revise,
                    (Part::Mock, Some(MockVerdict::Fault)) => {
                        return Ok(Ended::Broke { code: Code::slug("mock_fault") });
                    }
                    _ => self.verdict(run),
                };
                let candidate = match self.part {
                    Part::Lie => "0".repeat(64),
                    _ => digest.clone(),
                };
                let criteria = vec![Code::slug("grounded")];
                Ended::Verdict { candidate, verdict, criteria, confidence: Some(1.0) }
            }
        })
    }

    async fn stop(&self, run: &RunId, _: &str) -> Result<(), DelegationsError> {
        self.seen().stopped.push(run.clone());
        Ok(())
    }
}

fn delivered(request: &Value) -> DelegationEnd {
    let delivered = json!({ "of": request, "sure": 1.0 });
    let candidate = Sha256::digest(probity_record::canonical::jcs(&delivered).unwrap());
    DelegationEnd {
        outcome: "verified".to_owned(),
        code: Code::slug("ok"),
        verdict: Some(Judgement::Pass),
        criteria: Vec::new(),
        attempts: 1,
        delivered: Some(delivered),
        candidate: Some(hex::encode(candidate)),
        is_edited: false,
    }
}
