//! How far the world departed from claims.

use std::collections::BTreeMap;

use rusqlite::{Connection, params_from_iter};
use serde::Serialize;

use super::wanted::Condition;
use super::{Wanted, unsigned};

/// Lines of drift that one answer holds.
const MAX_DRIFTS: usize = 100;
/// Envelopes that one answer holds.
const MAX_ENVELOPES: usize = 100;

/// Drift, and the decisions that it is followed under.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drifts {
    /// Most frequent first.
    pub drifts: Vec<Drifted>,
    /// Runs under an envelope, by envelope.
    pub decisions: Vec<Decisions>,
    /// Verdicts that carry drift.
    pub verdicts: u64,
    /// Verdicts of all.
    pub verdicts_of_all: u64,
}

/// Drift of one sort.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drifted {
    /// The kind of delegate.
    pub delegate: String,
    /// `yellow` or `red`.
    pub drift: String,
    /// What the verdict said.
    pub judgement: String,
    /// Why, in one word.
    pub code: String,
    /// Verdicts.
    pub verdicts: u64,
    /// Runs.
    pub runs: u64,
    /// When first, in milliseconds since the Unix epoch.
    pub first_at_ms: u64,
    /// When last.
    pub last_at_ms: u64,
    /// In which run.
    pub last_run: String,
}

/// Runs under one envelope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decisions {
    /// Digest of the envelope.
    pub envelope_digest: String,
    /// Runs.
    pub runs: u64,
    /// Runs that are sealed: each has an episode.
    pub sealed: u64,
    /// By outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// When the last one was opened, in milliseconds since the Unix epoch.
    pub last_at_ms: u64,
    /// Which that is.
    pub last_run: String,
}

pub(crate) fn drifts(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Drifts> {
    let Condition { sql, values } = wanted.condition();
    let count = format!(
        "SELECT count(*), count(drift) FROM run JOIN verdict ON verdict.run = run.id WHERE {sql}"
    );
    let both = |row: &rusqlite::Row<'_>| Ok((unsigned(row.get(0)?), unsigned(row.get(1)?)));
    let mut select = connection.prepare_cached(&count)?;
    let (verdicts_of_all, verdicts) = select.query_row(params_from_iter(&values), both)?;
    let mut select = connection.prepare_cached(&format!(
        "SELECT coalesce(delegate, 'unknown'), drift, judgement, verdict.code, count(*),
                count(DISTINCT run.id), min(verdict.at_ms)
         FROM run JOIN verdict ON verdict.run = run.id
         WHERE {sql} AND drift IS NOT NULL
         GROUP BY 1, 2, 3, 4 ORDER BY drift = 'red' DESC, 5 DESC, 1, 4 LIMIT {MAX_DRIFTS}"
    ))?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Drifted {
            delegate: row.get(0)?,
            drift: row.get(1)?,
            judgement: row.get(2)?,
            code: row.get(3)?,
            verdicts: unsigned(row.get(4)?),
            runs: unsigned(row.get(5)?),
            first_at_ms: unsigned(row.get(6)?),
            ..Drifted::default()
        })
    };
    let found = select.query_map(params_from_iter(&values), read)?;
    let mut drifts: Vec<Drifted> = found.collect::<Result<_, _>>()?;
    last_runs(connection, wanted, &mut drifts)?;
    let decisions = decisions(connection, wanted)?;
    Ok(Drifts { drifts, decisions, verdicts, verdicts_of_all })
}

/// The last run of each line: one more pass, because SQLite tells bare columns of one `max` alone.
fn last_runs(
    connection: &Connection,
    wanted: &Wanted,
    drifts: &mut [Drifted],
) -> rusqlite::Result<()> {
    let Condition { sql, values } = wanted.condition();
    let mut select = connection.prepare_cached(&format!(
        "SELECT coalesce(delegate, 'unknown'), drift, judgement, verdict.code, max(verdict.at_ms), run.id
         FROM run JOIN verdict ON verdict.run = run.id
         WHERE {sql} AND drift IS NOT NULL GROUP BY 1, 2, 3, 4"
    ))?;
    let mut rows = select.query(params_from_iter(&values))?;
    while let Some(row) = rows.next()? {
        let key: [String; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        let is_it = |it: &&mut Drifted| {
            [&it.delegate, &it.drift, &it.judgement, &it.code].into_iter().eq(&key)
        };
        if let Some(drifted) = drifts.iter_mut().find(is_it) {
            (drifted.last_at_ms, drifted.last_run) = (unsigned(row.get(4)?), row.get(5)?);
        }
    }
    Ok(())
}

fn decisions(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<Decisions>> {
    let Condition { sql, values } = wanted.condition();
    let mut select = connection.prepare_cached(&format!(
        "SELECT envelope, coalesce(outcome, 'open'), count(*), sum(sealed), max(opened_at_ms), id
         FROM run WHERE {sql} AND envelope IS NOT NULL GROUP BY 1, 2"
    ))?;
    let mut rows = select.query(params_from_iter(&values))?;
    let mut by_envelope: BTreeMap<String, Decisions> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let of = by_envelope.entry(row.get(0)?).or_default();
        let (outcome, runs): (String, u64) = (row.get(1)?, unsigned(row.get(2)?));
        of.runs += runs;
        of.sealed += unsigned(row.get(3)?);
        of.outcomes.insert(outcome, runs);
        let last_at_ms = unsigned(row.get(4)?);
        if last_at_ms >= of.last_at_ms {
            (of.last_at_ms, of.last_run) = (last_at_ms, row.get(5)?);
        }
    }
    let named = |(envelope_digest, of)| Decisions { envelope_digest, ..of };
    let mut decisions: Vec<Decisions> = by_envelope.into_iter().map(named).collect();
    decisions.sort_by_key(|of| std::cmp::Reverse(of.runs));
    decisions.truncate(MAX_ENVELOPES);
    Ok(decisions)
}
