//! `probity episode show` and `probity episode export`: the episode of a run.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use probity_core::RunId;
use probity_store::Store;
use serde::Serialize;
use serde_json::Value;

use super::text;
use crate::RunEpisode;
use crate::cli::CliError;
use crate::cli::args::StoreArgs;
use crate::cli::log::{open_existing, resolve_run};
use crate::cli::present::{self, Style, block};

/// Prints the episode of a run, and what an audit says about it.
///
/// # Errors
/// [`CliError`] if there is no such run, or it has no episode.
pub(super) async fn show(run: &str, store: &StoreArgs, json: bool) -> Result<u8, CliError> {
    let store = open_existing(store).await?;
    let (run, episode) = read(store.as_ref(), run).await?;
    let value: Value = parsed(&episode)?;
    if json {
        present::json(&value)?;
        return Ok(0);
    }
    let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
    let lines: Vec<String> = block(&pretty);
    present::print(format!("{}\n", lines.join("\n")).as_bytes())?;
    let report = text::render(&episode.audit(run.as_str()), Style::of_stderr());
    present::note(report.trim_end());
    Ok(0)
}

/// Writes the episode of a run, and its receipt.
///
/// # Errors
/// [`CliError`] if there is no such run, it has no episode, or a file cannot be written.
pub(super) async fn export(
    run: &str,
    out: Option<&Path>,
    receipt: Option<&Path>,
    store: &StoreArgs,
) -> Result<u8, CliError> {
    let store = open_existing(store).await?;
    let (run, episode) = read(store.as_ref(), run).await?;
    if let Some(path) = receipt {
        write(path, &line(&episode.episode.receipt())?)?;
    }
    let mut bytes = episode.episode.bytes().to_vec();
    bytes.push(b'\n');
    match out {
        Some(path) => write(path, &bytes)?,
        None => drop(present::print(&bytes)?),
    }
    if let Some(path) = out {
        present::note(&format!("the episode of run {run} is in `{}`", path.display()));
    }
    Ok(0)
}

/// A run and its episode.
///
/// # Errors
/// [`CliError`] if there is no such run, or it has no episode.
pub(in crate::cli) async fn read(
    store: &dyn Store,
    text: &str,
) -> Result<(RunId, RunEpisode), CliError> {
    let run = resolve_run(store, text).await?;
    let episode = RunEpisode::read(store, &run).await?;
    Ok((run, episode))
}

fn parsed(episode: &RunEpisode) -> Result<Value, CliError> {
    serde_json::from_slice(episode.episode.bytes())
        .map_err(|error| CliError::Io { what: "print the episode", source: error.into() })
}

fn line(value: &impl Serialize) -> Result<Vec<u8>, CliError> {
    let mut bytes = serde_json::to_vec(value)
        .map_err(|error| CliError::Io { what: "write the receipt", source: error.into() })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Writes a file that is not there yet: a receipt or an episode is evidence, and not overwritten.
fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
    made.and_then(|mut file| file.write_all(bytes)).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::Usage(format!("`{}` exists; name another file", path.display()))
        }
        _ => CliError::Write { path: path.to_path_buf(), source },
    })
}
