//! The board of a host: an index of its store.

use std::path::PathBuf;
use std::sync::Arc;

use probity_engine::SystemClock;
use probity_host::{Board, IndexedBoard};
use probity_projection::{Index, IndexError};
use probity_store::WorkStore;

use crate::cli::CliError;
use crate::cli::present::warn;
use crate::location::StoreUrl;

/// What is added to the name of a store's file.
const SUFFIX: &str = ".board";

/// The board of a store. Its index is a file beside that of the store; where there is no such file, or
/// another host keeps it, it is in memory and is filled anew each time.
pub(super) fn board(
    url: &StoreUrl,
    store: &Arc<dyn WorkStore>,
) -> Result<Arc<dyn Board>, CliError> {
    let source = url.absolute().label();
    let index = match beside(url) {
        Some(path) => Index::open_alone(path, &source).or_else(|error| {
            told(&error);
            Index::in_memory(&source)
        })?,
        None => Index::in_memory(&source)?,
    };
    Ok(Arc::new(IndexedBoard::new(index, Arc::clone(store), Arc::new(SystemClock))))
}

fn beside(url: &StoreUrl) -> Option<PathBuf> {
    let StoreUrl::Sqlite(path) = url else { return None };
    let mut name = path.file_name()?.to_owned();
    name.push(SUFFIX);
    Some(path.with_file_name(name))
}

fn told(error: &IndexError) {
    warn(&format!("the dashboard's index is kept in memory  [{}]: {error}", error.code()));
}
