//! One hook, from a file or inline.

use probity_core::{Code, MAX_CHECK_MS};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::error::{ArtifactError, Place};
use super::event::HookEvent;
use super::front_matter::{FrontMatter, MAX_ARTIFACT_BYTES};
use super::keys::{Keys, stem};
use super::length;

/// The priority of a hook that states none.
pub const DEFAULT_PRIORITY: i32 = 100;
/// The largest priority; the smallest is its negative.
pub const MAX_PRIORITY: i32 = 1_000;
/// Wall time of one call of a hook that states none, in milliseconds.
pub const DEFAULT_HOOK_MS: u64 = 10_000;
/// The longest `when`, in bytes.
pub const MAX_WHEN_BYTES: usize = 4_096;

/// Keys of a hook in a file.
const KEYS: [&str; 6] = ["event", "priority", "when", "script", "timeout", "description"];
/// Keys of a hook inside something else: it says its name itself.
const INLINE_KEYS: [&str; 8] =
    ["name", "handler", "event", "priority", "when", "script", "timeout", "description"];

/// Operator policy at an event, as seed 000's surface 2 writes it down.
///
/// It serialises as the inline form, with its defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookArtifact {
    /// Its name in records: the file's without `.md`, or the inline key `name` (`handler` in seed
    /// 000).
    pub name: Code,
    /// When it is called.
    pub event: HookEvent,
    /// Its place among the hooks of its event, ascending: -1000 to 1000, 0 is no special value.
    pub priority: i32,
    /// An expression over `event` and `payload`; where it is False, the hook is not called.
    /// At most 4 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Starlark that defines `handle(event, payload)`. Never empty; not compiled here.
    pub script: String,
    /// Wall time of one call, in milliseconds: 1 ms to 1 h.
    #[serde(rename = "timeout", serialize_with = "as_length")]
    pub timeout_ms: u64,
    /// Text for people: the key `description`, or else the body of the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

impl HookArtifact {
    /// Reads a hook file. `file` is its path, which also gives the hook its name.
    ///
    /// # Errors
    /// [`ArtifactError`] of [`FrontMatter::parse`], `artifact_unknown_key`, `artifact_missing_key`,
    /// `artifact_value`, `artifact_name`, `hook_script_missing` or `hook_event_unknown`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ArtifactError> {
        let name = stem(file)?;
        let (entries, body) = FrontMatter::parse(file, text)?.into_parts();
        let keys = Keys::of_file("a hook", file, entries);
        keys.only(&KEYS, |key| {
            let is_name = matches!(key, "name" | "handler");
            is_name.then(|| "; a hook in a file is named by its file".to_owned())
        })?;
        let mut hook = Self::read(&keys, name)?;
        if !keys.has("description") {
            body.trim().clone_into(&mut hook.description);
        }
        Ok(hook)
    }

    /// Reads a hook that stands in something else, such as a request: a map of the same keys, with
    /// `name` or `handler`. Without either it gets `default_name`. `at` says in messages where it
    /// stands.
    ///
    /// # Errors
    /// As [`HookArtifact::parse`]; `artifact_not_mapping` if it is no map.
    pub fn from_value(
        value: &Value,
        default_name: &Code,
        at: &Place,
    ) -> Result<Self, ArtifactError> {
        Self::inline(value, Some(default_name), at)
    }

    fn inline(
        value: &Value,
        default_name: Option<&Code>,
        at: &Place,
    ) -> Result<Self, ArtifactError> {
        let keys = Keys::of_value("a hook", at, value)?;
        keys.only(&INLINE_KEYS, |_| None)?;
        let name = match (keys.get("name"), keys.get("handler")) {
            (Some(_), Some(handler)) => return Err(handler.wrong("left out beside `name`")),
            (Some(name), None) | (None, Some(name)) => name.name()?,
            (None, None) => match default_name {
                Some(name) => name.clone(),
                None => keys.need("name")?.name()?,
            },
        };
        Self::read(&keys, name)
    }

    fn read(keys: &Keys, name: Code) -> Result<Self, ArtifactError> {
        let event = keys.need("event")?;
        let event: HookEvent = event.text(MAX_ARTIFACT_BYTES)?.parse().map_err(|error| {
            let super::event::HookEventError { text, hint } = error;
            ArtifactError::EventUnknown { at: event.at().clone(), event: text, hint }
        })?;
        let priority = keys.get("priority").map_or(Ok(DEFAULT_PRIORITY), |item| {
            let number = item.integer((-MAX_PRIORITY).into()..=MAX_PRIORITY.into())?;
            i32::try_from(number).map_err(|_| item.wrong("a priority"))
        })?;
        let when = keys.get("when").map(|item| item.text(MAX_WHEN_BYTES).map(str::to_owned));
        let script = match keys.get("script") {
            Some(item) => item.any_text(MAX_ARTIFACT_BYTES)?.to_owned(),
            None => String::new(),
        };
        if script.trim().is_empty() {
            let at = keys.get("script").map_or_else(|| keys.at().clone(), |item| item.at().clone());
            return Err(ArtifactError::ScriptMissing { at });
        }
        let timeout_ms =
            keys.get("timeout").map_or(Ok(DEFAULT_HOOK_MS), |item| item.millis(MAX_CHECK_MS))?;
        let description = keys.get("description").map(|item| item.any_text(MAX_ARTIFACT_BYTES));
        let description = description.transpose()?.unwrap_or_default().trim().to_owned();
        Ok(Self { name, event, priority, when: when.transpose()?, script, timeout_ms, description })
    }
}

impl<'de> Deserialize<'de> for HookArtifact {
    /// The inline form; it must say its name.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        let value = Value::deserialize(deserializer)?;
        Self::inline(&value, None, &Place::file("hook")).map_err(D::Error::custom)
    }
}

fn as_length<S: Serializer>(millis: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&length::text(*millis))
}
