//! `probity log index`, and `probity log list --index`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use probity_core::Outcome;
use probity_projection::{Filter, Index, IndexedRun, Updated};
use probity_store::Store;
use serde::Serialize;

use super::{open_existing, open_to_follow, timestamp};
use crate::cli::args::{IndexArgs, ListArgs};
use crate::cli::present::{self, Style, Tone, count};
use crate::cli::run::store_url;
use crate::cli::{CliError, EXIT_INTERRUPTED};

/// How often a followed store is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What filling came to.
#[derive(Debug, Serialize)]
struct Filled {
    /// Runs whose logs were read.
    read: u64,
    /// Of these, runs that the index did not have.
    new: u64,
    /// Runs that have not ended.
    open: u64,
}

impl From<Updated> for Filled {
    fn from(Updated { read, new, open }: Updated) -> Self {
        Self { read, new, open }
    }
}

/// Fills an index from a store.
///
/// # Errors
/// [`CliError`] if there is no such store, or the file cannot be used.
pub(super) async fn index(args: &IndexArgs) -> Result<u8, CliError> {
    let url = store_url(&args.store)?;
    let source = url.label();
    let store: Arc<dyn Store> = match args.follow {
        true => open_to_follow(&args.store, &url).await?,
        false => open_existing(&args.store).await?,
    };
    let mut index = match args.rebuild {
        true => Index::open_anew(&args.file, &source)?,
        false => Index::open(&args.file, &source)?,
    };
    loop {
        let filled = Filled::from(index.update(store.as_ref()).await?);
        let Filled { read, new, open } = filled;
        if args.json {
            present::json(&filled)?;
        } else if !args.follow || read > 0 {
            let read = count(read, "run");
            present::note(&format!("{read} read, {new} of them new; {open} not ended"));
        }
        if !args.follow {
            return Ok(0);
        }
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => return Ok(EXIT_INTERRUPTED),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Prints runs of an index.
///
/// # Errors
/// [`CliError`] if there is no such index.
pub(super) fn list(args: &ListArgs, file: &Path) -> Result<u8, CliError> {
    let filter = Filter {
        outcome: args.outcome,
        code: args.code.clone(),
        since_ms: args.since.map(|since| now_ms().saturating_sub(since.get())),
        limit: usize::from(args.limit),
    };
    let runs = Index::open_existing(file)?.runs(&filter)?;
    if args.json {
        present::json(&runs)?;
    } else if runs.is_empty() {
        present::note("no such runs in the index; fill it with `probity log index`");
    } else {
        present::print(table(&runs, Style::of_stdout()).as_bytes())?;
    }
    Ok(0)
}

fn table(runs: &[IndexedRun], style: Style) -> String {
    let width = runs.iter().map(|run| run.run_id.len()).max().unwrap_or_default();
    let mut text = String::new();
    for run in runs {
        let (word, tone) = match run.outcome.as_deref() {
            Some(word) if word == Outcome::Verified.as_str() => (word, Tone::Good),
            Some(word) => (word, Tone::Bad),
            None => (run.stage.as_str(), Tone::Warn),
        };
        let word = style.paint(tone, &format!("{word:15}"));
        let opened = timestamp(run.opened_at_ms);
        let code = run.code.as_ref().map_or_else(String::new, |code| format!("  [{code}]"));
        let _ = writeln!(
            text,
            "{:width$}  {opened}  {word}  attempts {}{code}",
            run.run_id, run.attempts
        );
    }
    text
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
