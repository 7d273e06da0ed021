//! `probity audit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::StoreArgs;

pub(super) const AUDIT_HELP: &str = "\
Exit codes, the weightiest of all records:
  0  valid: everything was looked at and nothing was found
  1  invalid: a rule is broken                     4  a bound of the auditor was reached
  2  wrong usage or configuration                  5  integrity proved, content was not re-checked
  3  unreadable, malformed, or no record there     6  accepted by the compat reading only
  74 the machine failed                            130 interrupted

A record is known by its first bytes, whatever its name. Nothing of a record is run, no link
leads out of it, and nothing is fetched.

Try it:
  probity audit runs/
  probity audit signed.probity --key pub.pem --require-signature
  probity audit last";

/// `probity audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Run directories, folders of them, bundles (.probity), run logs, episode documents, `-` for
    /// standard input, or a run of the store.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// Read run directories as bijux-canon-reason's own verifier does, gaps included. Never exits 0.
    #[arg(long)]
    pub compat: bool,
    /// Distinct pieces of evidence that each derived claim must cite. Raises what the problem says,
    /// never lowers it.
    #[arg(long, value_name = "N")]
    pub min_supports: Option<u64>,
    /// Accept derived claims beside insufficient evidence where all of them are marked insufficient.
    #[arg(long)]
    pub allow_marked_insufficient: bool,
    /// Whether the text before a marker must be what the marker cites.
    #[arg(long, value_enum, default_value_t = QuotesArg::Exact)]
    pub quotes: QuotesArg,
    /// Leave manifest, fingerprint and run metadata of run directories out; exits 5 at best.
    #[arg(long)]
    pub no_seal: bool,
    /// The public key (PEM, ed25519) that bundles must be signed by.
    #[arg(long, value_name = "PUB.pem")]
    pub key: Option<PathBuf>,
    /// Demand a signature of every record; the key says whose. Only bundles carry one.
    #[arg(long, requires = "key")]
    pub require_signature: bool,
    /// Exit 0 where a bundle or log is proved but content was taken out of it.
    #[arg(long)]
    pub allow_redacted: bool,
    /// Accept a log without a seal: the run goes on, or stopped without an end.
    #[arg(long)]
    pub allow_unsealed: bool,
    /// The envelope of a decision type, for episodes. May be given more than once. Default: the
    /// project's.
    #[arg(long, value_name = "FILE")]
    pub envelope: Vec<PathBuf>,
    /// A policy pack, for episodes. May be given more than once. Default: the project's.
    #[arg(long, value_name = "FILE")]
    pub pack: Vec<PathBuf>,
    /// Also write what was found as one page that needs nothing else. For one
    /// record. A file that is there is not overwritten.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Threads. Default: one per core, at most 8.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub threads: Option<u8>,
    /// Print the summary only.
    #[arg(long)]
    pub quiet: bool,
    /// Print one JSON report per record and a last object with the summary.
    #[arg(long)]
    pub json: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Whether the text before a marker must be what the marker cites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QuotesArg {
    /// It must be, to the byte.
    Exact,
    /// It may be any text.
    Any,
}
