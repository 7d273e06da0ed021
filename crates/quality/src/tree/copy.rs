//! Copying a folder into another one.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use super::door::{Door, modified};
use super::{Bounds, LeftOut, TreeError, failed};

/// Bytes of a file of Git that is looked into.
const MAX_GIT_BYTES: u64 = 1 << 20;
/// What is left out, as it is told.
const ELSEWHERE: &str = "a repository that lies elsewhere, where nothing is changed";

/// One copy under way.
pub(super) struct Copying<'a> {
    bounds: Bounds,
    /// Where the original is, in every spelling that an absolute link may have.
    spellings: Vec<PathBuf>,
    to: PathBuf,
    keep: &'a dyn Fn(&str, bool) -> bool,
    is_cancelled: &'a dyn Fn() -> bool,
    entries: usize,
    total_bytes: u64,
    left_out: Vec<LeftOut>,
}

impl<'a> Copying<'a> {
    pub(super) fn new(
        bounds: Bounds,
        spellings: Vec<PathBuf>,
        to: PathBuf,
        keep: &'a dyn Fn(&str, bool) -> bool,
        is_cancelled: &'a dyn Fn() -> bool,
    ) -> Self {
        let (entries, total_bytes, left_out) = (0, 0, Vec::new());
        Self { bounds, spellings, to, keep, is_cancelled, entries, total_bytes, left_out }
    }

    pub(super) fn run(mut self, from: &Door, into: &Door) -> Result<Vec<LeftOut>, TreeError> {
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let names = match from.names(&folder) {
                Ok(names) => names,
                Err(error) if is_denied(&error) && !folder.is_empty() => {
                    self.leave_out(folder, "it cannot be read");
                    continue;
                }
                Err(error) => return Err(failed(&folder, error)),
            };
            for name in names {
                if (self.is_cancelled)() {
                    return Err(TreeError::Cancelled);
                }
                let shown = name.to_string_lossy();
                let path = match folder.is_empty() {
                    true => shown.clone().into_owned(),
                    false => format!("{folder}/{shown}"),
                };
                if name.to_str().is_none() {
                    self.leave_out(path, "its name is no UTF-8");
                    continue;
                }
                match self.entry(from, into, &path) {
                    Ok(true) => folders.push(path),
                    Ok(false) => {}
                    Err(Stop::Unreadable) => self.leave_out(path, "it cannot be read"),
                    Err(Stop::Tree(error)) => return Err(error),
                }
            }
        }
        self.left_out.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(self.left_out)
    }

    /// Copies one entry. True where it is a folder that is to be entered.
    fn entry(&mut self, from: &Door, into: &Door, path: &str) -> Result<bool, Stop> {
        let unreadable = |error: io::Error| match is_denied(&error) {
            true => Stop::Unreadable,
            false => Stop::Tree(failed(path, error)),
        };
        let write = |error: io::Error| Stop::Tree(failed(path, error));
        // What vanishes meanwhile is not there.
        let Some(stat) = from.stat(path).map_err(unreadable)? else { return Ok(false) };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !(self.keep)(path, kind == FileType::Directory) {
            return Ok(false);
        }
        self.entries = self.entries.saturating_add(1);
        if self.entries > self.bounds.max_entries {
            let what = format!("{} entries", self.bounds.max_entries);
            return Err(Stop::Tree(TreeError::TooLarge { what }));
        }
        match kind {
            FileType::Directory if is_git(path) && lies_elsewhere(from, path) => {
                self.leave_out(path.to_owned(), ELSEWHERE);
            }
            FileType::Directory => {
                into.folder(path).map_err(write)?;
                into.chmod_folder(path, stat.st_mode & 0o7777).map_err(write)?;
                return Ok(true);
            }
            FileType::Symlink => {
                let target = from.target(path).map_err(unreadable)?;
                into.link(path, &self.inside(target)).map_err(write)?;
            }
            FileType::RegularFile if is_git(path) && points_elsewhere(from, path) => {
                self.leave_out(path.to_owned(), ELSEWHERE);
            }
            FileType::RegularFile => self.file(from, into, path, &stat)?,
            _ => self.leave_out(path.to_owned(), "it is no file, folder or link"),
        }
        Ok(false)
    }

    fn file(&mut self, from: &Door, into: &Door, path: &str, stat: &Stat) -> Result<(), Stop> {
        let max_bytes = self.bounds.max_file_bytes;
        if u64::try_from(stat.st_size).is_ok_and(|size| size > max_bytes) {
            self.leave_out(path.to_owned(), "it is larger than what is copied");
            return Ok(());
        }
        let opened = match from.file(path) {
            Ok(opened) => opened,
            Err(error) if is_denied(&error) => return Err(Stop::Unreadable),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Stop::Tree(failed(path, error))),
        };
        let Some((source, stat)) = opened else { return Ok(()) };
        let mode = stat.st_mode & 0o7777;
        let copied = into
            .create_from(path, &source, max_bytes, mode, modified(&stat))
            .map_err(|error| Stop::Tree(failed(path, error)))?;
        self.total_bytes = self.total_bytes.saturating_add(copied);
        if self.total_bytes > self.bounds.max_total_bytes {
            let what = format!("{} MiB", self.bounds.max_total_bytes >> 20);
            return Err(Stop::Tree(TreeError::TooLarge { what }));
        }
        Ok(())
    }

    /// A link into the original leads into the copy.
    fn inside(&self, target: PathBuf) -> PathBuf {
        let below = self.spellings.iter().find_map(|root| target.strip_prefix(root).ok());
        below.map(|below| self.to.join(below)).unwrap_or(target)
    }

    fn leave_out(&mut self, path: String, why: &'static str) {
        self.left_out.push(LeftOut { path, why });
    }
}

enum Stop {
    /// It may not be read: that is told, and no error.
    Unreadable,
    Tree(TreeError),
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn is_git(path: &str) -> bool {
    path == ".git" || path.ends_with("/.git")
}

/// Whether a repository's work tree is named by an absolute path: Git would write there.
fn lies_elsewhere(from: &Door, path: &str) -> bool {
    let config = from.read(&format!("{path}/config"), MAX_GIT_BYTES).ok().flatten();
    let config = config.unwrap_or_default();
    String::from_utf8_lossy(&config).lines().any(|line| {
        let line = line.trim().to_lowercase();
        line.strip_prefix("worktree")
            .and_then(|rest| rest.trim_start().strip_prefix('='))
            .is_some_and(|value| value.trim().trim_start_matches('"').starts_with('/'))
    })
}

/// Whether a `.git` that is a file leads out of the copy.
fn points_elsewhere(from: &Door, path: &str) -> bool {
    let text = from.read(path, MAX_GIT_BYTES).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let Some(target) = text.trim().strip_prefix("gitdir:").map(str::trim) else { return true };
    let depth = path.matches('/').count();
    let steps = Path::new(target).components().try_fold(depth, |depth, step| match step {
        std::path::Component::ParentDir => depth.checked_sub(1),
        std::path::Component::Normal(_) => Some(depth.saturating_add(1)),
        std::path::Component::CurDir => Some(depth),
        _ => None,
    });
    steps.is_none()
}
