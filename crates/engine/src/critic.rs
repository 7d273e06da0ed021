//! A delegate that judges another one's claim.

mod answer;
mod question;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Code, Evidence, Fault, RunId, Verdict, VerdictKind};
use probity_delegate::{Answered, Delegate, DelegateError, Prompt, Request};
use probity_record::blob_digest;
use probity_verifier::spec::SELF_VERIFICATION;
use probity_verifier::{CheckContext, Verifier};
use tokio::time::Instant;

use answer::{Answer, NoAnswer};

/// How often a critic is asked where nothing else is said.
pub const DEFAULT_CRITIC_TRIES: u32 = 2;
/// The longest reason of a critic that is passed on, in bytes.
const MAX_REASON_BYTES: usize = 4 * 1024;
/// How much of who the critic is stands in the evidence, in bytes.
const MAX_SOURCE_BYTES: usize = 200;

/// How a critic is asked.
#[derive(Clone)]
pub struct CriticConfig {
    /// Who is asked. Every question is a conversation of its own.
    pub delegate: Arc<dyn Delegate>,
    /// What it is to be; said before the question.
    pub system: Option<Arc<str>>,
    /// What must hold, by key; at least one.
    pub criteria: Vec<(Code, String)>,
    /// [`Delegate::identity`] of everyone whose work is judged.
    pub actors: Vec<String>,
    /// The critic may be one of them. Each of its verdicts then says so, under the criterion
    /// [`SELF_VERIFICATION`].
    pub allow_self: bool,
    /// How sure it must be of a pass, in basis points; `None` takes any pass.
    pub min_confidence_bp: Option<u16>,
    /// How often it is asked until it gives an answer, 1 to 10.
    pub max_tries: u32,
}

/// A critic cannot judge as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CriticError {
    /// It would judge its own work.
    #[error(
        "`{identity}` would judge its own work; ask another model or program, or say `allow_self` \
         to have it with every verdict marked as self-verification"
    )]
    IsActor {
        /// Who it is.
        identity: String,
    },
    /// There is nothing to ask, or a key is kept for something else.
    #[error("a critic needs criteria, under other keys than `{SELF_VERIFICATION}`")]
    Criteria,
}

impl CriticError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::IsActor { .. } => "critic_is_actor",
            Self::Criteria => "critic_criteria",
        }
    }
}

/// Asks an independent delegate whether a claim is to be believed.
///
/// It is shown the task, the claim and the names of the paths that changed, all of it quoted as data,
/// and answers for each criterion by its key. An answer that cannot be read is asked for again, and
/// then is a fault; a critic that cannot be reached is `inconclusive`. What it spends is not charged to
/// the run's budget.
pub struct Critic {
    config: CriticConfig,
    is_actor: bool,
}

impl Critic {
    /// A critic as it is configured. Nothing is asked yet.
    ///
    /// # Errors
    /// [`CriticError`]: it may not, or there is nothing to ask.
    pub fn new(config: CriticConfig) -> Result<Self, CriticError> {
        let is_taken = |(key, _): &(Code, String)| key.as_str() == SELF_VERIFICATION;
        if config.criteria.is_empty() || config.criteria.iter().any(is_taken) {
            return Err(CriticError::Criteria);
        }
        let identity = config.delegate.identity();
        let is_actor = config.actors.contains(&identity);
        if is_actor && !config.allow_self {
            return Err(CriticError::IsActor { identity });
        }
        Ok(Self { config, is_actor })
    }

    /// Whether it is one of those whose work it judges.
    #[must_use]
    pub const fn is_actor(&self) -> bool {
        self.is_actor
    }

    /// Asks until there is an answer, or the tries are used up.
    async fn ask(&self, ctx: &CheckContext) -> Result<Result<Read, NoAnswer>, Silence> {
        let deadline = Instant::now() + ctx.timeout;
        let question = question::text(ctx, &self.config.criteria);
        let mut last: Option<NoAnswer> = None;
        for number in 1..=self.config.max_tries.clamp(1, 10) {
            let task = match &last {
                None => question.clone(),
                Some(problem) => question::again(&question, problem),
            };
            let answered = self.once(ctx, number, task, deadline).await?;
            let read = Answer::read(&answered.claim, &self.config);
            match read {
                Ok(answer) => return Ok(Ok(Read { answer, answered })),
                Err(problem) => last = Some(problem),
            }
        }
        Ok(Err(last.unwrap_or(NoAnswer::Nothing)))
    }

    async fn once(
        &self,
        ctx: &CheckContext,
        number: u32,
        task: String,
        deadline: Instant,
    ) -> Result<Answered, Silence> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Err(Silence::Late);
        }
        let prompt =
            Prompt { system: self.config.system.clone(), task: task.into(), ..Prompt::default() };
        let request = Request {
            timeout: Some(left),
            cancel: ctx.cancel.child_token(),
            ..Request::first(conversation(ctx, number), 1, prompt)
        };
        match tokio::time::timeout_at(deadline, self.config.delegate.attempt(&request)).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(DelegateError::InvalidOutput { .. })) => Ok(Answered::default()),
            Ok(Err(DelegateError::Cancelled)) => Err(Silence::Cancelled),
            Ok(Err(DelegateError::TimedOut { .. })) | Err(_) => Err(Silence::Late),
            Ok(Err(error)) => Err(Silence::Unavailable(error.to_string())),
        }
    }

    fn judge(&self, read: Read) -> Verdict {
        let Read { answer, answered } = read;
        let unmet: Vec<&str> =
            answer.criteria.iter().filter(|(_, met)| !met).map(|(key, _)| key.as_str()).collect();
        let unsure = self
            .config
            .min_confidence_bp
            .filter(|least| answer.confidence_bp.is_none_or(|sure| sure < *least));
        let reason = question::cut(&answer.reason, MAX_REASON_BYTES);
        let mut verdict = match (answer.verdict, unsure) {
            (VerdictKind::Pass, None) => Verdict::pass(),
            (VerdictKind::Pass, Some(least)) => {
                let sure = answer.confidence_bp.unwrap_or_default();
                let text = format!(
                    "the critic lets it pass, and is not sure enough of it: {sure} of at least {least} \
                     in 10000. {reason}"
                );
                Verdict::revise("critic_unsure", text.trim_end())
            }
            (VerdictKind::Fail, _) => Verdict::fail("critic_fail", with_unmet(&reason, &unmet)),
            _ => Verdict::revise("critic_revise", with_unmet(&reason, &unmet)),
        };
        verdict.criteria = answer.criteria.into_iter().map(|(key, _)| key).collect();
        if self.is_actor {
            verdict.criteria.push(Code::slug(SELF_VERIFICATION));
        }
        verdict.confidence_bp = answer.confidence_bp;
        let described = self.config.delegate.describe();
        let name = question::cut(&described, MAX_SOURCE_BYTES);
        let observed = match self.is_actor {
            true => "its answer; self-verification: it is who did the work",
            false => "its answer",
        };
        let digest = blob_digest(answered.claim.response.as_bytes());
        verdict.with_evidence(Evidence::new(format!("critic:{name}"), observed).with_digest(digest))
    }
}

#[async_trait]
impl Verifier for Critic {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        match self.ask(ctx).await {
            Ok(Ok(read)) => Ok(self.judge(read)),
            Ok(Err(problem)) => {
                let message = format!(
                    "the critic gave no answer that can be read, asked {} times: {problem}",
                    self.config.max_tries.clamp(1, 10)
                );
                Err(Fault::new("critic_answer", message).at(self.config.delegate.describe()))
            }
            Err(Silence::Cancelled) => {
                Ok(Verdict::inconclusive("cancelled", "the check was cancelled"))
            }
            Err(Silence::Late) => Ok(Verdict::inconclusive(
                "critic_timeout",
                format!("the critic did not answer within {} ms", ctx.timeout.as_millis()),
            )),
            Err(Silence::Unavailable(why)) => Ok(Verdict::inconclusive(
                "critic_unavailable",
                format!("the critic could not be asked: {}", question::cut(&why, MAX_REASON_BYTES)),
            )),
        }
    }
}

impl fmt::Debug for Critic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Critic")
            .field("delegate", &self.config.delegate.describe())
            .field("criteria", &self.config.criteria)
            .field("is_actor", &self.is_actor)
            .finish_non_exhaustive()
    }
}

/// An answer, and what it was read from.
struct Read {
    answer: Answer,
    answered: Answered,
}

/// Why nobody answered.
enum Silence {
    Cancelled,
    Late,
    Unavailable(String),
}

/// The name of one conversation with a critic: another one for every claim, check and try, and the
/// same one where a check is run again.
fn conversation(ctx: &CheckContext, number: u32) -> RunId {
    let submission = ctx.submission.as_ref().map_or("", |submission| submission.as_str());
    let name = format!("critic\0{submission}\0{}\0{}\0{number}", ctx.check, ctx.attempt);
    let digest = blob_digest(name.as_bytes());
    let bits = digest.as_bytes().iter().take(16);
    RunId::from_uuid(bits.fold(0, |bits, byte| (bits << 8) | u128::from(*byte)))
}

fn with_unmet(reason: &str, unmet: &[&str]) -> String {
    match unmet {
        [] => reason.to_owned(),
        keys => format!("{reason}\nNot met: {}.", keys.join(", ")),
    }
}
