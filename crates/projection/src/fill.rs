//! Filling an index from the logs of a store.

use std::collections::BTreeSet;

use probity_core::RunId;
use probity_store::{LogState, RunSummary, Store, limits};
use rusqlite::OptionalExtension as _;

use crate::query::unsigned;
use crate::row::Rows;
use crate::{Index, IndexError};

/// Rows of runs that are written in one transaction.
const RUNS_PER_WRITE: usize = 128;

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
        let was_complete = self.complete().map_err(|error| self.failed(error))?;
        let mut updated = Updated::default();
        let open = self.open_runs().map_err(|error| self.failed(error))?;
        self.set_complete(false).map_err(|error| self.failed(error))?;
        self.new_runs(store, was_complete, &mut updated).await?;
        self.set_complete(true).map_err(|error| self.failed(error))?;
        self.look_again(store, open, &mut updated).await?;
        updated.open = self.count_open().map_err(|error| self.failed(error))?;
        Ok(updated)
    }

    /// Runs that the index does not have, from the newest on; to the first that it has, if it has all
    /// that are older.
    async fn new_runs(
        &mut self,
        store: &dyn Store,
        was_complete: bool,
        updated: &mut Updated,
    ) -> Result<(), IndexError> {
        let mut after = None;
        loop {
            let page = store.list(after, limits::MAX_PAGE_RUNS).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.cursor);
            let mut is_known = false;
            let mut rows = Vec::new();
            for RunSummary { run, state, .. } in page {
                if self.known(&run).map_err(|error| self.failed(error))?.is_some() {
                    is_known = true;
                    if was_complete {
                        break;
                    }
                    continue;
                }
                rows.push(Rows::read(store, run, state).await?);
                updated.new = updated.new.saturating_add(1);
                if rows.len() >= RUNS_PER_WRITE {
                    self.write(&mut rows, updated)?;
                }
            }
            self.write(&mut rows, updated)?;
            if is_known && was_complete {
                return Ok(());
            }
        }
    }

    /// Runs that had not ended.
    async fn look_again(
        &mut self,
        store: &dyn Store,
        open: BTreeSet<RunId>,
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

    fn open_runs(&self) -> rusqlite::Result<BTreeSet<RunId>> {
        let mut select = self.connection.prepare_cached("SELECT id FROM run WHERE sealed = 0")?;
        let names = select.query_map([], |row| row.get::<_, String>(0))?;
        let mut runs = BTreeSet::new();
        for name in names {
            runs.extend(name?.parse::<RunId>().ok());
        }
        Ok(runs)
    }

    fn count_open(&self) -> rusqlite::Result<u64> {
        let count = "SELECT count(*) FROM run WHERE sealed = 0";
        self.connection.query_row(count, [], |row| row.get(0)).map(unsigned)
    }

    fn complete(&self) -> rusqlite::Result<bool> {
        self.connection.query_row("SELECT complete FROM about", [], |row| row.get(0))
    }

    fn set_complete(&self, complete: bool) -> rusqlite::Result<()> {
        self.connection.execute("UPDATE about SET complete = ?1", [complete]).map(drop)
    }
}
