//! A verifier that an envelope names.

use std::path::PathBuf;

use probity_verifier::spec::CheckSpec;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What stands behind the name of a verification method.
///
/// In files: a check, as under `expect`, or a map with the one key `file`, which names a verifier
/// in Starlark (`.star`) or Python (`.py`).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Method {
    /// A file that defines `verify(context)` or `run(result)`.
    File {
        /// The file. Relative as `workspace` is.
        file: PathBuf,
    },
    /// A declared check.
    Check(Box<CheckSpec>),
}

impl Method {
    /// The check, where it is one.
    #[must_use]
    pub fn check(&self) -> Option<&CheckSpec> {
        match self {
            Self::File { .. } => None,
            Self::Check(spec) => Some(spec),
        }
    }

    /// The check, where it is one.
    pub(crate) fn check_mut(&mut self) -> Option<&mut CheckSpec> {
        match self {
            Self::File { .. } => None,
            Self::Check(spec) => Some(spec),
        }
    }

    /// The file, where it is one.
    pub(super) const fn file_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::File { file } => Some(file),
            Self::Check(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let file = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.get("file"));
        let path = file.and_then(Value::as_str);
        // `{file = "out.txt"}` alone could be a check for a file, too; a verifier has one of two endings.
        if let Some(path) = path.filter(|path| path.ends_with(".star") || path.ends_with(".py")) {
            return Ok(Self::File { file: path.into() });
        }
        serde_json::from_value(value)
            .map(|spec| Self::Check(Box::new(spec)))
            .map_err(D::Error::custom)
    }
}
