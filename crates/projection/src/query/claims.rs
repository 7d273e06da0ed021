//! What delegates claimed, and what came of it.

use std::collections::BTreeMap;

use rusqlite::{Connection, params_from_iter};
use serde::Serialize;

use super::wanted::Condition;
use super::{WAIVED, Wanted, unsigned};

/// Refusals that one answer tells of.
pub const MAX_REFUSALS: usize = 60;
/// Delegates that one answer tells of.
const MAX_DELEGATES: usize = 100;
/// Points of a series at most.
const MAX_POINTS: usize = 2_000;

/// What delegates claimed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// By kind of delegate, most runs first.
    pub delegates: Vec<DelegateClaims>,
    /// Why claims did not pass, by delegate and code, most frequent first.
    pub refusals: Vec<Refusal>,
    /// What checks said of them, by delegate, kind of check and words, most frequent first.
    pub reasons: Vec<Refusal>,
    /// Claims over time, oldest first.
    pub told: Vec<Told>,
}

/// What one kind of delegate claimed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DelegateClaims {
    /// The kind.
    pub delegate: String,
    /// Its runs.
    pub runs: u64,
    /// By outcome; `open` for those of which nobody has decided.
    pub outcomes: BTreeMap<String, u64>,
    /// Runs that a named human answers for.
    pub waived: u64,
    /// Verified runs by the attempts that they took.
    pub attempts_to_verify: BTreeMap<u32, u64>,
    /// Claims that a verdict was given on.
    pub claims: u64,
    /// Of these, the ones that passed.
    pub passed: u64,
    /// Those that were false: `revise` or `fail`.
    pub refused: u64,
    /// Those that nobody could tell of: `inconclusive` or a fault.
    pub unsettled: u64,
    /// Those that no check looked at.
    pub unchecked: u64,
    /// Model tokens.
    pub tokens: u64,
}

/// Why claims did not pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The kind of delegate.
    pub delegate: String,
    /// The kind of check; absent where all checks are meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// What was said: `revise`, `fail`, `inconclusive`, `fault` or `unverified`.
    pub judgement: String,
    /// Why, in one word.
    pub code: String,
    /// Digest of the words, where they are what is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_digest: Option<String>,
    /// How many claims.
    pub claims: u64,
    /// Of how many runs.
    pub runs: u64,
    /// When last, in milliseconds since the Unix epoch.
    pub last_at_ms: u64,
    /// In which run.
    pub last_run: String,
}

/// Claims of one piece of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// Its begin, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Claims that passed.
    pub passed: u64,
    /// Claims that were false.
    pub refused: u64,
    /// Claims that nobody could tell of.
    pub unsettled: u64,
    /// Claims that no check looked at.
    pub unchecked: u64,
}

pub(crate) fn claims(
    connection: &Connection,
    wanted: &Wanted,
    bucket_ms: u64,
) -> rusqlite::Result<Claims> {
    Ok(Claims {
        delegates: delegates(connection, wanted)?,
        refusals: refusals(connection, wanted)?,
        reasons: reasons(connection, wanted)?,
        told: told(connection, wanted, bucket_ms)?,
    })
}

fn delegates(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<DelegateClaims>> {
    let Condition { sql, values } = wanted.condition();
    let mut by_name: BTreeMap<String, DelegateClaims> = BTreeMap::new();
    let mut select = connection.prepare_cached(&format!(
        "SELECT coalesce(delegate, 'unknown'), coalesce(outcome, 'open'), attempts, count(*),
                sum({WAIVED}), sum(tokens)
         FROM run WHERE {sql} GROUP BY 1, 2, 3"
    ))?;
    let mut rows = select.query(params_from_iter(&values))?;
    while let Some(row) = rows.next()? {
        let (name, outcome): (String, String) = (row.get(0)?, row.get(1)?);
        let (attempts, runs): (u32, u64) = (row.get(2)?, unsigned(row.get(3)?));
        let of = by_name.entry(name).or_default();
        of.runs += runs;
        of.waived += unsigned(row.get(4)?);
        of.tokens = of.tokens.saturating_add(unsigned(row.get(5)?));
        if outcome == "verified" {
            *of.attempts_to_verify.entry(attempts).or_default() += runs;
        }
        *of.outcomes.entry(outcome).or_default() += runs;
    }
    let mut select = connection.prepare_cached(&format!(
        "SELECT coalesce(delegate, 'unknown'), judgement, count(*)
         FROM run JOIN verdict ON verdict.run = run.id WHERE {sql} GROUP BY 1, 2"
    ))?;
    let mut rows = select.query(params_from_iter(&values))?;
    while let Some(row) = rows.next()? {
        let (name, judgement): (String, String) = (row.get(0)?, row.get(1)?);
        let claims = unsigned(row.get(2)?);
        let of = by_name.entry(name).or_default();
        of.claims += claims;
        match judgement.as_str() {
            "pass" => of.passed += claims,
            "revise" | "fail" => of.refused += claims,
            "unverified" => of.unchecked += claims,
            _ => of.unsettled += claims,
        }
    }
    let named = |(delegate, of)| DelegateClaims { delegate, ..of };
    let mut delegates: Vec<DelegateClaims> = by_name.into_iter().map(named).collect();
    delegates.sort_by_key(|of| std::cmp::Reverse(of.runs));
    delegates.truncate(MAX_DELEGATES);
    Ok(delegates)
}

fn refusals(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<Refusal>> {
    let Condition { sql, values } = wanted.condition();
    // SQLite takes the bare columns beside one `max` from the row that it is of.
    let mut select = connection.prepare_cached(&format!(
        "SELECT coalesce(delegate, 'unknown'), judgement, verdict.code, count(*),
                count(DISTINCT run.id), max(verdict.at_ms), run.id
         FROM run JOIN verdict ON verdict.run = run.id
         WHERE {sql} AND judgement <> 'pass'
         GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT {MAX_REFUSALS}"
    ))?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Refusal {
            delegate: row.get(0)?,
            judgement: row.get(1)?,
            code: row.get(2)?,
            claims: unsigned(row.get(3)?),
            runs: unsigned(row.get(4)?),
            last_at_ms: unsigned(row.get(5)?),
            last_run: row.get(6)?,
            ..Refusal::default()
        })
    };
    select.query_map(params_from_iter(&values), read)?.collect()
}

fn reasons(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<Refusal>> {
    let Condition { sql, values } = wanted.condition();
    let mut select = connection.prepare_cached(&format!(
        "SELECT coalesce(delegate, 'unknown'), finding.kind, result, finding.code, finding.reason,
                count(*), count(DISTINCT run.id), max(finding.at_ms), run.id
         FROM run JOIN finding ON finding.run = run.id
         WHERE {sql} AND NOT red AND finding.reason IS NOT NULL
           AND result IN ('revise', 'fail', 'inconclusive', 'fault')
         GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC, 1, 2, 3, 4, 5 LIMIT {MAX_REFUSALS}"
    ))?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Refusal {
            delegate: row.get(0)?,
            check: row.get(1)?,
            judgement: row.get(2)?,
            code: row.get(3)?,
            reason_digest: row.get(4)?,
            claims: unsigned(row.get(5)?),
            runs: unsigned(row.get(6)?),
            last_at_ms: unsigned(row.get(7)?),
            last_run: row.get(8)?,
        })
    };
    select.query_map(params_from_iter(&values), read)?.collect()
}

fn told(connection: &Connection, wanted: &Wanted, bucket_ms: u64) -> rusqlite::Result<Vec<Told>> {
    let Condition { sql, values } = wanted.condition();
    let bucket_ms = bucket_ms.max(1);
    let mut select = connection.prepare_cached(&format!(
        "SELECT verdict.at_ms / {bucket_ms} * {bucket_ms}, sum(judgement = 'pass'),
                sum(judgement IN ('revise', 'fail')), sum(judgement IN ('inconclusive', 'fault')),
                sum(judgement = 'unverified')
         FROM run JOIN verdict ON verdict.run = run.id
         WHERE {sql} GROUP BY 1 ORDER BY 1 DESC LIMIT {MAX_POINTS}"
    ))?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Told {
            at_ms: unsigned(row.get(0)?),
            passed: unsigned(row.get(1)?),
            refused: unsigned(row.get(2)?),
            unsettled: unsigned(row.get(3)?),
            unchecked: unsigned(row.get(4)?),
        })
    };
    let told = select.query_map(params_from_iter(&values), read)?;
    let mut told: Vec<Told> = told.collect::<Result<_, _>>()?;
    told.reverse();
    Ok(told)
}
