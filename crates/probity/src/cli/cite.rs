//! `probity cite`: a marker for words that stand in a file.

use probity_grounding::{MAX_EVIDENCE_BYTES, cite as citation};
use serde_json::json;

use super::args::CiteArgs;
use super::present;
use super::source::{open, read_bytes};
use super::{CliError, EXIT_USAGE};
use crate::location::Programs;

/// Exit code where the words do not stand in the evidence.
const EXIT_NOT_THERE: u8 = 1;

/// Prints a citation.
///
/// # Errors
/// [`CliError`] if the file cannot be read, or the words cannot be cited.
pub(super) async fn cite(args: &CiteArgs, _programs: &Programs) -> Result<u8, CliError> {
    let failed = |source| CliError::File { path: args.file.clone(), source };
    let mut file = open(&args.file).map_err(failed)?;
    let bytes = read_bytes(&mut file, MAX_EVIDENCE_BYTES.saturating_add(1)).map_err(failed)?;
    if bytes.len() > MAX_EVIDENCE_BYTES {
        return Err(CliError::Usage(format!(
            "`{}` is larger than the {MAX_EVIDENCE_BYTES} bytes of evidence that are read",
            args.file.display()
        )));
    }
    let found = memchr::memmem::find_iter(&bytes, args.text.as_bytes());
    let places: Vec<usize> = found.filter(|_| !args.text.is_empty()).take(1000).collect();
    let nth = usize::try_from(args.nth).unwrap_or(usize::MAX);
    let Some(start) = places.get(nth.saturating_sub(1)).copied() else {
        return not_there(args, places.len());
    };
    let end = start.saturating_add(args.text.len());
    let id = args.id.clone().unwrap_or_else(|| name(args));
    let text = citation(&id, &bytes, start..end)
        .map_err(|error| CliError::Usage(format!("`{id}`, bytes {start}-{end}: {error}")))?;
    if places.len() > 1 {
        present::note(&format!(
            "the words stand in {} places, this is number {nth}; --nth takes another",
            places.len()
        ));
    }
    match args.json {
        true => present::json(&json!({ "citation": text, "id": id, "start": start, "end": end }))?,
        false => drop(present::print(format!("{text}\n").as_bytes())?),
    }
    Ok(0)
}

fn not_there(args: &CiteArgs, places: usize) -> Result<u8, CliError> {
    let file = args.file.display();
    let message = match places {
        0 => format!(
            "the words do not stand in `{file}`, to the byte: copy them from it, blanks and line breaks too"
        ),
        places => format!("the words stand in {places} places of `{file}`, not in {}", args.nth),
    };
    if args.text.is_empty() {
        present::warn("name the words to cite");
        return Ok(EXIT_USAGE);
    }
    if args.json {
        present::json(
            &json!({ "error": { "code": "citation_quote_differs", "message": message } }),
        )?;
    }
    present::warn(&message);
    Ok(EXIT_NOT_THERE)
}

/// The id of a file: what `evidence=FOLDER` calls it where it stands right in the folder.
fn name(args: &CiteArgs) -> String {
    let name = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.strip_suffix(".txt").map(str::to_owned).unwrap_or(name)
}
