//! The text files of the repository, read once.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::source::has_extension;

/// Folders with product text.
const FOLDERS: [&str; 11] = [
    "crates",
    "sim",
    "bench",
    "xtask",
    "docs",
    "examples",
    "packaging",
    "testdata",
    ".ci",
    ".config",
    ".cargo",
];
/// What is read of a file.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Text by path; paths are relative and use `/`.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the repository at `root`: the files beside the manifest and the product folders.
    /// Files that are not UTF-8 or larger than 4 MiB are left out.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "", false)?;
        for folder in FOLDERS {
            if root.join(folder).is_dir() {
                tree.read_folder(&root.join(folder), &format!("{folder}/"), true)?;
            }
        }
        Ok(tree)
    }

    /// A tree of the given files, for tests.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { files: files.collect() }
    }

    /// All files in order of path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str, deep: bool) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = entry.file_type()?;
            if kind.is_dir() && deep && name != "target" {
                self.read_folder(&entry.path(), &format!("{prefix}{name}/"), true)?;
            } else if kind.is_file() && has_extension(&name, "png") {
                // A picture has no text, but pages may lead to it.
                self.files.insert(format!("{prefix}{name}"), String::new());
            } else if kind.is_file()
                && entry.metadata()?.len() <= MAX_FILE_BYTES
                && let Ok(text) = String::from_utf8(std::fs::read(entry.path())?)
            {
                self.files.insert(format!("{prefix}{name}"), text);
            }
        }
        Ok(())
    }
}
