//! What `read_after_write` and `invariant_check` read, as their target spells it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a value is read, again and again. Written `file:PATH`, `http:URL`, `sqlite:PATH` or
/// `command:LINE`.
///
/// `{target.id}` and `{target.type}` in it stand for the first target of the decision under way: in
/// a URL percent-encoded, and behind the host; in a path as they are, without `/`; in a command line
/// as a quoted variable, so that nothing in them is read as code. A query has `?1` for the id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
    /// The content of a file below the workspace.
    File(String),
    /// The body that a GET answers.
    Http(String),
    /// What a query gives, in a database below the workspace.
    Sqlite(String),
    /// What a command line prints.
    Command(String),
}

/// The text names no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {}", Source::LEGAL)]
pub struct SourceError {
    text: String,
}

impl Source {
    /// What is legal, for error texts.
    pub const LEGAL: &'static str = "`file:PATH`, `http:URL`, `sqlite:PATH` or `command:LINE`";

    /// The word before the colon, and what follows it.
    #[must_use]
    pub const fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::File(path) => ("file", path.as_str()),
            Self::Http(url) => ("http", url.as_str()),
            Self::Sqlite(path) => ("sqlite", path.as_str()),
            Self::Command(line) => ("command", line.as_str()),
        }
    }

    /// The command line, where it is one.
    #[must_use]
    pub const fn command_line(&self) -> Option<&str> {
        match self {
            Self::Command(line) => Some(line.as_str()),
            Self::File(_) | Self::Http(_) | Self::Sqlite(_) => None,
        }
    }
}

/// An empty path, which is no legal source: it must be set.
impl Default for Source {
    fn default() -> Self {
        Self::File(String::new())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, rest) = self.parts();
        write!(f, "{word}:{rest}")
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let refused = || SourceError { text: text.chars().take(80).collect() };
        let (word, rest) = text.split_once(':').ok_or_else(refused)?;
        let rest = rest.to_owned();
        match word {
            "file" => Ok(Self::File(rest)),
            // A URL without the word is what people write first.
            "http" | "https" if rest.starts_with("//") => Ok(Self::Http(text.to_owned())),
            "http" => Ok(Self::Http(rest)),
            "sqlite" => Ok(Self::Sqlite(rest)),
            "command" => Ok(Self::Command(rest)),
            _ => Err(refused()),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = SourceError;

    fn try_from(text: String) -> Result<Self, SourceError> {
        text.parse()
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}
