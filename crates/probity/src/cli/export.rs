//! `probity export`: a run as one file that anyone can check.

mod omitted;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek as _, Write};
use std::path::Path;

use probity_audit::attest::{MAX_KEY_BYTES, PublicKey, SigningKey};
use probity_audit::bundle::{BundlePolicy, BundleSummary, Inclusion, audit_bundle, redact_bundle};
use probity_audit::page::{bundle_timeline, render_page};
use probity_core::{Digest, RunId};
use probity_report::Verdict;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::args::ExportArgs;
use super::fresh_file::{self, FreshFile, refuse_existing};
use super::log::{open_existing, resolve_run};
use super::present::{self, Style, Tone};
use super::run::cancel_on_signal;
use super::source::read_text;
use super::{CliError, EXIT_INTERRUPTED};
use crate::exporter::{ExportError, StoredRun};
use crate::location::Programs;
use crate::run_folder::open_file;

/// What an audit says of a bundle that nobody signed.
const UNSIGNED: &str = "bundle_unsigned";

/// What was written.
#[derive(Debug, Serialize)]
struct Exported {
    bundle: String,
    /// SHA-256 of the file.
    sha256: String,
    bytes: u64,
    /// SHA-256 of the manifest.
    manifest: Digest,
    /// SHA-256 of what a signature covers.
    proof: Digest,
    included: u64,
    redacted: u64,
    absent: u64,
    /// The key that it was signed with now.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<Digest>,
    signature: Signature,
    /// What an audit of the file comes to, under the key that it was signed with.
    verdict: Verdict,
}

/// Where the signature of a bundle comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Signature {
    /// It was made now.
    Made,
    /// It was there, and covers what was left out too. Nobody checked it.
    Kept,
    /// There is none.
    None,
}

/// Writes a bundle.
///
/// # Errors
/// [`CliError`] if there is no such run or bundle, or the bundle cannot be written.
pub(super) async fn export(args: &ExportArgs, _: &Programs) -> Result<u8, CliError> {
    refuse_existing(&args.bundle)?;
    args.html.as_deref().map_or(Ok(()), refuse_existing)?;
    let key = args.sign.as_deref().map(signing_key).transpose()?;
    let signed_by = key.as_ref().map(|key| key.public().id());
    let omitted = omitted::parse(&args.omit)?;
    let inclusion = match (args.redact, omitted.is_empty()) {
        (true, _) => Inclusion::Nothing,
        (false, true) => Inclusion::All,
        (false, false) => Inclusion::AllBut(omitted.clone()),
    };
    let source = source(args, key).await?;
    let (fresh, file) = FreshFile::begin(&args.bundle)?;
    let name = args.bundle.display().to_string();
    let html = args.html.is_some();
    let work = move || made(&source, &inclusion, &omitted, file, &name, html);
    let interrupted = cancel_on_signal();
    // Whatever ends this early drops the file.
    let made = tokio::select! {
        made = tokio::task::spawn_blocking(work) => made.map_err(|error| {
            CliError::Io { what: "export", source: io::Error::other(error) }
        })??,
        () = interrupted.cancelled() => return Ok(EXIT_INTERRUPTED),
    };
    let Made { file, page, mut exported } = made;
    exported.signed_by = signed_by;
    fresh.keep(&file)?;
    if let (Some(path), Some(page)) = (&args.html, page) {
        fresh_file::write(path, page.as_bytes())?;
    }
    match args.json {
        true => present::json(&exported)?,
        false => drop(present::print(exported.text(Style::of_stdout()).as_bytes())?),
    }
    Ok(0)
}

/// What a bundle is made of.
enum Source {
    Run(Box<(StoredRun, Option<SigningKey>)>),
    Bundle(File),
}

impl Source {
    /// Whose signature the bundle must have.
    fn signer(&self) -> Option<PublicKey> {
        match self {
            Self::Run(run) => run.1.as_ref().map(SigningKey::public),
            Self::Bundle(_) => None,
        }
    }
}

/// A file is a bundle to redact; everything else is a run.
async fn source(args: &ExportArgs, key: Option<SigningKey>) -> Result<Source, CliError> {
    let path = Path::new(&args.run);
    if path.is_file() {
        if key.is_some() || (!args.redact && args.omit.is_empty()) {
            return Err(CliError::Usage(format!(
                "`{}` is a file: content can be taken out of a bundle with --redact or --omit, and \
                 nothing else; its signature stays as it is",
                args.run
            )));
        }
        let failed = |error: probity_trace::FileError| CliError::File {
            path: path.to_path_buf(),
            source: io::Error::other(error),
        };
        return Ok(Source::Bundle(open_file(path, true).map_err(failed)?));
    }
    if args.run.parse::<RunId>().is_err() {
        return Err(CliError::Usage(format!(
            "`{}` is neither a file nor the id of a run; `probity log list` lists the runs",
            args.run
        )));
    }
    let store = open_existing(&args.store).await?;
    let run: RunId = resolve_run(store.as_ref(), &args.run).await?;
    Ok(Source::Run(Box::new((StoredRun::read(store, &run).await?, key))))
}

/// A bundle that was written, under another name as yet.
struct Made {
    file: File,
    page: Option<String>,
    exported: Exported,
}

fn made(
    source: &Source,
    inclusion: &Inclusion,
    omitted: &BTreeSet<Digest>,
    file: File,
    name: &str,
    html: bool,
) -> Result<Made, CliError> {
    let mut sink = Hashed { file: BufWriter::with_capacity(1 << 17, file), hash: Sha256::new() };
    let summary = match source {
        Source::Bundle(file) => redact_bundle(&mut BufReader::new(file), inclusion, &mut sink)?,
        Source::Run(run) => run.0.write(inclusion, run.1.as_ref(), &mut sink)?,
    };
    let failed = |source| CliError::Io { what: "write the bundle", source };
    let sha256 = hex::encode(sink.hash.finalize());
    let file = sink.file.into_inner().map_err(|error| failed(error.into_error()))?;
    omitted::check(&file, omitted)?;
    let policy = BundlePolicy { public_key: source.signer(), ..BundlePolicy::default() };
    let report = audit_bundle(&mut reader(&file).map_err(failed)?, name, &policy);
    let page = match html {
        true => {
            let timeline = bundle_timeline(&mut reader(&file).map_err(failed)?);
            Some(render_page(&report, timeline.as_ref()))
        }
        false => None,
    };
    let BundleSummary { bytes, manifest, proof, included, redacted, absent, .. } = summary;
    let exported = Exported {
        bundle: name.to_owned(),
        sha256,
        bytes,
        manifest,
        proof,
        included,
        redacted,
        absent,
        signed_by: None,
        signature: match (source.signer(), report.has(UNSIGNED)) {
            (Some(_), _) => Signature::Made,
            (None, false) => Signature::Kept,
            (None, true) => Signature::None,
        },
        verdict: report.verdict,
    };
    Ok(Made { file, page, exported })
}

/// The file that was written, from its beginning.
fn reader(mut file: &File) -> io::Result<BufReader<&File>> {
    file.rewind()?;
    Ok(BufReader::with_capacity(1 << 17, file))
}

/// A private key of a file.
///
/// # Errors
/// [`CliError`] if it cannot be read, or is none.
pub(super) fn signing_key(path: &Path) -> Result<SigningKey, CliError> {
    let text = read_text(path, MAX_KEY_BYTES)?;
    SigningKey::from_pem(&text).map_err(|source| CliError::Key { path: path.to_path_buf(), source })
}

impl From<ExportError> for CliError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Run(error) => error.into(),
            ExportError::Episode(error) => error.into(),
            ExportError::Bundle(error) => error.into(),
        }
    }
}

/// Hashes what it writes.
struct Hashed {
    file: BufWriter<File>,
    hash: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hash.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Exported {
    fn text(&self, style: Style) -> String {
        let path = present::line(&self.bundle);
        let count = |count: u64, what: &str| format!("{count} {what}");
        let content = [
            count(self.included, "included"),
            count(self.redacted, "left out"),
            count(self.absent, "not there"),
        ];
        let signed = match (self.signature, self.signed_by) {
            (_, Some(key)) => format!("signed by {key}"),
            (Signature::Made | Signature::Kept, None) => {
                "its signature was kept, and not checked without the key".to_owned()
            }
            (Signature::None, None) => "not signed".to_owned(),
        };
        let mut check = format!("probity audit {path}");
        if self.signature != Signature::None {
            check.push_str(" --key PUB.pem --require-signature");
        }
        // Without it, what was left out by choice would not exit 0.
        if self.redacted > 0 {
            check.push_str(" --allow-redacted");
        }
        let word = tone_word(self.verdict);
        format!(
            "{}  {path}, {} bytes\n  content   {}\n  sha256    {}\n  audit     {}; {signed}\n  {}\n",
            style.paint(Tone::Good, "WRITTEN"),
            self.bytes,
            content.join(", "),
            self.sha256,
            word,
            style.paint(Tone::Dim, &format!("check it: {check}")),
        )
    }
}

/// What an audit comes to, in a word.
fn tone_word(verdict: Verdict) -> String {
    verdict.as_str().replace('_', " ")
}
