//! The sealed judge: the files that decide, hashed before the delegate starts and compared before
//! and after every check.

mod command_line;
mod inputs;
mod sealed;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobSet, GlobSetBuilder};
use probity_core::Digest;
use rustix::fs::OFlags;

use crate::hash::{digest_of, hash_reader};
use crate::snapshot::SnapshotRules;
use crate::workspace::{
    Kind, PathError, Pattern, Workspace, compile_glob, key_of, path_of, search,
};

pub use command_line::{CommandLine, NamedFile, Role};
pub use inputs::{known_inputs, undeclared_inputs};
pub use sealed::{JudgeManifest, JudgeManifestError, Seen, Tampered};

/// Files that patterns of one judge may match.
const MAX_INPUTS: usize = 10_000;
/// Bytes of one judged file.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The files that decide: verifiers, configuration, the request, and whatever they read.
///
/// Inside the workspace or anywhere else. They are read by path, because by path is how the check
/// will run them. Content and kind count. Of permission bits only one does, of what a pattern
/// matches: whether a file may be executed, because runners pass over tests that may not. A verifier
/// that is named and lost its execute bit faults, it does not pass.
#[derive(Debug, Clone)]
pub struct JudgeFiles {
    workspace: Arc<Workspace>,
    files: BTreeMap<String, PathBuf>,
    patterns: Vec<Pattern>,
    /// By pattern: what its check leaves out of it.
    left_out: Vec<GlobSet>,
    may_change: Vec<String>,
    exempt: GlobSet,
    texts: BTreeMap<String, Digest>,
    /// What the patterns pass over.
    rules: SnapshotRules,
    /// Whether it counts that an input may be executed.
    counts_execution: bool,
}

impl JudgeFiles {
    /// A judge of no files.
    #[must_use]
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self {
            workspace,
            files: BTreeMap::new(),
            patterns: Vec::new(),
            left_out: Vec::new(),
            may_change: Vec::new(),
            exempt: GlobSet::empty(),
            texts: BTreeMap::new(),
            rules: SnapshotRules::default(),
            counts_execution: true,
        }
    }

    /// Adds one file: a path in the workspace, or an absolute path anywhere.
    ///
    /// # Errors
    /// [`PathError`] when a relative path leaves the workspace, or the path is none.
    pub fn file(mut self, path: impl AsRef<Path>) -> Result<Self, PathError> {
        let path = path.as_ref();
        match self.workspace.key(path) {
            Ok(key) => {
                let inside = path_of(&key).unwrap_or_else(|| path.to_path_buf());
                self.files.insert(key, self.workspace.root().join(inside));
            }
            Err(PathError::Outside { .. }) if path.is_absolute() => {
                self.files.insert(key_of(path), path.to_path_buf());
            }
            Err(error) => return Err(error),
        }
        Ok(self)
    }

    /// Adds everything in the workspace that a pattern matches, when the judge is sealed and later:
    /// a file that comes to match is a difference. Folders of [`crate::IGNORED`] are passed over
    /// unless the pattern spells their name.
    ///
    /// # Errors
    /// [`PathError::Pattern`] when it is no glob.
    pub fn inputs(mut self, pattern: &str) -> Result<Self, PathError> {
        self.patterns.push(Pattern::new(pattern)?);
        self.left_out.push(GlobSet::empty());
        Ok(self)
    }

    /// Adds what one check is decided by: patterns as [`JudgeFiles::inputs`] takes them, and files of
    /// the workspace by key. `may_change` leaves files out of this check's share only: what another
    /// check is decided by stays sealed.
    ///
    /// # Errors
    /// [`PathError`] when a pattern is no glob, or a file is none of the workspace.
    pub fn check_inputs<S: AsRef<str>>(
        mut self,
        inputs: &[S],
        named: &[S],
        may_change: &[S],
    ) -> Result<Self, PathError> {
        let left_out = globs(may_change)?;
        for pattern in inputs {
            self.patterns.push(Pattern::new(pattern.as_ref())?);
            self.left_out.push(left_out.clone());
        }
        for key in named.iter().map(AsRef::as_ref) {
            if !left_out.is_match(key) {
                self = self.file(path_of(key).unwrap_or_else(|| key.into()))?;
            }
        }
        Ok(self)
    }

    /// The judge that was sealed, for a run that is taken up again: the files are those on record,
    /// not those that the workspace of today would suggest. Patterns stay, so that a file that came
    /// to match one is still a difference; so do texts and exemptions. What patterns alone can have
    /// put on record, such as a folder that could not be read, is left to them.
    #[must_use]
    pub fn as_sealed(&self, sealed: &JudgeManifest) -> Self {
        let by_path = |key: &str, seen: Seen| match seen {
            Seen::File { .. } | Seen::Link { .. } => true,
            Seen::Unreadable => self.patterns.is_empty() || self.files.contains_key(key),
            _ => !self.is_input(key),
        };
        let files = sealed
            .iter()
            .filter(|(key, seen)| by_path(key, *seen))
            .map(|(key, _)| (key.to_owned(), self.path_at(key)))
            .collect();
        // A seal without an executable input may be of a version that did not look at that.
        Self { files, counts_execution: sealed.has_executable(), ..self.clone() }
    }

    /// Where the file of a key or of an absolute path lies.
    fn path_at(&self, key: &str) -> PathBuf {
        // Joining an absolute path leaves it as it is.
        self.workspace.root().join(path_of(key).unwrap_or_else(|| key.into()))
    }

    /// Leaves out what a pattern matches in the workspace, however it was added: the request says
    /// that the delegate may change it.
    ///
    /// # Errors
    /// [`PathError::Pattern`] when it is no glob.
    pub fn may_change(mut self, pattern: &str) -> Result<Self, PathError> {
        self.may_change.push(pattern.to_owned());
        self.exempt = globs(&self.may_change)?;
        Ok(self)
    }

    /// Adds text that is in no file: an inline script, a command line, the policy.
    #[must_use]
    pub fn text(mut self, name: impl Into<String>, content: &[u8]) -> Self {
        self.texts.insert(name.into(), digest_of(content));
        self
    }

    /// Whether there is nothing to read: looking costs no I/O then.
    #[must_use]
    pub fn reads_nothing(&self) -> bool {
        self.files.is_empty() && self.patterns.is_empty()
    }

    /// Reads and hashes everything, before the delegate starts.
    ///
    /// # Errors
    /// [`JudgeError`] when a file that was added by name is absent, is no file, or cannot be read; or
    /// when the patterns cannot be searched.
    pub fn seal(&self) -> Result<JudgeManifest, JudgeError> {
        let (sealed, searched) = self.see();
        searched.map_err(JudgeError::Inputs)?;
        for (path, seen) in sealed.iter() {
            let by_name = self.files.contains_key(path);
            let path = path.to_owned();
            match seen {
                Seen::TooLarge => return Err(JudgeError::TooLarge { path }),
                Seen::Absent if by_name => return Err(JudgeError::Missing { path }),
                Seen::Unreadable if by_name => return Err(JudgeError::Unreadable { path }),
                Seen::Dir | Seen::Other if by_name => return Err(JudgeError::NotAFile { path }),
                // An input that cannot be read now cannot be read by the check either; that it
                // can be read later is a difference.
                _ => {}
            }
        }
        Ok(sealed)
    }

    /// Reads everything again. What is gone or cannot be read is recorded as such: once the judge is
    /// sealed that is a difference, not an error.
    #[must_use]
    pub fn look(&self) -> JudgeManifest {
        let (now, searched) = self.see();
        match searched {
            Ok(()) => now,
            Err(_) => now.with_unreadable_inputs(),
        }
    }

    /// Reads everything again and compares.
    ///
    /// # Errors
    /// Every difference, sorted by path: content, kind, a file that is gone or cannot be read, a file
    /// that a pattern matches now and did not match before.
    pub fn check(&self, sealed: &JudgeManifest) -> Result<(), Vec<Tampered>> {
        let tampered = sealed.differences(&self.look());
        if tampered.is_empty() { Ok(()) } else { Err(tampered) }
    }

    /// What stands there now, and whether the patterns could be searched.
    fn see(&self) -> (JudgeManifest, Result<(), PathError>) {
        let mut files = BTreeMap::new();
        for (key, path) in &self.files {
            if !self.is_exempt(key) {
                files.insert(key.clone(), self.see_file(key, path));
            }
        }
        let searched = self.see_inputs(&mut files);
        let patterns = self.patterns.iter().map(|pattern| pattern.text().to_owned()).collect();
        (JudgeManifest::new(files, self.texts.clone(), patterns), searched)
    }

    fn see_inputs(&self, files: &mut BTreeMap<String, Seen>) -> Result<(), PathError> {
        if self.patterns.is_empty() {
            return Ok(());
        }
        let found = search(&self.workspace, &self.patterns, MAX_INPUTS, |key| {
            self.rules.ignores(key, true)
        })?;
        let matched = found.keys.into_iter().filter(|(_, kind)| *kind != Kind::Dir);
        for (key, _) in matched {
            if self.is_exempt(&key) || files.contains_key(&key) || !self.is_input(&key) {
                continue;
            }
            let seen = self.see_file(&key, &self.path_at(&key));
            files.insert(key, seen);
        }
        for key in found.unreadable {
            files.insert(key, Seen::Unreadable);
        }
        Ok(())
    }

    fn see_file(&self, key: &str, path: &Path) -> Seen {
        match see(path) {
            Seen::File { digest, .. } if !(self.counts_execution && self.is_input(key)) => {
                Seen::file(digest)
            }
            seen => seen,
        }
    }

    /// Whether a check that the key is an input of keeps it sealed.
    fn is_input(&self, key: &str) -> bool {
        let mut inputs = self.patterns.iter().zip(&self.left_out);
        inputs.any(|(pattern, left_out)| pattern.matches(key) && !left_out.is_match(key))
    }

    fn is_exempt(&self, key: &str) -> bool {
        // An absolute key lies outside the workspace, where no pattern reaches.
        !key.starts_with('/') && self.exempt.is_match(key)
    }
}

fn globs<S: AsRef<str>>(patterns: &[S]) -> Result<GlobSet, PathError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(compile_glob(pattern.as_ref())?);
    }
    set.build().map_err(|error| PathError::Pattern {
        pattern: patterns.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" "),
        why: error.kind().to_string(),
    })
}

/// Why a judge cannot be sealed.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// A file that was added by name is not there.
    #[error(
        "`{path}` decides over the work but does not exist; create it or take it out of the request"
    )]
    Missing {
        /// Its key, or its absolute path.
        path: String,
    },
    /// A folder or special file that was added by name.
    #[error(
        "`{path}` decides over the work but is no regular file; for a folder declare `inputs` with `{path}/**`"
    )]
    NotAFile {
        /// Its key, or its absolute path.
        path: String,
    },
    /// A file that cannot be read.
    #[error(
        "`{path}` decides over the work but cannot be read; let the user that runs the check read it"
    )]
    Unreadable {
        /// Its key, or its absolute path.
        path: String,
    },
    /// A file beyond the limit.
    #[error(
        "`{path}` decides over the work but holds more than 1 GiB; leave it out with `may_change`"
    )]
    TooLarge {
        /// Its key, or its absolute path.
        path: String,
    },
    /// The patterns could not be searched.
    #[error("the declared inputs cannot be listed: {0}")]
    Inputs(#[source] PathError),
}

impl JudgeError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "judge_file_missing",
            Self::NotAFile { .. } => "judge_file_not_a_file",
            Self::Unreadable { .. } => "judge_file_unreadable",
            Self::TooLarge { .. } => "judge_file_too_large",
            Self::Inputs(error) => error.code(),
        }
    }
}

fn see(path: &Path) -> Seen {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return absent_or_unreadable(&error),
    };
    if metadata.is_dir() {
        return Seen::Dir;
    }
    if metadata.is_symlink() {
        return match std::fs::read_link(path) {
            Ok(target) => Seen::Link {
                target: digest_of(target.as_os_str().as_bytes()),
                content: open(path, OFlags::empty()).ok().and_then(|file| hash(&file).digest()),
            },
            Err(error) => absent_or_unreadable(&error),
        };
    }
    if !metadata.is_file() {
        return Seen::Other;
    }
    match open(path, OFlags::NOFOLLOW) {
        Ok(file) => hash(&file),
        Err(error) => absent_or_unreadable(&error),
    }
}

/// Opens without waiting: what was a file a moment ago may be a FIFO.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn hash(file: &File) -> Seen {
    let executable = match file.metadata() {
        Ok(metadata) if metadata.is_file() => metadata.permissions().mode() & 0o111 != 0,
        Ok(_) => return Seen::Other,
        Err(_) => return Seen::Unreadable,
    };
    match hash_reader(file, MAX_FILE_BYTES, &mut || true) {
        Ok(Some((digest, _))) => Seen::File { digest, executable },
        Ok(None) => Seen::TooLarge,
        Err(_) => Seen::Unreadable,
    }
}

fn absent_or_unreadable(error: &io::Error) -> Seen {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Seen::Absent,
        _ => Seen::Unreadable,
    }
}
