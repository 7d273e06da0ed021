//! Trust by hash: what the operator allowed to run, and nothing else.
//!
//! A repository can bring verify commands with it, and so can whoever wrote to it last. They run
//! only once the operator has trusted exactly this content; an edit takes the trust away.

use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use probity_core::Digest;
use sha2::{Digest as _, Sha256};

use crate::judge::JudgeManifest;
use crate::workspace::key_of;

const HEADER: &str = "# What probity may run from repositories: sha256  kind  label";
/// Bytes of the file at most: some fifty thousand entries.
const MAX_BYTES: u64 = 8 << 20;
/// Characters of a label that are kept.
const MAX_LABEL: usize = 200;

/// What kind of thing was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrustKind {
    /// A command with the files it declares ([`command_digest`]).
    Command,
    /// A verifier script's source.
    Script,
    /// A project file.
    Config,
}

impl TrustKind {
    const ALL: [Self; 3] = [Self::Command, Self::Script, Self::Config];

    const fn word(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Script => "script",
            Self::Config => "config",
        }
    }
}

impl fmt::Display for TrustKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// What is trusted.
    pub digest: Digest,
    /// What it is.
    pub kind: TrustKind,
    /// For people: the command line, the script's path.
    pub label: String,
}

/// The operator's list of what may run. One line each, `sha256  kind  label`; empty lines and lines
/// that start with `#` are kept and mean nothing.
///
/// The file belongs into the operator's configuration folder, out of the delegate's reach: whoever
/// can write it decides what runs. One that others may write is refused.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
enum Line {
    Remark(String),
    Trusted(Trusted),
}

impl TrustStore {
    /// Reads the file; one that does not exist trusts nothing.
    ///
    /// # Errors
    /// [`TrustError`] when it cannot be read, is writable by others, or a line is malformed: half a
    /// list is not used.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TrustError> {
        let path = path.into();
        let lines = read_lines(&path)?;
        Ok(Self { path, lines })
    }

    /// Whether this content may run as what it is. A script's hash trusts no command.
    #[must_use]
    pub fn is_trusted(&self, kind: TrustKind, digest: &Digest) -> bool {
        self.iter().any(|trusted| trusted.kind == kind && trusted.digest == *digest)
    }

    /// What is trusted, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Trusted> {
        self.lines.iter().filter_map(|line| match line {
            Line::Trusted(trusted) => Some(trusted),
            Line::Remark(_) => None,
        })
    }

    /// Adds an entry, or gives an existing one a new label, and writes the file: whole or not at
    /// all, readable and writable by the owner alone. What another process added meanwhile is kept.
    ///
    /// The label is kept on one line: control characters become spaces, 200 characters stay.
    ///
    /// # Errors
    /// [`TrustError`] when the file cannot be read again or written.
    pub fn trust(
        &mut self,
        kind: TrustKind,
        digest: Digest,
        label: &str,
    ) -> Result<(), TrustError> {
        let label: String = label
            .chars()
            .take(MAX_LABEL)
            .map(|char| if char.is_control() { ' ' } else { char })
            .collect();
        let trusted = Trusted { digest, kind, label: label.trim().to_owned() };
        self.rewrite(|lines| {
            let same = |line: &&mut Line| {
                matches!(line, Line::Trusted(it) if it.kind == kind && it.digest == digest)
            };
            match lines.iter_mut().find(same) {
                Some(line) => *line = Line::Trusted(trusted),
                None => lines.push(Line::Trusted(trusted)),
            }
        })
    }

    /// Takes an entry out, of whatever kind, and writes the file. False when it was not there.
    ///
    /// # Errors
    /// As [`TrustStore::trust`].
    pub fn revoke(&mut self, digest: &Digest) -> Result<bool, TrustError> {
        let mut revoked = false;
        self.rewrite(|lines| {
            let before = lines.len();
            lines.retain(|line| !matches!(line, Line::Trusted(it) if it.digest == *digest));
            revoked = lines.len() < before;
        })?;
        Ok(revoked)
    }

    /// Reads, edits and replaces the file under a lock, so that two processes do not lose each
    /// other's entries.
    fn rewrite(&mut self, edit: impl FnOnce(&mut Vec<Line>)) -> Result<(), TrustError> {
        let failed = |source| TrustError::Io { path: key_of(&self.path), source };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let lock = private_file(&beside(&self.path, ".lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut lines = read_lines(&self.path)?;
        if lines.is_empty() {
            lines.push(Line::Remark(HEADER.to_owned()));
        }
        edit(&mut lines);
        replace(&self.path, &print(&lines)).map_err(failed)?;
        self.lines = lines;
        Ok(())
    }
}

/// What a command is trusted as: SHA-256 of `probity command 1`, the number of words, each word with
/// its length, and the digest of the sealed files it declares. Numbers are eight bytes, big-endian.
/// So neither another split of the same text nor an edit of a declared file has the same digest.
#[must_use]
pub fn command_digest<S: AsRef<str>>(argv: &[S], declared: &JudgeManifest) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(b"probity command 1");
    hasher.update((argv.len() as u64).to_be_bytes());
    for word in argv {
        let word = word.as_ref().as_bytes();
        hasher.update((word.len() as u64).to_be_bytes());
        hasher.update(word);
    }
    hasher.update(declared.digest().as_bytes());
    Digest::from_bytes(hasher.finalize().into())
}

/// Why the list of what may run cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A line that is no entry.
    #[error("line {number} of `{path}`: {why}; correct or remove it")]
    Line {
        /// The file.
        path: String,
        /// 1-based.
        number: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Others may write the file.
    #[error(
        "`{path}` may be written by others (mode {mode:04o}); run `chmod 600` on it after reading it"
    )]
    Writable {
        /// The file.
        path: String,
        /// Its permission bits.
        mode: u32,
    },
    /// More than 8 MiB, or no UTF-8.
    #[error("`{path}` is no list of trusted hashes; move it away")]
    NotAList {
        /// The file.
        path: String,
    },
    /// Anything else the system says.
    #[error("`{path}` cannot be read or written: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl TrustError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Line { .. } => "trust_line_invalid",
            Self::Writable { .. } => "trust_file_writable",
            Self::NotAList { .. } => "trust_file_invalid",
            Self::Io { .. } => "trust_file_unreadable",
        }
    }
}

fn read_lines(path: &Path) -> Result<Vec<Line>, TrustError> {
    let failed = |source| TrustError::Io { path: key_of(path), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mode = file.metadata().map_err(failed)?.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(TrustError::Writable { path: key_of(path), mode });
    }
    let mut text = String::new();
    match file.take(MAX_BYTES + 1).read_to_string(&mut text) {
        Ok(count) if count as u64 <= MAX_BYTES => {}
        Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(failed(error)),
        _ => return Err(TrustError::NotAList { path: key_of(path) }),
    }
    let lines = text.lines().zip(1..);
    lines
        .map(|(line, number)| {
            let refused = |why| TrustError::Line { path: key_of(path), number, why };
            if line.is_empty() || line.starts_with('#') {
                return Ok(Line::Remark(line.to_owned()));
            }
            parse_line(line).map(Line::Trusted).map_err(refused)
        })
        .collect()
}

fn parse_line(line: &str) -> Result<Trusted, &'static str> {
    let mut fields = line.splitn(3, "  ");
    let digest = fields.next().unwrap_or_default();
    let digest = digest.parse().map_err(|_| "it does not start with 64 lower-case hex digits")?;
    let word = fields.next().ok_or("the kind is missing behind two spaces")?;
    let kind = TrustKind::ALL.into_iter().find(|kind| kind.word() == word);
    let kind = kind.ok_or("the kind is none of `command`, `script`, `config`")?;
    let label = fields.next().ok_or("the label is missing behind two spaces")?;
    Ok(Trusted { digest, kind, label: label.to_owned() })
}

fn print(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        // Writing to a `String` cannot fail.
        let _ = match line {
            Line::Remark(remark) => writeln!(text, "{remark}"),
            Line::Trusted(it) => writeln!(text, "{}  {}  {}", it.digest, it.kind, it.label),
        };
    }
    text
}

/// Writes a new file beside the old one and puts it in its place. The caller holds the lock, so the
/// name is free but for the rest of a write that was cut off.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let temporary = beside(path, ".new");
    match std::fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
