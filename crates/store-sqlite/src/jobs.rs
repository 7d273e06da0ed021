//! Jobs in the file: what a transaction does to them.

use std::collections::BTreeSet;
use std::time::Duration;

use probity_core::RunId;
use probity_store::limits::{MAX_DELAY, MAX_LEASES};
use probity_store::{Ask, Cause, Enqueued, Job, Lease, Pool};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::clock::{Moment, millis};
use crate::request::End;

/// Due. `place` orders them.
pub(crate) const READY: i64 = 0;
/// Due at `at_ms`.
pub(crate) const DELAYED: i64 = 1;
/// Leased until `at_ms`.
pub(crate) const LEASED: i64 = 2;
/// Parked since `at_ms`.
pub(crate) const PARKED: i64 = 3;
/// Dead since `at_ms`.
pub(crate) const DEAD: i64 = 4;

/// Times that one transaction lets run out; those beyond are left to the next one.
const MAX_RUN_OUT: i64 = 1000;

/// The jobs, within one transaction at one moment.
pub(crate) struct Jobs<'t> {
    transaction: &'t Transaction<'t>,
    now_ms: i64,
    lease_ttl_ms: i64,
    /// The next ticket: places and leases are numbered by it, so that no number comes twice.
    next: i64,
    next_stored: i64,
}

impl<'t> Jobs<'t> {
    /// Reads the tickets, and makes due what is due by now.
    pub(crate) fn open(
        transaction: &'t Transaction<'t>,
        now: Moment,
        lease_ttl: Duration,
    ) -> rusqlite::Result<Self> {
        let next = transaction
            .prepare_cached("SELECT next FROM ticket")?
            .query_row([], |row| row.get(0))?;
        let (now_ms, lease_ttl_ms) = (now.wall_ms, millis(lease_ttl));
        let mut jobs = Self { transaction, now_ms, lease_ttl_ms, next, next_stored: next };
        jobs.run_out()?;
        Ok(jobs)
    }

    /// Writes the tickets back.
    pub(crate) fn close(self) -> rusqlite::Result<()> {
        if self.next != self.next_stored {
            self.transaction.prepare_cached("UPDATE ticket SET next = ?1")?.execute([self.next])?;
        }
        Ok(())
    }

    pub(crate) fn enqueue(&mut self, job: &Job) -> rusqlite::Result<Enqueued> {
        let mut find = self.transaction.prepare_cached(
            "SELECT state, pool, epoch, deliveries, at_ms FROM job WHERE run = ?1",
        )?;
        let found: Option<(i64, String, i64, i64, i64)> = find
            .query_row([job.run.as_str()], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .optional()?;
        let delay_ms = millis(job.delay.min(MAX_DELAY));
        let floor = job.epoch_floor.cast_signed();
        let pool = job.pool.as_str();
        let Some((state, own_pool, epoch, deliveries, at_ms)) = found else {
            self.wait(job.run.as_str(), pool, floor, 0, delay_ms)?;
            return Ok(Enqueued::Added);
        };
        let epoch = epoch.max(floor);
        match state {
            READY | LEASED => return Ok(Enqueued::Present),
            DEAD => return Ok(Enqueued::Dead),
            DELAYED if at_ms <= self.now_ms.saturating_add(delay_ms) => {
                return Ok(Enqueued::Present);
            }
            DELAYED => self.wait(job.run.as_str(), &own_pool, epoch, deliveries, delay_ms)?,
            PARKED => self.wait(job.run.as_str(), pool, epoch, 0, delay_ms)?,
            state => return Err(illegal_state(state)),
        }
        Ok(Enqueued::Added)
    }

    /// What is due in the pools, in the order of places, leased.
    pub(crate) fn lease(&mut self, ask: &Ask) -> rusqlite::Result<Vec<Lease>> {
        let max = ask.max.min(MAX_LEASES);
        let mut due: Vec<(i64, Lease)> = Vec::new();
        for pool in ask.pools.iter().collect::<BTreeSet<_>>() {
            let mut query = self.transaction.prepare_cached(
                "SELECT place, run, epoch, deliveries FROM job
                 WHERE state = 0 AND pool IN (?1) ORDER BY place LIMIT ?2 | 0",
            )?;
            let limit = i64::try_from(max).unwrap_or(i64::MAX);
            let rows = query.query_map(params![pool.as_str(), limit], |row| {
                let (epoch, deliveries): (i64, i64) = (row.get(2)?, row.get(3)?);
                let lease = Lease {
                    run: run(row, 1)?,
                    pool: pool.clone(),
                    epoch: epoch.cast_unsigned().saturating_add(1),
                    deliveries: u32::try_from(deliveries).unwrap_or(u32::MAX).saturating_add(1),
                    handle: String::new(),
                };
                Ok((row.get(0)?, lease))
            })?;
            for row in rows {
                due.push(row?);
            }
        }
        due.sort_by_key(|(place, _)| *place);
        due.truncate(max);
        let mut leases = Vec::with_capacity(due.len());
        for (_, mut lease) in due {
            let ticket = self.ticket();
            lease.handle = ticket.to_string();
            let mut update = self.transaction.prepare_cached(
                "UPDATE job SET state = 2, lease = ?2, epoch = ?3, deliveries = ?4, at_ms = ?5,
                 span_ms = ?6 WHERE run = ?1",
            )?;
            update.execute(params![
                lease.run.as_str(),
                ticket,
                lease.epoch.cast_signed(),
                lease.deliveries,
                self.now_ms.saturating_add(self.lease_ttl_ms),
                self.lease_ttl_ms,
            ])?;
            leases.push(lease);
        }
        Ok(leases)
    }

    /// False if the lease is lost.
    pub(crate) fn heartbeat(&mut self, lease: &Lease, ticket: i64) -> rusqlite::Result<bool> {
        let mut update = self.transaction.prepare_cached(
            "UPDATE job SET at_ms = ?3, span_ms = ?4 WHERE run = ?1 AND state = 2 AND lease = ?2",
        )?;
        let until_ms = self.now_ms.saturating_add(self.lease_ttl_ms);
        let run = lease.run.as_str();
        Ok(update.execute(params![run, ticket, until_ms, self.lease_ttl_ms])? == 1)
    }

    /// False if the lease is lost.
    pub(crate) fn end(&mut self, lease: &Lease, ticket: i64, end: &End) -> rusqlite::Result<bool> {
        let run = lease.run.as_str();
        let changed = match end {
            End::Settle => self
                .transaction
                .prepare_cached("DELETE FROM job WHERE run = ?1 AND state = 2 AND lease = ?2")?
                .execute(params![run, ticket])?,
            End::Release(delay) => {
                let (state, place, at_ms, span_ms) = self.turn(millis((*delay).min(MAX_DELAY)));
                let mut update = self.transaction.prepare_cached(
                    "UPDATE job SET state = ?3, place = ?4, at_ms = ?5, span_ms = ?6
                     WHERE run = ?1 AND state = 2 AND lease = ?2",
                )?;
                update.execute(params![run, ticket, state, place, at_ms, span_ms])?
            }
            End::Park => self.put_away(run, ticket, PARKED, None)?,
            End::Bury(cause) => self.put_away(run, ticket, DEAD, Some(cause))?,
        };
        Ok(changed == 1)
    }

    /// Undoes a lease that reached nobody: the job keeps its place, and was not delivered.
    pub(crate) fn give_back(&mut self, lease: &Lease, ticket: i64) -> rusqlite::Result<()> {
        let mut update = self.transaction.prepare_cached(
            "UPDATE job SET state = 0, deliveries = deliveries - 1
             WHERE run = ?1 AND state = 2 AND lease = ?2",
        )?;
        update.execute(params![lease.run.as_str(), ticket])?;
        Ok(())
    }

    /// False if there is no such dead letter.
    pub(crate) fn revive(&mut self, run: &RunId) -> rusqlite::Result<bool> {
        let place = self.ticket();
        let mut update = self.transaction.prepare_cached(
            "UPDATE job SET state = 0, place = ?2, deliveries = 0, code = NULL, message = NULL
             WHERE run = ?1 AND state = 4",
        )?;
        Ok(update.execute(params![run.as_str(), place])? == 1)
    }

    /// False if there is no such dead letter.
    pub(crate) fn discard(&mut self, run: &RunId) -> rusqlite::Result<bool> {
        let mut delete =
            self.transaction.prepare_cached("DELETE FROM job WHERE run = ?1 AND state = 4")?;
        Ok(delete.execute([run.as_str()])? == 1)
    }

    /// Begins every time anew that is further away than it was meant to last: the clock was set back.
    pub(crate) fn begin_anew(&mut self) -> rusqlite::Result<()> {
        let mut update = self.transaction.prepare_cached(
            "UPDATE job SET at_ms = ?1 + span_ms
             WHERE state IN (1, 2) AND at_ms > ?1 + span_ms",
        )?;
        update.execute([self.now_ms])?;
        Ok(())
    }

    /// What is due by now gets its place behind what was due before.
    fn run_out(&mut self) -> rusqlite::Result<()> {
        let mut query = self.transaction.prepare_cached(
            "SELECT run FROM job WHERE state IN (1, 2) AND at_ms <= ?1 ORDER BY at_ms LIMIT ?2 | 0",
        )?;
        let runs = query.query_map([self.now_ms, MAX_RUN_OUT], |row| row.get::<_, String>(0))?;
        let runs: Vec<String> = runs.collect::<rusqlite::Result<_>>()?;
        for run in runs {
            let place = self.ticket();
            let mut update = self
                .transaction
                .prepare_cached("UPDATE job SET state = 0, place = ?2 WHERE run = ?1")?;
            update.execute(params![run, place])?;
        }
        Ok(())
    }

    fn ticket(&mut self) -> i64 {
        let ticket = self.next;
        self.next = self.next.saturating_add(1);
        ticket
    }

    /// State, place, time and its length of a job that is due after the delay.
    fn turn(&mut self, delay_ms: i64) -> (i64, i64, i64, i64) {
        if delay_ms == 0 {
            return (READY, self.ticket(), self.now_ms, 0);
        }
        (DELAYED, 0, self.now_ms.saturating_add(delay_ms), delay_ms)
    }

    fn wait(
        &mut self,
        run: &str,
        pool: &str,
        epoch: i64,
        deliveries: i64,
        delay_ms: i64,
    ) -> rusqlite::Result<()> {
        let (state, place, at_ms, span_ms) = self.turn(delay_ms);
        let mut insert = self.transaction.prepare_cached(
            "INSERT INTO job (run, pool, state, place, lease, epoch, deliveries, at_ms, span_ms)
             VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8)
             ON CONFLICT (run) DO UPDATE SET pool = ?2, state = ?3, place = ?4, epoch = ?5,
             deliveries = ?6, at_ms = ?7, span_ms = ?8",
        )?;
        insert.execute(params![run, pool, state, place, epoch, deliveries, at_ms, span_ms])?;
        Ok(())
    }

    fn put_away(
        &mut self,
        run: &str,
        ticket: i64,
        state: i64,
        cause: Option<&Cause>,
    ) -> rusqlite::Result<usize> {
        let code = cause.map(|cause| cause.code.as_str());
        let message = cause.map(|cause| cause.message.as_str());
        let mut update = self.transaction.prepare_cached(
            "UPDATE job SET state = ?3, at_ms = ?4, span_ms = 0, code = ?5, message = ?6
             WHERE run = ?1 AND state = 2 AND lease = ?2",
        )?;
        update.execute(params![run, ticket, state, self.now_ms, code, message])
    }
}

/// What a look without a transaction tells of the queue.
pub(crate) struct Glance {
    /// Whether there is something to do now: a job to lease, or a time that has run out.
    pub(crate) is_due: bool,
    /// When the next time runs out.
    pub(crate) next_ms: Option<i64>,
}

pub(crate) fn glance<'p>(
    connection: &Connection,
    pools: impl Iterator<Item = &'p Pool>,
    now_ms: i64,
) -> rusqlite::Result<Glance> {
    let next_ms: Option<i64> = connection
        .prepare_cached("SELECT at_ms FROM job WHERE state IN (1, 2) ORDER BY at_ms LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let mut is_due = next_ms.is_some_and(|next_ms| next_ms <= now_ms);
    for pool in pools.collect::<BTreeSet<_>>() {
        if is_due {
            break;
        }
        let mut find =
            connection.prepare_cached("SELECT 1 FROM job WHERE state = 0 AND pool = ?1 LIMIT 1")?;
        is_due = find.exists([pool.as_str()])?;
    }
    Ok(Glance { is_due, next_ms })
}

/// A run in a column; one that is not legal is a damaged file.
pub(crate) fn run(row: &Row<'_>, column: usize) -> rusqlite::Result<RunId> {
    let text: String = row.get(column)?;
    RunId::try_from(text).map_err(|error| illegal(column, error))
}

/// What stands in a column is not legal: the file is damaged.
pub(crate) fn illegal(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    let text = rusqlite::types::Type::Text;
    rusqlite::Error::FromSqlConversionFailure(column, text, Box::new(error))
}

pub(crate) fn illegal_state(state: i64) -> rusqlite::Error {
    rusqlite::Error::IntegralValueOutOfRange(0, state)
}
