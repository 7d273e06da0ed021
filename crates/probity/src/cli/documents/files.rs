//! Files below a folder, in one order everywhere.

use std::io;
use std::path::{Path, PathBuf};

/// Folders in folders that are entered.
const MAX_DEPTH: usize = 64;
/// Entries of one folder that are taken.
const MAX_ENTRIES: usize = 1_000_000;

/// A file, or what could not be read.
type Found = Result<PathBuf, (PathBuf, io::Error)>;

/// Walks a folder: its entries by name, folders entered where they stand, links passed over. A file
/// is itself, whatever its ending.
pub(super) struct Walk {
    /// What is still to come, the next one last. With the depth of each.
    open: Vec<(usize, Step)>,
}

enum Step {
    Folder(PathBuf),
    Found(Found),
}

impl Walk {
    /// From a file or folder; a link that is named is followed.
    pub(super) fn new(path: &Path) -> Self {
        let step = match std::fs::metadata(path) {
            Ok(about) if about.is_dir() => Step::Folder(path.to_path_buf()),
            Ok(_) => Step::Found(Ok(path.to_path_buf())),
            Err(error) => Step::Found(Err((path.to_path_buf(), error))),
        };
        Self { open: vec![(0, step)] }
    }

    fn enter(&mut self, folder: &Path, depth: usize) {
        let before = self.open.len();
        if let Err(error) = self.entries(folder, depth.saturating_add(1)) {
            self.open.truncate(before);
            self.open.push((depth, Step::Found(Err((folder.to_path_buf(), error)))));
        }
    }

    fn entries(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other(format!("folders are more than {MAX_DEPTH} deep")));
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            // The type of the entry itself: a link is neither file nor folder here.
            let kind = entry.file_type()?;
            if kind.is_dir() || (kind.is_file() && is_document(&entry.path())) {
                entries.push((entry.path(), kind.is_dir()));
            }
            if entries.len() > MAX_ENTRIES {
                return Err(io::Error::other(format!("it holds more than {MAX_ENTRIES} files")));
            }
        }
        entries.sort_by(|(a, _), (b, _)| b.cmp(a));
        let step = |(path, is_folder)| {
            (depth, if is_folder { Step::Folder(path) } else { Step::Found(Ok(path)) })
        };
        self.open.extend(entries.into_iter().map(step));
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            match self.open.pop()? {
                (_, Step::Found(found)) => return Some(found),
                (depth, Step::Folder(folder)) => self.enter(&folder, depth),
            }
        }
    }
}

/// Whether a file of a folder is looked at.
fn is_document(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("json" | "jsonl" | "ndjson"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(folder: &Path) -> Vec<String> {
        let shown = |path: PathBuf| path.strip_prefix(folder).unwrap().display().to_string();
        Walk::new(folder).map(|found| shown(found.unwrap())).collect()
    }

    #[test]
    fn files_come_by_name_folders_where_they_stand_and_links_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("b/c")).unwrap();
        for name in ["c.json", "a.jsonl", "b/2.json", "b/c/x.json", "b/1.json", "note.md"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink(at("c.json"), at("0.json")).unwrap();
        std::os::unix::fs::symlink(folder.path(), at("b/loop")).unwrap();
        assert_eq!(
            below(folder.path()),
            ["a.jsonl", "b/1.json", "b/2.json", "b/c/x.json", "c.json"]
        );
    }

    #[test]
    fn a_file_is_itself_and_what_is_absent_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("document");
        std::fs::write(&file, "").unwrap();
        assert_eq!(Walk::new(&file).map(Result::unwrap).collect::<Vec<_>>(), [file]);
        let absent = folder.path().join("absent.json");
        let found: Vec<Found> = Walk::new(&absent).collect();
        assert!(matches!(found.as_slice(), [Err((path, _))] if *path == absent));
    }
}
