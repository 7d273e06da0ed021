//! What a caller asks for: one task, one delegate, the checks, the bounds.

mod acp;
mod chat;
mod file;
mod method;
mod millis;
mod nearest;
mod pool;
mod rung;
mod sandbox;

use std::collections::BTreeMap;
use std::path::PathBuf;

use probity_core::{Code, Counting, Digest, OnFailure, Policy, PolicyError, RedFirst, RunId};
use probity_delegate::{Format as OutputFormat, OnError};
use probity_policy::{Envelope, HookArtifact};
use probity_store::Pool;
use probity_verifier::spec::CheckSpec;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

pub use acp::Acp;
pub(crate) use chat::OF_ENDPOINT;
pub use chat::{Chat, ChatApi, Mcp, ToolScript};
pub(crate) use file::yaml;
pub use file::{Format, RequestError};
pub use method::Method;
pub use millis::Millis;
pub(crate) use nearest::known_keys;
pub use rung::{Rung, RungStep};
pub(crate) use sandbox::rooted;
pub use sandbox::{Held, Reach, Sandbox, Sandboxing};

/// A request, as it stands in a request file (JSON, YAML or TOML) and, resolved, in the run's record.
///
/// Keys of seed 000's request keep their names: `task`, `verify`, `max_verify_retries`, `id`,
/// `parent_id`, `agent`, `hooks`, `system_prompt`. Its keys `model` and `tools` are taken for those of
/// `chat`.
///
/// The delegate is exactly one of `command`, `chat` and `acp`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Name of the run; absent draws one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<RunId>,
    /// Name of the run that this one is part of. If that one waits for this one, it is told when this
    /// one ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<RunId>,
    /// The caller's span, as the header `traceparent` of W3C Trace Context names it: the run is part of
    /// that trace. On the command line what the environment has in `TRACEPARENT`, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The set of workers that may take the run up, where it is submitted. `default` if absent.
    #[serde(with = "pool", skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Name of a profile of the project: a file in `.probity/agents/`. What the profile checks is
    /// checked besides what the request asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What kind of delegate it is, for reports. By default the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Code>,
    /// What the delegate is to be; said before the task, once in a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What is to be done, in words for the delegate.
    pub task: String,
    /// The delegate's command line. `{prompt}` stands for the prompt; without it the prompt is
    /// written to standard input.
    pub command: Vec<String>,
    /// A chat model as the delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<Chat>,
    /// An agent that speaks the Agent Client Protocol as the delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acp: Option<Acp>,
    /// The command line that continues a conversation, with `{session}`. Without it every attempt
    /// starts anew and the retry carries the task and the last claim besides the correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// What the delegate writes: `text`, `auto`, or the stream format of a known CLI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<OutputFormat>,
    /// Whether a delegate that ends with a failure has made a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_delegate_error: Option<OnError>,
    /// Wall time of one attempt, up to 30 days.
    #[serde(deserialize_with = "millis::long", skip_serializing_if = "Option::is_none")]
    pub attempt_timeout: Option<Millis>,
    /// What the project was trusted as when the run was submitted: a worker that finds another does not
    /// begin. Set by `probity submit`, whatever a request says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<Digest>,
    /// Where the work is done. Relative to the folder of the request file, or the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    /// Declared checks, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<CheckSpec>,
    /// Inline Starlark verifiers: the source of one, as in seed 000, or a list of them.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Starlark verifiers in files. Relative as `workspace` is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify_files: Vec<PathBuf>,
    /// `args` of every Starlark verifier of this request.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub verify_args: Map<String, Value>,
    /// Wall time of each Starlark verifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_timeout: Option<Millis>,
    /// Hooks of this request, beside those of the project and the profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookArtifact>,
    /// How many of the last `hooks` are the caller's own, where a project has policy: they may refuse
    /// a claim and not rewrite it. Set by the project, whatever a request says.
    #[serde(skip_serializing_if = "is_zero")]
    pub callers_hooks: usize,
    /// Delegates that act in the place of `command` when a decision falls back.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rungs: BTreeMap<RungStep, Rung>,
    /// The class of decisions that the task belongs to: it runs under the envelope of that class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_type: Option<String>,
    /// What is known of the decision: actor, context, plan, actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
    /// The envelope, where the project has none for the decision's class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Envelope>,
    /// The policy pack beside it, where the project has none: as it was issued, since its hash covers
    /// every member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_pack: Option<Value>,
    /// Verifiers that envelopes name: checks, or files of verifiers. The project's come before a
    /// caller's of the same name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub methods: BTreeMap<String, Method>,
    /// Retries after a rejected claim. Absent means 2, 0 means verify once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_verify_retries: Option<i64>,
    /// How submissions become attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counting: Option<CountingMode>,
    /// Wall time of the whole run, up to 30 days.
    #[serde(deserialize_with = "millis::long", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Model tokens across all attempts, as far as the delegate reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Tool calls across all attempts, as far as the delegate reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u64>,
    /// What a check that passes before the delegate starts means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red_first: Option<RedFirst>,
    /// What follows a `fail` verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<OnFailure>,
    /// What follows an exhausted budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnFailure>,
    /// Hosts that checks may ask over HTTP. Nothing else is reachable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<String>,
    /// Hosts and address ranges that may be private, where `allow_hosts` names a host that resolves
    /// to one. Naming an address or `localhost` in `allow_hosts` needs no entry here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_private: Vec<String>,
    /// Globs of what the snapshot leaves out, beside the built-in ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Files that must stay as they are while the run lasts, beside those that checks name. The
    /// files that a request was read from are added by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<PathBuf>,
    /// Globs of files that are not sealed although a check names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub may_change: Vec<String>,
    /// What commands are kept from: those of checks, and the delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
}

/// How submissions become attempts, by name. The guards of `by_candidate` are sized to the attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountingMode {
    /// Every checked submission counts.
    EverySubmission,
    /// Only a new candidate, or one with new work behind it, counts.
    ByCandidate,
    /// Only a new candidate counts, whatever was done in between: the letter of seed 003.
    ByCandidateStrict,
}

impl Request {
    /// The bounds that the request asks for, the rest at their defaults.
    ///
    /// # Errors
    /// [`PolicyError`] naming the bound that is out of range.
    pub fn policy(&self) -> Result<Policy, PolicyError> {
        let defaults = Policy::default();
        let max_attempts = Policy::attempts_for_retries(self.max_verify_retries)?;
        let policy = Policy {
            max_attempts,
            counting: self.counting.map_or(defaults.counting, |mode| mode.counting(max_attempts)),
            wall_ms: self.timeout.map(Millis::get),
            max_tokens: self.max_tokens,
            max_tool_calls: self.max_tool_calls,
            red_first: self.red_first.unwrap_or(defaults.red_first),
            on_fail: self.on_fail.unwrap_or(defaults.on_fail),
            on_exhausted: self.on_exhausted.unwrap_or(defaults.on_exhausted),
            ..defaults
        };
        policy.validate()?;
        Ok(policy)
    }

    /// The class of decisions that the task belongs to, whichever key says it.
    #[must_use]
    pub fn decision_class(&self) -> Option<String> {
        let inside = || self.decision.as_ref()?.get("decisionType")?.as_str().map(str::to_owned);
        self.decision_type.clone().or_else(inside)
    }

    /// As [`Request::over`], where the other request is the operator's: its `args` of verifiers win key
    /// by key, of two words for red-first the stricter holds, and a delegate that this request brings
    /// takes the place of the operator's as a whole.
    #[must_use]
    pub fn under(self, mut operator: Self) -> Self {
        if self.brings_delegate() {
            // Another's delegate has nothing of the operator's: neither its key nor its tools.
            operator.chat = None;
            operator.acp = None;
        }
        let red_first = match (operator.red_first, self.red_first) {
            (Some(RedFirst::Require), _) | (Some(_), Some(RedFirst::Require)) => {
                Some(RedFirst::Require)
            }
            (Some(RedFirst::Warn), _) => Some(RedFirst::Warn),
            (Some(RedFirst::Off), asked) => asked.or(Some(RedFirst::Off)),
            (None, asked) => asked,
        };
        let args = operator.verify_args.clone();
        let sandbox = match (self.sandbox.clone(), operator.sandbox.clone()) {
            (Some(asked), Some(operators)) => Some(asked.under(operators)),
            (Some(asked), None) => Some(asked.floored()),
            (None, operators) => operators,
        };
        let mut request = self.over(operator);
        request.red_first = red_first;
        request.sandbox = sandbox;
        request.verify_args.extend(args);
        request
    }

    /// Whether it says who does the work, and not only how.
    #[must_use]
    pub fn brings_delegate(&self) -> bool {
        !self.command.is_empty() || self.acp.is_some() || self.names_endpoint()
    }

    fn names_endpoint(&self) -> bool {
        self.chat.as_ref().is_some_and(|chat| chat.endpoint.is_some())
    }

    /// Fills in what this request leaves open from another one, such as the project's defaults.
    /// Checks, verifiers, hosts and globs of both count: a caller adds to a project's checks and
    /// never removes one.
    #[must_use]
    pub fn over(self, defaults: Self) -> Self {
        let (command, chat, acp) = self.delegate_over(&defaults);
        let brings_delegate = self.brings_delegate();
        let mut verify_args = defaults.verify_args;
        verify_args.extend(self.verify_args);
        let mut methods = self.methods;
        methods.extend(defaults.methods);
        let mut rungs = defaults.rungs;
        rungs.extend(self.rungs);
        Self {
            id: self.id.or(defaults.id),
            parent_id: self.parent_id.or(defaults.parent_id),
            traceparent: self.traceparent.or(defaults.traceparent),
            pool: self.pool.or(defaults.pool),
            agent: self.agent.or(defaults.agent),
            kind: self.kind.or(defaults.kind),
            system_prompt: self.system_prompt.or(defaults.system_prompt),
            task: if self.task.is_empty() { defaults.task } else { self.task },
            command,
            chat,
            acp,
            resume: self.resume.or_else(|| defaults.resume.filter(|_| !brings_delegate)),
            format: self.format.or_else(|| defaults.format.filter(|_| !brings_delegate)),
            on_delegate_error: self.on_delegate_error.or(defaults.on_delegate_error),
            attempt_timeout: self.attempt_timeout.or(defaults.attempt_timeout),
            project: self.project.or(defaults.project),
            workspace: self.workspace.or(defaults.workspace),
            expect: joined(defaults.expect, self.expect),
            verify: joined(defaults.verify, self.verify),
            verify_files: joined(defaults.verify_files, self.verify_files),
            verify_args,
            verify_timeout: self.verify_timeout.or(defaults.verify_timeout),
            hooks: joined(defaults.hooks, self.hooks),
            callers_hooks: self.callers_hooks,
            rungs,
            decision_type: self.decision_type.or(defaults.decision_type),
            decision: self.decision.or(defaults.decision),
            envelope: defaults.envelope.or(self.envelope),
            policy_pack: defaults.policy_pack.or(self.policy_pack),
            methods,
            max_verify_retries: self.max_verify_retries.or(defaults.max_verify_retries),
            counting: self.counting.or(defaults.counting),
            timeout: self.timeout.or(defaults.timeout),
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            max_tool_calls: self.max_tool_calls.or(defaults.max_tool_calls),
            red_first: self.red_first.or(defaults.red_first),
            on_fail: self.on_fail.or(defaults.on_fail),
            on_exhausted: self.on_exhausted.or(defaults.on_exhausted),
            allow_hosts: joined(defaults.allow_hosts, self.allow_hosts),
            allow_private: joined(defaults.allow_private, self.allow_private),
            ignore: joined(defaults.ignore, self.ignore),
            sealed: joined(defaults.sealed, self.sealed),
            may_change: joined(defaults.may_change, self.may_change),
            sandbox: match (self.sandbox, defaults.sandbox) {
                (Some(own), Some(defaults)) => Some(own.over(defaults)),
                (own, defaults) => own.or(defaults),
            },
        }
    }
}

impl Request {
    /// Who does the work: what this request brings, else what the other one does.
    fn delegate_over(&self, defaults: &Self) -> (Vec<String>, Option<Chat>, Option<Acp>) {
        let own = (self.command.clone(), self.chat.clone(), self.acp.clone());
        let both = || match (self.chat.clone(), defaults.chat.clone()) {
            (Some(chat), Some(defaults)) => Some(chat.over(defaults)),
            (chat, other) => chat.or(other),
        };
        match own {
            (command, chat, acp) if !command.is_empty() || acp.is_some() => (command, chat, acp),
            (command, _, acp) if self.names_endpoint() => (command, both(), acp),
            _ => (defaults.command.clone(), both(), defaults.acp.clone()),
        }
    }
}

impl CountingMode {
    fn counting(self, max_attempts: u32) -> Counting {
        match (self, Counting::by_candidate(max_attempts)) {
            (Self::EverySubmission, _) => Counting::EverySubmission,
            (mode, Counting::ByCandidate { max_identical, max_rejections, .. }) => {
                Counting::ByCandidate {
                    count_after_work: mode == Self::ByCandidate,
                    max_identical,
                    max_rejections,
                    // What a command-line agent does outside the workspace is not seen as work, so an
                    // unchanged answer says nothing about the world: it is looked at again.
                    reuse_rejection: false,
                }
            }
            (_, counting) => counting,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A text, or a list of texts.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(vec![text]),
        list @ Value::Array(_) => serde_json::from_value(list).map_err(D::Error::custom),
        _ => Err(D::Error::custom("`verify` is the source of a verifier, or a list of them")),
    }
}

fn joined<T>(mut first: Vec<T>, second: Vec<T>) -> Vec<T> {
    first.extend(second);
    first
}
