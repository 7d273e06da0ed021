//! `probity export`.

use std::path::PathBuf;

use clap::Args;

use super::StoreArgs;

pub(super) const EXPORT_HELP: &str = "\
A bundle is one file: the run's records, its content, and what they prove. `probity audit` needs
nothing else to check it.

Try it:
  probity export last --bundle out.probity
  probity audit out.probity
  openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out pub.pem
  probity export last --bundle signed.probity --sign key.pem
  probity audit signed.probity --key pub.pem --require-signature

A bundle that is there can be passed on with less in it. Its signature stays as it is and holds:
  probity export signed.probity --redact --bundle public.probity
  probity audit public.probity --key pub.pem --require-signature --allow-redacted";

/// `probity export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run: its id, the start of it, or `last`; or a bundle (a file) to take content out of.
    pub run: String,
    /// Where to write the bundle. A file that is there is not overwritten.
    #[arg(long, value_name = "FILE")]
    pub bundle: PathBuf,
    /// A private key (PEM, ed25519) to sign it with.
    #[arg(long, value_name = "KEY.pem")]
    pub sign: Option<PathBuf>,
    /// Leave all content out; the records and what they prove stay.
    #[arg(long)]
    pub redact: bool,
    /// Leave this content out, by its SHA-256. May be given more than once.
    #[arg(long, value_name = "DIGEST")]
    pub omit: Vec<String>,
    /// Also write the bundle as one page for people, that needs nothing else. Not overwritten.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}
