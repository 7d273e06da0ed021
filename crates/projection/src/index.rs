//! An index file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::fill::Pass;
use crate::schema::{self, Kind};
use crate::{
    Checks, Claims, Counts, Drifts, Filter, IndexError, IndexedRun, Page, Place, Wanted, Words,
    query,
};

/// One SQLite file of rows about the runs of one store.
#[derive(Debug)]
pub struct Index {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) pass: Pass,
}

impl Index {
    /// Opens the index of a store to fill it, and creates it where there is none. An index of another
    /// build is emptied. `source` names the store, for people and without secrets.
    ///
    /// # Errors
    /// [`IndexError::Foreign`] for a file of another program, [`IndexError::OtherStore`] for an index
    /// of another store, [`IndexError::File`].
    pub fn open(path: impl AsRef<Path>, source: &str) -> Result<Self, IndexError> {
        let path = path.as_ref().to_path_buf();
        let mut connection = schema::open(&path)?;
        match schema::kind(&connection, &path)? {
            Kind::Ours(of) if of != source => {
                return Err(IndexError::OtherStore { path, of, got: source.to_owned() });
            }
            Kind::Ours(_) => {}
            Kind::Empty | Kind::OtherBuild => schema::reset(&mut connection, source)
                .map_err(|error| schema::file(&path, error))?,
        }
        Ok(Self { connection, path, pass: Pass::default() })
    }

    /// Opens an empty index of a store, whatever the index held before.
    ///
    /// # Errors
    /// As [`Index::open`], but for [`IndexError::OtherStore`].
    pub fn open_anew(path: impl AsRef<Path>, source: &str) -> Result<Self, IndexError> {
        let path = path.as_ref().to_path_buf();
        let mut connection = schema::open(&path)?;
        // A file of another program is refused, not emptied.
        schema::kind(&connection, &path)?;
        schema::reset(&mut connection, source).map_err(|error| schema::file(&path, error))?;
        Ok(Self { connection, path, pass: Pass::default() })
    }

    /// Opens an index that one process alone keeps, and empties it where it is of another store or of
    /// another build. Nothing is waited for when it is written: after a crash it is filled again.
    ///
    /// # Errors
    /// [`IndexError::Foreign`] for a file of another program; [`IndexError::File`], also where another
    /// process keeps it.
    pub fn open_alone(path: impl AsRef<Path>, source: &str) -> Result<Self, IndexError> {
        let path = path.as_ref().to_path_buf();
        let mut connection = schema::open(&path)?;
        let prepare = || -> rusqlite::Result<()> {
            connection.busy_timeout(Duration::ZERO)?;
            connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            // The lock is taken by the first write and kept from then on.
            connection.execute_batch("BEGIN IMMEDIATE; COMMIT")
        };
        if let Err(error) = prepare() {
            // What is no database at all is told as such.
            schema::kind(&connection, &path)?;
            return Err(schema::file(&path, error));
        }
        let is_ours = matches!(schema::kind(&connection, &path)?, Kind::Ours(of) if of == source);
        if !is_ours {
            schema::reset(&mut connection, source).map_err(|error| schema::file(&path, error))?;
        }
        Ok(Self { connection, path, pass: Pass::default() })
    }

    /// An empty index that has no file and ends with this value.
    ///
    /// # Errors
    /// [`IndexError::File`].
    pub fn in_memory(source: &str) -> Result<Self, IndexError> {
        let path = PathBuf::from(schema::MEMORY);
        let mut connection = schema::open_in_memory()?;
        schema::reset(&mut connection, source).map_err(|error| schema::file(&path, error))?;
        Ok(Self { connection, path, pass: Pass::default() })
    }

    /// Opens an index to read it.
    ///
    /// # Errors
    /// [`IndexError::Missing`], [`IndexError::Foreign`] for anything but an index of this build,
    /// [`IndexError::File`].
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, IndexError> {
        let path = path.as_ref().to_path_buf();
        let connection = schema::open_existing(&path)?;
        match schema::kind(&connection, &path)? {
            Kind::Ours(_) => Ok(Self { connection, path, pass: Pass::default() }),
            Kind::Empty | Kind::OtherBuild => Err(IndexError::Foreign { path }),
        }
    }

    /// Runs that a filter lets through, newest first.
    ///
    /// # Errors
    /// [`IndexError::File`].
    pub fn runs(&self, filter: &Filter) -> Result<Vec<IndexedRun>, IndexError> {
        query::runs(&self.connection, filter).map_err(|error| self.failed(error))
    }

    /// A page of the delegations that are meant, newest first, from behind a place on.
    ///
    /// # Errors
    /// [`IndexError::File`], as with every question below.
    pub fn page(
        &self,
        wanted: &Wanted,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<Page, IndexError> {
        query::page(&self.connection, wanted, after, limit).map_err(|error| self.failed(error))
    }

    /// How the delegations that are meant ended.
    ///
    /// # Errors
    /// [`IndexError::File`].
    pub fn counts(&self, wanted: &Wanted) -> Result<Counts, IndexError> {
        query::counts(&self.connection, wanted).map_err(|error| self.failed(error))
    }

    /// The words that the delegations that are meant can be picked by.
    ///
    /// # Errors
    /// [`IndexError::File`].
    pub fn words(&self, wanted: &Wanted) -> Result<Words, IndexError> {
        query::words(&self.connection, wanted).map_err(|error| self.failed(error))
    }

    /// What was claimed in the delegations that are meant, and what came of it; over time by pieces of
    /// that length.
    ///
    /// # Errors
    /// [`IndexError::File`].
    pub fn claims(&self, wanted: &Wanted, bucket_ms: u64) -> Result<Claims, IndexError> {
        query::claims(&self.connection, wanted, bucket_ms).map_err(|error| self.failed(error))
    }

    /// How far the world departed from what was claimed in the delegations that are meant.
    ///
    /// # Errors
    /// [`IndexError::File`].
    pub fn drifts(&self, wanted: &Wanted) -> Result<Drifts, IndexError> {
        query::drifts(&self.connection, wanted).map_err(|error| self.failed(error))
    }

    /// How good the checks of the delegations that are meant are.
    ///
    /// # Errors
    /// [`IndexError::File`].
    pub fn checks(&self, wanted: &Wanted) -> Result<Checks, IndexError> {
        query::checks(&self.connection, wanted).map_err(|error| self.failed(error))
    }

    /// Different tasks of the delegations that are meant, newest first: the digest of the task with that
    /// of a request that holds it.
    ///
    /// # Errors
    /// [`IndexError::File`].
    pub fn tasks(&self, wanted: &Wanted, max: usize) -> Result<Vec<(String, String)>, IndexError> {
        query::tasks(&self.connection, wanted, max).map_err(|error| self.failed(error))
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> IndexError {
        schema::file(&self.path, source)
    }
}
