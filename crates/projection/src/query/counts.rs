//! How runs ended, counted, and the words that there are.

use std::collections::BTreeMap;

use probity_core::Outcome;
use rusqlite::{Connection, params_from_iter};

use super::wanted::Condition;
use super::{WAIVED, Wanted, unsigned};

/// Words of one sort at most.
pub const MAX_WORDS: usize = 100;

/// How runs ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs.
    pub total: u64,
    /// By outcome; `open` for those of which nobody has decided.
    pub outcomes: BTreeMap<String, u64>,
    /// Runs that a named human answers for.
    pub waived: u64,
    /// Runs whose logs cannot be read. They are no outcome.
    pub damaged: u64,
    /// Model tokens.
    pub tokens: u64,
}

/// The words that runs can be picked by, most frequent first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// Kinds of delegates.
    pub delegates: Vec<String>,
    /// Stages.
    pub stages: Vec<String>,
    /// Codes that runs ended with.
    pub codes: Vec<String>,
}

pub(crate) fn counts(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Counts> {
    let Condition { sql, values } = wanted.condition();
    // One look at each row, without sorting any.
    let each = Outcome::ALL.map(|outcome| format!("sum(outcome = '{outcome}')")).join(", ");
    let mut select = connection.prepare_cached(&format!(
        "SELECT count(*), coalesce(sum({WAIVED}), 0), sum(kind = 'damaged'), coalesce(sum(tokens), 0),
                {each}
         FROM run WHERE {sql}"
    ))?;
    select.query_row(params_from_iter(&values), |row| {
        let number = |at: usize| row.get::<_, Option<i64>>(at).map(|it| unsigned(it.unwrap_or(0)));
        let (total, damaged) = (number(0)?, number(2)?);
        let mut outcomes = BTreeMap::new();
        for (at, outcome) in Outcome::ALL.iter().enumerate() {
            outcomes.insert(outcome.as_str().to_owned(), number(4 + at)?);
        }
        let decided: u64 = outcomes.values().sum();
        outcomes.insert("open".to_owned(), total.saturating_sub(decided).saturating_sub(damaged));
        outcomes.retain(|_, runs| *runs > 0);
        Ok(Counts { total, outcomes, waived: number(1)?, damaged, tokens: number(3)? })
    })
}

pub(crate) fn words(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Words> {
    Ok(Words {
        delegates: column(connection, wanted, "run.delegate")?,
        stages: column(connection, wanted, "run.stage")?,
        codes: column(connection, wanted, "run.code")?,
    })
}

/// Different tasks, newest first, with a request that holds each.
pub(crate) fn tasks(
    connection: &Connection,
    wanted: &Wanted,
    max: usize,
) -> rusqlite::Result<Vec<(String, String)>> {
    let Condition { sql, values } = wanted.condition();
    let mut select = connection.prepare_cached(&format!(
        "SELECT task, request, max(opened_at_ms) FROM run
         WHERE {sql} AND task IS NOT NULL AND request IS NOT NULL
         GROUP BY task ORDER BY 3 DESC LIMIT {max}"
    ))?;
    select.query_map(params_from_iter(&values), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn column(
    connection: &Connection,
    wanted: &Wanted,
    column: &'static str,
) -> rusqlite::Result<Vec<String>> {
    let Condition { sql, values } = wanted.condition();
    let mut select = connection.prepare_cached(&format!(
        "SELECT {column} FROM run WHERE {sql} AND {column} IS NOT NULL
         GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {MAX_WORDS}"
    ))?;
    select.query_map(params_from_iter(&values), |row| row.get(0))?.collect()
}
