//! What the judge's files were when they were sealed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use probity_core::{Digest, Evidence, Verdict};
use serde::{Deserialize, Serialize};

use crate::hash::digest_of;

/// Differences that a verdict names.
const MAX_NAMED: usize = 20;

/// What stands at the path of a judged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Seen {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// SHA-256 of the content.
        digest: Digest,
        /// Whether somebody may execute it, of a declared input: runners pass over tests that
        /// nobody may. Always `false` of other files.
        #[serde(default, skip_serializing_if = "is_false")]
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// SHA-256 of the target text.
        target: Digest,
        /// SHA-256 of the regular file it leads to, if it leads to one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Digest>,
    },
    /// A directory.
    Dir,
    /// A FIFO, a socket or a device.
    Other,
    /// Something that cannot be read.
    Unreadable,
    /// A regular file of more than 1 GiB, which is not read.
    TooLarge,
}

impl Seen {
    /// A regular file whose permission bits do not count.
    pub(super) const fn file(digest: Digest) -> Self {
        Self::File { digest, executable: false }
    }

    /// The digest of a regular file's content, behind a link too.
    pub(super) fn digest(self) -> Option<Digest> {
        match self {
            Self::File { digest, .. } => Some(digest),
            Self::Link { content, .. } => content,
            Self::Absent | Self::Dir | Self::Other | Self::Unreadable | Self::TooLarge => None,
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::File { digest, executable: false } => write!(f, "file {}", digest.short()),
            Self::File { digest, executable: true } => {
                write!(f, "executable file {}", digest.short())
            }
            Self::Link { content: Some(digest), .. } => write!(f, "link to {}", digest.short()),
            Self::Link { content: None, .. } => f.write_str("link to no file"),
            Self::Dir => f.write_str("directory"),
            Self::Other => f.write_str("special file"),
            Self::Unreadable => f.write_str("unreadable"),
            Self::TooLarge => f.write_str("too large"),
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The judge at one moment: what each of its files was, the texts that are in no file, the patterns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeManifest {
    files: BTreeMap<String, Seen>,
    texts: BTreeMap<String, Digest>,
    patterns: Vec<String>,
}

impl JudgeManifest {
    pub(super) fn new(
        files: BTreeMap<String, Seen>,
        texts: BTreeMap<String, Digest>,
        patterns: Vec<String>,
    ) -> Self {
        Self { files, texts, patterns }
    }

    /// Whether an input was seen that somebody may execute.
    pub(super) fn has_executable(&self) -> bool {
        self.files.values().any(|seen| matches!(seen, Seen::File { executable: true, .. }))
    }

    /// What was seen at a key, or at an absolute path outside the workspace.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Seen> {
        self.files.get(path).copied()
    }

    /// Keys and absolute paths with what was seen there, sorted.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, Seen)> {
        self.files.iter().map(|(path, seen)| (path.as_str(), *seen))
    }

    /// SHA-256 of [`JudgeManifest::to_bytes`].
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest_of(&self.to_bytes())
    }

    /// The canonical form: compact JSON with the members `files`, `texts`, `patterns` in this order;
    /// the first two sorted by name, the patterns as declared.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Maps with text keys and plain values: there is nothing here that JSON cannot hold.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads the form that [`JudgeManifest::to_bytes`] writes, and only that.
    ///
    /// # Errors
    /// [`JudgeManifestError`] when it is another form, or none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, JudgeManifestError> {
        let manifest: Self = serde_json::from_slice(bytes)
            .map_err(|error| JudgeManifestError::Damaged { why: error.to_string() })?;
        if manifest.to_bytes() == bytes {
            Ok(manifest)
        } else {
            Err(JudgeManifestError::NotCanonical)
        }
    }

    /// The same with every pattern marked as unreadable: equal to no sealed judge.
    pub(super) fn with_unreadable_inputs(mut self) -> Self {
        let patterns = self.patterns.iter().map(|pattern| (pattern.clone(), Seen::Unreadable));
        self.files.extend(patterns);
        self
    }

    /// What differs in a later reading, sorted by path.
    #[must_use]
    pub fn differences(&self, now: &Self) -> Vec<Tampered> {
        let mut tampered = Vec::new();
        let paths: BTreeSet<&String> = self.files.keys().chain(now.files.keys()).collect();
        for path in paths {
            let was = self.get(path).unwrap_or(Seen::Absent);
            let is = now.get(path).unwrap_or(Seen::Absent);
            if was != is {
                tampered.push(Tampered { path: path.clone(), was, is });
            }
        }
        let text = |judge: &Self, name: &str| {
            judge.texts.get(name).map_or(Seen::Absent, |digest| Seen::file(*digest))
        };
        let names: BTreeSet<&String> = self.texts.keys().chain(now.texts.keys()).collect();
        for name in names {
            let (was, is) = (text(self, name), text(now, name));
            if was != is {
                tampered.push(Tampered { path: name.clone(), was, is });
            }
        }
        if self.patterns != now.patterns {
            let digest = |judge: &Self| Seen::file(digest_of(judge.patterns.join("\n").as_bytes()));
            tampered.push(Tampered { path: "inputs".into(), was: digest(self), is: digest(now) });
        }
        tampered
    }
}

/// Bytes that are no sealed judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeManifestError {
    /// Not the JSON that is expected.
    #[error("the sealed judge cannot be read: {why}; it was damaged or is something else")]
    Damaged {
        /// What the parser says.
        why: String,
    },
    /// The same value in another spelling.
    #[error(
        "the sealed judge is not in its canonical form; it was written or edited by something else"
    )]
    NotCanonical,
}

/// One difference between the judge that was sealed and the judge that stands there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tampered {
    /// The file's key or absolute path, or the name of a text.
    pub path: String,
    /// What was sealed.
    pub was: Seen,
    /// What stands there now.
    pub is: Seen,
}

impl Tampered {
    /// The verdict on a judge that is not what it was: `fail`, code `judge_tampered`. The reason and
    /// the evidence name the first twenty differences.
    #[must_use]
    pub fn verdict(tampered: &[Self]) -> Verdict {
        let named: Vec<String> = tampered.iter().take(MAX_NAMED).map(Self::to_string).collect();
        let more = match tampered.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason =
            format!("files that decide over the work were changed: {}{more}", named.join("; "));
        tampered.iter().take(MAX_NAMED).fold(
            Verdict::fail("judge_tampered", reason),
            |verdict, it| {
                let evidence = Evidence::new(format!("file:{}", it.path), it.is.to_string());
                verdict.with_evidence(match it.is.digest() {
                    Some(digest) => evidence.with_digest(digest),
                    None => evidence,
                })
            },
        )
    }
}

impl fmt::Display for Tampered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was {}, is {}", self.path, self.was, self.is)
    }
}
