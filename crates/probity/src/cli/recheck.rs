//! `probity recheck`: does a verdict still say something about the world?

use probity_core::Outcome;

use super::CliError;
use super::args::RecheckArgs;
use super::log::{open_existing, resolve_run};
use super::present::{self, Style, Tone};
use crate::Recorded;
use crate::freshness::{Freshness, FreshnessError, State, freshness};
use crate::location::Programs;

pub(super) use crate::freshness::Nobody;

/// Differences that a person is shown; `--json` has them all.
const MAX_SHOWN: usize = 50;

/// Compares the world with the one that a run's last verdict saw. Runs nothing.
///
/// # Errors
/// [`CliError`] if there is no such run, or the workspace cannot be read.
pub(super) async fn recheck(args: &RecheckArgs, programs: &Programs) -> Result<u8, CliError> {
    let store = open_existing(&args.store).await?;
    let run = resolve_run(store.as_ref(), &args.run).await?;
    let recorded = Recorded::read(store.as_ref(), &run).await?;
    let freshness = freshness(store.as_ref(), recorded, programs).await?;
    match args.json {
        true => present::json(&freshness)?,
        false => drop(present::print(freshness.text(Style::of_stdout()).as_bytes())?),
    }
    Ok(match freshness.state {
        State::Fresh => 0,
        State::Stale => 1,
        State::NotVerified => Outcome::Unverified.exit_code(),
    })
}

impl Freshness {
    fn text(&self, style: Style) -> String {
        let run = &self.run_id;
        let headline = match (self.state, self.outcome) {
            (State::Fresh, _) => {
                let word = style.paint(Tone::Good, "FRESH");
                format!("{word}: run {run} is verified, and what it was judged on is unchanged")
            }
            (State::Stale, _) => {
                let word = style.paint(Tone::Bad, "STALE");
                let moved = self.changed.len().saturating_add(self.judge.len());
                let paths = if moved == 1 { "1 path" } else { &format!("{moved} paths") };
                format!("{word}: {paths} changed since run {run} was verified")
            }
            (State::NotVerified, outcome) => {
                let word = style.paint(Tone::Warn, "NOT VERIFIED");
                let how = outcome.map_or("is not finished".to_owned(), |it| format!("ended {it}"));
                format!("{word}: run {run} {how}; there is no verdict to go stale")
            }
        };
        let world = self.changed.iter().map(|it| {
            let change = it.change.replace('_', " ");
            format!("  {change:12}  {}", present::line(&it.path))
        });
        let judge = self.judge.iter().map(|it| {
            let path = present::line(&it.path);
            format!("  {:12}  {path}: was {}, is {}", "judge", it.was, it.is)
        });
        let mut lines = vec![headline];
        lines.extend(world.chain(judge).take(MAX_SHOWN));
        let hidden = self.changed.len().saturating_add(self.judge.len()).saturating_sub(MAX_SHOWN);
        if hidden > 0 {
            lines.push(format!("  and {hidden} more; --json lists them all"));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

impl From<FreshnessError> for CliError {
    fn from(error: FreshnessError) -> Self {
        match error {
            FreshnessError::Run(error) => error.into(),
            FreshnessError::Prepare(error) => error.into(),
            FreshnessError::Snapshot(error) => error.into(),
            FreshnessError::Io(source) => Self::Io { what: "read the workspace", source },
        }
    }
}
