//! A list that a host keeps, as `probity log show` tells it.

use std::fmt::Write as _;

use probity_store::Store;
use serde::Serialize;

use crate::cli::CliError;
use crate::cli::kept_list::{KeptEntry, KeptList, ReadList};
use crate::cli::present::{self, Style, Tone, count, line};

#[derive(Serialize)]
struct Shown<'a> {
    run_id: &'a str,
    kind: &'static str,
    holds: &'static str,
    head: String,
    entries: &'a [KeptEntry],
}

/// Prints what was put into a list, and nothing of what that says.
pub(super) async fn show(store: &dyn Store, list: &KeptList, json: bool) -> Result<u8, CliError> {
    let ReadList { head, entries } = list.read(store).await?;
    let (run_id, holds) = (list.log.as_str(), list.holds);
    if json {
        let head = head.to_string();
        present::json(&Shown { run_id, kind: "list", holds, head, entries: &entries })?;
        return Ok(0);
    }
    let word = Style::of_stdout().paint(Tone::Dim, "LIST");
    let number = count(u64::try_from(entries.len()).unwrap_or(u64::MAX), "entry");
    let mut text = format!("{word} · {holds} that a host keeps for a tenant · {number}\n");
    for (place, entry) in entries.iter().enumerate() {
        let about = entry.about.as_deref().map(line).unwrap_or_default();
        let row = format!("  {place:>5}  {}  {about}", line(&entry.r#type));
        let _ = writeln!(text, "{}", row.trim_end());
    }
    present::print(text.as_bytes())?;
    present::note(&format!("no run; probity audit {} proves its chain", list.log));
    Ok(0)
}
