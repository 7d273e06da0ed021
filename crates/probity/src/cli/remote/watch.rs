//! `probity watch --host`: a run of a host, followed to its end.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Event, Outcome, RunId};
use probity_engine::{Engine, SystemClock, Watch as _};
use probity_store::Store;
use serde_json::Value;

use super::mirror::Mirror;
use super::stream::Stream;
use super::{Remote, RemoteError, broken};
use crate::cli::args::WatchArgs;
use crate::cli::present::{self, Style};
use crate::cli::progress::Progress;
use crate::cli::run::Output;
use crate::cli::watch::{Watching, bounded, concluded, is_over};
use crate::cli::{CliError, EXIT_GOES_ON, EXIT_INTERRUPTED};
use crate::request::Millis;

/// How long nothing must come for a run to be looked at: it may wait for somebody.
const QUIET: Duration = Duration::from_millis(300);
/// Connections in a row that may break without a new record.
const MAX_BREAKS: u32 = 12;
/// The pause before the next one; doubles, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Follows a run of a host.
///
/// # Errors
/// [`CliError`] if there is no such run, or the host cannot be asked.
pub(in crate::cli) async fn watch(args: &WatchArgs, address: &str) -> Result<u8, CliError> {
    let Some(run) = &args.run else {
        let why = "--all follows a store; with --host, name one run";
        return Err(CliError::Usage(why.to_owned()));
    };
    let watching = Watching {
        timeout: args.timeout.map(Millis::get).map(Duration::from_millis),
        json: args.json,
        allow_unverified: args.allow_unverified,
    };
    watch_run(&Remote::at(address)?, &run.parse()?, Output::default(), &watching).await
}

/// Follows a run to its end, or to where it waits for somebody, and says what it came to: by its log, which
/// is proved on the way, and not by what the host says of it.
///
/// # Errors
/// [`CliError`] if the host cannot be asked, or tells what cannot be.
pub(super) async fn watch_run(
    remote: &Remote,
    run: &RunId,
    output: Output,
    watching: &Watching,
) -> Result<u8, CliError> {
    let progress = Progress::new(watching.json);
    let mut mirror = Mirror::new(remote.clone(), run.clone());
    let follow = follow(remote, run, &mut mirror, &progress);
    let code = bounded(watching.timeout, EXIT_GOES_ON, follow).await?;
    progress.finish();
    let store = Arc::clone(mirror.store());
    let again = format!("probity watch --host {} {run}", remote.address());
    let may_tell = mirror.head().is_some() && code != EXIT_INTERRUPTED;
    if may_tell && has_content(remote, run).await? {
        return concluded(store.as_ref(), run, code, &output, watching, &again).await;
    }
    if code != 0 {
        present::note(&format!("run {run} goes on; watch it again with: {again}"));
        return Ok(code);
    }
    without_content(remote, run, store, watching).await
}

async fn has_content(remote: &Remote, run: &RunId) -> Result<bool, RemoteError> {
    let told = remote.get(&format!("/api/v1/delegations/{run}")).await?.json()?;
    Ok(told.get("hasContent") == Some(&Value::Bool(true)))
}

/// What a run came to, for a key that may not read its content.
async fn without_content(
    remote: &Remote,
    run: &RunId,
    store: Arc<dyn Store>,
    watching: &Watching,
) -> Result<u8, CliError> {
    let found = Engine::new(store, Arc::new(SystemClock)).find(run).await?;
    // What has no outcome waits for somebody, or it would not be over.
    let outcome = found.machine().stage().outcome().unwrap_or(Outcome::Escalated);
    if watching.json {
        let told = remote.get(&format!("/api/v1/delegations/{run}")).await?.json()?;
        let report = told.get("report").ok_or_else(|| broken("there is no report"))?;
        present::json(report)?;
    } else {
        let word = outcome.as_str().to_uppercase().replace('_', " ");
        let word = Style::of_stdout().paint(present::outcome_tone(outcome), &word);
        let text = format!("{word} · run {run} · the key may not read more: `content:read`\n");
        present::print(text.as_bytes())?;
    }
    Ok(match outcome {
        Outcome::Unverified if watching.allow_unverified => 0,
        outcome => outcome.exit_code(),
    })
}

/// Follows the log over as many connections as it takes, within bounds.
async fn follow(
    remote: &Remote,
    run: &RunId,
    mirror: &mut Mirror,
    progress: &Progress,
) -> Result<u8, CliError> {
    let (mut breaks, mut pause) = (0, FIRST_PAUSE);
    loop {
        let before = mirror.last();
        let error = match connection(remote, run, mirror, progress).await {
            Ok(true) => return Ok(0),
            Ok(false) => RemoteError::Unreachable { why: "it closes the stream".to_owned() },
            Err(CliError::Remote(error)) if may_pass(&error) => error,
            Err(error) => return Err(error),
        };
        if mirror.last() > before {
            (breaks, pause) = (0, FIRST_PAUSE);
        }
        breaks += 1;
        if breaks > MAX_BREAKS {
            present::note(&format!("the host was asked {breaks} times in a row"));
            return Err(error.into());
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

const fn may_pass(error: &RemoteError) -> bool {
    matches!(
        error,
        RemoteError::Unreachable { .. } | RemoteError::Refused { status: 429 | 500..=599, .. }
    )
}

/// Follows the log over one connection. True once the run has ended, or waits for somebody.
async fn connection(
    remote: &Remote,
    run: &RunId,
    mirror: &mut Mirror,
    progress: &Progress,
) -> Result<bool, CliError> {
    let mut stream = Stream::of(remote.events(run, mirror.last()).await?);
    let mut is_looked_at = false;
    loop {
        let next = match is_looked_at {
            true => stream.next().await?,
            false => match tokio::time::timeout(QUIET, stream.next()).await {
                Ok(next) => next?,
                Err(_) => {
                    is_looked_at = true;
                    if waits(remote, run, mirror).await? {
                        return Ok(true);
                    }
                    continue;
                }
            },
        };
        let Some(data) = next else { return Ok(false) };
        let Some(entry) = mirror.take(&data).await? else { continue };
        is_looked_at = false;
        progress.entry(&entry);
        if matches!(entry.event, Event::Sealed { .. }) {
            return Ok(true);
        }
    }
}

/// Whether all of the log is known, and says that the run waits for somebody.
async fn waits(remote: &Remote, run: &RunId, mirror: &Mirror) -> Result<bool, CliError> {
    let Some(head) = mirror.head() else { return Ok(false) };
    let verdict = remote.get(&format!("/api/v1/delegations/{run}/verdict")).await?.json()?;
    if verdict.get("head").and_then(Value::as_str) != Some(head.to_string().as_str()) {
        return Ok(false);
    }
    let store: Arc<dyn Store> = Arc::clone(mirror.store()) as Arc<dyn Store>;
    is_over(&Engine::new(store, Arc::new(SystemClock)).find(run).await?).await
}
