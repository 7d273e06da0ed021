//! The walk behind a snapshot: a stack of jobs, shared by threads once it is long enough.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::{SnapshotError, SnapshotRules};
use crate::hash::{digest_of, hash_reader, kind_of_mode};
use crate::manifest::Entry;
use crate::workspace::{Kind, MAX_DEPTH, ReadNamesError, Workspace, join, key_of_name, read_names};

/// Files that one job hashes.
const FILES_PER_JOB: usize = 64;
/// Waiting jobs from which on threads pay for themselves.
const JOBS_FOR_THREADS: usize = 4;
/// Threads at most: hashing is bound by cores and memory, not by waiting.
const MAX_THREADS: usize = 8;
/// Names in one folder that the rules may leave out.
const MAX_LEFT_OUT: usize = 1_000_000;
/// Looks at one name whose kind changes between listing and opening.
const MAX_LOOKS: usize = 4;

type Recorded = Vec<(String, Entry)>;

pub(super) fn walk(
    workspace: &Workspace,
    rules: &SnapshotRules,
    cancel: &CancellationToken,
) -> Result<BTreeMap<String, Entry>, SnapshotError> {
    let shared = Shared {
        rules,
        cancel,
        files: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    let root = workspace.fd().and_then(|fd| fd.try_clone_to_owned());
    let root = Arc::new(root.map_err(|source| SnapshotError::Io { path: ".".into(), source })?);
    let mut stack = Vec::new();
    let mut recorded = Vec::new();
    shared.list(&root, "", 0, Scope::Rules, &mut stack)?;
    while stack.len() < JOBS_FOR_THREADS {
        let Some(job) = stack.pop() else { return Ok(recorded.into_iter().collect()) };
        shared.run(job, &mut stack, &mut recorded)?;
    }
    recorded.extend(run_on_threads(&shared, stack)?);
    Ok(recorded.into_iter().collect())
}

fn run_on_threads(shared: &Shared<'_>, stack: Vec<Job>) -> Result<Recorded, SnapshotError> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let pool = Pool { state: Mutex::new(State { stack, busy: 0 }), wake: Condvar::new() };
    std::thread::scope(|scope| {
        // A system that has no thread left to give leaves the work to those that are there.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, || pool.work(shared)).ok();
        let helpers: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut outcome = pool.work(shared);
        for helper in helpers {
            let theirs = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = match (outcome, theirs) {
                (Ok(mut ours), Ok(theirs)) => {
                    ours.extend(theirs);
                    Ok(ours)
                }
                // The error that stopped the others, rather than their having been stopped.
                (Err(SnapshotError::Cancelled), Err(error)) | (Ok(_), Err(error)) => Err(error),
                (Err(error), _) => Err(error),
            };
        }
        outcome
    })
}

/// Which entries of a folder count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Those that the rules do not leave out.
    Rules,
    /// All: the folder was asked for by name.
    All,
    /// Inside a folder that is left out: only those asked for by name.
    Named,
}

#[derive(Debug)]
enum Job {
    /// Open the folder `name` in `parent`, record it, list it.
    Dir { parent: Arc<OwnedFd>, name: OsString, key: String, depth: usize, scope: Scope },
    /// Record these entries of `parent`.
    Files { parent: Arc<OwnedFd>, parent_key: String, names: Vec<(OsString, Kind)> },
}

struct Shared<'a> {
    rules: &'a SnapshotRules,
    cancel: &'a CancellationToken,
    files: AtomicUsize,
    bytes: AtomicU64,
    /// Another thread failed.
    stop: AtomicBool,
}

impl Shared<'_> {
    fn run(&self, job: Job, stack: &mut Vec<Job>, out: &mut Recorded) -> Result<(), SnapshotError> {
        self.go_on()?;
        match job {
            Job::Files { parent, parent_key, names } => {
                for (name, kind) in names {
                    let key = join(&parent_key, &key_of_name(&name));
                    self.record(parent.as_fd(), &name, key, kind, out)?;
                }
                Ok(())
            }
            Job::Dir { parent, name, key, depth, scope } => {
                if depth > MAX_DEPTH {
                    return Err(SnapshotError::TooDeep { path: key, max_depth: MAX_DEPTH });
                }
                match look(parent.as_fd(), &name, Kind::Dir) {
                    Ok(Look::Dir(dir, mode)) => {
                        let dir = Arc::new(dir);
                        let listed = self.list(&dir, &key, depth, scope, stack)?;
                        // A folder on the way to a named path counts only where it hides it.
                        if scope != Scope::Named || !listed {
                            let mut entry = plain(Kind::Dir, mode);
                            entry.unreadable = !listed;
                            self.count()?;
                            out.push((key, entry));
                        }
                        Ok(())
                    }
                    // Replaced meanwhile, or unreadable.
                    _ => self.record(parent.as_fd(), &name, key, Kind::Dir, out),
                }
            }
        }
    }

    /// Puts the entries of an open folder on the stack, files on top so that they are done while
    /// their folder is open anyway. False when the folder may not be listed.
    fn list(
        &self,
        dir: &Arc<OwnedFd>,
        key: &str,
        depth: usize,
        scope: Scope,
        stack: &mut Vec<Job>,
    ) -> Result<bool, SnapshotError> {
        // What the rules leave out does not count, but is listed first.
        let max_names = self.rules.limits.max_files.saturating_add(MAX_LEFT_OUT);
        let names = match read_names(dir.as_fd(), max_names) {
            Ok(names) => names,
            Err(ReadNamesError::TooMany) => {
                let max_files = self.rules.limits.max_files;
                return Err(SnapshotError::TooManyFiles { max_files });
            }
            Err(ReadNamesError::Io(Errno::ACCESS | Errno::PERM)) if !key.is_empty() => {
                return Ok(false);
            }
            Err(ReadNamesError::Io(errno)) => return Err(failed(key, errno)),
        };
        let mut files = Vec::new();
        for (name, kind) in names {
            let child = join(key, &key_of_name(&name));
            let Some(scope) = self.scope_of(&child, kind, scope) else { continue };
            if kind == Kind::Dir {
                let parent = Arc::clone(dir);
                stack.push(Job::Dir { parent, name, key: child, depth: depth + 1, scope });
            } else {
                files.push((name, kind));
            }
        }
        while !files.is_empty() {
            let names = files.split_off(files.len().saturating_sub(FILES_PER_JOB));
            stack.push(Job::Files { parent: Arc::clone(dir), parent_key: key.to_owned(), names });
        }
        Ok(true)
    }

    /// How an entry of a folder in `scope` is to be taken; `None` when it is left out.
    fn scope_of(&self, key: &str, kind: Kind, scope: Scope) -> Option<Scope> {
        let is_dir = kind == Kind::Dir;
        let left_out = match scope {
            Scope::All => return Some(Scope::All),
            Scope::Rules => self.rules.ignores(key, is_dir),
            Scope::Named => true,
        };
        if !left_out {
            return Some(Scope::Rules);
        }
        let always = &self.rules.always;
        if always.contains(key) {
            return Some(Scope::All);
        }
        let below = format!("{key}/");
        let leads_to_named =
            always.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below));
        // What stands in the way of a named path without being a folder is recorded itself.
        leads_to_named.then_some(if is_dir { Scope::Named } else { Scope::All })
    }

    fn record(
        &self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        key: String,
        kind: Kind,
        out: &mut Recorded,
    ) -> Result<(), SnapshotError> {
        self.go_on()?;
        let looked = look(parent, name, kind).map_err(|errno| failed(&key, errno))?;
        let entry = match looked {
            Look::Gone => return Ok(()),
            Look::Entry(entry) => entry,
            // A folder that took the place of a file: its content belongs to the next snapshot.
            Look::Dir(_, mode) => Entry { unreadable: true, ..plain(Kind::Dir, mode) },
            Look::File(file, mode) => self.hash(&file, mode, &key)?,
        };
        self.count()?;
        out.push((key, entry));
        Ok(())
    }

    fn hash(&self, file: &File, mode: u32, key: &str) -> Result<Entry, SnapshotError> {
        let limits = self.rules.limits;
        let hashed = hash_reader(file, limits.max_file_bytes, &mut || self.go_on().is_ok());
        match hashed {
            Ok(Some((digest, size))) => {
                let total = self.bytes.fetch_add(size, Ordering::Relaxed).saturating_add(size);
                if total > limits.max_total_bytes {
                    let max_total_bytes = limits.max_total_bytes;
                    return Err(SnapshotError::TotalTooLarge { max_total_bytes });
                }
                let digest = Some(digest);
                Ok(Entry { kind: Kind::File, size, mode, digest, unreadable: false })
            }
            Ok(None) => Err(SnapshotError::FileTooLarge {
                path: key.to_owned(),
                max_file_bytes: limits.max_file_bytes,
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                Err(SnapshotError::Cancelled)
            }
            Err(source) => Err(SnapshotError::Io { path: key.to_owned(), source }),
        }
    }

    fn count(&self) -> Result<(), SnapshotError> {
        let max_files = self.rules.limits.max_files;
        if self.files.fetch_add(1, Ordering::Relaxed) >= max_files {
            return Err(SnapshotError::TooManyFiles { max_files });
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), SnapshotError> {
        if self.stop.load(Ordering::Relaxed) || self.cancel.is_cancelled() {
            return Err(SnapshotError::Cancelled);
        }
        Ok(())
    }
}

/// What one look at a name found.
enum Look {
    Gone,
    /// Recorded without reading: a link, a special file, or something unreadable.
    Entry(Entry),
    Dir(OwnedFd, u32),
    File(File, u32),
}

/// Opens `name` in `parent` without following a link and without waiting for anyone. `kind` is what
/// the listing said; what the open file says decides.
fn look(parent: BorrowedFd<'_>, name: &OsStr, mut kind: Kind) -> Result<Look, Errno> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    for _ in 0..MAX_LOOKS {
        match kind {
            Kind::File | Kind::Dir => {
                match rustix::fs::openat(parent, name, flags, Mode::empty()) {
                    Ok(fd) => {
                        let stat = rustix::fs::fstat(&fd)?;
                        let mode = stat.st_mode & 0o7777;
                        return Ok(match kind_of_mode(stat.st_mode) {
                            Kind::File => Look::File(File::from(fd), mode),
                            Kind::Dir => Look::Dir(fd, mode),
                            kind => Look::Entry(plain(kind, mode)),
                        });
                    }
                    Err(Errno::NOENT) => return Ok(Look::Gone),
                    Err(Errno::ACCESS | Errno::PERM) => {
                        return Ok(stat_only(parent, name)?.map_or(Look::Gone, Look::Entry));
                    }
                    // A link or a socket took its place.
                    Err(Errno::LOOP | Errno::NXIO | Errno::MLINK) => {}
                    Err(errno) => return Err(errno),
                }
            }
            Kind::Symlink => match rustix::fs::readlinkat(parent, name, Vec::new()) {
                Ok(target) => return Ok(Look::Entry(link(target.to_bytes()))),
                Err(Errno::NOENT) => return Ok(Look::Gone),
                Err(Errno::INVAL) => {}
                Err(errno) => return Err(errno),
            },
            Kind::Other => {}
        }
        let Some(entry) = stat_only(parent, name)? else { return Ok(Look::Gone) };
        if entry.kind == Kind::Other {
            return Ok(Look::Entry(entry));
        }
        kind = entry.kind;
    }
    // Swapped faster than it can be looked at: say what it was last.
    Ok(stat_only(parent, name)?.map_or(Look::Gone, Look::Entry))
}

/// An entry whose content was not read.
fn stat_only(parent: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Entry>, Errno> {
    let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let kind = kind_of_mode(stat.st_mode);
    let mode = if kind == Kind::Symlink { 0o777 } else { stat.st_mode & 0o7777 };
    let size = match kind {
        Kind::File | Kind::Symlink => u64::try_from(stat.st_size).unwrap_or(0),
        Kind::Dir | Kind::Other => 0,
    };
    Ok(Some(Entry { kind, size, mode, digest: None, unreadable: kind != Kind::Other }))
}

fn plain(kind: Kind, mode: u32) -> Entry {
    Entry { kind, size: 0, mode, digest: None, unreadable: false }
}

fn link(target: &[u8]) -> Entry {
    Entry {
        kind: Kind::Symlink,
        size: target.len() as u64,
        mode: 0o777,
        digest: Some(digest_of(target)),
        unreadable: false,
    }
}

fn failed(key: &str, errno: Errno) -> SnapshotError {
    let path = if key.is_empty() { ".".to_owned() } else { key.to_owned() };
    SnapshotError::Io { path, source: errno.into() }
}

/// The stack that threads share. It ends when it is empty and nobody can add to it.
struct Pool {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    stack: Vec<Job>,
    busy: usize,
}

impl Pool {
    fn work(&self, shared: &Shared<'_>) -> Result<Recorded, SnapshotError> {
        let mut recorded = Vec::new();
        while let Some(job) = self.next(shared) {
            let mut turn = Turn { pool: self, shared, more: Vec::new(), succeeded: false };
            shared.run(job, &mut turn.more, &mut recorded)?;
            turn.succeeded = true;
        }
        Ok(recorded)
    }

    fn next(&self, shared: &Shared<'_>) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if shared.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(job) = state.stack.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One job in work. Whatever way it ends, a panic included, the others learn of it.
struct Turn<'a> {
    pool: &'a Pool,
    shared: &'a Shared<'a>,
    more: Vec<Job>,
    succeeded: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.succeeded {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        let mut state = self.pool.lock();
        state.busy = state.busy.saturating_sub(1);
        state.stack.append(&mut self.more);
        drop(state);
        self.pool.wake.notify_all();
    }
}
