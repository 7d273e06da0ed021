//! An index file.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::schema::{self, Kind};
use crate::{Filter, IndexError, IndexedRun, query};

/// One SQLite file of rows about the runs of one store.
#[derive(Debug)]
pub struct Index {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
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
        Ok(Self { connection, path })
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
        Ok(Self { connection, path })
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
            Kind::Ours(_) => Ok(Self { connection, path }),
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

    pub(crate) fn failed(&self, source: rusqlite::Error) -> IndexError {
        schema::file(&self.path, source)
    }
}
