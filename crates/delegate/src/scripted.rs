//! A delegate that plays a part in tests, and holds the driver to the protocol.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use probity_core::{Claim, Usage};

use crate::delegate::{Answered, Conversation, Delegate, DelegateError, Request};

type Action = Box<dyn Fn(&Path) -> io::Result<()> + Send + Sync>;

/// What a scripted delegate does on one attempt.
pub struct Step {
    answered: Answered,
    action: Option<Action>,
    expected: Vec<String>,
    rejected_with: Option<String>,
    error: Option<String>,
}

impl Step {
    /// Answers with this text.
    pub fn claim(response: impl Into<String>) -> Self {
        Self::answer(Answered::of(Claim::text(response)))
    }

    /// Answers with all of this.
    #[must_use]
    pub const fn answer(answered: Answered) -> Self {
        Self { answered, action: None, expected: Vec::new(), rejected_with: None, error: None }
    }

    /// Produces no claim but this error.
    pub fn fail(message: impl Into<String>) -> Self {
        Self { error: Some(message.into()), ..Self::answer(Answered::default()) }
    }

    /// Does something to the workspace first.
    #[must_use]
    pub fn does(
        mut self,
        action: impl Fn(&Path) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.action = Some(Box::new(action));
        self
    }

    /// Reports this session id; the next attempt must come with it.
    #[must_use]
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.answered.session = Some(session.into());
        self
    }

    /// Reports this cost.
    #[must_use]
    pub const fn usage(mut self, usage: Usage) -> Self {
        self.answered.usage = usage;
        self
    }

    /// Demands that the rendered prompt of this attempt holds `phrase`.
    #[must_use]
    pub fn expects(mut self, phrase: impl Into<String>) -> Self {
        self.expected.push(phrase.into());
        self
    }

    /// Demands that the *next* attempt's correction quotes `reason`.
    #[must_use]
    pub fn rejected_with(mut self, reason: impl Into<String>) -> Self {
        self.rejected_with = Some(reason.into());
        self
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("answered", &self.answered).finish_non_exhaustive()
    }
}

/// Answers attempt k with step k, and asserts on the way that the driver keeps to the protocol:
///
/// - attempts rise by one from 1, turns rise, neither goes over what the request allows;
/// - run and task stay the same; a reported session comes back;
/// - the first attempt carries no correction, a later one does, and it quotes the reason that
///   [`Step::rejected_with`] names; the last response, where given, is the one that was made.
///
/// What breaks a rule is answered with [`DelegateError::Failed`] and kept for
/// [`ScriptedDelegate::violations`].
#[derive(Debug)]
pub struct ScriptedDelegate {
    workspace: PathBuf,
    steps: Vec<Step>,
    conversation: Conversation,
    repeats: bool,
    played: Mutex<Played>,
}

#[derive(Debug, Default)]
struct Played {
    last: Option<Request>,
    requests: Vec<Request>,
    violations: Vec<String>,
}

impl ScriptedDelegate {
    /// Plays `steps` on `workspace`.
    pub fn new(workspace: impl Into<PathBuf>, steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            workspace: workspace.into(),
            steps: steps.into_iter().collect(),
            conversation: Conversation::Same,
            repeats: false,
            played: Mutex::default(),
        }
    }

    /// Plays a delegate that forgets between attempts.
    #[must_use]
    pub const fn fresh(mut self) -> Self {
        self.conversation = Conversation::Fresh;
        self
    }

    /// Allows what happens after a crash: the turn of the last request again, and, for a delegate
    /// that was built anew, a first request that is not attempt 1.
    #[must_use]
    pub const fn allow_repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// The requests so far, in order, the refused ones included.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.played().requests.clone()
    }

    /// What broke the protocol so far.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.played().violations.clone()
    }

    fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, attempt: u32) -> Option<&Step> {
        self.steps.get(usize::try_from(attempt.checked_sub(1)?).ok()?)
    }

    /// The step for this request, or what is wrong with the request.
    fn admit(&self, request: &Request, last: Option<&Request>) -> Result<&Step, String> {
        let attempt = request.attempt;
        if attempt == 0 || attempt > request.max_attempts {
            return Err(format!("attempt {attempt} of {} is out of range", request.max_attempts));
        }
        self.admit_order(request, last)?;
        let correction = request.prompt.correction.as_deref();
        match (attempt, correction) {
            (1, Some(_)) => return Err("attempt 1 carries a correction".to_owned()),
            (2.., None) => return Err(format!("attempt {attempt} carries no correction")),
            _ => {}
        }
        if let Some(before) = self.step(attempt - 1) {
            admit_echo(request, before, correction.unwrap_or_default())?;
        }
        let step = self.step(attempt).ok_or_else(|| {
            format!("attempt {attempt} was asked for, the script has {}", self.steps.len())
        })?;
        let prompt = request.prompt.render(self.conversation);
        match step.expected.iter().find(|phrase| !prompt.contains(phrase.as_str())) {
            Some(phrase) => {
                Err(format!("the prompt of attempt {attempt} lacks `{phrase}`: `{prompt}`"))
            }
            None => Ok(step),
        }
    }

    fn admit_order(&self, request: &Request, last: Option<&Request>) -> Result<(), String> {
        let Some(last) = last else {
            return if request.attempt == 1 || self.repeats {
                Ok(())
            } else {
                Err(format!("the first request is attempt {}, not 1", request.attempt))
            };
        };
        if request.run != last.run {
            return Err(format!("run `{}` came after run `{}`", request.run, last.run));
        }
        if request.prompt.task != last.prompt.task {
            return Err("the task is not the one of the attempt before".to_owned());
        }
        let (turn, before) = (request.turn, last.turn);
        if turn == before {
            return match (self.repeats, request.attempt == last.attempt) {
                (true, true) => Ok(()),
                (false, _) => Err(format!("turn {turn:?} was asked for twice")),
                (true, false) => Err(format!("turn {turn:?} came again as another attempt")),
            };
        }
        if turn < before {
            return Err(format!("turn {turn:?} came after turn {before:?}"));
        }
        if request.attempt == last.attempt + 1 {
            return Ok(());
        }
        Err(format!("attempt {} came after attempt {}", request.attempt, last.attempt))
    }
}

/// What the step before made must come back in the request after it.
fn admit_echo(request: &Request, before: &Step, correction: &str) -> Result<(), String> {
    let attempt = request.attempt;
    if let Some(reason) = &before.rejected_with
        && !correction.contains(reason.as_str())
    {
        return Err(format!(
            "the correction of attempt {attempt} does not quote `{reason}`: `{correction}`"
        ));
    }
    if before.answered.session.is_some() && request.session != before.answered.session {
        return Err(format!(
            "attempt {attempt} came with session {:?}, not {:?}",
            request.session, before.answered.session
        ));
    }
    match request.prompt.last_response.as_deref() {
        Some(last) if last != before.answered.claim.response => Err(format!(
            "attempt {attempt} quotes the last response as `{last}`, it was `{}`",
            before.answered.claim.response
        )),
        _ => Ok(()),
    }
}

#[async_trait]
impl Delegate for ScriptedDelegate {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        if request.cancel.is_cancelled() {
            return Err(DelegateError::Cancelled);
        }
        let mut played = self.played();
        played.requests.push(request.clone());
        let step = match self.admit(request, played.last.as_ref()) {
            Ok(step) => step,
            Err(rule) => {
                played.violations.push(rule.clone());
                return Err(DelegateError::Failed { message: format!("protocol: {rule}") });
            }
        };
        played.last = Some(request.clone());
        drop(played);
        if let Some(action) = &step.action {
            action(&self.workspace).map_err(|error| DelegateError::Failed {
                message: format!("the action of attempt {} failed: {error}", request.attempt),
            })?;
        }
        match &step.error {
            Some(message) => Err(DelegateError::Failed { message: message.clone() }),
            None => Ok(step.answered.clone()),
        }
    }

    fn conversation(&self) -> Conversation {
        self.conversation
    }

    fn describe(&self) -> String {
        format!("scripted, {} steps", self.steps.len())
    }
}
