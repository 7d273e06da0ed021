//! The version of the record format, and who may read and write which.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `major.minor`, written into every record.
///
/// A minor version adds event types or optional fields and changes no meaning. A major version may
/// change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FormatVersion {
    /// Differs: not readable.
    pub major: u16,
    /// Greater than [`FormatVersion::CURRENT`]'s: readable as far as every name in it is known,
    /// never appended to.
    pub minor: u16,
}

/// A version that this build cannot read, or must not append to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// Not `major.minor` in decimal without leading zeros.
    #[error("a format version reads `major.minor`, got `{text}`")]
    Malformed {
        /// What was there.
        text: String,
    },
    /// Another major version.
    #[error(
        "format version {found} is not readable here; use a build that reads major version {}",
        .found.major
    )]
    Unreadable {
        /// The record's version.
        found: FormatVersion,
    },
    /// Written by a newer build: appending would mix versions downwards.
    #[error(
        "the log is at format version {found}, this build writes {}; append with a build at least \
         as new",
        FormatVersion::CURRENT
    )]
    NewerThanWriter {
        /// The record's version.
        found: FormatVersion,
    },
}

impl FormatVersion {
    /// What this build writes.
    pub const CURRENT: Self = Self { major: 1, minor: 3 };

    /// Whether this build may try to read a record of that version.
    ///
    /// # Errors
    /// [`VersionError::Unreadable`] for another major version.
    pub fn check_readable(self) -> Result<(), VersionError> {
        if self.major == Self::CURRENT.major {
            return Ok(());
        }
        Err(VersionError::Unreadable { found: self })
    }

    /// Whether this build may append behind a record of that version.
    ///
    /// # Errors
    /// [`VersionError::Unreadable`] for another major version, [`VersionError::NewerThanWriter`]
    /// for a newer minor one.
    pub fn check_appendable(self) -> Result<(), VersionError> {
        self.check_readable()?;
        if self > Self::CURRENT {
            return Err(VersionError::NewerThanWriter { found: self });
        }
        Ok(())
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for FormatVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let parts = text.split_once('.').and_then(|(major, minor)| {
            Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
        });
        // Printing it again refuses `+1.0` and `01.0`.
        parts
            .filter(|version| version.to_string() == text)
            .ok_or_else(|| VersionError::Malformed { text: text.chars().take(32).collect() })
    }
}

impl TryFrom<String> for FormatVersion {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

impl From<FormatVersion> for String {
    fn from(version: FormatVersion) -> Self {
        version.to_string()
    }
}
