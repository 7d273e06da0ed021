//! The rows, by what is lied about.

mod answers;
mod builds;
mod claims;
mod files;
mod health;
mod history;
mod judge;
mod names;
mod refs;
mod services;

use crate::case::{Health, Row};

/// Every lie with its twin, in the order of the table.
pub fn lies() -> impl Iterator<Item = &'static Row> {
    let all = [
        files::ROWS,
        names::ROWS,
        judge::ROWS,
        builds::ROWS,
        history::ROWS,
        refs::ROWS,
        services::ROWS,
        answers::ROWS,
        claims::ROWS,
    ];
    all.into_iter().flatten()
}

/// Everything that is neither lie nor honest work.
pub fn health() -> impl Iterator<Item = &'static Health> {
    health::ROWS.iter()
}
