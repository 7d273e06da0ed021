//! `probity drift`: signals that runs and documents depart from their envelopes, and how often.

mod signals;

use std::fmt::Write as _;

use probity_audit::DriftSeverity;
use probity_core::RunId;

use self::signals::{Found, Signal};
use super::args::{DriftArgs, DriftCommand, StoreArgs};
use super::log::{open_existing, resolve_run, timestamp};
use super::present::{self, Style, Tone, line};
use super::{CliError, EXIT_USAGE};
use crate::location::Programs;

/// Exit code where a document is no drift.
const EXIT_ODD: u8 = 1;

/// Lists or shows drift.
///
/// # Errors
/// [`CliError`] if an input cannot be used.
pub(super) async fn drift(args: &DriftArgs, _: &Programs) -> Result<u8, CliError> {
    match &args.command {
        DriftCommand::List { paths, limit, window_ms, store, json } => {
            let limit = usize::from(*limit);
            match paths.is_empty() {
                true => of_store(store, *window_ms, limit, *json).await,
                false => of_documents(paths, *window_ms, limit, *json).await,
            }
        }
        DriftCommand::Show { which, window_ms, store, json } => {
            show(which, store, *window_ms, *json).await
        }
    }
}

async fn of_store(
    store: &StoreArgs,
    window_ms: u64,
    limit: usize,
    json: bool,
) -> Result<u8, CliError> {
    let store = open_existing(store).await?;
    let mut signals = signals::of_store(store.as_ref(), window_ms).await?;
    signals.truncate(limit);
    print(&signals, json)?;
    Ok(0)
}

async fn of_documents(
    paths: &[String],
    window_ms: u64,
    limit: usize,
    json: bool,
) -> Result<u8, CliError> {
    let inputs = signals::inputs(paths)?;
    let work = move || signals::of_documents(&inputs, window_ms);
    let broken = |error| CliError::Io { what: "audit", source: std::io::Error::other(error) };
    let Found { mut signals, unread, odd } =
        tokio::task::spawn_blocking(work).await.map_err(broken)?;
    signals.truncate(limit);
    // Nothing was found, and that is not to say that there is none.
    if json || !signals.is_empty() || (unread, odd) == (0, 0) {
        print(&signals, json)?;
    }
    Ok(match (unread, odd) {
        (0, 0) => 0,
        (0, _) => EXIT_ODD,
        _ => EXIT_USAGE,
    })
}

/// Every signal of a fingerprint or a run. The counts are those of the whole store.
async fn show(which: &str, store: &StoreArgs, window_ms: u64, json: bool) -> Result<u8, CliError> {
    let store = open_existing(store).await?;
    let run = match which.parse::<RunId>() {
        Ok(_) => resolve_run(store.as_ref(), which).await.ok(),
        Err(_) => None,
    };
    let wanted = run.as_ref().map_or(which, RunId::as_str);
    let mut signals = signals::of_store(store.as_ref(), window_ms).await?;
    signals.retain(|signal| signals::is_of(signal, wanted));
    if signals.is_empty() && run.is_none() {
        let which = line(which);
        let text =
            format!("no run and no drift is called `{which}`; `probity drift list` lists all");
        return Err(CliError::NotFound(text));
    }
    print(&signals, json)?;
    Ok(0)
}

fn print(signals: &[Signal], json: bool) -> Result<(), CliError> {
    if json {
        return present::json(&signals);
    }
    if signals.is_empty() {
        present::note("no drift");
        return Ok(());
    }
    present::print(table(signals, Style::of_stdout()).as_bytes()).map(drop)
}

fn table(signals: &[Signal], style: Style) -> String {
    let width = signals.iter().map(|it| line(&it.fingerprint).chars().count()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for signal in signals {
        let tone = match signal.severity {
            DriftSeverity::Green => Tone::Good,
            DriftSeverity::Yellow => Tone::Warn,
            DriftSeverity::Red => Tone::Bad,
        };
        let at = signal.detected_at_ms.map_or_else(|| format!("{:20}", "-"), timestamp);
        let severity = style.paint(tone, &format!("{:6}", signal.severity.as_str()));
        let more = if signal.occurrence >= 3 { "+" } else { "" };
        let count = format!("{}{more}", signal.occurrence);
        let key = line(&signal.fingerprint);
        let mut row =
            format!("{at}  {severity}  {count:2}  {key:width$}  {}", line(&signal.source));
        if let Some(patch) = signal.recommended_patch_type {
            let patch = serde_json::to_value(patch).unwrap_or_default();
            let due = if signal.is_patch_due { " is due" } else { "" };
            let _ = write!(row, "  {}{due}", patch.as_str().unwrap_or_default());
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}
