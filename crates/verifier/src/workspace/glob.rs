//! Patterns over a workspace.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use globset::{GlobBuilder, GlobMatcher};
use rustix::io::Errno;

use super::walk::{MAX_DEPTH, ReadNamesError, open_dir, read_names};
use super::{Kind, PathError, Workspace, join, key_of_name};

/// Entries that one search looks at.
const MAX_VISITED: usize = 1_000_000;

/// Compiles a pattern the way every pattern of this crate is read: relative to the workspace, matched
/// against keys; `*` and `?` stop at `/`, `**` does not, a backslash escapes.
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
    GlobBuilder::new(without_dot(pattern))
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
        let patterns = [Pattern::new(pattern)?];
        let found = search(self, &patterns, max, |_| false)?;
        if let Some(path) = found.unreadable.into_iter().next() {
            return Err(PathError::Denied { path });
        }
        Ok(found.keys.into_iter().map(|(key, _)| key).collect())
    }
}

/// A compiled pattern that knows which folders can hold a match.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, PathError> {
        Ok(Self { matcher: compile_glob(text)?.compile_matcher(), text: without_dot(text).into() })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn matches(&self, key: &str) -> bool {
        self.matcher.is_match(key)
    }

    /// Whether the pattern names the folder `name` in so many letters.
    fn spells(&self, name: &str) -> bool {
        self.text.split('/').any(|part| part == name)
    }

    /// Whether anything below the folder `key`, `depth` folders down, can match.
    fn may_match_below(&self, key: &str, depth: usize) -> bool {
        // `**` reaches any depth, and so may alternates and classes that hold a `/`.
        let is_open = self.text.contains("**") || self.text.contains(['{', '[']);
        let is_literal = |part: &str| !part.contains(['*', '?', '[', '{', '\\']);
        if !is_open && self.text.split('/').count() <= depth + 1 {
            return false;
        }
        // As long as the pattern is plain text, the folder must be spelt alike.
        self.text
            .split('/')
            .take_while(|part| is_literal(part))
            .zip(key.split('/'))
            .all(|(part, name)| part == name)
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Keys and kinds, sorted.
    pub(crate) keys: Vec<(String, Kind)>,
    /// Folders that could hold matches and may not be read, sorted.
    pub(crate) unreadable: Vec<String>,
}

/// Everything that any pattern matches. A folder that `ignores` names is passed over, unless a
/// pattern spells its name.
pub(crate) fn search(
    workspace: &Workspace,
    patterns: &[Pattern],
    max: usize,
    ignores: impl Fn(&str) -> bool,
) -> Result<Found, PathError> {
    let texts = || patterns.iter().map(Pattern::text).collect::<Vec<_>>().join(" ");
    let mut found = Found::default();
    let mut visited = 0_usize;
    for_each_folder(workspace, |key, depth, names| {
        let Ok(names) = names else {
            found.unreadable.push(if key.is_empty() { ".".into() } else { key.to_owned() });
            return Ok(Vec::new());
        };
        visited = visited.saturating_add(names.len());
        if visited > MAX_VISITED {
            return Err(PathError::TooMany { path: texts(), max: MAX_VISITED });
        }
        let mut enter = Vec::new();
        for (name, kind) in names {
            let text = key_of_name(&name);
            let child = join(key, &text);
            let wanted = |pattern: &&Pattern| pattern.may_match_below(&child, depth);
            if kind == Kind::Dir
                && if ignores(&child) {
                    patterns.iter().filter(wanted).any(|pattern| pattern.spells(&text))
                } else {
                    patterns.iter().any(|pattern| wanted(&pattern))
                }
            {
                enter.push((name, child.clone()));
            }
            if patterns.iter().any(|pattern| pattern.matcher.is_match(&child)) {
                if found.keys.len() >= max {
                    return Err(PathError::TooMany { path: texts(), max });
                }
                found.keys.push((child, kind));
            }
        }
        Ok(enter)
    })?;
    found.keys.sort_unstable();
    found.unreadable.sort_unstable();
    Ok(found)
}

type Names = Vec<(OsString, Kind)>;

/// Calls `visit` with the key, depth and names of the root and of every folder that `visit` asks to
/// enter; with `Err` for a folder that may not be read.
fn for_each_folder(
    workspace: &Workspace,
    mut visit: impl FnMut(&str, usize, Result<Names, ()>) -> Result<Vec<(OsString, String)>, PathError>,
) -> Result<(), PathError> {
    let root = workspace.fd().and_then(|fd| fd.try_clone_to_owned());
    let root = root.map_err(|source| PathError::Io { path: ".".into(), source })?;
    let mut pending: Vec<(Rc<OwnedFd>, OsString, String, usize)> =
        vec![(Rc::new(root), ".".into(), String::new(), 0)];
    while let Some((parent, name, key, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return Err(PathError::TooDeep { path: key, max: MAX_DEPTH });
        }
        let opened = match open_dir(parent.as_fd(), &name) {
            Ok(dir) => read_names(dir.as_fd(), MAX_VISITED).map(|names| (dir, names)),
            // Gone, or no directory any more.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(errno) => Err(ReadNamesError::Io(errno)),
        };
        match opened {
            Ok((dir, names)) => {
                let dir = Rc::new(dir);
                for (name, child) in visit(&key, depth, Ok(names))? {
                    pending.push((Rc::clone(&dir), name, child, depth + 1));
                }
            }
            Err(ReadNamesError::Io(Errno::ACCESS | Errno::PERM)) => {
                visit(&key, depth, Err(()))?;
            }
            Err(error) => return Err(error.into_path_error(&key, MAX_VISITED)),
        }
    }
    Ok(())
}

fn without_dot(pattern: &str) -> &str {
    pattern.strip_prefix("./").unwrap_or(pattern)
}
