//! Reports on standard output, and how far it is on standard error.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::tally::Tally;
use crate::cli::CliError;

/// How often the live line moves, and how long a report waits for others at most.
const TICK: Duration = Duration::from_millis(120);
/// Bytes that are written at once.
const FULL_BYTES: usize = 1 << 16;

/// Where reports go.
pub(super) struct Screen {
    live: Live,
    /// Written as it comes, in portions: the live line may share the terminal.
    waiting: Vec<u8>,
    written_at: Instant,
    failed: Option<io::Error>,
}

/// The live line; nothing where nobody looks on.
#[derive(Clone)]
pub(super) struct Live(Option<ProgressBar>);

impl Screen {
    /// A live line where standard error is a terminal; it says how much was read.
    pub(super) fn new(bytes_read: Arc<AtomicU64>) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let read = move |_: &ProgressState, into: &mut dyn fmt::Write| {
                let _ = write!(into, "{}", HumanBytes(bytes_read.load(Ordering::Relaxed)));
            };
            // The template is a constant; the fallback only changes how it looks.
            let style = ProgressStyle::with_template("{spinner} {wide_msg} {read} {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
                .with_key("read", read);
            bar.set_style(style);
            bar.set_message("reading");
            bar.enable_steady_tick(TICK);
            bar
        });
        Self { live: Live(bar), waiting: Vec::new(), written_at: Instant::now(), failed: None }
    }

    /// The live line, for whoever ends it early.
    pub(super) fn live(&self) -> Live {
        self.live.clone()
    }

    /// Prints a report, and says how far it is.
    pub(super) fn put(&mut self, shown: &[u8], tally: &Tally) {
        if let Live(Some(bar)) = &self.live {
            let (records, not_valid) = (tally.records(), tally.not_valid());
            bar.set_message(format!("{records} records, {not_valid} not valid"));
        }
        self.waiting.extend_from_slice(shown);
        if self.waiting.len() >= FULL_BYTES || self.written_at.elapsed() >= TICK {
            self.write();
        }
    }

    /// Whether nothing more can be written, and not because the reader went away.
    pub(super) fn is_broken(&self) -> bool {
        self.failed.as_ref().is_some_and(|error| error.kind() != io::ErrorKind::BrokenPipe)
    }

    /// Writes the rest, and clears the live line.
    ///
    /// # Errors
    /// [`CliError::Io`] if standard output could not be written.
    pub(super) fn finish(mut self) -> Result<(), CliError> {
        self.live.clear();
        self.write();
        match self.failed {
            Some(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                Err(CliError::Io { what: "write to standard output", source })
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.written_at = Instant::now();
        if self.failed.is_some() || waiting.is_empty() {
            return;
        }
        let write = || {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&waiting).and_then(|()| stdout.flush())
        };
        let written = match &self.live {
            Live(Some(bar)) => bar.suspend(write),
            Live(None) => write(),
        };
        self.failed = written.err();
    }
}

impl Live {
    /// Takes the line away.
    pub(super) fn clear(&self) {
        if let Self(Some(bar)) = self {
            bar.finish_and_clear();
        }
    }
}
