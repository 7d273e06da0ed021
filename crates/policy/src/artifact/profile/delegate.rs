//! Who does the work.

use probity_core::{MAX_CHECK_MS, Step};
use serde_json::{Map, Value};
use url::Url;

use crate::artifact::error::ArtifactError;
use crate::artifact::keys::{Item, Keys, MAX_ITEM_BYTES, MAX_ITEMS};

use super::request::project_path;

/// What a delegate's output may be.
const FORMATS: [&str; 6] = ["text", "auto", "claude", "codex", "gemini", "opencode"];
/// Steps of the ladder that another delegate can take.
const STEPS: [Step; 3] = [Step::CacheBundle, Step::SmallModel, Step::RulesOnly];
/// Keys that say something of a command only.
const OF_COMMAND: [&str; 2] = ["resume", "format"];
/// Keys that say something of a chat model only, beside `endpoint`.
pub(super) const OF_CHAT: [&str; 10] = [
    "api",
    "model",
    "key_env",
    "stream",
    "temperature",
    "max_output_tokens",
    "max_model_calls",
    "call_timeout",
    "tools",
    "mcp",
];
/// The longest name of a model, in bytes.
const MAX_MODEL_BYTES: usize = 256;
/// The largest temperature that a model takes.
const MAX_TEMPERATURE: f64 = 2.0;

/// Who does the work of a profile.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileDelegate {
    /// A program.
    Command(CommandDelegate),
    /// A chat model, as the keys under `chat` of a request: `endpoint`, an `http` or `https` address
    /// without a name or password, and `model` are there. What stands under `tools` and `mcp` is a
    /// list and a map, not looked at further.
    Chat(Map<String, Value>),
    /// An agent that speaks the Agent Client Protocol, as the keys under `acp` of a request, of which
    /// `command` is there.
    Acp(Map<String, Value>),
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

/// The delegate of a profile: exactly one of `command`, `endpoint` and `acp`.
pub(super) fn read(keys: &Keys) -> Result<ProfileDelegate, ArtifactError> {
    let kinds = ["command", "endpoint", "acp"];
    let mut named = kinds.into_iter().filter_map(|kind| Some((kind, keys.get(kind)?)));
    let (kind, item) = match (named.next(), named.next()) {
        (None, _) => {
            return Err(ArtifactError::Delegate { at: keys.at().clone(), got: "none of them" });
        }
        (Some(_), Some((_, second))) => {
            let at = second.at().clone();
            return Err(ArtifactError::Delegate { at, got: "more than one" });
        }
        (Some(named), None) => named,
    };
    if kind != "command" {
        refuse(keys, &OF_COMMAND, "left out: it is about a `command`")?;
    }
    if kind != "endpoint" {
        refuse(keys, &OF_CHAT, "left out: it is about an `endpoint`")?;
    }
    match kind {
        "command" => Ok(ProfileDelegate::Command(CommandDelegate {
            command: words(&item)?,
            resume: keys.get("resume").map(|item| words(&item)).transpose()?,
            format: format(keys)?,
        })),
        "endpoint" => chat(keys, &item).map(ProfileDelegate::Chat),
        _ => acp(&item).map(ProfileDelegate::Acp),
    }
}

fn refuse(keys: &Keys, about: &[&str], legal: &str) -> Result<(), ArtifactError> {
    match about.iter().find_map(|key| keys.get(key)) {
        Some(item) => Err(item.wrong(legal)),
        None => Ok(()),
    }
}

fn chat(keys: &Keys, endpoint: &Item<'_>) -> Result<Map<String, Value>, ArtifactError> {
    let mut chat = Map::from_iter([("endpoint".to_owned(), url(endpoint)?.into())]);
    keys.need("model")?;
    for key in OF_CHAT {
        if let Some(item) = keys.get(key) {
            check(key, &item)?;
            chat.insert(key.to_owned(), item.value.clone());
        }
    }
    Ok(chat)
}

fn check(key: &str, item: &Item<'_>) -> Result<(), ArtifactError> {
    match key {
        "api" => item.word(&["openai", "anthropic"]).map(drop),
        "model" => item.text(MAX_MODEL_BYTES).map(drop),
        "key_env" => variable(item),
        "stream" => match item.value {
            Value::Bool(_) => Ok(()),
            _ => Err(item.wrong("`true` or `false`")),
        },
        "temperature" => match item.value.as_f64() {
            Some(number) if (0.0..=MAX_TEMPERATURE).contains(&number) => Ok(()),
            _ => Err(item.wrong("a number from 0 to 2")),
        },
        "max_output_tokens" | "max_model_calls" => item.integer(1..=i64::from(u32::MAX)).map(drop),
        "call_timeout" => item.millis(MAX_CHECK_MS).map(drop),
        "tools" => item.list(MAX_ITEMS)?.iter().try_for_each(tool),
        _ => item.map().map(drop),
    }
}

/// A tool: a map, whose file lies in the project.
fn tool(item: &Item<'_>) -> Result<(), ArtifactError> {
    match item.map()?.get("script_file") {
        Some(file) => project_path(&Item::new("script_file", item.at(), file)),
        None => Ok(()),
    }
}

/// The name of a variable, and not what it holds: a key is never shown.
fn variable(item: &Item<'_>) -> Result<(), ArtifactError> {
    let is_name = |text: &str| {
        !text.is_empty()
            && text.len() <= 128
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match item.value.as_str() {
        Some(text) if is_name(text) => Ok(()),
        _ => Err(ArtifactError::Value {
            at: item.at().clone(),
            key: "key_env".to_owned(),
            legal: "the name of an environment variable, such as `OPENAI_API_KEY`".to_owned(),
            got: "what is there".to_owned(),
        }),
    }
}

fn acp(item: &Item<'_>) -> Result<Map<String, Value>, ArtifactError> {
    let mut acp = item.map()?.clone();
    let Some(command) = acp.get("command") else {
        return Err(item.wrong("a map with a `command`"));
    };
    let command = words(&Item::new("acp.command", item.at(), command))?;
    acp.insert("command".to_owned(), command.into());
    Ok(acp)
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
        // A password is never shown.
        _ if text.contains('@') => Err(ArtifactError::Value {
            at: item.at().clone(),
            key: "endpoint".to_owned(),
            legal: "an `http` or `https` address without a name and password".to_owned(),
            got: "what is there".to_owned(),
        }),
        _ => Err(item.wrong("an `http` or `https` address without a name and password")),
    }
}
