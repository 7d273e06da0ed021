//! Patterns over a workspace.

use std::os::fd::AsFd;
use std::rc::Rc;

use globset::{GlobBuilder, GlobMatcher};
use rustix::io::Errno;

use super::walk::{MAX_DEPTH, open_dir, read_names};
use super::{Kind, PathError, Workspace, join, key_of_name};

/// Entries that one call of [`Workspace::glob`] looks at.
const MAX_VISITED: usize = 1_000_000;

/// Compiles a pattern the way every pattern of this crate is read: `*` and `?` stop at `/`, `**`
/// does not, a backslash escapes.
///
/// # Errors
/// [`PathError::Pattern`] when it is no glob, is empty, starts with `/` or holds `..`.
pub fn compile_glob(pattern: &str) -> Result<globset::Glob, PathError> {
    let refused = |why: &str| PathError::Pattern { pattern: pattern.into(), why: why.into() };
    if pattern.is_empty() {
        return Err(refused("it is empty"));
    }
    if pattern.starts_with('/') {
        return Err(refused("it starts with `/`; write it relative to the workspace"));
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err(refused("it holds `..`; write it relative to the workspace"));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| refused(&error.kind().to_string()))
}

impl Workspace {
    /// Keys of everything below the root that `pattern` matches, sorted. Directories and links are
    /// matched by name; links are not followed. Names that start with a dot are names like any other.
    ///
    /// # Errors
    /// [`PathError::Pattern`] when it is no glob; [`PathError::TooMany`] beyond `max` matches or a
    /// million entries looked at; [`PathError::TooDeep`] beyond 256 folders; [`PathError::Denied`]
    /// when a folder that could hold a match cannot be read: a listing with a hole is no answer.
    pub fn glob(&self, pattern: &str, max: usize) -> Result<Vec<String>, PathError> {
        let glob = compile_glob(pattern)?;
        let mut search = Search {
            pattern,
            parts: pattern.strip_prefix("./").unwrap_or(pattern).split('/').collect(),
            matcher: glob.compile_matcher(),
            max,
            visited: 0,
            found: Vec::new(),
        };
        search.run(self)?;
        search.found.sort_unstable();
        Ok(search.found)
    }
}

struct Search<'a> {
    pattern: &'a str,
    parts: Vec<&'a str>,
    matcher: GlobMatcher,
    max: usize,
    visited: usize,
    found: Vec<String>,
}

impl Search<'_> {
    fn run(&mut self, workspace: &Workspace) -> Result<(), PathError> {
        let root = workspace.fd().try_clone_to_owned();
        let root = root.map_err(|source| PathError::Io { path: ".".into(), source })?;
        let mut pending =
            vec![(Rc::new(root), std::ffi::OsString::from("."), String::new(), 0_usize)];
        while let Some((parent, name, key, depth)) = pending.pop() {
            if depth > MAX_DEPTH {
                return Err(PathError::TooDeep { path: key, max: MAX_DEPTH });
            }
            let dir = match open_dir(parent.as_fd(), &name) {
                Ok(dir) => Rc::new(dir),
                // Gone, or no directory any more.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(errno) => {
                    return Err(super::walk::ReadNamesError::Io(errno).into_path_error(&key, 0));
                }
            };
            let names = read_names(dir.as_fd(), MAX_VISITED.saturating_sub(self.visited))
                .map_err(|error| error.into_path_error(self.pattern, MAX_VISITED))?;
            self.visited = self.visited.saturating_add(names.len());
            for (name, kind) in names {
                let child = join(&key, &key_of_name(&name));
                self.look_at(&child)?;
                if kind == Kind::Dir && self.may_hold_a_match(&child, depth) {
                    pending.push((Rc::clone(&dir), name, child, depth + 1));
                }
            }
        }
        Ok(())
    }

    fn look_at(&mut self, key: &str) -> Result<(), PathError> {
        if !self.matcher.is_match(key) {
            return Ok(());
        }
        if self.found.len() >= self.max {
            return Err(PathError::TooMany { path: self.pattern.into(), max: self.max });
        }
        self.found.push(key.to_owned());
        Ok(())
    }

    /// Whether anything below the folder `key`, `depth` folders down, can match.
    fn may_hold_a_match(&self, key: &str, depth: usize) -> bool {
        let Some(part) = self.parts.get(depth) else { return self.has_open_part() };
        let special = |part: &str| part.contains(['*', '?', '[', '{', '\\']);
        if self.parts.iter().take(depth + 1).any(|part| special(part)) {
            return self.has_open_part() || depth + 1 < self.parts.len();
        }
        key.rsplit('/').next() == Some(*part) && depth + 1 < self.parts.len()
    }

    /// `**` reaches any depth, and so may alternates that hold a `/`.
    fn has_open_part(&self) -> bool {
        self.parts.iter().any(|part| part.contains("**") || part.contains(['{', '[']))
    }
}
