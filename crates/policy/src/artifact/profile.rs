//! A delegate under a name: its command, its hooks, and what a request to it leaves unsaid.

mod delegate;
mod request;

use probity_core::{Code, Step};
use serde_json::{Map, Value};

use super::error::ArtifactError;
use super::front_matter::{FrontMatter, MAX_ARTIFACT_BYTES};
use super::hook_ref::HookRef;
use super::keys::{Keys, stem};

pub use delegate::{CommandDelegate, ProfileDelegate};

/// The longest decision type, in characters.
const MAX_DECISION_TYPE: usize = 200;
/// Keys that are the profile's own; the others are [`delegate::OF_CHAT`] and [`request::KEYS`].
const KEYS: [&str; 10] = [
    "description",
    "kind",
    "command",
    "endpoint",
    "acp",
    "resume",
    "format",
    "hooks",
    "decision_type",
    "rungs",
];

/// A profile, as `.probity/agents/<name>.md` has it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The file as it was named.
    pub file: String,
    /// The file's name without `.md`.
    pub name: Code,
    /// Text for people.
    pub description: String,
    /// What telemetry groups by; the name, unless the profile says another.
    pub kind: Code,
    /// The body, trimmed: what a delegate is told before the task. May be empty.
    pub system_prompt: String,
    /// Who does the work.
    pub delegate: ProfileDelegate,
    /// Who does it instead on a rung of the degrade ladder, in the order of the ladder's steps. At
    /// most one each for `cache_bundle`, `small_model` and `rules_only`.
    pub rungs: Vec<(Step, CommandDelegate)>,
    /// Hooks of every delegation to it, no name twice.
    pub hooks: Vec<HookRef>,
    /// The type of the decisions that it makes. 1 to 200 characters.
    pub decision_type: Option<String>,
    /// The other keys, which are those of a request under the same names, each of the right kind.
    /// Checks under `expect` are not validated further.
    pub request: Map<String, Value>,
}

impl Profile {
    /// Reads a profile. `file` is its path, which also gives it its name.
    ///
    /// # Errors
    /// [`ArtifactError`] of [`FrontMatter::parse`] and of hooks, `artifact_unknown_key`,
    /// `artifact_value`, `artifact_missing_key`, `artifact_name` or `profile_delegate`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ArtifactError> {
        let name = stem(file)?;
        let (entries, body) = FrontMatter::parse(file, text)?.into_parts();
        let keys = Keys::of_file("a profile", file, entries);
        let legal: Vec<&str> =
            KEYS.iter().chain(&delegate::OF_CHAT).chain(&request::KEYS).copied().collect();
        keys.only(&legal, explained)?;
        let description = keys.get("description").map(|item| item.any_text(MAX_ARTIFACT_BYTES));
        let kind = keys.get("kind").map(|item| item.name());
        let decision_type = keys.get("decision_type").map(|item| {
            let text = item.text(MAX_ARTIFACT_BYTES)?;
            let fits = text.chars().count() <= MAX_DECISION_TYPE;
            let legal = || item.wrong(format!("at most {MAX_DECISION_TYPE} characters long"));
            fits.then(|| text.to_owned()).ok_or_else(legal)
        });
        let hooks = match keys.get("hooks") {
            Some(item) => HookRef::list(item.value, &name, item.at())?,
            None => Vec::new(),
        };
        Ok(Self {
            file: file.to_owned(),
            description: description.transpose()?.unwrap_or_default().trim().to_owned(),
            kind: kind.transpose()?.unwrap_or_else(|| name.clone()),
            system_prompt: body.trim().to_owned(),
            delegate: delegate::read(&keys)?,
            rungs: delegate::read_rungs(&keys)?,
            hooks,
            decision_type: decision_type.transpose()?,
            request: request::read(&keys)?,
            name,
        })
    }

    /// The command of a rung of the degrade ladder, if the profile has one.
    #[must_use]
    pub fn rung(&self, step: Step) -> Option<&CommandDelegate> {
        self.rungs.iter().find(|(of, _)| *of == step).map(|(_, command)| command)
    }

    /// What a request to this delegate leaves unsaid, as the keys of a request: the delegate's, which
    /// are `command`, `resume` and `format`, or `chat`, or `acp`, and [`Profile::request`]. Paths under
    /// `verify_files` and `script_file` are relative to the project's folder.
    #[must_use]
    pub fn request_defaults(&self) -> Map<String, Value> {
        let mut keys = self.request.clone();
        match &self.delegate {
            ProfileDelegate::Command(CommandDelegate { command, resume, format }) => {
                keys.insert("command".to_owned(), command.clone().into());
                let resume = resume.as_ref().map(|words| Value::from(words.clone()));
                let format = format.as_ref().map(|word| Value::from(word.as_str()));
                keys.extend(resume.map(|words| ("resume".to_owned(), words)));
                keys.extend(format.map(|word| ("format".to_owned(), word)));
            }
            ProfileDelegate::Chat(chat) => {
                keys.insert("chat".to_owned(), Value::Object(chat.clone()));
            }
            ProfileDelegate::Acp(acp) => {
                keys.insert("acp".to_owned(), Value::Object(acp.clone()));
            }
        }
        keys
    }

    /// Files of tools that the profile names, relative to the project's folder.
    pub fn tool_files(&self) -> impl Iterator<Item = &str> {
        let tools = match &self.delegate {
            ProfileDelegate::Chat(chat) => chat.get("tools").and_then(Value::as_array),
            ProfileDelegate::Command(_) | ProfileDelegate::Acp(_) => None,
        };
        tools.into_iter().flatten().filter_map(|tool| tool.get("script_file")?.as_str())
    }
}

/// Keys that a profile has under another name, or that belong elsewhere.
fn explained(key: &str) -> Option<String> {
    let text = match key {
        "name" | "id" => "; a profile is named by its file",
        "system_prompt" | "prompt" => "; the text below the front matter is the system prompt",
        "env" => {
            "; what the delegate's environment holds is the operator's to say, not the profile's"
        }
        "key" | "api_key" | "token" => {
            "; a key does not belong in a file: put it into an environment variable, and name that by \
             `key_env`"
        }
        _ if request::REQUEST_ONLY.contains(&key) => "; it belongs in a request",
        _ => return None,
    };
    Some(text.to_owned())
}
