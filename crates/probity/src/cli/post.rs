//! `probity cancel`, `probity steer`: what is said to a run by whoever does not drive it.

use std::io::ErrorKind;

use probity_core::RunId;
use probity_engine::Post;
use probity_worker::{Fleet, FleetError};
use serde::Serialize;

use super::args::{CancelArgs, SteerArgs};
use super::log::{refused, resolve_run};
use super::run::require_name;
use super::source::read_bytes;
use super::submit::fleet_of;
use super::watch::{Watching, watch_run};
use super::{CliError, present, remote};

/// The longest text that a run keeps in full, in bytes.
const MAX_SAID_BYTES: usize = 64 * 1024;

/// What came of it.
#[derive(Debug, Serialize)]
pub(super) struct Told<'a> {
    pub(super) run_id: &'a RunId,
    /// False where the log says so already.
    pub(super) new: bool,
    /// Whether a worker was asked to look at the run; a host does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queued: Option<bool>,
}

/// Asks for a run to be stopped.
///
/// # Errors
/// [`CliError`] if there is no such run, or it has ended.
pub(super) async fn cancel(args: &CancelArgs) -> Result<u8, CliError> {
    if let Some(host) = &args.host {
        return remote::cancel(args, host).await;
    }
    let by = named(args.by.as_deref())?;
    require_short("the reason", &args.reason)?;
    let (store, fleet, _) = fleet_of(&args.store).await?;
    let run = resolve_run(store.as_ref(), &args.run).await?;
    let post = Post::Cancel { by, text: args.reason.clone() };
    let told = say(&fleet, &run, &post).await?;
    if !args.wait {
        return tell(&told, "asked to stop", args.json);
    }
    let watching = Watching { timeout: None, json: args.json, allow_unverified: false };
    watch_run(store, &run, None, &watching).await
}

/// Says something to a run's delegate.
///
/// # Errors
/// [`CliError`] if there is no such run, or it has ended.
pub(super) async fn steer(args: &SteerArgs) -> Result<u8, CliError> {
    let text = match args.text.as_str() {
        "-" => read_said()?,
        text => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(CliError::Usage(
            "there is nothing to say; write it behind the run, or - to read it from standard input"
                .to_owned(),
        ));
    }
    require_short("the text", &text)?;
    if let Some(host) = &args.host {
        return remote::steer(args, &text, host).await;
    }
    let by = named(args.by.as_deref())?;
    let (store, fleet, _) = fleet_of(&args.store).await?;
    let run = resolve_run(store.as_ref(), &args.run).await?;
    let post = Post::Steer { by, text };
    let told = say(&fleet, &run, &post).await?;
    tell(&told, "was told", args.json)
}

/// Who says it.
fn named(by: Option<&str>) -> Result<String, CliError> {
    let by = by.unwrap_or_default();
    require_name(by)?;
    Ok(by.to_owned())
}

/// What standard input says, in full.
fn read_said() -> Result<String, CliError> {
    let failed = |source| CliError::Io { what: "read standard input", source };
    let bytes = match read_bytes(&mut std::io::stdin().lock(), MAX_SAID_BYTES) {
        Err(error) if error.kind() == ErrorKind::FileTooLarge => return Err(too_long("the text")),
        read => read.map_err(failed)?,
    };
    String::from_utf8(bytes)
        .map_err(|_| CliError::Usage("what standard input says is not UTF-8".to_owned()))
}

/// # Errors
/// [`CliError::Usage`] for a text of which a run would keep a part only.
fn require_short(what: &str, text: &str) -> Result<(), CliError> {
    match text.len() > MAX_SAID_BYTES {
        true => Err(too_long(what)),
        false => Ok(()),
    }
}

fn too_long(what: &str) -> CliError {
    CliError::Usage(format!(
        "{what} is longer than {MAX_SAID_BYTES} bytes; put the material into a file of the workspace \
         and name it"
    ))
}

/// Appends what is said, and has a worker look at the run unless somebody drives it without the queue.
async fn say<'a>(fleet: &Fleet, run: &'a RunId, post: &Post) -> Result<Told<'a>, CliError> {
    match fleet.post(run, post).await {
        Ok(probity_worker::Told { is_new, is_queued }) => {
            Ok(Told { run_id: run, new: is_new, queued: Some(is_queued) })
        }
        Err(FleetError::Engine(error)) => Err(refused(run, error)),
        Err(error) => Err(error.into()),
    }
}

/// Prints it.
///
/// # Errors
/// [`CliError::Io`] if it cannot be printed.
pub(super) fn tell(told: &Told<'_>, what: &str, json: bool) -> Result<u8, CliError> {
    if json {
        present::json(told)?;
        return Ok(0);
    }
    let Told { run_id, new, queued } = told;
    let before = match (*new, queued) {
        (true, _) => "",
        (false, Some(_)) => " before, and is so still",
        // A host does not say which.
        (false, None) => " before, or has ended",
    };
    present::print(format!("run {run_id} {what}{before}\n").as_bytes())?;
    match queued {
        Some(true) => present::note(&format!("next: probity watch {run_id}")),
        Some(false) => present::note(&format!(
            "run {run_id} is not in the queue: the process that drives it hears it; if none does, take it \
             up with `probity run --resume {run_id}`, or give it to workers with `probity resume {run_id}`"
        )),
        None => {}
    }
    Ok(0)
}
