//! Definitions of a folder.

use std::path::{Path, PathBuf};

use probity_conductor::Conductor;
use probity_workflow::Definition;

use crate::cli::CliError;
use crate::cli::source::{open, read_bytes};

/// Files of the folder.
const MAX_FILES: usize = 10_000;
/// Bytes of one definition: those of a request that registers one.
const MAX_BYTES: usize = 1024 * 1024;

/// A definition, and the file that it stands in.
pub(super) type Found = (PathBuf, Definition);

/// The definitions of a folder, by the names of their files.
///
/// # Errors
/// [`CliError`] naming the file, and the place in it.
pub(super) fn read(folder: Option<&Path>) -> Result<Vec<Found>, CliError> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let failed = |source| CliError::File { path: folder.to_path_buf(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(CliError::Usage(format!(
                "`{}` holds more than {MAX_FILES} definitions",
                folder.display()
            )));
        }
    }
    files.sort();
    files.into_iter().map(definition).collect()
}

fn definition(path: PathBuf) -> Result<Found, CliError> {
    let unread = |source| CliError::File { path: path.clone(), source };
    let bytes =
        open(&path).and_then(|mut file| read_bytes(&mut file, MAX_BYTES)).map_err(unread)?;
    match Definition::from_slice(&bytes) {
        Ok(definition) => Ok((path, definition)),
        Err(source) => Err(CliError::Definition { path, source }),
    }
}

/// Has runs begun of them.
///
/// # Errors
/// [`CliError::DefinitionDiffers`] naming the second file of one name and version.
pub(super) fn register(conductor: &Conductor, found: Vec<Found>) -> Result<(), CliError> {
    for (path, definition) in found {
        let added = conductor.definitions().add(definition);
        added.map_err(|source| CliError::DefinitionDiffers { path, source })?;
    }
    Ok(())
}
