//! Files that are named on the command line, read within bounds.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use probity_policy::{Envelope, Format, Pack};

use super::CliError;
use crate::ProjectError;

/// Opens a regular file. A pipe or a device may keep its reader waiting, or never end.
///
/// # Errors
/// Why it cannot be opened, or that it is something else.
pub(super) fn open(path: &Path) -> io::Result<File> {
    require_regular(&path.metadata()?)?;
    File::open(path)
}

/// Refuses what is there and is no regular file; what is not there is told by whoever reads it.
///
/// # Errors
/// [`CliError::File`].
pub(super) fn refuse_irregular(path: &Path) -> Result<(), CliError> {
    let failed = |source| CliError::File { path: path.to_path_buf(), source };
    path.metadata().map_or(Ok(()), |about| require_regular(&about).map_err(failed))
}

fn require_regular(about: &Metadata) -> io::Result<()> {
    match about.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// Reads a text file of at most so many bytes.
///
/// # Errors
/// [`CliError::File`] if it cannot be read, is larger, or is not UTF-8.
pub(super) fn read_text(path: &Path, max_bytes: usize) -> Result<String, CliError> {
    let failed = |source| CliError::File { path: path.to_path_buf(), source };
    let bytes = read_bytes(&mut open(path).map_err(failed)?, max_bytes).map_err(failed)?;
    String::from_utf8(bytes)
        .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))
}

/// Reads everything that is there, if it is not more than so many bytes.
///
/// # Errors
/// What reading comes to; [`io::ErrorKind::FileTooLarge`].
pub(super) fn read_bytes(reader: &mut impl io::Read, max_bytes: usize) -> io::Result<Vec<u8>> {
    let bound = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    reader.take(bound.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > max_bytes {
        let message = format!("it is larger than {max_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads an envelope.
///
/// # Errors
/// [`CliError`] with everything that is wrong with it.
pub(super) fn read_envelope(path: &Path) -> Result<Envelope, CliError> {
    let text = read_text(path, probity_policy::MAX_DOCUMENT_BYTES)?;
    let failed = |findings| ProjectError::Policy { path: path.to_path_buf(), findings };
    Ok(Envelope::parse(&text, format_of(path)).map_err(failed)?)
}

/// Reads a pack.
///
/// # Errors
/// [`CliError`] with everything that is wrong with it.
pub(super) fn read_pack(path: &Path) -> Result<Pack, CliError> {
    let text = read_text(path, probity_policy::MAX_DOCUMENT_BYTES)?;
    let failed = |findings| ProjectError::Policy { path: path.to_path_buf(), findings };
    Ok(Pack::parse(&text, format_of(path)).map_err(failed)?)
}

/// JSON by its ending; everything else is read as YAML, of which JSON is a part.
pub(super) fn format_of(path: &Path) -> Format {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Format::Json,
        _ => Format::Yaml,
    }
}
