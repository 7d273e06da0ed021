//! The check `agent`: an independent delegate that is asked what it thinks of a claim. Who it is is
//! for whoever builds the check to say: here its keys only have the right shape.

use std::collections::BTreeMap;

use probity_core::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::SpecError;
use super::error::excerpt;
use super::keys::nearest;

/// Most criteria that one critic is asked about.
pub const MAX_CRITERIA: usize = 32;
/// Longest text of a criterion, in bytes.
pub const MAX_CRITERION_BYTES: usize = 2_048;
/// The key under which a verdict says that the critic and the actor are one.
pub const SELF_VERIFICATION: &str = "self_verification";

/// The kind.
const KIND: &str = "agent";
/// Keys of which exactly one says who is asked.
const WHO: [&str; 4] = ["command", "chat", "acp", "profile"];
/// All keys of the map.
const KEYS: [&str; 9] = [
    "command",
    "chat",
    "acp",
    "profile",
    "format",
    "system_prompt",
    "criteria",
    "min_confidence",
    "allow_self",
];

/// The map behind `agent`. Exactly one of the first four, and at least one criterion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSpec {
    /// Command line of a program: a critic that answers on its standard output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// A chat model, as `chat` of a request, without tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<Map<String, Value>>,
    /// An agent that speaks the Agent Client Protocol, as `acp` of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acp: Option<Map<String, Value>>,
    /// Name of a profile of the project, whose delegate is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// With `command`: what the program writes, as `format` of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// What the critic is to be; said before the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What must hold, by key: 1 to 32. The critic answers for each of them.
    pub criteria: BTreeMap<Code, String>,
    /// How sure the critic must be of a pass, from 0 to 1; without it any pass will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_confidence: Option<Number>,
    /// The critic may be the delegate whose work it judges. The verdict says so.
    #[serde(skip_serializing_if = "is_false")]
    pub allow_self: bool,
}

impl AgentSpec {
    /// Who is asked, in a few words: the program, the model, the agent, the profile.
    #[must_use]
    pub fn who(&self) -> String {
        let text = |map: &Map<String, Value>, key: &str| match map.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(words)) => {
                words.first().and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            _ => String::new(),
        };
        match (&self.profile, &self.chat, &self.acp) {
            (Some(profile), _, _) => profile.clone(),
            (_, Some(chat), _) => text(chat, "model"),
            (_, _, Some(acp)) => text(acp, "command"),
            _ => self.command.first().cloned().unwrap_or_default(),
        }
    }

    /// The smallest confidence of a pass, in basis points.
    #[must_use]
    pub fn min_confidence_bp(&self) -> Option<u16> {
        let confidence = self.min_confidence.as_ref()?.as_f64()?;
        // Legal values lie between 0 and 1, so this neither cuts nor wraps.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 0..=10000 before"
        )]
        let bp = (confidence.clamp(0.0, 1.0) * 10_000.0).round() as u16;
        Some(bp)
    }

    /// Reads the map, or the same map as JSON text.
    pub(super) fn read(target: &Value) -> Result<Value, SpecError> {
        const LEGAL: &str = "a map with `command`, `chat`, `acp` or `profile`, and `criteria`";
        let wrong = |written: &str| SpecError::Target {
            kind: KIND,
            legal: LEGAL,
            target: excerpt(written),
        };
        let map = match target {
            Value::Object(map) => Value::Object(map.clone()),
            Value::String(text) => serde_json::from_str(text).map_err(|_| wrong(text))?,
            other => return Err(wrong(&other.to_string())),
        };
        let Value::Object(keys) = &map else { return Err(wrong(&map.to_string())) };
        if let Some(key) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let hint = match nearest(key, KEYS.into_iter()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", KEYS.join(", ")),
            };
            return Err(SpecError::UnknownKey { kind: KIND, key: excerpt(key), hint });
        }
        Ok(map)
    }

    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let given = [
            !self.command.is_empty(),
            self.chat.is_some(),
            self.acp.is_some(),
            self.profile.is_some(),
        ];
        let mut named = WHO.into_iter().zip(given).filter(|(_, is_given)| *is_given);
        match (named.next(), named.next()) {
            (None, _) => return Err(missing("one of `command`, `chat`, `acp`, `profile`")),
            (Some((first, _)), Some((second, _))) => {
                return Err(SpecError::Conflict { first, second });
            }
            (Some(_), None) => {}
        }
        if self.format.is_some() && self.command.is_empty() {
            return Err(value("format", "left out: it is about a `command`", "format"));
        }
        if self.command.first().is_some_and(|program| program.trim().is_empty()) {
            return Err(value("command", "a command line that starts with a program", ""));
        }
        self.criteria()?;
        let is_share =
            |number: &Number| number.as_f64().is_some_and(|it| (0.0..=1.0).contains(&it));
        match self.min_confidence.as_ref().filter(|number| !is_share(number)) {
            Some(number) => {
                Err(value("min_confidence", "a number from 0 to 1", &number.to_string()))
            }
            None => Ok(()),
        }
    }

    fn criteria(&self) -> Result<(), SpecError> {
        if self.criteria.is_empty() {
            return Err(missing("`criteria`: what must hold, by key"));
        }
        if self.criteria.len() > MAX_CRITERIA {
            let legal = format!("at most {MAX_CRITERIA} criteria");
            return Err(value("criteria", &legal, &self.criteria.len().to_string()));
        }
        if self.criteria.keys().any(|key| key.as_str() == SELF_VERIFICATION) {
            return Err(value(
                "criteria",
                "under other keys; this one is taken",
                SELF_VERIFICATION,
            ));
        }
        let fits = |text: &String| !text.trim().is_empty() && text.len() <= MAX_CRITERION_BYTES;
        match self.criteria.iter().find(|(_, text)| !fits(text)) {
            Some((key, _)) => {
                let legal = format!("texts of 1 to {MAX_CRITERION_BYTES} bytes");
                Err(value("criteria", &legal, key.as_str()))
            }
            None => Ok(()),
        }
    }
}

fn missing(needs: &'static str) -> SpecError {
    SpecError::Missing { kind: KIND, needs }
}

fn value(key: &'static str, legal: &str, written: &str) -> SpecError {
    SpecError::Value { key, legal: legal.to_owned(), value: excerpt(written) }
}

fn is_false(flag: &bool) -> bool {
    !flag
}
