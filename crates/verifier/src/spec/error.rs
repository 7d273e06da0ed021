//! What can be wrong with a check as it is written down.

/// The check cannot be used as written. Every message says what is legal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No such kind.
    #[error("there is no kind of check called `{kind}`; {hint}")]
    UnknownKind {
        /// What was written.
        kind: String,
        /// The nearest kind, or all of them.
        hint: String,
    },
    /// A check in a file names no kind, or more than one.
    #[error(
        "a check names exactly one kind with its target, such as `file = \"out.txt\"`; this one names {found}"
    )]
    KindCount {
        /// What was found: `none`, or the kinds.
        found: String,
    },
    /// The kind has no such key.
    #[error("`{kind}` has no key `{key}`; {hint}")]
    UnknownKey {
        /// The kind.
        kind: &'static str,
        /// What was written.
        key: String,
        /// The nearest key, or all of them.
        hint: String,
    },
    /// A key that holds one value was given twice.
    #[error("`{key}` is given twice; it holds one value")]
    Twice {
        /// The key.
        key: &'static str,
    },
    /// The value is not of the form that its key asks for.
    #[error("`{key}` must be {legal}, got `{value}`")]
    Value {
        /// The key.
        key: &'static str,
        /// What is legal.
        legal: String,
        /// What was written, at most 80 characters.
        value: String,
    },
    /// The target is not one that the kind can look at.
    #[error("the target of `{kind}` must be {legal}, got `{target}`")]
    Target {
        /// The kind.
        kind: &'static str,
        /// What is legal.
        legal: &'static str,
        /// What was written, at most 80 characters.
        target: String,
    },
    /// Two keys exclude each other.
    #[error("`{first}` and `{second}` contradict each other; drop one of them")]
    Conflict {
        /// One key.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// The kind cannot do without a key.
    #[error("`{kind}` needs {needs}")]
    Missing {
        /// The kind.
        kind: &'static str,
        /// Which key or keys.
        needs: &'static str,
    },
    /// A regular expression does not compile.
    #[error("`{key}` is not a regular expression: {detail}")]
    Regex {
        /// The key.
        key: &'static str,
        /// The compiler's words.
        detail: String,
    },
    /// A glob does not compile.
    #[error("`{key}` is not a glob: {detail}")]
    Glob {
        /// The key, or the kind where the target is a glob.
        key: &'static str,
        /// The compiler's words.
        detail: String,
    },
    /// A JSON Schema given inline does not compile.
    #[error("`schema` is not a JSON Schema: {detail}")]
    Schema {
        /// The compiler's words.
        detail: String,
    },
    /// Two checks of one delegation have the same id.
    #[error("two checks are called `{id}`; give one of them another `id`")]
    DuplicateId {
        /// The id.
        id: String,
    },
}

impl SpecError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownKind { .. } => "spec_unknown_kind",
            Self::KindCount { .. } => "spec_kind_count",
            Self::UnknownKey { .. } => "spec_unknown_key",
            Self::Twice { .. } => "spec_key_twice",
            Self::Value { .. } => "spec_value",
            Self::Target { .. } => "spec_target",
            Self::Conflict { .. } => "spec_conflict",
            Self::Missing { .. } => "spec_missing_key",
            Self::Regex { .. } => "spec_regex",
            Self::Glob { .. } => "spec_glob",
            Self::Schema { .. } => "spec_schema",
            Self::DuplicateId { .. } => "spec_duplicate_id",
        }
    }

    /// The key that the error is about, if it is about one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { key, .. } => Some(key),
            Self::Twice { key }
            | Self::Value { key, .. }
            | Self::Regex { key, .. }
            | Self::Glob { key, .. } => Some(key),
            Self::Conflict { second, .. } => Some(second),
            Self::Schema { .. } => Some("schema"),
            _ => None,
        }
    }
}

/// Cuts what was written down to what fits an error message.
pub(super) fn excerpt(text: &str) -> String {
    const MAX: usize = 80;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
