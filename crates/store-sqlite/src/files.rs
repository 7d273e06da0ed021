//! Whether the files that are open are still the ones that have their names.
//!
//! SQLite goes on with what it has open when somebody removes or replaces the database file or a file
//! beside it: commits succeed, and nobody who opens the database afterwards finds them. So each
//! transaction looks at the names before it begins, and again before anything is acknowledged.

use std::path::PathBuf;

use probity_store::{FaultKind, StoreFault};

/// What a file system knows a file by.
type Identity = (u64, u64);

/// The files of one open database.
#[derive(Debug, Default)]
pub(crate) struct Files {
    opened: Vec<(PathBuf, Identity)>,
}

impl Files {
    /// The files of the database that SQLite has opened under that name and read from.
    pub(crate) fn of(database: Option<&str>) -> Self {
        let Some(name) = database.filter(|name| !name.is_empty()) else { return Self::default() };
        let paths = ["", "-wal", "-shm"].map(|end| PathBuf::from(format!("{name}{end}")));
        let known = |path: PathBuf| identity(&path).map(|found| (path, found));
        Self { opened: paths.into_iter().filter_map(known).collect() }
    }

    /// An error if a name has another file, or none.
    pub(crate) fn check(&self) -> Result<(), StoreFault> {
        for (path, opened) in &self.opened {
            let what = match identity(path) {
                Some(found) if found == *opened => continue,
                Some(_) => "replaced",
                None => "removed",
            };
            let detail = format!("`{}` was {what} while it was open", path.display());
            return Err(StoreFault::new(FaultKind::Closed, detail));
        }
        Ok(())
    }
}

impl Files {
    /// Bytes of the write-ahead log; more than any where it cannot be told.
    pub(crate) fn log_bytes(&self) -> u64 {
        let log = self
            .opened
            .iter()
            .find(|(path, _)| path.as_os_str().as_encoded_bytes().ends_with(b"-wal"));
        let about = log.and_then(|(path, _)| path.metadata().ok());
        about.map_or(u64::MAX, |about| about.len())
    }
}

#[cfg(unix)]
fn identity(path: &std::path::Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let about = path.metadata().ok()?;
    Some((about.dev(), about.ino()))
}

/// A file that is open cannot be removed there.
#[cfg(not(unix))]
fn identity(_path: &std::path::Path) -> Option<Identity> {
    None
}
