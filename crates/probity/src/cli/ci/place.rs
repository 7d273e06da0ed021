//! Where in a repository a finding points to.

use std::path::{Component, Path, PathBuf};

use probity_engine::CheckReport;

use super::super::present::hides;
use super::host;

/// A file of the repository, and a line of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Relative to the repository.
    pub(super) path: String,
    /// From one.
    pub(super) line: Option<u32>,
}

/// What the places of a run are relative to.
pub(super) struct Places {
    workspace: PathBuf,
    /// The workspace, as the repository has it; absent where it is outside.
    prefix: Option<PathBuf>,
}

impl Places {
    /// The places of a workspace.
    pub(super) fn of(workspace: &Path) -> Self {
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_path_buf());
        let root = host::root().and_then(|root| root.canonicalize().ok());
        let prefix = match root {
            None => Some(PathBuf::new()),
            Some(root) => workspace.strip_prefix(root).ok().map(Path::to_path_buf),
        };
        Self { workspace, prefix }
    }

    /// Where a broken verifier broke, or else the first file that a check looked at.
    pub(super) fn find(&self, check: &CheckReport) -> Option<Place> {
        // The place comes behind the message, which may quote anything.
        let mut lines = check.reason.lines().rev().filter(|_| check.verdict == "fault");
        let broke = lines.find_map(located);
        broke.and_then(|(path, line)| self.place(path, Some(line))).or_else(|| {
            let mut files = check.evidence.iter().filter_map(|it| it.source.strip_prefix("file:"));
            files.next().and_then(|path| self.place(path, None))
        })
    }

    fn place(&self, path: &str, line: Option<u32>) -> Option<Place> {
        let path = Path::new(path);
        let inside = path.strip_prefix(&self.workspace).unwrap_or(path);
        let is_inside = inside.components().all(|part| matches!(part, Component::Normal(_)));
        let path = self.prefix.as_ref()?.join(inside).to_str()?.to_owned();
        (is_inside && !hides(&path)).then_some(Place { path, line })
    }
}

/// `file:line:column`, as scripts say where they broke.
fn located(text: &str) -> Option<(&str, u32)> {
    let mut parts = text.trim().splitn(3, ':');
    let (path, line, _) = (parts.next()?, parts.next()?, parts.next()?);
    let is_script = path.ends_with(".star") || path.ends_with(".py");
    Some((path, line.parse().ok()?)).filter(|_| is_script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_a_line_of_a_script_is_a_place() {
        assert_eq!(located("check.star:2:5-10"), Some(("check.star", 2)));
        assert_eq!(located("  a/b.py:40:1"), Some(("a/b.py", 40)));
        for no in ["", "check.star", "check.star:2", "check.star:x:1", "http://h:80:1", "a.txt:1:1"]
        {
            assert_eq!(located(no), None, "{no}");
        }
    }
}
