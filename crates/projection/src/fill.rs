//! Filling an index from the logs of a store.

use probity_core::RunId;
use probity_store::{Cursor, LogState, RunSummary, Store, limits};
use rusqlite::{OptionalExtension as _, params};

use crate::query::unsigned;
use crate::row::Rows;
use crate::{Index, IndexError};

/// Rows of runs that are written in one transaction.
const RUNS_PER_WRITE: usize = 128;
/// Names that are looked at for each run that may be read.
const NAMES_PER_RUN: usize = 64;

/// What filling came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Updated {
    /// Runs whose logs were read.
    pub read: u64,
    /// Of these, runs that the index did not have.
    pub new: u64,
    /// Runs of the index that have not ended.
    pub open: u64,
}

/// What bringing an index nearer to its store came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Runs whose logs were read.
    pub read: u64,
    /// Whether the index has every run of the store, as of the call.
    pub is_complete: bool,
}

/// How far filling has come, between two calls.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// Behind which run older ones are to be looked for.
    back: Option<Cursor>,
    /// Whether everything behind the first run that the index has is there.
    is_rest_known: bool,
    /// The open run that was looked at last.
    looked: String,
}

/// How a walk through the list ended.
enum Walk {
    /// At a run that the index has.
    Known,
    /// At the end of the list.
    End,
    /// There was no more to spend; it goes on behind that run.
    Spent(Option<Cursor>),
}

/// What a walk may still do.
struct Budget {
    runs: usize,
    names: usize,
}

/// A run as the index has it.
struct Known {
    len: u64,
    sealed: bool,
}

impl Index {
    /// Brings the index up to the store: runs that it does not have, and those that had not ended and
    /// went on. Runs that go on meanwhile are as of some moment of the call.
    ///
    /// # Errors
    /// [`IndexError`]; what was written until then is right, and the next call goes on.
    pub async fn update(&mut self, store: &dyn Store) -> Result<Updated, IndexError> {
        let mut updated = Updated::default();
        self.bring(store, usize::MAX, &mut updated).await?;
        updated.open = self.count_open().map_err(|error| self.failed(error))?;
        Ok(updated)
    }

    /// Brings the index nearer to the store: the newest runs first, then older ones, each time from where
    /// the last call ended; and open runs that went on. At most so many logs are read of either.
    ///
    /// # Errors
    /// As [`Index::update`].
    pub async fn refresh(
        &mut self,
        store: &dyn Store,
        max_runs: usize,
    ) -> Result<Refreshed, IndexError> {
        let mut updated = Updated::default();
        self.bring(store, max_runs, &mut updated).await?;
        let is_complete = self.complete().map_err(|error| self.failed(error))?;
        Ok(Refreshed { read: updated.read, is_complete })
    }

    async fn bring(
        &mut self,
        store: &dyn Store,
        max_runs: usize,
        updated: &mut Updated,
    ) -> Result<(), IndexError> {
        let open = self.open_runs(max_runs).map_err(|error| self.failed(error))?;
        let was_complete = self.complete().map_err(|error| self.failed(error))?;
        let names = max_runs.saturating_mul(NAMES_PER_RUN);
        let mut budget = Budget { runs: max_runs, names };
        // What is not put back is forgotten: after a failure nobody knows where rows are missing.
        let (back, is_rest_known) = (self.pass.back.take(), self.pass.is_rest_known);
        self.pass.is_rest_known = false;
        let newest = self.walk(store, None, true, &mut budget, updated).await?;
        let (walk, is_rest_known) = match newest {
            Walk::Known if !was_complete => {
                let walk = self.walk(store, back, is_rest_known, &mut budget, updated).await?;
                (walk, is_rest_known)
            }
            walk => (walk, was_complete),
        };
        if let Walk::Spent(back) = walk {
            (self.pass.back, self.pass.is_rest_known) = (back, is_rest_known);
        } else {
            self.set_complete(true).map_err(|error| self.failed(error))?;
        }
        self.look_again(store, open, updated).await
    }

    /// Reads runs that the index does not have, from behind a place on to older ones.
    async fn walk(
        &mut self,
        store: &dyn Store,
        from: Option<Cursor>,
        ends_at_known: bool,
        budget: &mut Budget,
        updated: &mut Updated,
    ) -> Result<Walk, IndexError> {
        let (mut after, mut rows) = (from, Vec::new());
        let walk = 'walk: loop {
            let page = store.list(after, limits::MAX_PAGE_RUNS).await?;
            if page.is_empty() {
                break Walk::End;
            }
            for RunSummary { run, state, cursor, .. } in page {
                if self.known(&run).map_err(|error| self.failed(error))?.is_some() {
                    if ends_at_known {
                        break 'walk Walk::Known;
                    }
                } else if budget.runs == 0 {
                    break 'walk Walk::Spent(after);
                } else {
                    budget.runs -= 1;
                    rows.push(Rows::read(store, run, state).await?);
                    updated.new = updated.new.saturating_add(1);
                }
                after = Some(cursor);
                if rows.len() >= RUNS_PER_WRITE {
                    // Newer runs have rows from here on, and older ones may have none.
                    self.set_complete(false).map_err(|error| self.failed(error))?;
                    self.write(&mut rows, updated)?;
                }
                if budget.names == 0 {
                    break 'walk Walk::Spent(after);
                }
                budget.names -= 1;
            }
        };
        if matches!(walk, Walk::Spent(_)) {
            self.set_complete(false).map_err(|error| self.failed(error))?;
        }
        self.write(&mut rows, updated)?;
        Ok(walk)
    }

    /// Runs that had not ended.
    async fn look_again(
        &mut self,
        store: &dyn Store,
        open: Vec<RunId>,
        updated: &mut Updated,
    ) -> Result<(), IndexError> {
        let mut rows = Vec::new();
        for run in open {
            let state: LogState = store.state(&run).await?.unwrap_or_default();
            let known = self.known(&run).map_err(|error| self.failed(error))?;
            if known.is_some_and(|known| known.len == state.len && known.sealed == state.sealed) {
                continue;
            }
            rows.push(Rows::read(store, run, state).await?);
            if rows.len() >= RUNS_PER_WRITE {
                self.write(&mut rows, updated)?;
            }
        }
        self.write(&mut rows, updated)
    }

    fn write(&mut self, rows: &mut Vec<Rows>, updated: &mut Updated) -> Result<(), IndexError> {
        if rows.is_empty() {
            return Ok(());
        }
        let path = self.path.clone();
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let mut write = || -> rusqlite::Result<()> {
            let transaction = self.connection.transaction()?;
            rows.iter().try_for_each(|rows| rows.write(&transaction))?;
            transaction.commit()
        };
        write().map_err(|source| IndexError::File { path, source })?;
        rows.clear();
        updated.read = updated.read.saturating_add(count);
        Ok(())
    }

    fn known(&self, run: &RunId) -> rusqlite::Result<Option<Known>> {
        let mut select =
            self.connection.prepare_cached("SELECT len, sealed FROM run WHERE id = ?1")?;
        let read =
            |row: &rusqlite::Row<'_>| Ok(Known { len: unsigned(row.get(0)?), sealed: row.get(1)? });
        select.query_row([run.as_str()], read).optional()
    }

    /// Open runs, at most so many: in turn, so that each is looked at again in the end.
    fn open_runs(&mut self, max: usize) -> rusqlite::Result<Vec<RunId>> {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let mut names: Vec<String> = Vec::new();
        {
            let mut select = self.connection.prepare_cached(
                "SELECT id FROM run WHERE sealed = 0 AND id > ?1 ORDER BY id LIMIT ?2",
            )?;
            let found = select.query_map(params![self.pass.looked, max], |row| row.get(0))?;
            names.extend(found.collect::<Result<Vec<_>, _>>()?);
            let rest = max.saturating_sub(i64::try_from(names.len()).unwrap_or(i64::MAX));
            let mut select = self.connection.prepare_cached(
                "SELECT id FROM run WHERE sealed = 0 AND id <= ?1 ORDER BY id LIMIT ?2",
            )?;
            let found = select.query_map(params![self.pass.looked, rest], |row| row.get(0))?;
            names.extend(found.collect::<Result<Vec<_>, _>>()?);
        }
        self.pass.looked = names.last().cloned().unwrap_or_default();
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    fn count_open(&self) -> rusqlite::Result<u64> {
        let count = "SELECT count(*) FROM run WHERE sealed = 0";
        self.connection.query_row(count, [], |row| row.get(0)).map(unsigned)
    }

    fn complete(&self) -> rusqlite::Result<bool> {
        self.connection.query_row("SELECT complete FROM about", [], |row| row.get(0))
    }

    fn set_complete(&self, complete: bool) -> rusqlite::Result<()> {
        let update = "UPDATE about SET complete = ?1 WHERE complete <> ?1";
        self.connection.execute(update, [complete]).map(drop)
    }
}
