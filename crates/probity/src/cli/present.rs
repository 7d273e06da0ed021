//! What people read on standard output, and what scripts read there.

mod asked;
mod beside;
mod run;
mod stopped_by;
mod style;
mod text;
mod why;

use std::io::{self, Write as _};

use probity_engine::Report;
use serde::Serialize;

use super::CliError;

pub(super) use asked::{Asked, Asks};
pub(super) use beside::{Beside, Kept};
pub(super) use run::{Detail, outcome_tone};
pub(super) use stopped_by::StoppedBy;
pub(super) use style::{Style, Tone};
pub(super) use text::{block, count, hides, line};
pub(super) use why::{wants_approval, why};

/// Whoever reads standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Reads on.
    There,
    /// Has closed the pipe: nothing more need be written, and that is no error.
    Gone,
}

/// Prints one value as one line of JSON.
///
/// # Errors
/// [`CliError::Io`] if standard output cannot be written.
pub(super) fn json(value: &impl Serialize) -> Result<(), CliError> {
    let mut bytes = serde_json::to_vec(value)
        .map_err(|error| CliError::Io { what: "write the result as JSON", source: error.into() })?;
    bytes.push(b'\n');
    print(&bytes).map(drop)
}

/// Prints what a run came to, and beside it, on standard error, what else there is to know.
///
/// # Errors
/// [`CliError::Io`] if standard output cannot be written.
pub(super) fn report(
    report: &Report,
    beside: &Beside<'_>,
    warnings: &[String],
) -> Result<(), CliError> {
    print_report(report, beside, Detail::Brief, warnings)
}

/// Prints a run with everything that was observed.
///
/// # Errors
/// [`CliError::Io`] if standard output cannot be written.
pub(super) fn whole_report(report: &Report, beside: &Beside<'_>) -> Result<(), CliError> {
    print_report(report, beside, Detail::Full, &[])
}

fn print_report(
    report: &Report,
    beside: &Beside<'_>,
    detail: Detail,
    warnings: &[String],
) -> Result<(), CliError> {
    warnings.iter().for_each(|warning| warn(warning));
    print(run::render(report, beside, Style::of_stdout(), detail).as_bytes())?;
    if let Some(next) = run::next_step(report, beside) {
        note(&format!("next: {next}"));
    }
    Ok(())
}

/// Writes to standard output.
///
/// # Errors
/// [`CliError::Io`] if it cannot be written; a reader that went away is not an error.
pub(super) fn print(bytes: &[u8]) -> Result<Reader, CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(source) => Err(CliError::Io { what: "write to standard output", source }),
    }
}

/// Says something on standard error. A standard error that is gone is nobody's problem.
pub(super) fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    for line in block(text) {
        let _ = writeln!(stderr, "{line}");
    }
}

/// Says on standard error what is weak but works.
pub(super) fn warn(text: &str) {
    let word = Style::of_stderr().paint(Tone::Warn, "warning:");
    let _ = writeln!(io::stderr(), "{word} {}", block(text).join("\n  "));
}
