//! The grammar of checks as one table: which kinds there are, which keys each has, what a value
//! may look like. Parser, printer, wire form and error texts all read it.

use serde_json::Value;

use super::value::{Mode, StatusSet, parse_duration_ms, parse_long_duration_ms};

/// What the value of a key looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// A bare word in `--expect`; `true` in files.
    Flag,
    /// One text.
    Text,
    /// A text that may be given more than once; a text or a list of texts in files.
    Texts,
    /// A whole number from 0 to 2^53 - 1.
    Count,
    /// An exit code from 0 to 255.
    Exit,
    /// A number, whole or not.
    Number,
    /// Four octal digits as text, such as `0644`.
    Mode,
    /// SHA-256 in 64 lower-case hex digits.
    Digest,
    /// A number with `ms`, `s`, `m` or `h`.
    Duration,
    /// As [`Form::Duration`], also with `d`, and up to 30 days.
    LongDuration,
    /// The word `subset` or `exact`.
    Match,
    /// The word `exact` or `any`.
    Quotes,
    /// HTTP status codes and classes joined by `|`, such as `200|204` or `2xx`.
    Status,
    /// The word `run-start`.
    RunStart,
    /// A JSON value; in `--expect`, text that is not JSON stands for itself.
    Json,
    /// The path of a JSON Schema, or the schema itself.
    Schema,
}

/// One key of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What its value looks like.
    pub form: Form,
}

/// One kind of check.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// As it is written before the colon, and as the key of the target in files.
    pub name: &'static str,
    /// What the target is, for error texts: `PATH`, `URL`; empty where there is none.
    pub target: &'static str,
    /// Its own keys, without [`COMMON`].
    pub keys: &'static [Key],
}

const fn key(name: &'static str, form: Form) -> Key {
    Key { name, form }
}

/// Keys that every kind has, `human` with a longer `timeout`.
pub const COMMON: &[Key] = &[key("id", Form::Text), key("timeout", Form::Duration)];

/// Every kind, in the order of the documentation.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "file",
        target: "PATH",
        keys: &[
            key("created", Form::Flag),
            key("changed", Form::Flag),
            key("absent", Form::Flag),
            key("contains", Form::Texts),
            key("matches", Form::Texts),
            key("sha256", Form::Digest),
            key("min_bytes", Form::Count),
            key("max_bytes", Form::Count),
            key("mode", Form::Mode),
            key("newer_than", Form::RunStart),
        ],
    },
    Kind {
        name: "dir",
        target: "PATH",
        keys: &[
            key("created", Form::Flag),
            key("changed", Form::Flag),
            key("absent", Form::Flag),
            key("mode", Form::Mode),
            key("newer_than", Form::RunStart),
            key("entries", Form::Count),
            key("min_entries", Form::Count),
        ],
    },
    Kind {
        name: "text",
        target: "",
        keys: &[key("contains", Form::Texts), key("matches", Form::Texts)],
    },
    Kind {
        name: "json",
        target: "PATH",
        keys: &[key("schema", Form::Schema), key("pointer", Form::Text), key("equals", Form::Json)],
    },
    Kind {
        name: "command",
        target: "CMDLINE",
        keys: &[
            key("exit", Form::Exit),
            key("stdout_contains", Form::Texts),
            key("stdout_matches", Form::Texts),
            key("inputs", Form::Texts),
            key("may_change", Form::Texts),
            key("env", Form::Texts),
        ],
    },
    Kind {
        name: "http",
        target: "URL",
        keys: &[
            key("status", Form::Status),
            key("body_contains", Form::Texts),
            key("body_matches", Form::Texts),
            key("pointer", Form::Text),
            key("equals", Form::Json),
        ],
    },
    Kind {
        name: "git",
        target: "REF",
        keys: &[
            key("exists", Form::Flag),
            key("created", Form::Flag),
            key("clean", Form::Flag),
            key("pushed", Form::Text),
            key("contains_path", Form::Texts),
            key("reachable_from", Form::Text),
        ],
    },
    Kind {
        name: "sqlite",
        target: "PATH",
        keys: &[key("query", Form::Text), key("equals", Form::Json), key("at_least", Form::Number)],
    },
    Kind { name: "port", target: "HOST:PORT", keys: &[key("closed", Form::Flag)] },
    Kind { name: "process", target: "NAME", keys: &[key("absent", Form::Flag)] },
    Kind { name: "changes_only", target: "GLOB[,GLOB]...", keys: &[] },
    Kind {
        name: "external",
        target: "CMDLINE",
        keys: &[
            key("args", Form::Json),
            key("inputs", Form::Texts),
            key("may_change", Form::Texts),
            key("env", Form::Texts),
        ],
    },
    Kind {
        name: "read_after_write",
        target: "SOURCE",
        keys: &[
            key("expected", Form::Json),
            key("mode", Form::Match),
            key("pointer", Form::Text),
            key("query", Form::Text),
            key("inputs", Form::Texts),
            key("may_change", Form::Texts),
            key("env", Form::Texts),
        ],
    },
    Kind {
        name: "invariant_check",
        target: "SOURCE",
        keys: &[
            key("equals", Form::Json),
            key("at_least", Form::Number),
            key("at_most", Form::Number),
            key("status", Form::Status),
            key("matches", Form::Texts),
            key("pointer", Form::Text),
            key("query", Form::Text),
            key("inputs", Form::Texts),
            key("may_change", Form::Texts),
            key("env", Form::Texts),
        ],
    },
    Kind {
        name: "citations",
        target: "PATH",
        keys: &[
            key("evidence", Form::Text),
            key("min_supports", Form::Count),
            key("quotes", Form::Quotes),
            key("allow_marked_insufficient", Form::Flag),
            key("revise", Form::Flag),
            key("may_change", Form::Texts),
        ],
    },
    // Its keys stand inside the target, which is a map.
    Kind { name: "agent", target: "MAP", keys: &[] },
    Kind {
        name: "human",
        target: "WHO",
        keys: &[key("question", Form::Text), key("timeout", Form::LongDuration)],
    },
];

impl Kind {
    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// All keys, the common ones last. A key of its own stands before the common one of that name.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        let own = self.keys;
        let is_new = move |common: &&Key| own.iter().all(|key| key.name != common.name);
        own.iter().chain(COMMON.iter().filter(is_new))
    }

    /// The key of that name.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.all_keys().find(|key| key.name == name)
    }
}

/// The word of `legal` that is nearest to `word`, if one is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, legal: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    legal
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(1))
        .map(|(_, candidate)| candidate)
}

/// 2^53 - 1: the largest whole number that every reader of JSON keeps.
pub(super) const MAX_COUNT: u64 = 9_007_199_254_740_991;

impl Form {
    /// What is legal, for error texts.
    #[must_use]
    pub const fn legal(self) -> &'static str {
        match self {
            Self::Flag => "a flag: `true` in files, no value in `--expect`",
            Self::Text => "a text",
            Self::Texts => "a text, or in files a list of texts",
            Self::Count => "a whole number from 0 to 9007199254740991",
            Self::Exit => "an exit code from 0 to 255",
            Self::Number => "a number",
            Self::Mode => "octal digits as text from 0000 to 7777, such as 0644",
            Self::Digest => "a SHA-256 digest: 64 lower-case hex digits",
            Self::Duration => "a whole number with ms, s, m or h from 1ms to 1h, such as 10s",
            Self::LongDuration => {
                "a whole number with ms, s, m, h or d from 1ms to 30d, such as 24h"
            }
            Self::Match => "`subset` or `exact`",
            Self::Quotes => "`exact` or `any`",
            Self::Status => "status codes or classes joined by `|`, such as 200|204 or 2xx",
            Self::RunStart => "the word `run-start`",
            Self::Json => "a JSON value",
            Self::Schema => "the path of a JSON Schema, or the schema itself",
        }
    }

    /// Whether a value of a file is of this form.
    pub(super) fn admits(self, value: &Value) -> bool {
        match self {
            Self::Flag => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::Texts => {
                value.is_string()
                    || value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
            }
            Self::Count => value.as_u64().is_some_and(|count| count <= MAX_COUNT),
            Self::Exit => value.as_u64().is_some_and(|code| code <= 255),
            Self::Number => value.is_number(),
            Self::Mode => value.as_str().is_some_and(|text| text.parse::<Mode>().is_ok()),
            Self::Digest => {
                value.as_str().is_some_and(|text| text.parse::<probity_core::Digest>().is_ok())
            }
            Self::Duration => value.as_str().is_some_and(|text| parse_duration_ms(text).is_some()),
            Self::LongDuration => {
                value.as_str().is_some_and(|text| parse_long_duration_ms(text).is_some())
            }
            Self::Match => matches!(value.as_str(), Some("subset" | "exact")),
            Self::Quotes => matches!(value.as_str(), Some("exact" | "any")),
            Self::Status => match value {
                Value::String(text) => text.parse::<StatusSet>().is_ok(),
                other => other.to_string().parse::<StatusSet>().is_ok() && other.is_u64(),
            },
            Self::RunStart => value.as_str() == Some("run-start"),
            Self::Json => true,
            Self::Schema => value.is_string() || value.is_object() || value.is_boolean(),
        }
    }

    /// Reads the text of a `--expect` value.
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        let value = match self {
            Self::Flag => return None,
            Self::Count | Self::Exit => text.parse::<u64>().ok()?.into(),
            Self::Number => serde_json::from_str(text).ok()?,
            Self::Json => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            Self::Schema if text.starts_with('{') => serde_json::from_str(text).ok()?,
            _ => text.into(),
        };
        self.admits(&value).then_some(value)
    }

    /// Writes a value as the text of a `--expect` value; the inverse of [`Form::read`].
    pub(crate) fn write(self, value: &Value) -> String {
        match (self, value) {
            // Text that would read as another JSON value keeps its quotes.
            (Self::Json, Value::String(text)) if serde_json::from_str::<Value>(text).is_ok() => {
                value.to_string()
            }
            (_, Value::String(text)) => text.clone(),
            (_, other) => other.to_string(),
        }
    }
}
