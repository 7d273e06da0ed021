//! A folder on disk, as an auditor may ask for its files: nothing outside it is opened, no link is
//! followed, and nobody waits for a pipe.

mod links;

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use probity_trace::{FileEntry, FileError, FileKind, RunFiles};
use rustix::buffer::spare_capacity;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat, fstat, open, openat, openat2,
    statat,
};
use rustix::io::Errno;

/// Entries of one folder that are listed, those of the folders in it included.
pub const MAX_ENTRIES: usize = 4_000_000;
/// Folders in folders that are entered.
pub const MAX_DEPTH: usize = 64;

/// Times that a call is made again where the system says that it was disturbed.
const MAX_TRIES: usize = 8;
/// Bytes of names that one call lists.
const LIST_BUFFER_BYTES: usize = 1 << 15;
/// Bytes that a read asks for where the file turned out to be longer than it said.
const MORE_BYTES: usize = 1 << 16;

/// No name in a path may be a link, lead out of the folder, or into another one through `/proc`.
const INSIDE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// The files below one folder. The folder is held open: whatever becomes of its name, the files
/// are those of the folder that was opened.
#[derive(Debug)]
pub struct RunFolder {
    root: OwnedFd,
    way: Way,
}

/// How a path is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By one call of the kernel.
    Whole,
    /// Name by name, where the kernel has no such call or the sandbox forbids it.
    Stepwise,
}

impl RunFolder {
    /// Opens a folder that somebody named; a link to it is followed.
    ///
    /// # Errors
    /// [`FileError`] if there is no such folder, or it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Self::at(path, OFlags::empty())
    }

    /// Opens a folder that was found while walking: a link in its place is refused.
    ///
    /// # Errors
    /// As [`RunFolder::open`].
    pub fn open_found(path: &Path) -> Result<Self, FileError> {
        Self::at(path, OFlags::NOFOLLOW)
    }

    fn at(path: &Path, more: OFlags) -> Result<Self, FileError> {
        let flags = FOLDER.union(OFlags::PATH).union(more);
        let root = open(path, flags, Mode::empty()).map_err(|error| match error {
            // With O_DIRECTORY a link that is not followed is told as no folder.
            Errno::NOTDIR | Errno::LOOP => FileError::NotRegular(FileKind::Link),
            error => failed(error),
        })?;
        let is_known = openat2(&root, ".", FOLDER | OFlags::PATH, Mode::empty(), INSIDE).is_ok();
        let way = if is_known { Way::Whole } else { Way::Stepwise };
        Ok(Self { root, way })
    }

    /// Opens what a path names, if no name in it is a link.
    fn within(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        refuse_odd(path)?;
        match self.way {
            Way::Whole => {
                again(|| openat2(&self.root, path, flags, Mode::empty(), INSIDE)).map_err(failed)
            }
            Way::Stepwise => self.stepwise(path, flags),
        }
    }

    fn stepwise(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut held: Option<OwnedFd> = None;
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            let above = held.as_ref().unwrap_or(&self.root);
            let step = FOLDER | OFlags::PATH | OFlags::NOFOLLOW;
            let opened = again(|| openat(above, folder, step, Mode::empty()));
            held = Some(opened.map_err(|error| match (error, kind_at(above, folder)) {
                (Errno::NOTDIR, Some(FileKind::Link)) => FileError::NotRegular(FileKind::Link),
                (error, _) => failed(error),
            })?);
        }
        let above = held.as_ref().unwrap_or(&self.root);
        let flags = flags | OFlags::NOFOLLOW;
        again(|| openat(above, name, flags, Mode::empty())).map_err(|error| {
            match (error, kind_at(above, name)) {
                (Errno::NOTDIR, Some(FileKind::Link)) => FileError::NotRegular(FileKind::Link),
                (error, _) => failed(error),
            }
        })
    }

    /// A regular file, and what the system says of it after it was opened.
    fn regular(&self, path: &str) -> Result<(OwnedFd, Stat), FileError> {
        let file = self.within(path, FILE)?;
        let about = fstat(&file).map_err(failed)?;
        match kind_of(FileType::from_raw_mode(about.st_mode)) {
            FileKind::Regular => Ok((file, about)),
            other => Err(FileError::NotRegular(other)),
        }
    }

    /// The entries of one folder; the folders among them are put on the list of those to come.
    fn list_one(
        &self,
        folder: &str,
        entries: &mut Vec<FileEntry>,
        folders: &mut Vec<String>,
    ) -> Result<(), FileError> {
        let opened = match folder {
            "" => again(|| openat(&self.root, ".", FOLDER, Mode::empty())).map_err(failed)?,
            folder => self.within(folder, FOLDER)?,
        };
        let mut buffer = Vec::with_capacity(LIST_BUFFER_BYTES);
        let mut names = RawDir::new(opened.as_fd(), buffer.spare_capacity_mut());
        while let Some(entry) = names.next() {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let name = name.to_str().map_err(|_| {
                FileError::Io(format!("a name in `{folder}` is not UTF-8: {name:?}"))
            })?;
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => kind_at(&opened, name).ok_or(FileError::Missing)?,
                known => kind_of(known),
            };
            if entries.len() >= MAX_ENTRIES {
                return Err(FileError::TooMany { what: "entries", max: MAX_ENTRIES as u64 });
            }
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            if kind == FileKind::Folder {
                folders.push(path.clone());
            }
            entries.push(FileEntry { path, kind });
        }
        Ok(())
    }
}

impl RunFiles for RunFolder {
    fn list(&self) -> Result<Vec<FileEntry>, FileError> {
        let (mut entries, mut folders) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = folders.pop() {
            self.list_one(&folder, &mut entries, &mut folders)?;
        }
        Ok(entries)
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, FileError> {
        let (file, _) = self.regular(path)?;
        Ok(Box::new(File::from(file)))
    }

    fn read(&self, path: &str, max_bytes: u64, into: &mut Vec<u8>) -> Result<(), FileError> {
        into.clear();
        let (file, about) = self.regular(path)?;
        let told_bytes = u64::try_from(about.st_size).unwrap_or(u64::MAX);
        if told_bytes > max_bytes {
            return Err(FileError::TooLarge { max_bytes });
        }
        let told_bytes = usize::try_from(told_bytes).unwrap_or(usize::MAX);
        // One byte more than there should be, so that one read shows the end as well.
        into.reserve(told_bytes.saturating_add(1));
        loop {
            let count = again(|| rustix::io::read(&file, spare_capacity(into))).map_err(failed)?;
            if into.len() as u64 > max_bytes {
                return Err(FileError::TooLarge { max_bytes });
            }
            let is_short = into.len() < into.capacity();
            if count == 0 || (into.len() == told_bytes && is_short) {
                return Ok(());
            }
            if !is_short {
                into.reserve(MORE_BYTES);
            }
        }
    }
}

/// Opens a regular file by a path outside of any run directory. `is_named`: somebody named it, so a
/// link to it is followed.
///
/// # Errors
/// [`FileError`] if there is none, it is something else, or it cannot be opened.
pub(crate) fn open_file(path: &Path, is_named: bool) -> Result<File, FileError> {
    let flags = if is_named { FILE.difference(OFlags::NOFOLLOW) } else { FILE };
    let file = again(|| open(path, flags, Mode::empty())).map_err(failed)?;
    let about = fstat(&file).map_err(failed)?;
    match kind_of(FileType::from_raw_mode(about.st_mode)) {
        FileKind::Regular => Ok(File::from(file)),
        other => Err(FileError::NotRegular(other)),
    }
}

/// A pipe that nobody writes is opened at once, and then refused.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A path of plain names: what is anything else cannot be the path of an entry.
fn refuse_odd(path: &str) -> Result<(), FileError> {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
    if path.split('/').count() > MAX_DEPTH {
        return Err(FileError::TooMany { what: "folders deep", max: MAX_DEPTH as u64 });
    }
    match path.split('/').all(is_name) {
        true => Ok(()),
        false => Err(FileError::Io("its path is none within the folder".to_owned())),
    }
}

fn kind_at(folder: &OwnedFd, name: &str) -> Option<FileKind> {
    let about = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(kind_of(FileType::from_raw_mode(about.st_mode)))
}

const fn kind_of(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Special,
    }
}

fn failed(error: Errno) -> FileError {
    match error {
        Errno::NOENT | Errno::NOTDIR => FileError::Missing,
        Errno::LOOP => FileError::NotRegular(FileKind::Link),
        // A socket.
        Errno::NXIO => FileError::NotRegular(FileKind::Special),
        error => FileError::Io(std::io::Error::from(error).to_string()),
    }
}

/// A signal, or a rename somewhere on the way, disturbs a call without meaning anything.
fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 1..MAX_TRIES {
        match call() {
            Err(Errno::INTR | Errno::AGAIN) => {}
            result => return result,
        }
    }
    call()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A folder with one entry of each kind, and what stands beside it.
    fn folder() -> tempfile::TempDir {
        let beside = tempfile::tempdir().unwrap();
        let at = |name: &str| beside.path().join(name);
        fs::create_dir_all(at("run/evidence/deep")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        fs::write(at("outside/secret"), "secret").unwrap();
        fs::write(at("run/trace.jsonl"), "{}\n").unwrap();
        fs::write(at("run/empty"), "").unwrap();
        fs::write(at("run/evidence/deep/a.txt"), "a").unwrap();
        fs::hard_link(at("run/trace.jsonl"), at("run/twin")).unwrap();
        symlink("trace.jsonl", at("run/in")).unwrap();
        symlink(at("outside/secret"), at("run/out")).unwrap();
        symlink(at("outside"), at("run/outside")).unwrap();
        symlink("evidence", at("run/inside")).unwrap();
        symlink("loop", at("run/loop")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("run/pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        drop(UnixListener::bind(at("run/socket")).unwrap());
        beside
    }

    /// The same folder, resolved both ways.
    fn both(beside: &tempfile::TempDir) -> [RunFolder; 2] {
        let open = || RunFolder::open(&beside.path().join("run")).unwrap();
        [RunFolder { way: Way::Whole, ..open() }, RunFolder { way: Way::Stepwise, ..open() }]
    }

    fn read(folder: &RunFolder, path: &str) -> Result<String, FileError> {
        let mut streamed = String::new();
        let mut whole = b"left over".to_vec();
        folder.read(path, 1 << 20, &mut whole)?;
        folder.open(path)?.read_to_string(&mut streamed).unwrap();
        assert_eq!(streamed.as_bytes(), whole);
        Ok(streamed)
    }

    #[test]
    fn files_are_read_and_everything_else_is_refused_without_waiting() {
        let link = || Err(FileError::NotRegular(FileKind::Link));
        let beside = folder();
        for folder in both(&beside) {
            let table: [(&str, Result<&str, FileError>); 17] = [
                ("trace.jsonl", Ok("{}\n")),
                ("twin", Ok("{}\n")),
                ("empty", Ok("")),
                ("evidence/deep/a.txt", Ok("a")),
                ("in", link()),
                ("out", link()),
                ("loop", link()),
                ("outside", link()),
                ("outside/secret", link()),
                ("inside/deep/a.txt", link()),
                ("evidence", Err(FileError::NotRegular(FileKind::Folder))),
                ("pipe", Err(FileError::NotRegular(FileKind::Special))),
                ("socket", Err(FileError::NotRegular(FileKind::Special))),
                ("absent", Err(FileError::Missing)),
                ("evidence/absent/a.txt", Err(FileError::Missing)),
                ("trace.jsonl/a", Err(FileError::Missing)),
                ("loop/a", link()),
            ];
            for (path, expected) in table {
                let expected = expected.map(str::to_owned);
                assert_eq!(read(&folder, path), expected, "{path} {:?}", folder.way);
            }
        }
    }

    #[test]
    fn a_path_that_is_none_within_the_folder_is_refused_before_it_is_opened() {
        let beside = folder();
        let absolute = beside.path().join("outside/secret").display().to_string();
        let deep = "a/".repeat(MAX_DEPTH) + "a";
        let odd = ["", ".", "..", "../outside/secret", "evidence/../../outside/secret", "a//b"];
        for folder in both(&beside) {
            for path in odd.into_iter().chain([absolute.as_str(), "a\0b", "evidence/"]) {
                let refused = read(&folder, path);
                assert!(matches!(refused, Err(FileError::Io(_))), "{path:?}: {refused:?}");
            }
            let refused = read(&folder, &deep);
            assert!(matches!(refused, Err(FileError::TooMany { .. })), "{refused:?}");
            fs::create_dir_all(beside.path().join("run").join(&deep)).unwrap();
            assert!(matches!(folder.list(), Err(FileError::TooMany { .. })));
        }
    }

    #[test]
    fn every_entry_is_listed_as_what_it_is_itself() {
        use FileKind::{Folder, Link, Regular, Special};
        let beside = folder();
        for folder in both(&beside) {
            let entries = folder.list().unwrap().into_iter();
            let found: BTreeMap<String, FileKind> = entries.map(|it| (it.path, it.kind)).collect();
            let expected = [
                ("empty", Regular),
                ("evidence", Folder),
                ("evidence/deep", Folder),
                ("evidence/deep/a.txt", Regular),
                ("in", Link),
                ("inside", Link),
                ("loop", Link),
                ("out", Link),
                ("outside", Link),
                ("pipe", Special),
                ("socket", Special),
                ("trace.jsonl", Regular),
                ("twin", Regular),
            ];
            assert_eq!(found, expected.map(|(path, kind)| (path.to_owned(), kind)).into());
        }
    }

    #[test]
    fn a_bound_is_kept_to_the_byte_and_a_long_file_comes_whole() {
        let beside = folder();
        let text = "x".repeat(300_000);
        fs::write(beside.path().join("run/long"), &text).unwrap();
        for folder in both(&beside) {
            let mut into = Vec::new();
            let over = Err(FileError::TooLarge { max_bytes: 299_999 });
            assert_eq!(folder.read("long", 299_999, &mut into), over);
            assert_eq!(folder.read("long", 300_000, &mut into), Ok(()));
            assert_eq!(into, text.as_bytes());
            assert_eq!(folder.read("empty", 0, &mut into), Ok(()));
            assert!(into.is_empty());
        }
    }

    #[test]
    fn a_name_that_is_not_text_makes_the_list_fail_and_not_the_entry_vanish() {
        use std::os::unix::ffi::OsStrExt as _;
        let beside = folder();
        let name = std::ffi::OsStr::from_bytes(b"run/odd\xff");
        fs::write(beside.path().join(name), "").unwrap();
        for folder in both(&beside) {
            assert!(matches!(folder.list(), Err(FileError::Io(_))));
        }
    }

    #[test]
    fn the_folder_that_was_opened_stays_the_one_that_is_read() {
        let beside = folder();
        let at = |name: &str| beside.path().join(name);
        for folder in both(&beside) {
            fs::rename(at("run"), at("moved")).unwrap();
            symlink(at("outside"), at("run")).unwrap();
            assert_eq!(read(&folder, "twin").as_deref(), Ok("{}\n"));
            assert_eq!(read(&folder, "secret"), Err(FileError::Missing));
            let link = Err(FileError::NotRegular(FileKind::Link));
            assert_eq!(RunFolder::open_found(&at("run")).map(drop), link);
            assert!(RunFolder::open(&at("run")).is_ok());
            fs::remove_file(at("run")).unwrap();
            fs::rename(at("moved"), at("run")).unwrap();
        }
        assert_eq!(RunFolder::open(&at("absent")).map(drop), Err(FileError::Missing));
    }
}
