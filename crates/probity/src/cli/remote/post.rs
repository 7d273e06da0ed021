//! `probity cancel --host`, `probity steer --host`. Who says it, the host knows by the key.

use probity_core::RunId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Remote;
use super::watch::watch_run;
use crate::cli::args::{CancelArgs, SteerArgs};
use crate::cli::post::{Told, tell};
use crate::cli::run::Output;
use crate::cli::watch::Watching;
use crate::cli::{CliError, present};

/// Asks for a run of a host to be stopped.
///
/// # Errors
/// [`CliError`] if the host cannot be asked, or refuses.
pub(in crate::cli) async fn cancel(args: &CancelArgs, address: &str) -> Result<u8, CliError> {
    let remote = Remote::at(address)?;
    let run: RunId = args.run.parse()?;
    // A host takes a reason or none, and no empty one.
    let body = match args.reason.is_empty() {
        true => json!({}),
        false => json!({"reason": args.reason}),
    };
    let is_new = said(&remote, &run, "cancel", &body).await?;
    if !args.wait {
        return told(&remote, &run, is_new, "asked to stop", args.json);
    }
    let watching = Watching { timeout: None, json: args.json, allow_unverified: false };
    watch_run(&remote, &run, Output::default(), &watching).await
}

/// Says something to the delegate of a run of a host.
///
/// # Errors
/// [`CliError`] if the host cannot be asked, or refuses.
pub(in crate::cli) async fn steer(
    args: &SteerArgs,
    text: &str,
    address: &str,
) -> Result<u8, CliError> {
    let remote = Remote::at(address)?;
    let run: RunId = args.run.parse()?;
    let is_new = said(&remote, &run, "steer", &json!({"text": text})).await?;
    told(&remote, &run, is_new, "was told", args.json)
}

/// Whether it is new to the run.
async fn said(remote: &Remote, run: &RunId, what: &str, body: &Value) -> Result<bool, CliError> {
    let path = format!("/api/v1/delegations/{run}/{what}");
    let answer = remote.post(&path, body, &Uuid::now_v7().to_string()).await?.json()?;
    Ok(answer.get("isNew") == Some(&Value::Bool(true)))
}

fn told(
    remote: &Remote,
    run: &RunId,
    is_new: bool,
    what: &str,
    json: bool,
) -> Result<u8, CliError> {
    let code = tell(&Told { run_id: run, new: is_new, queued: None }, what, json)?;
    if !json {
        present::note(&format!("next: probity watch --host {} {run}", remote.address()));
    }
    Ok(code)
}
