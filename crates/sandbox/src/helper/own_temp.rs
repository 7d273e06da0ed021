//! The temporary folder of one command.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Names that are tried: somebody else may have made one of them.
const MAX_TRIES: u32 = 64;

/// A folder that only this user may enter, removed with all that is in it when this is dropped.
pub(super) struct OwnTemp(PathBuf);

impl OwnTemp {
    /// Makes one where temporary files of this process go.
    pub(super) fn make() -> io::Result<Self> {
        let base = std::env::temp_dir();
        let mut made = Err(io::ErrorKind::AlreadyExists.into());
        for number in 0..MAX_TRIES {
            let path = base.join(format!("probity-{}-{number}", std::process::id()));
            made = DirBuilder::new().mode(0o700).create(&path).map(|()| Self(path));
            if made.as_ref().err().is_none_or(|error| error.kind() != io::ErrorKind::AlreadyExists)
            {
                break;
            }
        }
        made
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnTemp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
