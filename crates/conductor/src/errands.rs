//! What a run wants done outside: each errand is a task, named by what it is about, and ends with a word
//! for the run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use probity_core::{Code, RunId};
use probity_workflow::{ChildEnd, DelegationEnd, Effect, Failure, Input, Kin};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::delegations::{Ended, Job};
use crate::house::House;
use crate::{DelegationsError, child, models};

/// The errands of one run.
pub(crate) struct Errands {
    house: Arc<House>,
    run: RunId,
    tasks: JoinSet<Word>,
    /// What is awaited, by name.
    awaited: HashMap<RunId, (Kin, AbortHandle)>,
    names: HashMap<Id, RunId>,
    /// Children that are being begun. That is not cut off: it might be in the store a moment later.
    beginning: HashMap<RunId, CancellationToken>,
    /// What was stopped, so that it is not stopped again.
    stopped: HashSet<RunId>,
}

/// What an errand came to.
pub(crate) enum Word {
    /// A child has begun: now its end is awaited.
    Began { child: RunId },
    /// An answer for the run.
    Answer(Box<Input>),
    /// Nothing that the run hears of.
    Done,
}

impl Word {
    pub(crate) fn into_input(self) -> Option<Input> {
        match self {
            Self::Began { child } => Some(Input::ChildStarted { child }),
            Self::Answer(input) => Some(*input),
            Self::Done => None,
        }
    }
}

/// What an effect waits for; `None` where it waits for nothing.
pub(crate) const fn awaited(effect: &Effect) -> Option<&RunId> {
    match effect {
        Effect::StartChild { child, .. } => Some(child),
        Effect::Delegate { delegation, .. } => Some(delegation),
        Effect::Verify { verification, .. } => Some(verification),
        Effect::Stop { .. } => None,
    }
}

impl Errands {
    pub(crate) fn new(house: Arc<House>, run: RunId) -> Self {
        Self {
            house,
            run,
            tasks: JoinSet::new(),
            awaited: HashMap::new(),
            names: HashMap::new(),
            beginning: HashMap::new(),
            stopped: HashSet::new(),
        }
    }

    /// Sets about an effect, unless that is under way.
    pub(crate) fn perform(&mut self, effect: Effect) {
        if awaited(&effect).is_some_and(|name| self.awaited.contains_key(name)) {
            return;
        }
        let (house, run) = (Arc::clone(&self.house), self.run.clone());
        match effect {
            Effect::StartChild { .. } => {
                let Some(name) = awaited(&effect).cloned() else { return };
                let unwanted = CancellationToken::new();
                self.beginning.insert(name.clone(), unwanted.clone());
                let task = self.tasks.spawn(child::begin(house, run, effect, unwanted));
                self.await_it(name, Kin::Child, task);
            }
            Effect::Delegate { delegation, node, request } if models::is_asked(&request) => {
                let answer = models::ended(delegation.clone(), house.models.ask(&node));
                let task = self.tasks.spawn(async { Word::Answer(Box::new(answer)) });
                self.await_it(delegation, Kin::Delegation, task);
            }
            Effect::Delegate { delegation, request, .. } => {
                let job = Job::Delegate { request };
                let task = self.tasks.spawn(delegate(house, delegation.clone(), job));
                self.await_it(delegation, Kin::Delegation, task);
            }
            Effect::Verify { verification, node, target, spec, candidate, digest } => {
                let mock = mock(&run, &node, &verification, &spec);
                let job = Job::Verify { target, candidate, digest, spec, mock };
                let task = self.tasks.spawn(delegate(house, verification.clone(), job));
                self.await_it(verification, Kin::Verification, task);
            }
            Effect::Stop { run: name, kind } => {
                self.give_up(&name);
                if self.stopped.insert(name.clone()) {
                    let task = self.tasks.spawn(stop(house, run, name, kind));
                    // Nothing is awaited of it.
                    drop(task);
                }
            }
        }
    }

    /// Gives up what is awaited beside these.
    pub(crate) fn keep(&mut self, names: &[RunId]) {
        let late: Vec<RunId> =
            self.awaited.keys().filter(|name| !names.contains(name)).cloned().collect();
        for name in late {
            self.give_up(&name);
        }
    }

    /// The next word; `None` if nothing is under way. Dropping the call loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Word> {
        let ended = self.tasks.join_next_with_id().await?;
        let (id, word) = match ended {
            Ok((id, word)) => (id, Ok(word)),
            Err(error) => (error.id(), Err(error)),
        };
        let name = self.names.remove(&id);
        let known = name.and_then(|name| Some((self.awaited.get(&name)?.0, name)));
        let word = match (word, known) {
            (Ok(word), _) => word,
            (Err(error), Some((kin, name))) => broken(&error, kin, name),
            (Err(_), None) => Word::Done,
        };
        Some(self.settle(word))
    }

    /// Ends what is awaited, and waits until everything is stopped that was to be.
    pub(crate) async fn finish(&mut self) {
        self.keep(&[]);
        while self.tasks.join_next().await.is_some() {}
    }

    fn settle(&mut self, word: Word) -> Word {
        match &word {
            // Given up while it was begun: it was stopped as well.
            Word::Began { child } if self.beginning.remove(child).is_none() => {}
            Word::Began { child } => {
                let ended = child::ended(Arc::clone(&self.house), child.clone());
                let task = self.tasks.spawn(ended);
                self.await_it(child.clone(), Kin::Child, task);
            }
            Word::Answer(input) => {
                if let Some(name) = about(input) {
                    self.awaited.remove(name);
                    self.beginning.remove(name);
                }
            }
            Word::Done => {}
        }
        word
    }

    fn await_it(&mut self, name: RunId, kin: Kin, task: AbortHandle) {
        self.names.insert(task.id(), name.clone());
        self.awaited.insert(name, (kin, task));
    }

    fn give_up(&mut self, name: &RunId) {
        let given_up = self.awaited.remove(name);
        match (self.beginning.remove(name), given_up) {
            (Some(unwanted), _) => unwanted.cancel(),
            (None, Some((_, task))) => task.abort(),
            (None, None) => {}
        }
    }
}

/// What an answer is about.
const fn about(input: &Input) -> Option<&RunId> {
    match input {
        Input::ChildEnded { child, .. } => Some(child),
        Input::DelegationEnded { delegation, .. } => Some(delegation),
        Input::Verified { verification, .. } | Input::VerifierBroke { verification, .. } => {
            Some(verification)
        }
        _ => None,
    }
}

/// An errand that panicked, or was given up.
fn broken(error: &JoinError, kin: Kin, name: RunId) -> Word {
    if error.is_cancelled() {
        return Word::Done;
    }
    let code = Code::slug("errand_panicked");
    let message = "the code that was asked for it panicked".to_owned();
    Word::Answer(Box::new(failed(kin, name, code, message)))
}

/// The answer of something that could not be done.
pub(crate) fn failed(kin: Kin, name: RunId, code: Code, message: String) -> Input {
    match kin {
        Kin::Child => {
            let error = Failure { code: code.as_str().to_owned(), message, details: None };
            Input::ChildEnded { child: name, end: ChildEnd::Failed { error, was_started: false } }
        }
        Kin::Delegation => Input::DelegationEnded {
            delegation: name,
            end: DelegationEnd {
                outcome: "delegate_failed".to_owned(),
                code,
                verdict: None,
                criteria: Vec::new(),
                attempts: 0,
                delivered: None,
                candidate: None,
                is_edited: false,
            },
        },
        Kin::Verification => Input::VerifierBroke { verification: name, code },
    }
}

/// Begins a delegation or a verification, and waits for its end.
async fn delegate(house: Arc<House>, name: RunId, job: Job) -> Word {
    let kin = match &job {
        Job::Delegate { .. } => Kin::Delegation,
        Job::Verify { .. } => Kin::Verification,
    };
    let ended = async {
        house.insist(|| house.delegations.begin(&name, &job)).await?;
        house.insist(|| house.delegations.ended(&name, &job)).await
    };
    let input = match (ended.await, kin) {
        (Ok(Ended::Delegation(end)), Kin::Delegation) => {
            Input::DelegationEnded { delegation: name, end }
        }
        (Ok(Ended::Verdict { candidate, verdict, criteria, confidence }), Kin::Verification) => {
            Input::Verified { verification: name, candidate, verdict, criteria, confidence }
        }
        (Ok(Ended::Broke { code }), _) => {
            failed(kin, name, code, "the delegation ended without a result".to_owned())
        }
        (Ok(_), _) => {
            let message = "the answer is of another kind than what was asked".to_owned();
            failed(kin, name, Code::slug("delegation_kind"), message)
        }
        (Err(error), _) => failed(kin, name, error.code().clone(), error.to_string()),
    };
    Word::Answer(Box::new(input))
}

/// Stops what `run` does not want any more.
pub(crate) async fn stop(house: Arc<House>, run: RunId, name: RunId, kin: Kin) -> Word {
    match kin {
        Kin::Child => child::stop(&house, &run, &name).await,
        Kin::Delegation | Kin::Verification => {
            let reason = format!("workflow run {run} does not want it any more");
            // It ends by its own bounds where it cannot be told.
            let _ = house.insist(|| house.delegations.stop(&name, &reason)).await;
        }
    }
    Word::Done
}

/// What a scripted critic is to say in this turn. Behind the last of its verdicts it repeats that one.
fn mock(
    run: &RunId,
    node: &str,
    verification: &RunId,
    spec: &probity_workflow::VerifierSpec,
) -> Option<probity_workflow::MockVerdict> {
    let named = |n: u64| probity_workflow::child_id(run, node, Kin::Verification, n);
    let said = (0..).zip(&spec.mock_verdicts);
    let here = said.clone().find(|(n, _)| named(*n) == *verification);
    here.or_else(|| said.last()).map(|(_, verdict)| verdict.clone())
}

impl House {
    /// Asks until it is done, it never will be, or it was asked often enough.
    async fn insist<T, F>(&self, ask: impl Fn() -> F) -> Result<T, DelegationsError>
    where
        F: Future<Output = Result<T, DelegationsError>>,
    {
        let mut tries = 1;
        loop {
            match ask().await {
                Err(DelegationsError::Later { .. }) if tries < self.options.max_tries => {
                    tokio::time::sleep(self.options.pause(tries)).await;
                    tries += 1;
                }
                other => return other,
            }
        }
    }
}
