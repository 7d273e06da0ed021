//! `probity doctor`: whether a store can be trusted with runs, and what this machine can hold commands to.

mod here;
mod sandbox;
mod servers;

use std::fmt::Write as _;

use serde::Serialize;

use super::CliError;
use super::args::DoctorArgs;
use super::present::{self, Style, Tone, line};
use super::run::store_url;
use crate::location::{Programs, StoreUrl};
use sandbox::Holding;

/// Something is not as it must be.
const EXIT_FAIL: u8 = 1;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// As it should be.
    Ok,
    /// It works, and somebody should look at it.
    Warn,
    /// Runs cannot be kept like this.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    /// What it is about.
    subject: String,
    /// What is wrong, in one word; absent where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// One sentence, with what to do where something is wrong.
    text: String,
}

#[derive(Debug, Serialize)]
struct Diagnosis {
    ok: bool,
    store: String,
    findings: Vec<Finding>,
    /// What commands can be held to here.
    sandbox: Vec<Holding>,
}

impl Finding {
    fn ok(subject: &str, text: impl Into<String>) -> Self {
        Self { level: Level::Ok, subject: subject.to_owned(), code: None, text: text.into() }
    }

    fn warn(subject: &str, code: &str, text: impl Into<String>) -> Self {
        Self { level: Level::Warn, code: Some(code.to_owned()), ..Self::ok(subject, text) }
    }

    fn fail(subject: &str, code: &str, text: impl Into<String>) -> Self {
        Self { level: Level::Fail, ..Self::warn(subject, code, text) }
    }
}

/// Looks at a store, and changes nothing; tries a sandbox on nothing.
///
/// # Errors
/// [`CliError`] if the text names no store; what is wrong with the store itself is a finding.
pub(super) async fn doctor(args: &DoctorArgs, programs: &Programs) -> Result<u8, CliError> {
    let url = store_url(&args.store)?;
    let findings = match &url {
        StoreUrl::Memory => vec![Finding::warn(
            "store",
            "store_memory",
            "runs in memory end with their process, and no worker sees them; use sqlite:PATH or \
             nats://HOST",
        )],
        StoreUrl::Sqlite(path) => here::findings(path, args.store.store.is_some()).await,
        StoreUrl::Nats(options) => servers::findings(options).await,
    };
    let ok = findings.iter().all(|finding| finding.level != Level::Fail);
    let sandbox = sandbox::holdings(programs).await;
    let diagnosis = Diagnosis { ok, store: url.label(), findings, sandbox };
    match args.json {
        true => present::json(&diagnosis)?,
        false => drop(present::print(diagnosis.text(Style::of_stdout()).as_bytes())?),
    }
    Ok(if ok { 0 } else { EXIT_FAIL })
}

impl Diagnosis {
    fn text(&self, style: Style) -> String {
        let width = self.findings.iter().map(|finding| finding.subject.len()).max();
        let width = width.unwrap_or_default();
        let mut text = format!("{}\n", line(&self.store));
        for Finding { level, subject, code, text: said } in &self.findings {
            let (word, tone) = match level {
                Level::Ok => ("ok  ", Tone::Good),
                Level::Warn => ("warn", Tone::Warn),
                Level::Fail => ("fail", Tone::Bad),
            };
            let word = style.paint(tone, word);
            let code = code.as_ref().map_or_else(String::new, |code| format!("  [{code}]"));
            let _ = writeln!(text, "{word}  {subject:width$}  {}{code}", line(said));
        }
        let _ = writeln!(text, "sandbox");
        let width = self.sandbox.iter().map(|holding| holding.part.len()).max().unwrap_or_default();
        for Holding { part, holds, text: said, .. } in &self.sandbox {
            let (word, tone) = if *holds { ("ok  ", Tone::Good) } else { ("none", Tone::Warn) };
            let word = style.paint(tone, word);
            let _ = writeln!(text, "{word}  {part:width$}  {}", line(said));
        }
        text
    }
}
