//! The events that hooks are called on.

use std::fmt;
use std::str::FromStr;

use probity_core::{Code, HookPoint};
use serde::{Deserialize, Serialize};

use super::nearest;

/// Prefix of events that an operator names.
const CUSTOM: &str = "custom.";

/// When a hook is called. The names are those of seed 000, and the two points of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HookEvent {
    /// `delegation.pre`: once, before the delegate is given the task.
    DelegationPre,
    /// `attempt.start`: before every dispatch.
    AttemptStart,
    /// `tool.pre`: a check of each tool call that the claim reports.
    ToolPre,
    /// `tool.post`: a check of each tool result that the claim reports.
    ToolPost,
    /// `delegation.post_verify`: a check of the claim, before anything can rewrite it.
    PostVerify,
    /// `attempt.end`: after every verdict.
    AttemptEnd,
    /// `delegation.post`: once, after a verdict that would hand the claim on.
    DelegationPost,
    /// `custom.` and a name of 1 to 64 characters of `a-z 0-9 _ . -`: whatever raises it.
    Custom(Code),
}

/// There is no such event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no event `{text}`{hint}")]
pub struct HookEventError {
    pub(super) text: String,
    pub(super) hint: String,
}

impl HookEvent {
    /// The closed ones, in the order a run reaches them.
    pub const ALL: [Self; 7] = [
        Self::DelegationPre,
        Self::AttemptStart,
        Self::ToolPre,
        Self::ToolPost,
        Self::PostVerify,
        Self::AttemptEnd,
        Self::DelegationPost,
    ];

    /// The point of the machine where hooks of this event are called by themselves; `None` for
    /// those that are checks, and for custom events.
    #[must_use]
    pub const fn point(&self) -> Option<HookPoint> {
        match self {
            Self::DelegationPre => Some(HookPoint::DelegationPre),
            Self::AttemptStart => Some(HookPoint::AttemptStart),
            Self::AttemptEnd => Some(HookPoint::AttemptEnd),
            Self::DelegationPost => Some(HookPoint::DelegationPost),
            Self::ToolPre | Self::ToolPost | Self::PostVerify | Self::Custom(_) => None,
        }
    }

    /// Whether hooks of this event are checks: their block is a verdict.
    #[must_use]
    pub const fn is_check(&self) -> bool {
        matches!(self, Self::PostVerify | Self::ToolPre | Self::ToolPost)
    }

    /// The word of a closed event.
    const fn word(&self) -> Option<&'static str> {
        match self {
            Self::DelegationPre => Some("delegation.pre"),
            Self::AttemptStart => Some("attempt.start"),
            Self::ToolPre => Some("tool.pre"),
            Self::ToolPost => Some("tool.post"),
            Self::PostVerify => Some("delegation.post_verify"),
            Self::AttemptEnd => Some("attempt.end"),
            Self::DelegationPost => Some("delegation.post"),
            Self::Custom(_) => None,
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.word()) {
            (Self::Custom(name), _) => write!(f, "{CUSTOM}{name}"),
            (_, word) => f.write_str(word.unwrap_or_default()),
        }
    }
}

impl FromStr for HookEvent {
    type Err = HookEventError;

    fn from_str(text: &str) -> Result<Self, HookEventError> {
        if let Some(event) = Self::ALL.into_iter().find(|event| event.word() == Some(text)) {
            return Ok(event);
        }
        let hint = match text.strip_prefix(CUSTOM) {
            Some(name) => match name.parse() {
                Ok(name) => return Ok(Self::Custom(name)),
                Err(_) => "; behind `custom.` stand 1 to 64 characters of a-z 0-9 _ . -".to_owned(),
            },
            None => hint(text),
        };
        Err(HookEventError { text: text.chars().take(80).collect(), hint })
    }
}

impl TryFrom<String> for HookEvent {
    type Error = HookEventError;

    fn try_from(text: String) -> Result<Self, HookEventError> {
        text.parse()
    }
}

impl From<HookEvent> for String {
    fn from(event: HookEvent) -> Self {
        event.to_string()
    }
}

/// What was likely meant. The last part of a name decides where only one event ends in it:
/// `post_verify`, `turn.start`.
fn hint(text: &str) -> String {
    let words: Vec<&str> = HookEvent::ALL.iter().filter_map(HookEvent::word).collect();
    let ending = text.rsplit('.').next().unwrap_or(text);
    let alike: Vec<&str> =
        words.iter().copied().filter(|word| word.rsplit('.').next() == Some(ending)).collect();
    let meant = match alike.as_slice() {
        [only] => Some(*only),
        _ => nearest::nearest(text, &words),
    };
    match meant {
        Some(word) => format!("; did you mean `{word}`?"),
        None => format!("; it is one of `{}`, or starts with `{CUSTOM}`", words.join("`, `")),
    }
}
