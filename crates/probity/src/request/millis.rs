//! A length of time as people write it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use probity_verifier::spec::{format_duration_ms, parse_duration_ms, parse_long_duration_ms};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds, written with a unit: `500ms`, `10s`, `5m`, `1h`. One hour at most, unless it was read
/// by [`Millis::long`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(u64);

impl Millis {
    /// A length in milliseconds.
    #[must_use]
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// Reads a time that somebody waits, or looks back: also in days (`d`), and up to 30 of them.
    ///
    /// # Errors
    /// What is wrong with the text, if it is none.
    pub fn long(text: &str) -> Result<Self, MillisError> {
        let read = parse_long_duration_ms(text).map(Self);
        read.ok_or_else(|| MillisError { text: text.to_owned(), most: "30d" })
    }

    /// The number of milliseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The text is no length of time, or none that is taken here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no time from 1ms to {most}; write a whole number with a unit, such as `500ms`, `10s`, \
     `5m`"
)]
pub struct MillisError {
    text: String,
    /// The longest that is taken.
    most: &'static str,
}

impl FromStr for Millis {
    type Err = MillisError;

    fn from_str(text: &str) -> Result<Self, MillisError> {
        let read = parse_duration_ms(text).map(Self);
        read.ok_or_else(|| MillisError { text: text.to_owned(), most: "1h" })
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_duration_ms(self.0))
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Reads a key of a file whose time is as long as [`Millis::long`] takes it.
pub(super) fn long<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Millis>, D::Error> {
    let text = Option::<Cow<'de, str>>::deserialize(deserializer)?;
    text.map(|text| Millis::long(&text)).transpose().map_err(serde::de::Error::custom)
}
