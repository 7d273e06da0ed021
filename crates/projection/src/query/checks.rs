//! How good checks are: what they say, how often, how fast.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params_from_iter};
use serde::Serialize;

use super::wanted::Condition;
use super::{Wanted, unsigned};

/// Kinds of checks that one answer tells of.
pub const MAX_KINDS: usize = 100;
/// Findings that one answer is computed from: those of the newest runs.
const MAX_FINDINGS: usize = 500_000;

/// How good checks are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks {
    /// By kind, most findings first.
    pub checks: Vec<CheckQuality>,
    /// Older findings were left out: there are more than are looked at.
    pub is_cut: bool,
}

/// How good the checks of one kind are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckQuality {
    /// The kind: the name of the check without the number behind it.
    pub check: String,
    /// What it looks at: `world`, `claim`, `hook` or `human`.
    pub subject: String,
    /// Runs in which it said something on a claim.
    pub runs: u64,
    /// Of these, the ones in which it passed at last.
    pub passed_at_last: u64,
    /// Of those, the ones in which it had said something other than pass before, be it before the delegate
    /// began: a pass that is known to be no constant.
    pub discriminating: u64,
    /// What it said on claims, by word: `pass`, `revise`, `fail`, `inconclusive`, `fault`,
    /// `not_applicable`.
    pub results: BTreeMap<String, u64>,
    /// What the look before the delegate began told about it: `discriminating`, `non_discriminating`,
    /// `not_assessed`, `exempt`.
    pub red_first: BTreeMap<String, u64>,
    /// Findings that a time was recorded for.
    pub timed: u64,
    /// Half of them took at most this.
    pub p50_ms: Option<u64>,
    /// 99 of 100 took at most this.
    pub p99_ms: Option<u64>,
    /// The slowest.
    pub max_ms: Option<u64>,
}

/// What is gathered of one kind.
#[derive(Default)]
struct Gathered {
    quality: CheckQuality,
    /// Times with how many findings took so long.
    times: BTreeMap<u64, u64>,
}

/// What one check said in one run so far.
#[derive(Default)]
struct InRun {
    said_otherwise: bool,
    last: Option<String>,
}

pub(crate) fn checks(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Checks> {
    let Condition { sql, values } = wanted.condition();
    let mut select = connection.prepare_cached(&format!(
        "SELECT finding.run, finding.name, finding.kind, subject, red, result, discrimination, elapsed_ms
         FROM run JOIN finding ON finding.run = run.id
         WHERE {sql} ORDER BY run.mark DESC, run.opened_at_ms DESC, run.id DESC, finding.seq LIMIT {}",
        MAX_FINDINGS + 1
    ))?;
    let mut rows = select.query(params_from_iter(&values))?;
    let mut kinds: BTreeMap<(String, String), Gathered> = BTreeMap::new();
    let mut in_run: BTreeMap<(String, String, String), InRun> = BTreeMap::new();
    let (mut of, mut seen) = (String::new(), 0_usize);
    while let Some(row) = rows.next()? {
        seen += 1;
        let run: String = row.get(0)?;
        if run != of {
            settle(&mut kinds, &mut in_run);
            of = run;
        }
        let (name, kind, subject): (String, String, String) =
            (row.get(1)?, row.get(2)?, row.get(3)?);
        let (is_red, result): (bool, String) = (row.get(4)?, row.get(5)?);
        let gathered = kinds.entry((kind.clone(), subject.clone())).or_default();
        let said = in_run.entry((kind, subject, name)).or_default();
        said.said_otherwise |= !matches!(result.as_str(), "pass" | "not_applicable");
        if is_red {
            let told: Option<String> = row.get(6)?;
            *gathered.quality.red_first.entry(told.unwrap_or_default()).or_default() += 1;
            continue;
        }
        if let Some(elapsed_ms) = row.get::<_, Option<i64>>(7)? {
            *gathered.times.entry(unsigned(elapsed_ms)).or_default() += 1;
        }
        *gathered.quality.results.entry(result.clone()).or_default() += 1;
        said.last = Some(result);
    }
    settle(&mut kinds, &mut in_run);
    let mut checks: Vec<CheckQuality> =
        kinds.into_iter().map(|((kind, subject), it)| it.told(kind, subject)).collect();
    checks.sort_by_key(|of| std::cmp::Reverse(of.results.values().sum::<u64>()));
    checks.truncate(MAX_KINDS);
    Ok(Checks { checks, is_cut: seen > MAX_FINDINGS })
}

/// A run is over: each kind counts once in it, by what its checks said.
fn settle(
    kinds: &mut BTreeMap<(String, String), Gathered>,
    in_run: &mut BTreeMap<(String, String, String), InRun>,
) {
    let (mut ran, mut failed, mut told) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for ((kind, subject, _), said) in std::mem::take(in_run) {
        let key = (kind, subject);
        let Some(last) = said.last else { continue };
        if last != "pass" {
            failed.insert(key.clone());
        }
        if said.said_otherwise {
            told.insert(key.clone());
        }
        ran.insert(key);
    }
    for key in ran {
        let Some(gathered) = kinds.get_mut(&key) else { continue };
        gathered.quality.runs += 1;
        if !failed.contains(&key) {
            gathered.quality.passed_at_last += 1;
            gathered.quality.discriminating += u64::from(told.contains(&key));
        }
    }
}

impl Gathered {
    fn told(self, check: String, subject: String) -> CheckQuality {
        let Self { quality, times } = self;
        let timed = times.values().sum();
        CheckQuality {
            check,
            subject,
            timed,
            p50_ms: percentile(&times, timed, 50),
            p99_ms: percentile(&times, timed, 99),
            max_ms: times.keys().next_back().copied(),
            ..quality
        }
    }
}

/// The smallest time that so many of a hundred did not exceed.
fn percentile(times: &BTreeMap<u64, u64>, timed: u64, percent: u64) -> Option<u64> {
    let rank = timed.saturating_mul(percent).div_ceil(100).max(1);
    let mut seen = 0;
    times.iter().find_map(|(time, count)| {
        seen += count;
        (seen >= rank).then_some(*time)
    })
}
