//! Stock effects: declarative checks of the world, one per file.
//!
//! They share these rules:
//!
//! - An honest difference between the world and what was asked for is `revise`. The reason names the
//!   target, what was expected and what was seen, and lists every difference, not only the first;
//!   the code is that of the first.
//! - Ground truth out of reach is `inconclusive`: no permission, no answer in time, a locked database,
//!   more bytes than are read.
//! - A check that cannot be carried out as written is a fault: a path outside the workspace, a schema
//!   that does not compile, a program that is not installed, a host that is not allowed.
//! - Before the delegate ([`Phase::Before`](probity_core::Phase)) the state is judged without
//!   `created`: what is there already passes, which is how a check that proves nothing is found out.
//!   `changed` and `newer_than` cannot hold yet and are `revise`.
//! - No reason holds more than 200 characters of a file's, a command's or a host's words.

mod agent;
mod changes_only;
mod citations;
mod command;
mod content;
mod database;
mod dir;
mod document;
mod file;
mod git;
mod http;
mod human;
mod invariant_check;
mod json;
mod place;
mod poll;
mod port;
mod process;
mod read_after_write;
mod source;
mod sqlite;
mod tally;
mod text;

use std::time::Duration;

use probity_core::{Fault, Verdict};
use probity_egress::Client;
use probity_sandbox::Launcher;
use regex::bytes::{Regex, RegexBuilder};

pub use agent::Agent;
pub use changes_only::ChangesOnly;
pub use citations::Citations;
pub use command::Command;
pub(crate) use command::shell;
pub use database::ReadOnlyDatabase;
pub use dir::Dir;
pub use file::File;
pub use git::{BASELINE_PRESENT, Git, baseline};
pub use http::Http;
pub use human::Human;
pub use invariant_check::InvariantCheck;
pub use json::Json;
pub use port::Port;
pub use process::Process;
pub use read_after_write::ReadAfterWrite;
pub use sqlite::Sqlite;
pub use text::Text;

pub(crate) use document::{read as read_json, same as same_json};
pub(crate) use json::compile as compile_schema;

use crate::external::External;
use crate::spec::{CheckSpec, Effect, SpecError};
use crate::workspace::PathError;
use crate::{CheckContext, Verifier};

/// Bytes of a file that is read whole: for `contains`, `matches` and JSON.
pub const MAX_READ_BYTES: u64 = 64 << 20;
/// Bytes of a file that is hashed.
pub const MAX_HASH_BYTES: u64 = 4 << 30;
/// Compiled size that a pattern may reach, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// What a network check gets before the delegate starts.
const RED_TIMEOUT: Duration = Duration::from_millis(500);
/// Characters of somebody else's words in a reason.
const MAX_EXCERPT: usize = 200;

/// What effects need besides their spec.
#[derive(Debug, Clone)]
pub struct Deps {
    /// How commands are started and killed.
    pub launcher: Launcher,
    /// The guarded HTTP client; its policy also decides which hosts `port` and `git` may reach.
    pub egress: Client,
}

/// Builds the verifier of a check.
///
/// # Errors
/// [`SpecError`] when the check breaks a bound; nothing of the world is looked at.
pub fn build(check: &CheckSpec, deps: &Deps) -> Result<Box<dyn Verifier>, SpecError> {
    check.validate()?;
    Ok(match &check.effect {
        Effect::File(spec) => Box::new(File::new(spec.clone())?),
        Effect::Dir(spec) => Box::new(Dir::new(spec.clone())),
        Effect::Text(spec) => Box::new(Text::new(spec.clone())?),
        Effect::Json(spec) => Box::new(Json::new(spec.clone())?),
        Effect::Command(spec) => Box::new(Command::new(spec.clone(), deps.launcher.clone())?),
        Effect::Http(spec) => Box::new(Http::new(spec.clone(), deps.egress.clone())?),
        Effect::Git(spec) => {
            Box::new(Git::new(spec.clone(), deps.launcher.clone(), deps.egress.policy().clone()))
        }
        Effect::Sqlite(spec) => Box::new(Sqlite::new(spec.clone())),
        Effect::Port(spec) => Box::new(Port::new(spec.clone(), deps.egress.policy().clone())?),
        Effect::Process(spec) => Box::new(Process::new(spec.clone())),
        Effect::ChangesOnly(spec) => Box::new(ChangesOnly::new(spec)?),
        Effect::External(spec) => Box::new(External::new(spec.clone(), deps.launcher.clone())),
        Effect::ReadAfterWrite(spec) => Box::new(ReadAfterWrite::new(spec.clone(), deps)),
        Effect::InvariantCheck(spec) => Box::new(InvariantCheck::new(spec.clone(), deps)?),
        Effect::Citations(spec) => Box::new(Citations::new(spec.clone())),
        Effect::Agent(spec) => Box::new(Agent::new(spec.clone())),
        Effect::Human(spec) => Box::new(Human::new(spec.clone())),
    })
}

/// Compiles a pattern of a check. Matching takes linear time, whatever the pattern.
pub(crate) fn pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(MAX_PATTERN_BYTES).build()
}

/// What a question about a path without an answer means for the verdict.
///
/// # Errors
/// A fault when the question itself is wrong.
fn unanswered(error: &PathError) -> Result<Verdict, Fault> {
    let text = error.to_string();
    match error {
        PathError::Escapes { .. }
        | PathError::Loop { .. }
        | PathError::NotAFile { .. }
        | PathError::NotADirectory { .. } => Ok(Verdict::revise(error.code(), text)),
        PathError::Denied { .. }
        | PathError::TooLarge { .. }
        | PathError::TooMany { .. }
        | PathError::TooDeep { .. }
        | PathError::Moved { .. }
        | PathError::Io { .. } => Ok(Verdict::inconclusive(error.code(), text)),
        PathError::NoWorkspace
        | PathError::Empty
        | PathError::Nul { .. }
        | PathError::Outside { .. }
        | PathError::HasParent { .. }
        | PathError::Pattern { .. } => Err(Fault::new(error.code(), text)),
    }
}

/// Runs work that blocks, within the check's time, and judges by it.
///
/// # Errors
/// The work's own fault, or `check_panicked`.
async fn blocking<F>(ctx: &CheckContext, work: F) -> Result<Verdict, Fault>
where
    F: FnOnce(&CheckContext) -> Result<Verdict, Fault> + Send + 'static,
{
    match aside(ctx, work).await? {
        Some(verdict) => verdict,
        None if ctx.cancel.is_cancelled() => Ok(cancelled()),
        None => Ok(Verdict::inconclusive("read_timeout", late("the workspace", ctx.timeout))),
    }
}

/// Runs work that blocks. `None` when it did not end within the check's time, or the check was
/// cancelled: it goes on in its thread then, unobserved; everything it does is a bounded read.
///
/// # Errors
/// `check_panicked`.
async fn aside<T, F>(ctx: &CheckContext, work: F) -> Result<Option<T>, Fault>
where
    T: Send + 'static,
    F: FnOnce(&CheckContext) -> T + Send + 'static,
{
    let (inner, limit) = (ctx.clone(), ctx.timeout);
    let task = tokio::task::spawn_blocking(move || work(&inner));
    tokio::select! {
        biased;
        () = ctx.cancel.cancelled() => Ok(None),
        done = tokio::time::timeout(limit, task) => match done {
            Ok(Ok(found)) => Ok(Some(found)),
            Ok(Err(_)) => Err(Fault::new("check_panicked", "the check broke off; this is a defect of probity")),
            Err(_) => Ok(None),
        },
    }
}

fn cancelled() -> Verdict {
    Verdict::inconclusive("cancelled", "the check was cancelled")
}

fn late(what: &str, limit: Duration) -> String {
    format!("{what} did not answer within {} ms", limit.as_millis())
}

/// The end of somebody else's words on one line, at most [`MAX_EXCERPT`] characters.
fn last_words(text: &str) -> String {
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let skip = line.chars().count().saturating_sub(MAX_EXCERPT);
    line.chars().skip(skip).collect()
}

/// The beginning of somebody else's words on one line, at most `max` characters.
fn first_words(text: &str, max: usize) -> String {
    let mut line: String =
        text.trim().chars().take(max).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.trim().chars().count() > max {
        line.push_str("...");
    }
    line
}

#[cfg(test)]
mod tests {
    use probity_core::VerdictKind::{Inconclusive, Revise};

    use super::*;
    use crate::Kind;

    #[test]
    fn every_question_without_an_answer_is_a_verdict_or_a_fault() {
        let path = || "a".to_owned();
        let table = [
            (PathError::Empty, None),
            (PathError::Nul { path: path() }, None),
            (PathError::Outside { path: path(), root: path() }, None),
            (PathError::HasParent { path: path() }, None),
            (PathError::Pattern { pattern: path(), why: path() }, None),
            (PathError::Escapes { path: path() }, Some(Revise)),
            (PathError::Loop { path: path() }, Some(Revise)),
            (PathError::NotAFile { path: path(), kind: Kind::Dir }, Some(Revise)),
            (PathError::NotADirectory { path: path(), kind: Kind::File }, Some(Revise)),
            (PathError::Denied { path: path() }, Some(Inconclusive)),
            (PathError::TooLarge { path: path(), max_bytes: 1 }, Some(Inconclusive)),
            (PathError::TooMany { path: path(), max: 1 }, Some(Inconclusive)),
            (PathError::TooDeep { path: path(), max: 1 }, Some(Inconclusive)),
            (PathError::Moved { root: path() }, Some(Inconclusive)),
            (
                PathError::Io { path: path(), source: std::io::ErrorKind::Other.into() },
                Some(Inconclusive),
            ),
        ];
        for (error, expected) in table {
            let judged = unanswered(&error);
            let code = judged.as_ref().map_or_else(|fault| &fault.code, |verdict| &verdict.code);
            assert_eq!(code.as_str(), error.code());
            assert_eq!(judged.ok().map(|verdict| verdict.kind), expected, "{error}");
        }
    }

    #[test]
    fn words_of_others_are_cut_and_stay_on_one_line() {
        assert_eq!(last_words("  a\nb\u{1b}[0m \n"), "a b [0m");
        assert_eq!(last_words(&"ä".repeat(300)).chars().count(), MAX_EXCERPT);
        assert_eq!(first_words("abc", 3), "abc");
        assert_eq!(first_words("abcd", 3), "abc...");
    }
}
