//! `probity episode verify`.

use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};
use probity_audit::{Acceptance, EpisodeAuditor, EpisodeReport, MAX_DOCUMENT_BYTES, Receipt};
use probity_core::RunId;
use probity_engine::EngineError;
use probity_store::Store;
use serde::Serialize;
use serde_json::json;

use super::run::RunAudit;
use super::text;
use crate::cli::args::EpisodeVerifyArgs;
use crate::cli::documents::{self, Audited, Input};
use crate::cli::log::{open_existing, resolve_run};
use crate::cli::present::{self, Style};
use crate::cli::source::{open, read_bytes, read_envelope, read_pack, read_text};
use crate::cli::{CliError, EXIT_USAGE};
use crate::project::Policy;

/// Exit code where a document is rejected.
const EXIT_REJECTED: u8 = 1;
/// How often the live line moves.
const TICK: Duration = Duration::from_millis(200);

/// What all documents came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct Summary {
    /// Documents that were audited.
    documents: u64,
    accepted: u64,
    rejected: u64,
    /// Files and folders that could not be read.
    unread: u64,
    /// Envelopes that episodes were held against.
    envelopes: usize,
    /// Packs that episodes were held against.
    packs: usize,
}

/// What one piece came to, as it is printed.
struct Piece {
    bytes: Vec<u8>,
    accepted: u64,
    rejected: u64,
    unread: Option<String>,
}

/// Audits documents.
///
/// # Errors
/// [`CliError`] if an input is not there, or an envelope, a pack or the receipt cannot be used.
pub(super) async fn verify(args: &EpisodeVerifyArgs) -> Result<u8, CliError> {
    let (auditor, mut summary) = auditor(args)?;
    let auditor = Arc::new(auditor);
    let sources = sources(args).await?;
    let receipt = args.receipt.as_deref().map(read_receipt).transpose()?;
    if receipt.is_some()
        && !matches!(sources.as_slice(), [Source::Documents(inputs)] if inputs.len() == 1)
    {
        return Err(CliError::Usage(ONE_EPISODE.to_owned()));
    }
    let print = Print { json: args.json, quiet: args.quiet, style: Style::of_stdout() };
    for source in sources {
        let (auditor, receipt) = (Arc::clone(&auditor), receipt.clone());
        summary = match source {
            Source::Run(store, run) => {
                let audit = super::run::audit(store.as_ref(), &run).await?;
                print.run(&audit, summary)?
            }
            Source::Documents(inputs) => {
                let work = move || match receipt {
                    Some(receipt) => with_receipt(&inputs, &auditor, &receipt, print, summary),
                    None => all(&inputs, &auditor, print, summary),
                };
                let broken =
                    |error| CliError::Io { what: "audit", source: io::Error::other(error) };
                tokio::task::spawn_blocking(work).await.map_err(broken)??
            }
        };
    }
    match args.json {
        true => present::json(&json!({ "summary": summary }))?,
        false => drop(present::print(summary.text().as_bytes())?),
    }
    if summary.documents == 0 && summary.unread == 0 {
        present::warn("there was no document: name .json or .jsonl files, or folders with them");
    }
    Ok(summary.exit_code())
}

/// What is audited in one go.
enum Source {
    /// Files, folders, standard input.
    Documents(Vec<Input>),
    /// A run of a store.
    Run(Arc<dyn Store>, RunId),
}

const ONE_EPISODE: &str = "--receipt goes with exactly one file that holds one episode";

/// What the arguments name. A path that is not there may be a run.
async fn sources(args: &EpisodeVerifyArgs) -> Result<Vec<Source>, CliError> {
    let mut sources: Vec<Source> = Vec::new();
    for text in &args.paths {
        let input = match documents::input(text) {
            Ok(input) => input,
            Err(error) => {
                let Ok(store) = open_existing(&args.store).await else { return Err(error) };
                match resolve_run(store.as_ref(), text).await {
                    Ok(run) => sources.push(Source::Run(store, run)),
                    Err(CliError::Name(_) | CliError::Engine(EngineError::Missing { .. })) => {
                        return Err(error);
                    }
                    Err(ambiguous) => return Err(ambiguous),
                }
                continue;
            }
        };
        match sources.last_mut() {
            Some(Source::Documents(inputs)) => inputs.push(input),
            _ => sources.push(Source::Documents(vec![input])),
        }
    }
    Ok(sources)
}

/// How reports are printed.
#[derive(Clone, Copy)]
struct Print {
    json: bool,
    quiet: bool,
    style: Style,
}

fn all(
    inputs: &[Input],
    auditor: &EpisodeAuditor,
    print: Print,
    mut summary: Summary,
) -> Result<Summary, CliError> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let live = live(print.quiet);
    let mut failed: Option<io::Error> = None;
    let make = |audited| print.piece(audited);
    documents::audit(inputs, auditor, make, |piece| {
        summary.add(&piece);
        if let Some(why) = &piece.unread {
            present::warn(why);
        }
        if let Some(live) = &live {
            live.set_message(format!("{} documents", summary.documents));
        }
        if failed.is_none() {
            failed = out.write_all(&piece.bytes).err();
        }
        // Where nobody reads on, the exit code still speaks for every document.
        failed.as_ref().is_none_or(|error| error.kind() == io::ErrorKind::BrokenPipe)
    });
    if let Some(live) = live {
        live.finish_and_clear();
    }
    match failed.or_else(|| out.flush().err()) {
        None => Ok(summary),
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(summary),
        Some(source) => Err(CliError::Io { what: "write to standard output", source }),
    }
}

/// One episode, held against the receipt that was given for it.
fn with_receipt(
    inputs: &[Input],
    auditor: &EpisodeAuditor,
    receipt: &Receipt,
    print: Print,
    mut summary: Summary,
) -> Result<Summary, CliError> {
    let one =
        || CliError::Usage("--receipt goes with exactly one file with one episode".to_owned());
    let [Input::Path(path)] = inputs else { return Err(one()) };
    let failed = |source| CliError::File { path: path.clone(), source };
    let mut file = open(path).map_err(failed)?;
    let bytes = read_bytes(&mut file, MAX_DOCUMENT_BYTES.saturating_add(1)).map_err(failed)?;
    let report = auditor.episode_with_receipt(&bytes, &path.display().to_string(), receipt);
    let piece = print.piece(Audited::Reports(vec![report]));
    summary.add(&piece);
    present::print(&piece.bytes)?;
    Ok(summary)
}

impl Print {
    fn run(self, audit: &RunAudit, mut summary: Summary) -> Result<Summary, CliError> {
        let is_accepted = audit.is_accepted();
        let (accepted, rejected) = (is_accepted.into(), (!is_accepted).into());
        summary.add(&Piece { bytes: Vec::new(), accepted, rejected, unread: None });
        match (self.quiet, self.json) {
            (true, _) => {}
            (false, true) => present::json(audit)?,
            (false, false) => drop(present::print(audit.render(self.style).as_bytes())?),
        }
        Ok(summary)
    }

    fn piece(self, audited: Audited) -> Piece {
        let reports = match audited {
            Audited::Reports(reports) => reports,
            Audited::Unread { source, error } => return self.unread(&source, &error),
        };
        let is_accepted = |report: &&EpisodeReport| report.verdict == Acceptance::Accepted;
        let accepted = reports.iter().filter(is_accepted).count() as u64;
        let mut bytes = Vec::new();
        for report in reports.iter().filter(|_| !self.quiet) {
            if !self.json {
                bytes.extend(text::render(report, self.style).bytes());
            } else if serde_json::to_writer(&mut bytes, report).is_ok() {
                bytes.push(b'\n');
            }
        }
        let rejected = (reports.len() as u64).saturating_sub(accepted);
        Piece { bytes, accepted, rejected, unread: None }
    }

    fn unread(self, source: &str, error: &io::Error) -> Piece {
        let message = format!("cannot read `{source}`: {error}");
        let mut bytes = Vec::new();
        if self.json && !self.quiet {
            let told = json!({
                "source": source, "error": { "code": "file_read", "message": message },
            });
            bytes = format!("{told}\n").into_bytes();
        }
        Piece { bytes, accepted: 0, rejected: 0, unread: Some(message) }
    }
}

impl Summary {
    fn add(&mut self, piece: &Piece) {
        self.accepted = self.accepted.saturating_add(piece.accepted);
        self.rejected = self.rejected.saturating_add(piece.rejected);
        self.documents = self.accepted.saturating_add(self.rejected);
        self.unread = self.unread.saturating_add(piece.unread.is_some().into());
    }

    /// What could not be read may hold anything, so it outweighs what was found in the rest.
    const fn exit_code(&self) -> u8 {
        match self {
            Self { unread: 1.., .. } | Self { documents: 0, .. } => EXIT_USAGE,
            Self { rejected: 1.., .. } => EXIT_REJECTED,
            Self { .. } => 0,
        }
    }

    fn text(&self) -> String {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let Self { documents, accepted, rejected, .. } = self;
        let s = plural(*documents);
        let mut text = format!("{documents} document{s}: {accepted} accepted, {rejected} rejected");
        if self.unread > 0 {
            text.push_str(&format!(", {} not read", self.unread));
        }
        if self.envelopes > 0 || self.packs > 0 {
            let (envelopes, packs) = (self.envelopes, self.packs);
            let (a, b) = (plural(envelopes as u64), plural(packs as u64));
            text.push_str(&format!("; held against {envelopes} envelope{a}, {packs} pack{b}"));
        }
        text.push('\n');
        text
    }
}

/// What episodes are held against: what was named, or else the project's.
fn auditor(args: &EpisodeVerifyArgs) -> Result<(EpisodeAuditor, Summary), CliError> {
    let (auditor, envelopes, packs) = held_against(&args.envelope, &args.pack)?;
    Ok((auditor, Summary { envelopes, packs, ..Summary::default() }))
}

/// An auditor under the envelopes and packs that were named, or else the project's; and how many of
/// each there are.
///
/// # Errors
/// [`CliError`] if one of them cannot be used.
pub(in crate::cli) fn held_against(
    envelopes: &[PathBuf],
    packs: &[PathBuf],
) -> Result<(EpisodeAuditor, usize, usize), CliError> {
    let read = |path: &PathBuf| read_envelope(path);
    let mut envelopes = envelopes.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut packs = packs.iter().map(|path| read_pack(path)).collect::<Result<Vec<_>, _>>()?;
    if envelopes.is_empty() && packs.is_empty() {
        // Nothing of a project is run here, so it need not be trusted.
        let policy = Policy::load(Path::new("."))?;
        envelopes = policy.envelopes.into_values().collect();
        packs = policy.packs.into_iter().map(|(pack, _)| pack).collect();
    }
    let counts = (envelopes.len(), packs.len());
    let auditor = envelopes.into_iter().fold(EpisodeAuditor::new(), EpisodeAuditor::with_envelope);
    Ok((packs.into_iter().fold(auditor, EpisodeAuditor::with_pack), counts.0, counts.1))
}

fn read_receipt(path: &Path) -> Result<Receipt, CliError> {
    let text = read_text(path, probity_policy::MAX_DOCUMENT_BYTES)?;
    serde_json::from_str(&text)
        .map_err(|error| CliError::Usage(format!("`{}` is no receipt: {error}", path.display())))
}

/// A line that says how far it is, where people look on and nothing else is printed there.
fn live(is_quiet: bool) -> Option<ProgressBar> {
    let is_alone = is_quiet || !io::stdout().is_terminal();
    (is_alone && io::stderr().is_terminal()).then(|| {
        let live = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        live.enable_steady_tick(TICK);
        live
    })
}
