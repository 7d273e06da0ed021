//! Records below a folder, in one order everywhere.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Folders in folders that are entered.
const MAX_DEPTH: usize = 64;
/// Entries of one folder that are taken.
const MAX_ENTRIES: usize = 1_000_000;

/// The file that makes a folder a run directory.
pub(super) const TRACE: &str = "trace.jsonl";
/// The plan beside it.
pub(super) const PLAN: &str = "plan.json";
/// What a run directory also holds: a folder with this many of them has lost its trace.
const BESIDE: [&str; 5] = [PLAN, "spec.json", "run_meta.json", "fingerprint.txt", "manifest.json"];
const ENOUGH: usize = 2;

/// Something that stands below a folder.
#[derive(Debug)]
pub(super) enum Found {
    /// A run directory.
    Run(PathBuf),
    /// A file that may be a record.
    File(PathBuf),
    /// A folder that cannot be read, and whether a bound is why.
    Unread { path: PathBuf, error: io::Error, is_bound: bool },
}

/// Whether a folder is a run directory. `None` where it cannot be read.
pub(super) fn is_run(folder: &Path) -> bool {
    let is_there = |name: &&str| folder.join(name).symlink_metadata().is_ok();
    is_there(&TRACE) || BESIDE.iter().filter(|name| is_there(name)).count() >= ENOUGH
}

/// Walks a folder: its entries by name, folders entered where they stand, links passed over, run
/// directories taken whole.
pub(super) struct Walk {
    /// What is still to come, the next one last. With the depth of each.
    open: Vec<(usize, Step)>,
}

enum Step {
    Folder(PathBuf),
    Found(Found),
}

impl Walk {
    /// From a folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self { open: vec![(0, Step::Folder(folder.to_path_buf()))] }
    }

    fn enter(&mut self, folder: PathBuf, depth: usize) {
        let unread = |error, is_bound| Found::Unread { path: folder.clone(), error, is_bound };
        if depth > MAX_DEPTH {
            let error = io::Error::other(format!("folders are more than {MAX_DEPTH} deep"));
            self.open.push((depth, Step::Found(unread(error, true))));
            return;
        }
        let found = match Entries::read(&folder) {
            Err(error) => unread(error, false),
            Ok(None) => {
                let error = io::Error::other(format!("it holds more than {MAX_ENTRIES} entries"));
                unread(error, true)
            }
            Ok(Some(entries)) if entries.is_run => Found::Run(folder),
            Ok(Some(Entries { mut steps, .. })) => {
                steps.sort_by(|(a, _), (b, _)| b.cmp(a));
                let below = depth.saturating_add(1);
                let step = |(path, is_folder)| match is_folder {
                    true => (below, Step::Folder(path)),
                    false => (below, Step::Found(Found::File(path))),
                };
                self.open.extend(steps.into_iter().map(step));
                return;
            }
        };
        self.open.push((depth, Step::Found(found)));
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            match self.open.pop()? {
                (_, Step::Found(found)) => return Some(found),
                (depth, Step::Folder(folder)) => self.enter(folder, depth),
            }
        }
    }
}

/// What a folder holds.
struct Entries {
    is_run: bool,
    /// Paths to look at, and whether each is a folder.
    steps: Vec<(PathBuf, bool)>,
}

impl Entries {
    /// `None` where there are more than are taken.
    fn read(folder: &Path) -> io::Result<Option<Self>> {
        let (mut steps, mut has_trace, mut beside) = (Vec::new(), false, 0_usize);
        for (count, entry) in std::fs::read_dir(folder)?.enumerate() {
            if count >= MAX_ENTRIES {
                return Ok(None);
            }
            let entry = entry?;
            let name = entry.file_name();
            has_trace |= name == TRACE;
            beside = beside.saturating_add(BESIDE.iter().any(|it| name == *it).into());
            // The type of the entry itself: a link is neither file nor folder here.
            let kind = entry.file_type()?;
            if kind.is_dir() || (kind.is_file() && may_be_record(&name)) {
                steps.push((entry.path(), kind.is_dir()));
            }
        }
        Ok(Some(Self { is_run: has_trace || beside >= ENOUGH, steps }))
    }
}

/// Whether a file of a folder is looked at.
fn may_be_record(name: &OsStr) -> bool {
    let ending = Path::new(name).extension().and_then(OsStr::to_str);
    matches!(ending, Some("json" | "jsonl" | "ndjson" | "probity"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn below(folder: &Path) -> Vec<String> {
        let shown = |path: PathBuf| path.strip_prefix(folder).unwrap().display().to_string();
        let found = |found| match found {
            Found::Run(path) => format!("run {}", shown(path)),
            Found::File(path) => shown(path),
            Found::Unread { path, is_bound, .. } => format!("unread {is_bound} {}", shown(path)),
        };
        Walk::new(folder).map(found).collect()
    }

    #[test]
    fn run_directories_are_taken_whole_and_files_come_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for name in [
            "b/r1/trace.jsonl",
            "b/r1/plan.json",
            "b/r1/provenance/corpus.jsonl",
            "b/headless/plan.json",
            "b/headless/manifest.json",
            "b/x.json",
            "plan.json",
            "c.probity",
            "a.jsonl",
            "note.md",
            "zz/deep/d.ndjson",
        ] {
            write(name);
        }
        std::os::unix::fs::symlink("a.jsonl", folder.path().join("0.json")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("b/loop")).unwrap();
        let expected = [
            "a.jsonl",
            "run b/headless",
            "run b/r1",
            "b/x.json",
            "c.probity",
            "plan.json",
            "zz/deep/d.ndjson",
        ];
        assert_eq!(below(folder.path()), expected);
        let is_run = |name: &str| is_run(&folder.path().join(name));
        assert_eq!(
            [is_run("b/r1"), is_run("b/headless"), is_run("b"), is_run("")],
            [true, true, false, false]
        );
    }

    #[test]
    fn a_trace_that_is_a_link_still_makes_a_run_directory() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("r")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("r/trace.jsonl")).unwrap();
        assert_eq!(below(folder.path()), ["run r"]);
    }

    #[test]
    fn a_chain_of_folders_without_end_is_told_as_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("d/".repeat(MAX_DEPTH + 3))).unwrap();
        let found = below(folder.path());
        assert!(matches!(found.as_slice(), [one] if one.starts_with("unread true d/d/")));
    }
}
