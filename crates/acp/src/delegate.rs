//! An agent as a delegate.

use std::path::PathBuf;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
    SelectedPermissionOutcome, SessionId,
};
use async_trait::async_trait;
use probity_core::{NoteKind, Usage};
use probity_delegate::{
    Answered, Conversation, Delegate, DelegateError, Note, Request, cut_middle,
};
use probity_sandbox::{Launcher, MAX_TIMEOUT};
use serde_json::{Value, json};
use tokio::sync::{Mutex, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::agent::LiveAgent;
use crate::config::{AcpConfig, ConfigError};
use crate::connection::{Ask, Turned, is_broken};
use crate::losses::Losses;
use crate::permissions::{Decided, Decision, Policy};
use crate::session::{self, Session, Way};
use crate::steps::{Halt, Limits, MAX_QUOTE_BYTES, words};
use crate::tokens::answer_tokens;
use crate::transcript::{Bounds, Transcript};
use crate::workspace::Workspace;

/// How long an agent has to end its turn once it is told to.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// How much of a command line is shown.
const MAX_DESCRIPTION_BYTES: usize = 200;

/// The format that errors name.
const FORMAT: &str = "acp";

/// Asks an agent that speaks the Agent Client Protocol, in one session for all attempts of a run.
///
/// The agent is started by the first attempt and kept for the next; dropping the delegate kills it
/// with everything that it has started. An agent that died, or whose delegate was made anew, is
/// started again and loads the session where it can; else a new one is told everything. Attempts of
/// several runs wait for each other.
#[derive(Debug)]
pub struct AcpDelegate {
    config: AcpConfig,
    policy: Policy,
    workspace: Workspace,
    launcher: Launcher,
    kept: Mutex<Kept>,
}

/// What is kept between attempts.
#[derive(Debug, Default)]
struct Kept {
    /// Taken out for the time of an attempt: one that is dropped leaves no agent at work.
    agent: Option<LiveAgent>,
    /// An agent got as far as to agree on the protocol, so that one that dies early is worth another
    /// try.
    was_up: bool,
    losses: Losses,
}

impl AcpDelegate {
    /// A delegate that runs `config` with `workspace` as its working directory.
    ///
    /// # Errors
    /// [`ConfigError`] when the configuration cannot work.
    pub fn new(
        config: AcpConfig,
        workspace: impl Into<PathBuf>,
        launcher: Launcher,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let policy = config.permissions.compile()?;
        let workspace = Workspace::new(&workspace.into());
        Ok(Self { config, policy, workspace, launcher, kept: Mutex::default() })
    }

    fn limits<'a>(&self, request: &'a Request) -> Limits<'a> {
        // No sum of a bounded time and now is out of range.
        let bounded = |timeout_ms| Duration::from_millis(timeout_ms).min(MAX_TIMEOUT);
        let own = bounded(self.config.timeout_ms);
        let timeout = request.timeout.map_or(own, |timeout| timeout.min(own));
        Limits {
            step_timeout: bounded(self.config.start_timeout_ms),
            timeout,
            deadline: Instant::now() + timeout,
            cancel: &request.cancel,
        }
    }

    /// An agent with the session of the run open.
    async fn ready(
        &self,
        kept: &mut Kept,
        request: &Request,
        limits: Limits<'_>,
    ) -> Result<(LiveAgent, Session), DelegateError> {
        let mut agent = match kept.agent.take() {
            Some(agent) if agent.is_up() => agent,
            dead => {
                if let Some(dead) = dead {
                    dead.kill().await;
                }
                self.started(kept, limits).await?
            }
        };
        if let Some((run, session)) = &agent.session
            && *run == request.run
        {
            let session = session.clone();
            return Ok((agent, session));
        }
        match self.opened(&mut agent, request, limits).await {
            Ok(session) => Ok((agent, session)),
            Err(Trouble::Halted(halt)) => Err(self.halted(agent, halt, kept.was_up, limits).await),
            Err(Trouble::Failed(error)) => {
                agent.kill().await;
                Err(error)
            }
        }
    }

    async fn started(
        &self,
        kept: &mut Kept,
        limits: Limits<'_>,
    ) -> Result<LiveAgent, DelegateError> {
        let starting = LiveAgent::start(&self.config, &self.workspace, &self.launcher);
        let mut agent = starting.await?;
        match agent.initialize(limits, self.config.auth_method.as_deref()).await {
            Ok(()) => {
                kept.was_up = true;
                Ok(agent)
            }
            Err(halt) => Err(self.halted(agent, halt, kept.was_up, limits).await),
        }
    }

    /// Opens the session of the run, and notes it before anything is said in it.
    async fn opened(
        &self,
        agent: &mut LiveAgent,
        request: &Request,
        limits: Limits<'_>,
    ) -> Result<Session, Trouble> {
        let notes = request.notes.read().await.map_err(DelegateError::from)?;
        let reported = request.session.as_ref().filter(|id| !id.is_empty());
        let known = session::last_noted(&notes).or_else(|| {
            reported.map(|id| Session { id: SessionId::new(id.clone()), opened: None })
        });
        let steps = limits.of(&agent.connection);
        let id = known.as_ref().map(|known| &known.id);
        let root = self.workspace.root();
        let opened = session::open(&steps, &agent.can, &self.config, root, id).await?;
        let note = session::note(&opened.id, opened.way);
        request.notes.keep(note).await.map_err(DelegateError::from)?;
        session::set_up(&steps, &opened, &self.config).await?;
        let session = match (opened.way, known) {
            (Way::Loaded | Way::Resumed, Some(known)) => known,
            _ => Session { id: opened.id, opened: Some(request.turn) },
        };
        agent.session = Some((request.run.clone(), session.clone()));
        Ok(session)
    }

    /// Ends an agent that did not get as far as a prompt.
    async fn halted(
        &self,
        agent: LiveAgent,
        halt: Halt,
        was_up: bool,
        limits: Limits<'_>,
    ) -> DelegateError {
        let program = self.describe();
        let logins: Vec<String> =
            agent.logins.iter().map(|method| format!("`{}`", method.id().0)).collect();
        let autopsy = match &halt {
            Halt::Broken { .. } | Halt::Silent { .. } => Some(agent.autopsy().await),
            _ => {
                agent.kill().await;
                None
            }
        };
        let message = match (halt, autopsy) {
            (Halt::Cancelled, _) => return DelegateError::Cancelled,
            (Halt::OutOfTime, _) => return timed_out(limits),
            (Halt::Broken { .. } | Halt::Silent { .. }, Some(autopsy))
                if autopsy.fault.is_some() =>
            {
                return output_error(autopsy.fault.unwrap_or_default());
            }
            (Halt::Broken { step }, Some(autopsy)) if was_up => {
                let message = format!("`{program}` did not answer `{step}`: {}", autopsy.words());
                return DelegateError::Lost { message };
            }
            (Halt::Broken { step }, Some(autopsy)) => {
                format!("`{program}` did not answer `{step}`: {}", autopsy.words())
            }
            (Halt::Silent { step }, autopsy) => {
                let wrote = autopsy
                    .and_then(|autopsy| autopsy.first_foreign)
                    .map_or_else(String::new, |line| format!("; it wrote `{line}`"));
                format!(
                    "`{program}` did not answer `{step}` within {} ms{wrote}; check that it speaks \
                     the Agent Client Protocol on its standard output, or raise `start_timeout_ms`",
                    self.config.start_timeout_ms
                )
            }
            (Halt::Refused { step, message, wants_login: true }, _) => format!(
                "`{program}` answered `{step}` with an error: {message}; log in with it by hand, or \
                 set `auth_method` to one of its own: {}",
                if logins.is_empty() { "none".to_owned() } else { logins.join(", ") }
            ),
            (Halt::Refused { step, message, .. }, _) => {
                format!("`{program}` answered `{step}` with an error: {message}")
            }
            (Halt::Unfit { detail }, _) => format!("`{program}` does not fit: {detail}"),
            (Halt::Broken { step }, None) => format!("`{program}` did not answer `{step}`"),
        };
        DelegateError::Failed { message }
    }

    /// Says `prompt` and listens until the turn is over.
    async fn converse(
        &self,
        agent: &mut LiveAgent,
        request: &Request,
        session: &Session,
        limits: Limits<'_>,
    ) -> Result<Turned, Stopped> {
        // The session heard nothing of the run yet, or what it heard may be this very prompt.
        let fresh = session.opened == Some(request.turn);
        let conversation = if fresh { Conversation::Fresh } else { Conversation::Same };
        let text = request.say(conversation).await.map_err(|error| Stopped::Error(error.into()))?;
        let prompt = PromptRequest::new(session.id.clone(), vec![text.into()]);
        let bounds = Bounds {
            max_bytes: self.config.max_response_bytes,
            max_calls: self.config.max_tool_calls,
        };
        let mut turned = agent.connection.prompt(&prompt, bounds).map_err(|_| Stopped::Broken)?;
        let mut asked: usize = 0;
        loop {
            tokio::select! {
                biased;
                () = limits.cancel.cancelled() => {
                    wind_down(agent, &session.id, turned).await;
                    return Err(Stopped::Error(DelegateError::Cancelled));
                }
                () = sleep_until(limits.deadline) => {
                    wind_down(agent, &session.id, turned).await;
                    return Err(Stopped::Error(timed_out(limits)));
                }
                ask = agent.connection.asked() => {
                    asked = asked.saturating_add(1);
                    if asked > self.config.max_tool_calls {
                        return Err(Stopped::Error(DelegateError::Failed {
                            message: format!(
                                "`{}` asked for permission more than {} times in one attempt; raise \
                                 `max_tool_calls`, or give it a mode that asks less",
                                self.describe(),
                                self.config.max_tool_calls
                            ),
                        }));
                    }
                    self.permit(ask, request).await.map_err(Stopped::Error)?;
                }
                end = &mut turned => return end.map_err(|_| Stopped::Broken),
            }
        }
    }

    /// Decides, writes the decision down, and only then tells it.
    async fn permit(&self, ask: Ask, request: &Request) -> Result<(), DelegateError> {
        let decided = self.policy.decide(&ask.wish, &self.workspace);
        let (Decided { decision, because }, option) = choose(&ask.request.options, decided);
        let note = json!({
            "permission": {
                "tool_call": cut_middle(&ask.request.tool_call.tool_call_id.0, MAX_QUOTE_BYTES),
                "kind": ask.wish.kind,
                "title": ask.wish.title,
                "paths": ask.wish.paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
                "decision": decision,
                "because": because,
                "option": option.map_or(Value::from("cancelled"), |option| json!(option.kind)),
            }
        });
        let note = Note {
            kind: NoteKind::Tool,
            content: note.to_string().into_bytes(),
            usage: Usage::default(),
        };
        let outcome = option.map_or(RequestPermissionOutcome::Cancelled, |option| {
            let selected = SelectedPermissionOutcome::new(option.option_id.clone());
            RequestPermissionOutcome::Selected(selected)
        });
        request.notes.keep(note).await?;
        ask.answer(outcome);
        Ok(())
    }

    /// One turn of the agent, started where none is up.
    async fn take_turn(
        &self,
        kept: &mut Kept,
        request: &Request,
        limits: Limits<'_>,
    ) -> Result<Answered, DelegateError> {
        let (mut agent, session) = self.ready(kept, request, limits).await?;
        let stopped = match self.converse(&mut agent, request, &session, limits).await {
            Ok(Turned { response: Ok(response), transcript }) => {
                kept.agent = Some(agent);
                return answered(&response, transcript, &session.id);
            }
            Ok(Turned { response: Err(error), .. }) if !is_broken(&error) => {
                kept.agent = Some(agent);
                let message =
                    format!("the agent answered the prompt with an error: {}", words(&error));
                return Err(DelegateError::Failed { message });
            }
            Ok(_) => Stopped::Broken,
            Err(stopped) => stopped,
        };
        match stopped {
            Stopped::Error(error) => {
                agent.kill().await;
                Err(error)
            }
            Stopped::Broken => {
                let autopsy = agent.autopsy().await;
                let words = autopsy.words();
                Err(match autopsy.fault {
                    Some(fault) => output_error(fault),
                    None => DelegateError::Lost {
                        message: format!("`{}` broke off its turn: {words}", self.describe()),
                    },
                })
            }
        }
    }
}

#[async_trait]
impl Delegate for AcpDelegate {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        let limits = self.limits(request);
        let ready = async {
            let kept = self.kept.lock().await;
            sleep(kept.losses.wait()).await;
            kept
        };
        let mut kept = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(DelegateError::Cancelled),
            () = sleep_until(limits.deadline) => return Err(timed_out(limits)),
            kept = ready => kept,
        };
        let answer = self.take_turn(&mut kept, request, limits).await;
        match &answer {
            Ok(_) => kept.losses.over(),
            Err(DelegateError::Lost { .. }) => kept.losses.lost(),
            Err(_) => {}
        }
        answer
    }

    fn conversation(&self) -> Conversation {
        Conversation::Same
    }

    fn describe(&self) -> String {
        cut_middle(&self.config.command.join(" "), MAX_DESCRIPTION_BYTES).into_owned()
    }

    fn identity(&self) -> String {
        self.config.command.join(" ")
    }
}

/// Why there is no session.
enum Trouble {
    Halted(Halt),
    Failed(DelegateError),
}

impl From<Halt> for Trouble {
    fn from(halt: Halt) -> Self {
        Self::Halted(halt)
    }
}

impl From<DelegateError> for Trouble {
    fn from(error: DelegateError) -> Self {
        Self::Failed(error)
    }
}

/// Why a turn has no end.
enum Stopped {
    /// The connection broke.
    Broken,
    /// It was stopped from this side.
    Error(DelegateError),
}

/// Tells the agent to stop and gives it a moment to do so. It is killed afterwards.
async fn wind_down(
    agent: &mut LiveAgent,
    session: &SessionId,
    mut turned: oneshot::Receiver<Turned>,
) {
    agent.connection.cancel(session);
    let listen = async {
        loop {
            tokio::select! {
                _ = &mut turned => return,
                ask = agent.connection.asked() => ask.answer(RequestPermissionOutcome::Cancelled),
            }
        }
    };
    // Out of patience is as good as an end.
    let _ = timeout(CANCEL_GRACE, listen).await;
}

/// The claim of a turn that came to an end.
fn answered(
    response: &Value,
    transcript: Transcript,
    session: &SessionId,
) -> Result<Answered, DelegateError> {
    let reason = response.get("stopReason").and_then(Value::as_str);
    let tokens = answer_tokens(response).unwrap_or_else(|| transcript.tokens());
    let (claim, tool_calls) = transcript.finish();
    match reason {
        None => {
            return Err(output_error(
                "the answer to `session/prompt` has no stop reason".to_owned(),
            ));
        }
        Some(reason @ ("cancelled" | "refusal")) => {
            let what = match reason {
                "refusal" => "refused to go on",
                // Asked to cancel, it is not listened to any more.
                _ => "gave up its turn as cancelled, as some do when a permission is refused",
            };
            let said = match cut_middle(&claim.response, MAX_QUOTE_BYTES) {
                said if said.is_empty() => "said nothing".to_owned(),
                said => format!("said: {said}"),
            };
            let message = format!("the agent {what}, and {said}");
            return Err(DelegateError::Failed { message });
        }
        // Whatever ended it, the work may be done.
        Some(_) => {}
    }
    Ok(Answered {
        claim,
        usage: Usage { tokens, tool_calls },
        session: Some(session.to_string()),
        notes: Vec::new(),
    })
}

/// The option that says the decision; `None` cancels. What could only be allowed for good is rejected:
/// the agent would not ask again, and the rules would not be heard.
fn choose(options: &[PermissionOption], decided: Decided) -> (Decided, Option<&PermissionOption>) {
    let find = |kind| options.iter().find(|option| option.kind == kind);
    let once = find(PermissionOptionKind::AllowOnce);
    let for_good = find(PermissionOptionKind::AllowAlways).is_some();
    let no = || {
        find(PermissionOptionKind::RejectOnce).or_else(|| find(PermissionOptionKind::RejectAlways))
    };
    match decided.decision {
        Decision::Allow if once.is_some() => (decided, once),
        Decision::Allow if for_good => {
            let because = "can only be allowed for good".to_owned();
            (Decided { decision: Decision::Reject, because }, no())
        }
        Decision::Allow => (decided, None),
        Decision::Reject => (decided, no()),
    }
}

fn timed_out(limits: Limits<'_>) -> DelegateError {
    let timeout_ms = u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX);
    DelegateError::TimedOut { timeout_ms }
}

const fn output_error(detail: String) -> DelegateError {
    DelegateError::Output { format: FORMAT, detail }
}
