//! A verifier script as a piece of text with a name and a digest.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_core::Digest;
use sha2::{Digest as _, Sha256};

/// The largest script, in bytes.
pub const MAX_SOURCE_BYTES: u64 = 1 << 20;

/// The source of one verifier. Holding one says nothing about whether it compiles: see
/// [`crate::ScriptVerifier::check`].
#[derive(Debug, Clone)]
pub struct Script {
    name: Arc<str>,
    path: Option<Arc<Path>>,
    source: Arc<str>,
    digest: Digest,
}

/// A script could not be taken in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file could not be read.
    #[error("cannot read the script `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not UTF-8.
    #[error("the script `{name}` is not UTF-8 text")]
    NotText {
        /// Its name.
        name: String,
    },
    /// The source is too large.
    #[error("the script `{name}` is larger than {MAX_SOURCE_BYTES} bytes")]
    TooLarge {
        /// Its name.
        name: String,
    },
}

impl Script {
    /// A script from text, such as the `verify` key of a request. `name` is what faults call it.
    ///
    /// # Errors
    /// [`ScriptError::TooLarge`] above [`MAX_SOURCE_BYTES`].
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Result<Self, ScriptError> {
        let (name, source) = (name.into(), source.into());
        if u64::try_from(source.len()).unwrap_or(u64::MAX) > MAX_SOURCE_BYTES {
            return Err(ScriptError::TooLarge { name });
        }
        let digest = Digest::from_bytes(Sha256::digest(source.as_bytes()).into());
        Ok(Self { name: name.into(), path: None, source: source.into(), digest })
    }

    /// A script from a file. Reads it once: later edits of the file do not reach this value, and
    /// [`Script::digest`] is how they are noticed.
    ///
    /// # Errors
    /// [`ScriptError::Read`], [`ScriptError::NotText`] or [`ScriptError::TooLarge`].
    pub fn from_file(path: &Path) -> Result<Self, ScriptError> {
        use std::io::Read as _;
        let name = path.display().to_string();
        let read = |source| ScriptError::Read { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(read)?;
        let mut bytes = Vec::new();
        file.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
        let source =
            String::from_utf8(bytes).map_err(|_| ScriptError::NotText { name: name.clone() })?;
        let script = Self::new(name, source)?;
        Ok(Self { path: Some(path.into()), ..script })
    }

    /// What faults call it: the path it was read from, or the name it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// SHA-256 of the text.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The file it was read from; `None` for a script given as text.
    #[must_use]
    pub fn source_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}
