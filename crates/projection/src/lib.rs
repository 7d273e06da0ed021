//! A local index of runs: one SQLite file with a row per run and a row per verdict.
//!
//! It is a projection: whatever is in it follows from the logs of one store, and nothing else reads
//! or writes it. It can be deleted at any time; filling it again gives the same rows. It holds no
//! content: numbers, closed words, checked names and digests.
//!
//! ```sql
//! -- run:     id, parent, pool, task, request, stage, outcome, code, attempts, interruptions, epoch,
//! --          worker, opened_at_ms, ended_at_ms, len, sealed
//! -- verdict: run, epoch, turn, judgement, code, counted, at_ms
//! select code, count(*) from verdict where judgement = 'revise' group by code order by 2 desc;
//! ```
//!
//! A run whose log cannot be read has the stage `damaged`, and in `code` why.

mod error;
mod fill;
mod index;
mod query;
mod row;
mod schema;

pub use error::IndexError;
pub use fill::Updated;
pub use index::Index;
pub use query::{Filter, IndexedRun, MAX_LISTED};
