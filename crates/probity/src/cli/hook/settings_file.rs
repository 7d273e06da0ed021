//! A settings file of a tool: read within bounds, changed whole or not at all, with a copy of what it was.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use probity_harness::{Scope, Tool};
use rustix::fs::{Access, access};

use crate::cli::CliError;
use crate::cli::source::{open, read_bytes};

/// The largest settings file.
const MAX_BYTES: usize = 4 << 20;
/// What the copy is called, behind the file's own name.
const COPY: &str = ".probity-backup";

/// Where settings are, and what is there.
pub(super) struct SettingsFile {
    /// As the tool names it.
    pub(super) path: PathBuf,
    /// Where that leads.
    target: PathBuf,
    /// What it says; `None` where there is none.
    pub(super) text: Option<String>,
}

/// The settings of a tool.
///
/// # Errors
/// [`CliError::Usage`] where it has none of that scope, or there is no home folder.
pub(super) fn path_of(tool: Tool, scope: Scope, workspace: &Path) -> Result<PathBuf, CliError> {
    let none = || {
        CliError::Usage(format!(
            "{tool} has no settings of one user in one project; use project or user"
        ))
    };
    let name = tool.settings(scope).ok_or_else(none)?;
    if scope != Scope::User {
        return Ok(workspace.join(name));
    }
    let (variable, below_home) = tool.user_folder();
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let value = |name: &str| std::env::var_os(name).map(PathBuf::from).and_then(absolute);
    let named = variable.and_then(value);
    let folder = named.or_else(|| value("HOME").map(|home| home.join(below_home)));
    let folder = folder.ok_or_else(|| {
        CliError::Usage("no home folder for the settings of the user; set HOME".to_owned())
    })?;
    Ok(folder.join(name))
}

impl SettingsFile {
    /// Reads the file, where there is one. A link is followed: what it leads to is what is changed.
    ///
    /// # Errors
    /// [`CliError`] if it cannot be read, is too large, is no regular file or no UTF-8.
    pub(super) fn read(path: PathBuf) -> Result<Self, CliError> {
        let failed = |source| CliError::File { path: path.clone(), source };
        let target = match path.canonicalize() {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.symlink_metadata().is_ok() {
                    return Err(failed(io::Error::other("it is a link that leads nowhere")));
                }
                return Ok(Self { target: path.clone(), path, text: None });
            }
            Err(error) => return Err(failed(error)),
        };
        let bytes =
            open(&target).and_then(|mut file| read_bytes(&mut file, MAX_BYTES)).map_err(failed)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            failed(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
        })?;
        Ok(Self { target, path, text: Some(text) })
    }

    /// Where the copy is.
    pub(super) fn copy_path(&self) -> PathBuf {
        let mut name = self.target.file_name().unwrap_or_default().to_os_string();
        name.push(COPY);
        self.target.with_file_name(name)
    }

    /// What the copy says; `None` where there is none that can be read.
    pub(super) fn copy(&self) -> Option<String> {
        let bytes =
            open(&self.copy_path()).and_then(|mut file| read_bytes(&mut file, MAX_BYTES)).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Puts another text in the place of what is there, unless it was changed since it was read. `keeps`
    /// leaves a copy beside it.
    ///
    /// # Errors
    /// [`CliError`] with why not; what is there is whole in any case.
    pub(super) fn replace(&self, text: &str, keeps: bool) -> Result<(), CliError> {
        let mode = self.require_same()?;
        if let (true, Some(old)) = (keeps, &self.text) {
            put(&self.copy_path(), old, mode)?;
        }
        put(&self.target, text, mode)
    }

    /// Takes the file away, unless it was changed since it was read.
    ///
    /// # Errors
    /// As [`SettingsFile::replace`].
    pub(super) fn remove(&self) -> Result<(), CliError> {
        self.require_same()?;
        let failed = |source| CliError::Write { path: self.path.clone(), source };
        fs::remove_file(&self.target).map_err(failed)
    }

    /// Takes the copy away, where there is one.
    pub(super) fn remove_copy(&self) {
        drop(fs::remove_file(self.copy_path()));
    }

    /// The mode of what is there; what a new file gets, where nothing is.
    fn require_same(&self) -> Result<Option<u32>, CliError> {
        let failed = |source| CliError::Write { path: self.path.clone(), source };
        let now = Self::read(self.path.clone())?;
        if now.text != self.text || now.target != self.target {
            return Err(failed(io::Error::other(
                "it was changed meanwhile; look at it and try again",
            )));
        }
        if self.text.is_none() {
            return Ok(None);
        }
        // Its folder would let the file be replaced; whoever made it read-only did not mean that.
        access(&self.target, Access::WRITE_OK).map_err(|error| failed(error.into()))?;
        let about = self.target.metadata().map_err(failed)?;
        if about.permissions().readonly() {
            return Err(failed(io::Error::from(io::ErrorKind::PermissionDenied)));
        }
        Ok(Some(about.permissions().mode()))
    }
}

/// Writes a file beside the name and gives it the name when it is durable.
fn put(target: &Path, text: &str, mode: Option<u32>) -> Result<(), CliError> {
    let failed = |source| CliError::Write { path: target.to_path_buf(), source };
    let folder = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(failed)?;
    let permissions = Permissions::from_mode(mode.unwrap_or(0o644) & 0o7777);
    let mut fresh = tempfile::Builder::new()
        .prefix(".probity-")
        .permissions(permissions.clone())
        .tempfile_in(folder)
        .map_err(failed)?;
    fresh.write_all(text.as_bytes()).map_err(failed)?;
    if mode.is_some() {
        // The mask of the user must not take from a mode that is there already.
        fresh.as_file().set_permissions(permissions).map_err(failed)?;
    }
    fresh.as_file().sync_all().map_err(failed)?;
    fresh.persist(target).map_err(|error| failed(error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}
