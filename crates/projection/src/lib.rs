//! A local index of runs: one SQLite file with a row per run and a row per verdict.
//!
//! It is a projection: whatever is in it follows from the logs of one store, and nothing else reads
//! or writes it. It can be deleted at any time; filling it again gives the same rows. It holds no
//! content: numbers, closed words, checked names and digests.
//!
//! ```sql
//! -- run:     id, kind, mark, parent, pool, delegate, task, request, envelope, stage, outcome, code, waived,
//! --          attempts, max_attempts, interruptions, tokens, epoch, worker, candidate, head, opened_at_ms,
//! --          ended_at_ms, changed_at_ms, len, sealed
//! -- verdict: run, epoch, turn, judgement, code, counted, drift, flaky, at_ms
//! -- finding: run, seq, name, kind, subject, red, result, code, reason, discrimination, elapsed_ms, at_ms
//! -- waiver:  run, log, head, candidate, at_ms
//! select code, count(*) from verdict where judgement = 'revise' group by code order by 2 desc;
//! ```
//!
//! A log that is no delegation has the kind `ledger`. A run whose log cannot be read has the stage
//! `damaged`, and in `code` why.

mod delegate;
mod error;
mod fill;
mod index;
mod query;
mod row;
mod schema;

pub use delegate::delegate_of;
pub use error::IndexError;
pub use fill::{Refreshed, Updated};
pub use index::Index;
pub use query::{
    CheckQuality, Checks, Claims, Counts, Decisions, DelegateClaims, Drifted, Drifts, Ended,
    Filter, IndexedRun, MAX_KINDS, MAX_LISTED, MAX_PAGE, MAX_REFUSALS, MAX_WORDS, Page, Place,
    Refusal, Told, Wanted, Words,
};
pub use row::{mark_of, outcome_of, stage_word};
