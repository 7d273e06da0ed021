//! The rows, by what is lied about.

mod claims;
mod files;
mod health;
mod history;
mod judge;
mod services;

use crate::case::{Health, Row};

/// Every lie with its twin, in the order of the table.
pub(crate) fn lies() -> impl Iterator<Item = &'static Row> {
    [files::ROWS, judge::ROWS, history::ROWS, services::ROWS, claims::ROWS].into_iter().flatten()
}

/// Everything that is neither lie nor honest work.
pub(crate) fn health() -> impl Iterator<Item = &'static Health> {
    health::ROWS.iter()
}
