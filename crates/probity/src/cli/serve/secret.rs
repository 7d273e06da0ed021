//! What nobody else may know: the keys of callers, and with what tokens are signed.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit as _, Mac as _};
use probity_host::{Ids, Keys};
use sha2::Sha256;

use super::handover::Secrets;
use crate::cli::CliError;
use crate::cli::source::{open, read_bytes};
use crate::location::StoreUrl;

const KEY: &str = "PROBITY_API_KEY";
const TOKEN_SECRET: &str = "PROBITY_TOKEN_SECRET";
/// What tokens are signed with is not what somebody else may use the same secret for.
const PURPOSE: &[u8] = b"probity host: tokens for answers, 1";
/// Characters that such a secret has at least.
const MIN_SECRET_CHARS: usize = 16;
/// Bytes of a file with secrets.
const MAX_BYTES: usize = 1024 * 1024;
/// Only for its owner.
const OTHERS: u32 = 0o077;

/// Who may ask: those of a file, or whoever has the one key of the environment.
///
/// # Errors
/// [`CliError`] if there is none, or the file cannot be used.
pub(super) fn keys(file: Option<&Path>, secrets: &Secrets) -> Result<Keys, CliError> {
    let variable = |name: &str| secrets.get(name).or_else(|| std::env::var(name).ok());
    let Some(path) = file else {
        return Keys::single(&variable(KEY).unwrap_or_default()).map_err(CliError::NoKeys);
    };
    let failed = |source| CliError::File { path: path.to_path_buf(), source };
    let wrong = |source| CliError::Keys { path: path.to_path_buf(), source };
    let text = String::from_utf8(read(path)?).map_err(|error| failed(io::Error::other(error)))?;
    Keys::parse(&text, variable).map_err(wrong)
}

/// The variables that a file names for keys. What is wrong with it, [`keys`] says.
///
/// # Errors
/// [`CliError`] if it cannot be read.
pub(super) fn variables(file: Option<&Path>) -> Result<Vec<String>, CliError> {
    let Some(path) = file else { return Ok(Vec::new()) };
    let text = String::from_utf8(read(path)?).unwrap_or_default();
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    let keys = table.get("key").and_then(toml::Value::as_array);
    let named = keys.into_iter().flatten().filter_map(|key| key.get("key_env")?.as_str());
    // The name of a variable that is none stops the process that is started with it.
    let is_name = |name: &&str| !name.is_empty() && !name.contains(['=', '\0']);
    Ok(named.filter(is_name).map(str::to_owned).collect())
}

/// With what tokens for answers are signed: from the environment, or from a file that is made once.
///
/// # Errors
/// [`CliError`] if it is too short, or the file cannot be made or used.
pub(super) fn of_tokens(
    url: &StoreUrl,
    ids: &dyn Ids,
    secrets: &Secrets,
) -> Result<[u8; 32], CliError> {
    if let Some(text) = secrets.get(TOKEN_SECRET).filter(|text| !text.is_empty()) {
        if text.chars().count() < MIN_SECRET_CHARS {
            return Err(CliError::Usage(format!(
                "{TOKEN_SECRET} must have {MIN_SECRET_CHARS} characters at least"
            )));
        }
        return derived(text.as_bytes());
    }
    match secret_file(url)? {
        Some(path) => derived(&kept(&path, ids)?),
        // Its tokens end with it, as its runs do.
        None => derived(&ids.draw()),
    }
}

/// Beside the file of a store; for one that is elsewhere, where this user's would be.
fn secret_file(url: &StoreUrl) -> Result<Option<PathBuf>, CliError> {
    let beside = match url {
        StoreUrl::Memory => return Ok(None),
        StoreUrl::Sqlite(path) => path.clone(),
        StoreUrl::Nats(_) => match StoreUrl::of_user()? {
            StoreUrl::Sqlite(path) => path,
            _ => return Ok(None),
        },
    };
    let mut name = beside.into_os_string();
    name.push(".token-secret");
    Ok(Some(name.into()))
}

fn kept(path: &Path, ids: &dyn Ids) -> Result<Vec<u8>, CliError> {
    if path.symlink_metadata().is_err() {
        make(path, ids).map_err(|source| CliError::Write { path: path.to_path_buf(), source })?;
    }
    let text = read(path)?;
    if text.len() < MIN_SECRET_CHARS {
        let source = io::Error::other("it is no secret; remove it, and another one is made");
        return Err(CliError::File { path: path.to_path_buf(), source });
    }
    Ok(text)
}

/// Whole or not at all; one that somebody else made meanwhile stays.
fn make(path: &Path, ids: &dyn Ids) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(folder)?;
    // Such a file is its owner's alone from the first.
    let mut file = tempfile::Builder::new().prefix(".probity-").tempfile_in(folder)?;
    writeln!(file, "{}", hex::encode(ids.draw()))?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Err(error.error),
        _ => {}
    }
    File::open(folder)?.sync_all()
}

/// Reads a file that nobody else may read.
fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let failed = |source| CliError::File { path: path.to_path_buf(), source };
    let mut file = open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(CliError::Exposed { path: path.to_path_buf(), mode });
    }
    read_bytes(&mut file, MAX_BYTES).map_err(failed)
}

fn derived(secret: &[u8]) -> Result<[u8; 32], CliError> {
    let failed = |error| CliError::Io { what: "derive a key", source: io::Error::other(error) };
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(failed)?;
    mac.update(PURPOSE);
    Ok(mac.finalize().into_bytes().into())
}
