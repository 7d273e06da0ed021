//! Names of things: runs, checks, turns, submissions, machine codes. All checked on parse.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The text is not a legal name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be 1 to {max} characters of {alphabet}, got `{text}`")]
pub struct NameError {
    what: &'static str,
    max: usize,
    alphabet: &'static str,
    text: String,
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $max:literal, $alphabet:literal, $legal:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// The text as it is written in records.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let legal: fn(char) -> bool = $legal;
                if !text.is_empty() && text.len() <= $max && text.chars().all(legal) {
                    return Ok(Self(text.to_owned()));
                }
                Err(NameError {
                    what: $what,
                    max: $max,
                    alphabet: $alphabet,
                    text: text.chars().take($max).collect(),
                })
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "({})"), self.0)
            }
        }
    };
}

name!(
    /// One execution with its own run log. Chosen by the caller, unique in its store.
    RunId, "a run id", 64, "a-z A-Z 0-9 - _",
    |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
);

name!(
    /// One worker of a fleet: a process that drives runs. Unique among those that live at a time.
    WorkerId, "a worker id", 64, "a-z A-Z 0-9 - _",
    |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
);

name!(
    /// One submission: the claim of one turn, on its way through the checks. A verifier that was
    /// interrupted sees the same id again and can use it as an idempotency key.
    SubmissionId, "a submission id", 64, "a-z A-Z 0-9 - _",
    |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
);

name!(
    /// A stable machine word: verdict codes, fault codes, criteria keys. Its alphabet is what keeps
    /// content out of content-free events.
    Code, "a code", 64, "a-z 0-9 _ . -",
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-')
);

impl RunId {
    /// The id that a UUID makes: 36 characters, in lower case.
    #[must_use]
    pub fn from_uuid(uuid: u128) -> Self {
        Self(hyphenated(uuid))
    }
}

impl Code {
    /// Builds a code from text that is meant to be one, replacing what the alphabet lacks with `_`
    /// and cutting at 64 characters. Empty text becomes `unnamed`.
    #[must_use]
    pub fn slug(text: &str) -> Self {
        let slug: String =
            text.chars()
                .map(|c| c.to_ascii_lowercase())
                .map(|c| {
                    if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' }
                })
                .take(64)
                .collect();
        if slug.is_empty() { Self("unnamed".to_owned()) } else { Self(slug) }
    }
}

impl Code {
    /// Whether the code says that ground truth answered too late: by convention such codes end in
    /// `timeout`. It makes the drift of an inconclusive verdict red.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.0.ends_with("timeout")
    }
}

impl SubmissionId {
    /// The id that is a UUID in its usual text form, which is always a legal name.
    #[must_use]
    pub fn from_uuid(bits: u128) -> Self {
        Self(hyphenated(bits))
    }
}

fn hyphenated(bits: u128) -> String {
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        (bits >> 80) & 0xffff,
        (bits >> 64) & 0xffff,
        (bits >> 48) & 0xffff,
        bits & 0xffff_ffff_ffff,
    )
}

/// The place of a check in its delegation: 0-based, in the order of evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckIndex(pub u32);

impl CheckIndex {
    /// The index of the `n`-th check; a delegation never holds more than `u32::MAX` of them.
    #[must_use]
    pub(crate) fn of(n: usize) -> Self {
        Self(u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// As an index into the list of checks.
    #[must_use]
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// The place of a hook in its delegation: 0-based, in the order of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HookIndex(pub u32);

impl HookIndex {
    /// The index of the `n`-th hook; a delegation never holds more than `u32::MAX` of them.
    #[must_use]
    pub(crate) fn of(n: usize) -> Self {
        Self(u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// As an index into the list of hooks.
    #[must_use]
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// One round of the loop: dispatch, claim, verdict. Commits exactly once.
///
/// `epoch` rises when a run that had ended is opened again under the same id; a restart of the
/// process does not change it, so a repeated turn is recognised as a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// 0-based generation of the run.
    pub epoch: u32,
    /// 0-based number of the round inside the epoch.
    pub number: u32,
}

impl Turn {
    /// The first turn of a new run.
    pub const FIRST: Self = Self { epoch: 0, number: 0 };

    /// The turn after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { epoch: self.epoch, number: self.number.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_on_parse_and_on_deserialise() {
        assert_eq!("file_missing".parse::<Code>().unwrap().as_str(), "file_missing");
        for text in ["", "a b", "Ü", "UPPER", &"a".repeat(65), "a\n"] {
            assert!(text.parse::<Code>().is_err(), "{text:?}");
            assert!(serde_json::from_value::<Code>(text.into()).is_err(), "{text:?}");
        }
        assert!("run_01-AB".parse::<RunId>().is_ok());
        assert!("../etc".parse::<RunId>().is_err());
    }

    #[test]
    fn a_slug_is_always_a_legal_code() {
        for text in ["", "File Missing!", "Ünïcode", &"x".repeat(200)] {
            let slug = Code::slug(text);
            assert_eq!(slug.as_str().parse::<Code>().unwrap(), slug);
        }
    }
}
