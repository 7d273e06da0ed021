//! `probity cite`.

use std::path::PathBuf;

use clap::Args;

pub(super) const CITE_HELP: &str = "\
Prints the text, a blank and its marker, as an answer cites it:
  probity cite sources/sun.txt \"The Sun adds a smaller pull.\"

A file deeper in the evidence folder is named by its path in there:
  probity cite sources/moon/tides.txt \"Tides follow the Moon.\" --id moon/tides

Check an answer that was made so with --expect citations:answer.md,evidence=sources.";

/// `probity cite`.
#[derive(Debug, Args)]
pub struct CiteArgs {
    /// The evidence: a file.
    pub file: PathBuf,
    /// The words to cite, exactly as they stand in it.
    pub text: String,
    /// What the marker calls the evidence. Default: the file's name without `.txt`.
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Which of several places where the words stand, from 1.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub nth: u64,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}
