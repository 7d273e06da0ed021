//! A chat model as the delegate.

use std::collections::BTreeMap;
use std::path::PathBuf;

use probity_llm::Api;
use probity_script::Script;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use url::Url;

use super::{Millis, known_keys};

/// Keys of the map.
const KEYS: [&str; 11] = [
    "endpoint",
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
/// Keys under which people write the key itself.
const SECRETS: [&str; 6] = ["key", "api_key", "apiKey", "apikey", "token", "authorization"];
/// What the names of parameters end with that hold a key.
const IN_PARAMETERS: [&str; 5] = ["key", "token", "secret", "password", "signature"];
/// Keys that belong to whoever named the endpoint: who is paid, what is sent there, what may be called.
pub(crate) const OF_ENDPOINT: [&str; 4] = ["api", "key_env", "tools", "mcp"];

/// `chat` of a request: a model behind an HTTP endpoint, and the tools it may call.
///
/// The key is never in a file: `key_env` names the environment variable that holds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, remote = "Self")]
pub struct Chat {
    /// What the paths of the protocol stand behind, such as `https://api.openai.com/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The language of the server; `openai` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<ChatApi>,
    /// The name of the model, as the server knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The environment variable that holds the key. Where absent, `OPENAI_API_KEY` or
    /// `ANTHROPIC_API_KEY`, which a server on this machine can do without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Whether answers are asked for as streams. The claim is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// 0 to 2; left to the server where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Longest answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Calls of the model in one run, over all its attempts; 100 where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_model_calls: Option<u32>,
    /// The longest that one try of a model call may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_timeout: Option<Millis>,
    /// Tools in Starlark.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolScript>,
    /// Model Context Protocol servers whose tools it has besides, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp: BTreeMap<String, Mcp>,
}

/// The language of a chat server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatApi {
    /// Chat completions, which most servers speak.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// A tool in Starlark: `run(args)`, and `verify(args, result)` where it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolScript {
    /// Its name: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// JSON schema of its arguments: an object. Without it there are none.
    #[serde(default = "no_parameters")]
    pub parameters: Value,
    /// The source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The file with the source, in the place of `script`. Relative as `workspace` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_file: Option<PathBuf>,
    /// Wall time of one call; 30 seconds where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
}

/// A server of tools that speaks the Model Context Protocol on its standard streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mcp {
    /// Program and arguments. It runs in the workspace.
    pub command: Vec<String>,
    /// Names of environment variables that are handed on, where they are set. It sees no others but
    /// those that every program needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_keep: Vec<String>,
    /// The tools that are offered, by the server's own names; all where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// What comes before the names of its tools, with a `_` between; the server's name where absent,
    /// nothing where empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Wall time of one call; a minute where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Wall time until it has said what it can do; 20 seconds where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_timeout: Option<Millis>,
}

impl Chat {
    /// Fills in what this leaves open. Tools and servers of both count.
    #[must_use]
    pub fn over(self, defaults: Self) -> Self {
        let mut mcp = defaults.mcp;
        mcp.extend(self.mcp);
        let mut tools = defaults.tools;
        tools.extend(self.tools);
        Self {
            endpoint: self.endpoint.or(defaults.endpoint),
            api: self.api.or(defaults.api),
            model: self.model.or(defaults.model),
            key_env: self.key_env.or(defaults.key_env),
            stream: self.stream.or(defaults.stream),
            temperature: self.temperature.or(defaults.temperature),
            max_output_tokens: self.max_output_tokens.or(defaults.max_output_tokens),
            max_model_calls: self.max_model_calls.or(defaults.max_model_calls),
            call_timeout: self.call_timeout.or(defaults.call_timeout),
            tools,
            mcp,
        }
    }

    /// The keys that it has.
    pub(crate) fn keys(&self) -> Vec<String> {
        match serde_json::to_value(self) {
            Ok(Value::Object(keys)) => keys.into_iter().map(|(key, _)| key).collect(),
            _ => Vec::new(),
        }
    }

    /// The variable that holds the key, and whether it was named.
    pub(crate) fn variable(&self) -> (&str, bool) {
        match (&self.key_env, self.api) {
            (Some(name), _) => (name, true),
            (None, Some(ChatApi::Anthropic)) => ("ANTHROPIC_API_KEY", false),
            (None, Some(ChatApi::OpenAi) | None) => ("OPENAI_API_KEY", false),
        }
    }
}

impl ToolScript {
    /// Its script.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn read(&self) -> Result<Script, String> {
        let script = match (&self.script, &self.script_file) {
            (Some(source), None) => Script::new(&*self.name, source.as_str()),
            (None, Some(path)) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                Script::from_file(&path)
            }
            _ => {
                let name = &self.name;
                return Err(format!("the tool `{name}` needs one of `script` and `script_file`"));
            }
        };
        script.map_err(|error| error.to_string())
    }
}

impl From<ChatApi> for Api {
    fn from(api: ChatApi) -> Self {
        match api {
            ChatApi::OpenAi => Self::OpenAi,
            ChatApi::Anthropic => Self::Anthropic,
        }
    }
}

impl Serialize for Chat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Chat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::<String, Value>::deserialize(deserializer)?;
        if let Some(key) = SECRETS.into_iter().find(|key| map.contains_key(*key)) {
            return Err(D::Error::custom(format!(
                "`{key}` of `chat`: a key does not belong in a file; put it into an environment \
                 variable, and name that by `key_env`"
            )));
        }
        known_keys("chat", &map, &KEYS).map_err(D::Error::custom)?;
        if map.get("endpoint").and_then(Value::as_str).is_some_and(holds_key) {
            return Err(D::Error::custom(
                "`endpoint` of `chat` has a name, a password or a key in it, which would be recorded; \
                 put the key into an environment variable, and name that by `key_env`",
            ));
        }
        let chat = Self::deserialize(Value::Object(map)).map_err(D::Error::custom)?;
        // What is no name may be the key itself, so it is not shown.
        if chat.key_env.as_ref().is_some_and(|name| !is_variable(name)) {
            return Err(D::Error::custom(
                "`key_env` of `chat` must be the name of an environment variable, such as \
                 `OPENAI_API_KEY`: a key does not belong in a file",
            ));
        }
        if let Some(tool) =
            chat.tools.iter().find(|it| it.script.is_some() == it.script_file.is_some())
        {
            let name = &tool.name;
            let message = format!("the tool `{name}` needs one of `script` and `script_file`");
            return Err(D::Error::custom(message));
        }
        Ok(chat)
    }
}

/// Whether an address has user information, or a parameter that is called as keys are.
fn holds_key(endpoint: &str) -> bool {
    let Ok(url) = Url::parse(endpoint) else { return false };
    let is_key = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "sig" || IN_PARAMETERS.into_iter().any(|word| name.ends_with(word))
    };
    !url.username().is_empty()
        || url.password().is_some()
        || url.query_pairs().any(|(name, value)| is_key(&name) && !value.is_empty())
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn no_parameters() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}
