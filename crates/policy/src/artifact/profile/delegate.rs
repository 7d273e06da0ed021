//! Who does the work.

use probity_core::Step;
use serde_json::Value;
use url::Url;

use crate::artifact::error::ArtifactError;
use crate::artifact::keys::{Item, Keys, MAX_ITEM_BYTES, MAX_ITEMS};

/// What a delegate's output may be.
const FORMATS: [&str; 5] = ["text", "auto", "claude", "codex", "gemini"];
/// Steps of the ladder that another delegate can take.
const STEPS: [Step; 3] = [Step::CacheBundle, Step::SmallModel, Step::RulesOnly];
/// Keys that say something of a command only.
const OF_COMMAND: [&str; 2] = ["resume", "format"];

/// Who does the work of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileDelegate {
    /// A program.
    Command(CommandDelegate),
    /// A chat endpoint. Parsed and kept; this version cannot use it.
    Endpoint {
        /// `http` or `https`, without a name or password, as it is written.
        url: String,
    },
}

/// A program, as a request names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDelegate {
    /// Its command line: 1 to 256 words, the first not empty.
    pub command: Vec<String>,
    /// The command line that continues a conversation.
    pub resume: Option<Vec<String>>,
    /// What it writes: `text`, `auto`, `claude`, `codex` or `gemini`.
    pub format: Option<String>,
}

/// The delegate of a profile: exactly one of `command` and `endpoint`.
pub(super) fn read(keys: &Keys) -> Result<ProfileDelegate, ArtifactError> {
    match (keys.get("command"), keys.get("endpoint")) {
        (Some(command), None) => Ok(ProfileDelegate::Command(CommandDelegate {
            command: words(&command)?,
            resume: keys.get("resume").map(|item| words(&item)).transpose()?,
            format: format(keys)?,
        })),
        (None, Some(endpoint)) => {
            if let Some(item) = OF_COMMAND.iter().find_map(|key| keys.get(key)) {
                return Err(item.wrong("left out: it is about a `command`"));
            }
            Ok(ProfileDelegate::Endpoint { url: url(&endpoint)? })
        }
        (None, None) => Err(ArtifactError::Delegate { at: keys.at().clone(), got: "neither" }),
        (Some(_), Some(endpoint)) => {
            Err(ArtifactError::Delegate { at: endpoint.at().clone(), got: "both" })
        }
    }
}

/// The delegates of the degrade ladder, in the order of its steps.
pub(super) fn read_rungs(keys: &Keys) -> Result<Vec<(Step, CommandDelegate)>, ArtifactError> {
    let Some(item) = keys.get("rungs") else { return Ok(Vec::new()) };
    item.map()?;
    let rungs = Keys::of_value("`rungs`", item.at(), item.value)?;
    rungs.only(&STEPS.map(Step::as_str), |key| {
        let is_step = serde_json::from_value::<Step>(Value::from(key)).is_ok();
        is_step.then(|| "; that step needs no delegate".to_owned())
    })?;
    let mut commands = Vec::new();
    for step in STEPS {
        let Some(rung) = rungs.get(step.as_str()) else { continue };
        let keys = Keys::of_value("a rung", rung.at(), rung.value)?;
        keys.only(&["command", "format"], |_| None)?;
        let command = words(&keys.need("command")?)?;
        commands.push((step, CommandDelegate { command, resume: None, format: format(&keys)? }));
    }
    Ok(commands)
}

fn format(keys: &Keys) -> Result<Option<String>, ArtifactError> {
    keys.get("format").map(|item| item.word(&FORMATS).map(str::to_owned)).transpose()
}

/// A command line: a list of words, or text that a shell would split into them.
fn words(item: &Item<'_>) -> Result<Vec<String>, ArtifactError> {
    let words: Vec<String> = match item.value {
        Value::Array(_) => {
            let items = item.list(MAX_ITEMS)?;
            let texts = items.iter().map(|word| word.any_text(MAX_ITEM_BYTES).map(str::to_owned));
            texts.collect::<Result<_, _>>()?
        }
        Value::String(_) => {
            let line = item.text(MAX_ITEM_BYTES)?;
            let words = shlex::split(line).ok_or_else(|| item.wrong("text with closed quotes"))?;
            if words.len() > MAX_ITEMS {
                return Err(item.wrong(format!("at most {MAX_ITEMS} words")));
            }
            words
        }
        _ => return Err(item.wrong("a command line: text, or a list of words")),
    };
    match words.first() {
        Some(program) if !program.trim().is_empty() => Ok(words),
        _ => Err(item.wrong("a command line that starts with a program")),
    }
}

fn url(item: &Item<'_>) -> Result<String, ArtifactError> {
    let text = item.text(MAX_ITEM_BYTES)?;
    let is_usable = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    };
    match Url::parse(text) {
        Ok(url) if is_usable(&url) => Ok(text.to_owned()),
        _ => Err(item.wrong("an `http` or `https` address without a name and password")),
    }
}
