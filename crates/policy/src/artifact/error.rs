//! What can be wrong with an artifact, and where.

use std::fmt;

/// Where something stands: the artifact's file or label, and the line if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the caller named it, or what the value is part of.
    pub file: String,
    /// 1-based line of the file.
    pub line: Option<u64>,
}

/// The artifact cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// It is longer than an artifact may be.
    #[error("{at}: larger than {max_bytes} bytes, which no artifact is")]
    TooLarge {
        /// The file.
        at: Place,
        /// The bound.
        max_bytes: usize,
    },
    /// It is not UTF-8, or there is a NUL in it.
    #[error("{at}: not UTF-8 text without NUL; save the file as UTF-8")]
    NotText {
        /// The line with the first wrong byte.
        at: Place,
    },
    /// The first line is not `---`.
    #[error("{at}: no front matter; the first line must be `---`, then the keys, then `---` again")]
    NoFrontMatter {
        /// The first line.
        at: Place,
    },
    /// There is no second `---`.
    #[error("{at}: the front matter that starts here has no end; close it with a line `---`")]
    Unterminated {
        /// The line that opened it.
        at: Place,
    },
    /// The front matter is not YAML.
    #[error("{at}: not YAML: {detail}")]
    Yaml {
        /// The place that the parser names.
        at: Place,
        /// What the parser says.
        detail: String,
    },
    /// An anchor, an alias or a merge key.
    #[error("{at}: anchors, aliases and `<<` are not taken here; write the value out")]
    Alias {
        /// The place that the parser names.
        at: Place,
    },
    /// Nested too deep, or too many values.
    #[error("{at}: {detail}, more than an artifact needs")]
    Budget {
        /// The place that the parser names.
        at: Place,
        /// Which bound.
        detail: String,
    },
    /// One key twice in one map.
    #[error("{at}: the key `{key}` stands here for the second time; remove one")]
    DuplicateKey {
        /// The second place.
        at: Place,
        /// The key.
        key: String,
    },
    /// The front matter, or an inline definition, is no map of keys.
    #[error("{at}: a map of keys is expected here, such as `event: delegation.post_verify`")]
    NotMapping {
        /// Its place.
        at: Place,
    },
    /// A key that means nothing here.
    #[error("{at}: `{key}` is no key of {what}{hint}")]
    UnknownKey {
        /// Its place.
        at: Place,
        /// The key.
        key: String,
        /// What was read: `a hook`, `a profile`.
        what: &'static str,
        /// What was meant, as the end of a sentence.
        hint: String,
    },
    /// A key that must be there.
    #[error("{at}: {what} needs the key `{key}`")]
    MissingKey {
        /// The file.
        at: Place,
        /// The key.
        key: &'static str,
        /// What was read.
        what: &'static str,
    },
    /// A value of the wrong kind, or out of its bounds.
    #[error("{at}: `{key}` must be {legal}, not {got}")]
    Value {
        /// Its place.
        at: Place,
        /// The key.
        key: String,
        /// What is legal.
        legal: String,
        /// What is there.
        got: String,
    },
    /// A name that records cannot hold.
    #[error("{at}: `{name}` is no name; use 1 to 64 characters of a-z 0-9 _ . -")]
    Name {
        /// Its place.
        at: Place,
        /// The name.
        name: String,
    },
    /// A hook that would check nothing.
    #[error("{at}: a hook needs a `script` that defines `handle(event, payload)`")]
    ScriptMissing {
        /// Its place.
        at: Place,
    },
    /// A hook for an event that does not exist.
    #[error("{at}: there is no event `{event}`{hint}")]
    EventUnknown {
        /// Its place.
        at: Place,
        /// The event.
        event: String,
        /// What was meant, as the end of a sentence.
        hint: String,
    },
    /// Two hooks of one name.
    #[error("{at}: there is a hook `{name}` already; give one of them another name")]
    NameTaken {
        /// Where the hooks are listed.
        at: Place,
        /// The name.
        name: String,
    },
    /// A profile without a delegate, or with two.
    #[error(
        "{at}: a profile names its delegate by `command`, `endpoint` or `acp`; this one has {got}"
    )]
    Delegate {
        /// Its place.
        at: Place,
        /// What it has.
        got: &'static str,
    },
}

impl ArtifactError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "artifact_too_large",
            Self::NotText { .. } => "artifact_not_text",
            Self::NoFrontMatter { .. } => "artifact_no_front_matter",
            Self::Unterminated { .. } => "artifact_unterminated",
            Self::Yaml { .. } => "artifact_yaml",
            Self::Alias { .. } => "artifact_alias",
            Self::Budget { .. } => "artifact_budget",
            Self::DuplicateKey { .. } => "artifact_duplicate_key",
            Self::NotMapping { .. } => "artifact_not_mapping",
            Self::UnknownKey { .. } => "artifact_unknown_key",
            Self::MissingKey { .. } => "artifact_missing_key",
            Self::Value { .. } => "artifact_value",
            Self::Name { .. } => "artifact_name",
            Self::ScriptMissing { .. } => "hook_script_missing",
            Self::EventUnknown { .. } => "hook_event_unknown",
            Self::NameTaken { .. } => "hook_name_taken",
            Self::Delegate { .. } => "profile_delegate",
        }
    }

    /// Where it stands.
    #[must_use]
    pub const fn place(&self) -> &Place {
        match self {
            Self::TooLarge { at, .. }
            | Self::NotText { at }
            | Self::NoFrontMatter { at }
            | Self::Unterminated { at }
            | Self::Yaml { at, .. }
            | Self::Alias { at }
            | Self::Budget { at, .. }
            | Self::DuplicateKey { at, .. }
            | Self::NotMapping { at }
            | Self::UnknownKey { at, .. }
            | Self::MissingKey { at, .. }
            | Self::Value { at, .. }
            | Self::Name { at, .. }
            | Self::ScriptMissing { at }
            | Self::EventUnknown { at, .. }
            | Self::NameTaken { at, .. }
            | Self::Delegate { at, .. } => at,
        }
    }
}

impl Place {
    /// A file as a whole.
    #[must_use]
    pub fn file(file: &str) -> Self {
        Self { file: file.to_owned(), line: None }
    }

    /// A line of a file.
    #[must_use]
    pub fn line(file: &str, line: u64) -> Self {
        Self { file: file.to_owned(), line: Some(line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "`{}` line {line}", self.file),
            None => write!(f, "`{}`", self.file),
        }
    }
}
