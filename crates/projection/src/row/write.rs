//! Rows into their tables.

use probity_core::{Digest, Outcome, RunId};
use rusqlite::{Transaction, params};

use super::{Rows, Verdict, mark_of};
use crate::query::signed;
use crate::row::finding::Found;

const RUN: &str = "INSERT OR REPLACE INTO run
    (id, kind, mark, parent, pool, delegate, task, request, envelope, stage, outcome, code, waived,
     attempts, max_attempts, interruptions, tokens, epoch, worker, candidate, head, opened_at_ms,
     ended_at_ms, changed_at_ms, len, sealed)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
            ?21, ?22, ?23, ?24, ?25, ?26)";
const VERDICT: &str = "INSERT OR REPLACE INTO verdict
    (run, epoch, turn, judgement, code, counted, drift, flaky, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const FINDING: &str = "INSERT OR REPLACE INTO finding
    (run, seq, name, kind, subject, red, result, code, reason, discrimination, elapsed_ms, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
const WAIVER: &str = "INSERT OR REPLACE INTO waiver (run, log, head, candidate, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5)";

impl Rows {
    /// Puts the rows in the place of those that are there.
    pub(crate) fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        for forget in ["DELETE FROM verdict WHERE run = ?1", "DELETE FROM finding WHERE run = ?1"] {
            transaction.prepare_cached(forget)?.execute([self.run.as_str()])?;
        }
        self.write_run(transaction)?;
        self.verdicts.iter().try_for_each(|verdict| self.write_verdict(transaction, verdict))?;
        self.findings.iter().try_for_each(|found| self.write_finding(transaction, found))?;
        if let Some(waiver) = &self.waiver {
            transaction.prepare_cached(WAIVER)?.execute(params![
                waiver.run.as_str(),
                self.run.as_str(),
                text(waiver.head),
                waiver.candidate.to_string(),
                signed(self.opened_at_ms),
            ])?;
        }
        Ok(())
    }

    fn write_run(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        transaction.prepare_cached(RUN)?.execute(params![
            self.run.as_str(),
            self.kind,
            mark_of(&self.run),
            self.parent.as_ref().map(RunId::as_str),
            self.pool,
            self.delegate,
            text(self.task),
            text(self.request),
            text(self.envelope),
            self.stage,
            self.outcome.map(Outcome::as_str),
            self.code,
            self.waived,
            self.attempts,
            self.max_attempts,
            self.interruptions,
            signed(self.tokens),
            signed(self.epoch),
            self.worker,
            text(self.candidate),
            text(self.head),
            signed(self.opened_at_ms),
            self.ended_at_ms.map(signed),
            signed(self.changed_at_ms),
            signed(self.len),
            self.sealed,
        ])?;
        Ok(())
    }

    fn write_verdict(
        &self,
        transaction: &Transaction<'_>,
        verdict: &Verdict,
    ) -> rusqlite::Result<()> {
        let Verdict { epoch, turn, judgement, code, counted, drift, flaky, at_ms } = verdict;
        let (run, at_ms) = (self.run.as_str(), signed(*at_ms));
        let row = params![run, epoch, turn, judgement, code, counted, drift, flaky, at_ms];
        transaction.prepare_cached(VERDICT)?.execute(row)?;
        Ok(())
    }

    fn write_finding(&self, transaction: &Transaction<'_>, found: &Found) -> rusqlite::Result<()> {
        transaction.prepare_cached(FINDING)?.execute(params![
            self.run.as_str(),
            signed(found.seq),
            found.name,
            found.kind,
            found.subject,
            found.red,
            found.result,
            found.code,
            text(found.reason),
            found.discrimination,
            found.elapsed_ms.map(signed),
            signed(found.at_ms),
        ])?;
        Ok(())
    }
}

fn text(digest: Option<Digest>) -> Option<String> {
    digest.map(|digest| digest.to_string())
}
