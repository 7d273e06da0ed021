//! `probity audit`: records proved from their bytes alone.

mod counted;
mod episode;
mod feed;
mod find;
mod kept;
mod kind;
mod proof;
mod rule;
mod screen;
mod subject;
mod tally;
mod text;
mod waiver;
mod work;
mod workflow;

use std::io;

use serde_json::json;

use self::screen::Screen;
use self::subject::subjects;
use self::tally::Tally;
use self::work::{Made, Workshop};
use super::args::AuditArgs;
use super::documents::ordered;
use super::fresh_file::{self, refuse_existing};
use super::present::{self, Style};
use super::run::cancel_on_signal;
use super::{CliError, EXIT_AUDIT_USAGE, EXIT_INTERRUPTED, EXIT_STOPPED};
use crate::location::Programs;

/// Threads that audit, where nobody says how many.
const MAX_THREADS: usize = 8;

const ONE_PAGE: &str = "--html shows one record; name that one alone";

/// Audits records.
///
/// # Errors
/// [`CliError`] if a key, an envelope or a pack cannot be used, or standard output cannot be
/// written. Whatever is wrong with a record is in its report.
pub(super) async fn audit(args: &AuditArgs, _: &Programs) -> Result<u8, CliError> {
    args.html.as_deref().map_or(Ok(()), refuse_existing)?;
    let workshop = Workshop::of(args)?;
    let subjects = subjects(args).await?;
    let threads = match args.threads {
        Some(threads) => usize::from(threads),
        None => std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS),
    };
    let screen = Screen::new(workshop.bytes_read());
    let live = screen.live();
    let tally = Tally::new(args.allow_redacted);
    let (json, style) = (args.json, Style::of_stdout());
    let work = tokio::task::spawn_blocking(move || {
        let (tally, page) = all(subjects, &workshop, threads, screen, tally)?;
        let summary = match json {
            true => format!("{}\n", json!({ "summary": tally.json() })),
            false => tally.text(style),
        };
        present::print(summary.as_bytes())?;
        Ok::<_, CliError>((tally, page))
    });
    let interrupted = cancel_on_signal();
    let (tally, page) = tokio::select! {
        ended = work => ended.map_err(|error| {
            CliError::Io { what: "audit", source: io::Error::other(error) }
        })??,
        () = interrupted.cancelled() => {
            live.clear();
            return Ok(EXIT_INTERRUPTED);
        }
    };
    if let (Some(path), Some(page)) = (&args.html, page) {
        fresh_file::write(path, page.as_bytes())?;
    }
    if tally.records() == 0 {
        present::warn(
            "there was no record: name a run directory, a bundle, a run log, an episode, a folder \
             with some of them, or a run",
        );
    }
    Ok(tally.exit_code())
}

/// The exit code where `probity audit` could not audit at all.
pub(super) const fn exit_code(error: &CliError) -> u8 {
    match error {
        CliError::Io { .. } | CliError::Write { .. } => EXIT_STOPPED,
        _ => EXIT_AUDIT_USAGE,
    }
}

fn all(
    subjects: Vec<subject::Subject>,
    workshop: &Workshop,
    threads: usize,
    mut screen: Screen,
    mut tally: Tally,
) -> Result<(Tally, Option<String>), CliError> {
    let mut only: Option<String> = None;
    let mut broken: Option<CliError> = None;
    let feed = |give: &mut dyn FnMut(feed::Job) -> bool| feed::feed(subjects, workshop, give);
    let work = |job, give: &mut dyn FnMut(Made) -> bool| workshop.work(job, give);
    ordered::run(threads, feed, work, |made| {
        match made {
            Made::Report { report, shown, page } => {
                tally.add(&report);
                screen.put(&shown, &tally);
                if let Some(page) = page
                    && only.replace(page).is_some()
                {
                    broken = Some(CliError::Usage(ONE_PAGE.to_owned()));
                }
            }
            Made::PassedOver => tally.pass_over(),
            Made::Broken(error) => broken = Some(error),
        }
        // Where nobody reads on, the exit code still speaks for every record.
        broken.is_none() && !screen.is_broken()
    });
    match broken {
        Some(error) => Err(error),
        None => screen.finish().map(|()| (tally, only)),
    }
}
