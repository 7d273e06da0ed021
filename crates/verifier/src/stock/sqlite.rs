//! `sqlite:PATH`: a value in a SQLite database, read without writing.
//!
//! | Situation | Result |
//! |---|---|
//! | nothing at the path; not a regular file; a new link | revise `sqlite_missing`, `sqlite_kind`, `sqlite_link` |
//! | the link leads out of the workspace; links in a circle | revise `path_escapes`, `path_loop` |
//! | the file is no database, or a damaged one | revise `sqlite_not_a_database` |
//! | the query names a table or column that does not exist | revise `sqlite_no_such` |
//! | the query gives no row | revise `sqlite_no_row` |
//! | the first column of the first row is not what `equals` or `at_least` asks for | revise `sqlite_value` |
//! | locked by a writer; left by a crash in a state that only a writer can mend; no permission | inconclusive `sqlite_locked`, `sqlite_unreadable`, `path_denied` |
//! | no answer in time; the query is interrupted | inconclusive `sqlite_timeout` |
//! | path outside the workspace | fault `path_outside` |
//! | the query is not SQL, or more than one statement | fault `sqlite_query` |
//! | the query would write | fault `sqlite_writes` |
//!
//! Numbers compare by value. A text equals a number if it spells it the way JSON does, because the
//! types of SQLite columns are loose; `true` and `false` equal 1 and 0. The database is not trusted:
//! its views and triggers may not call functions with side effects, no other database is attached,
//! and a value of more than 16 MiB is an error. A write-ahead log that a crashed writer left is read
//! too; for that SQLite puts its index (`-shm`) beside it.

use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Verdict};
use rusqlite::ErrorCode;

use super::database::{AskError, ask};
use super::file::link_reason;
use super::place::locate;
use super::tally::Tally;
use super::{blocking, first_words, last_words, late, unanswered};
use crate::hash::digest_of;
use crate::spec::SqliteSpec;
use crate::workspace::{Kind, path_of};
use crate::{CheckContext, Verifier};

/// The effect `sqlite`.
#[derive(Debug, Clone)]
pub struct Sqlite {
    spec: SqliteSpec,
}

impl Sqlite {
    /// The effect of a spec.
    #[must_use]
    pub const fn new(spec: SqliteSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Verifier for Sqlite {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let spec = self.spec.clone();
        // The query interrupts itself at the limit; the wait gets a little more, to hear of it.
        let mut roomy = ctx.clone();
        roomy.timeout = ctx.timeout.saturating_add(Duration::from_millis(500));
        let limit = ctx.timeout;
        blocking(&roomy, move |ctx| judge(&spec, ctx, limit)).await
    }
}

fn judge(spec: &SqliteSpec, ctx: &CheckContext, limit: Duration) -> Result<Verdict, Fault> {
    let path = &spec.path;
    let source = format!("sqlite:{path}");
    let mut tally = Tally::default();
    let place = match locate(ctx, path) {
        Ok(place) => place,
        Err(error) => return unanswered(&error),
    };
    let kind = place.stat.map(|stat| stat.kind);
    match (kind, &place.new_link) {
        (None, _) => {
            tally.saw(Evidence::new(&source, "absent"));
            tally.miss("sqlite_missing", format!("database `{path}` does not exist"));
        }
        (Some(kind), _) if kind != Kind::File => {
            tally.saw(Evidence::new(&source, kind.to_string()));
            tally.miss("sqlite_kind", format!("`{path}` is a {kind}, not a database file"));
        }
        (Some(_), Some(link)) => {
            tally.saw(Evidence::new(&source, format!("link to {}", place.key)));
            tally.miss("sqlite_link", link_reason(path, link, &place.key));
        }
        (Some(_), None) => {}
    }
    if !tally.is_clean() {
        return Ok(tally.verdict());
    }
    let at = ctx.workspace.root().join(path_of(&place.key).unwrap_or_else(|| path.into()));
    let row = match ask(&at, spec.query.as_deref().unwrap_or_default(), None, limit) {
        Ok(row) => row,
        Err(error) => {
            let verdict = failed(&error, path, limit)?;
            let observed = verdict.code.to_string();
            return Ok(verdict.with_evidence(Evidence::new(source, observed)));
        }
    };
    let Some(answer) = row.as_ref().map(|row| row.first()) else {
        tally.saw(Evidence::new(source, "no row"));
        tally.miss("sqlite_no_row", format!("the query on `{path}` gives no row"));
        return Ok(tally.verdict());
    };
    let shown = answer.shown();
    let evidence = Evidence::new(source, answer.kind());
    tally.saw(evidence.with_digest(digest_of(&answer.bytes())));
    if let Some(expected) = &spec.equals {
        tally.key("equals");
        if !answer.equals(expected) {
            let wanted = first_words(&expected.to_string(), 80);
            tally.miss(
                "sqlite_value",
                format!("the query on `{path}` gives {shown}, expected {wanted}"),
            );
        }
    }
    if let Some(least) = &spec.at_least {
        tally.key("at_least");
        if !answer.is_at_least(least) {
            let reason = format!("the query on `{path}` gives {shown}, expected at least {least}");
            tally.miss("sqlite_value", reason);
        }
    }
    Ok(tally.verdict())
}

/// What a question without an answer comes to.
///
/// # Errors
/// A fault when the question itself is wrong.
pub(super) fn failed(error: &AskError, path: &str, limit: Duration) -> Result<Verdict, Fault> {
    let error = match error {
        AskError::Late => {
            return Ok(Verdict::inconclusive("sqlite_timeout", late(&format!("`{path}`"), limit)));
        }
        AskError::Writes => {
            return Err(Fault::new("sqlite_writes", "the query would write; a check only reads"));
        }
        AskError::NoColumn => {
            return Err(Fault::new("sqlite_query", "the query gives no column; write a SELECT"));
        }
        AskError::Unbound => {
            let message = "the query has `?1` for the target of a decision, and there is none; run it under an envelope";
            return Err(Fault::new("no_decision", message));
        }
        AskError::Parameters => {
            let message = "the query has more parameters than `?1`, the target's id";
            return Err(Fault::new("sqlite_query", message));
        }
        AskError::Sqlite(error) => error,
    };
    let words = last_words(&error.to_string());
    let missing = ["no such table", "no such column"].iter().any(|text| words.contains(text));
    match error.sqlite_error_code() {
        _ if missing => {
            Ok(Verdict::revise("sqlite_no_such", format!("the query on `{path}` fails: {words}")))
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Ok(Verdict::revise(
            "sqlite_not_a_database",
            format!("`{path}` is not a sound SQLite database: {words}"),
        )),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Ok(Verdict::inconclusive("sqlite_locked", format!("database `{path}` is locked")))
        }
        Some(ErrorCode::Unknown) | None => Err(Fault::new(
            "sqlite_query",
            format!("the query on `{path}` cannot be run: {words}; write one SELECT"),
        )),
        Some(_) => Ok(Verdict::inconclusive(
            "sqlite_unreadable",
            format!("database `{path}` could not be read: {words}"),
        )),
    }
}
