//! Files that others read: the summary of a job, which several write to, and reports, which are whole.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// The largest summary that GitHub shows: of a larger one it shows nothing at all.
const MAX_SUMMARY_BYTES: u64 = 1024 * 1024;
/// What a new file may be, before the user's mask.
const MODE: u32 = 0o666;

/// Appends a text to a file that others append to, in one write.
///
/// # Errors
/// Why not: also for what is no regular file, which could be a way to another one, and for a file that
/// would grow too large to be shown.
pub(super) fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = open(OpenOptions::new().append(true).create(true), path)?;
    let there = file.metadata()?.len();
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if there.saturating_add(bytes) > MAX_SUMMARY_BYTES {
        let why = format!("with {there} bytes in it, it would be larger than {MAX_SUMMARY_BYTES}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    file.write_all(text.as_bytes())
}

/// Puts a text in the place of a file, at once where the folder allows it.
///
/// # Errors
/// Why not. What was there before is gone then, if it can be removed: it says something else.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
        return Err(irregular());
    }
    let written = replace_whole(path, text).or_else(|_| overwrite(path, text));
    if written.is_err() && path.symlink_metadata().is_ok_and(|about| about.is_file()) {
        // The failure is told; that this failed as well would add nothing.
        let _ = fs::remove_file(path);
    }
    written
}

fn replace_whole(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".probity-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// A file that can be written to in a folder that cannot, such as one that is mounted by itself.
fn overwrite(path: &Path, text: &str) -> io::Result<()> {
    let mut file = open(OpenOptions::new().write(true).create(true), path)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = options.custom_flags(flags).mode(MODE).open(path);
    let is_link = |error: &io::Error| error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
    let file = opened.map_err(|error| if is_link(&error) { irregular() } else { error })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

fn irregular() -> io::Error {
    io::Error::other("it is no regular file")
}
