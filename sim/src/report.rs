//! What a run in the simulated world came to.

use probity_core::{Entry, Event};

use crate::{Prediction, Row};

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The same account as the model's. `dispatched` and `looks` name each turn, and each try, once.
    pub account: Prediction,
    /// Interruptions that the machine counted.
    pub interruptions: u32,
    /// Deaths, of the driver or of the delegate, that a resumption followed.
    pub resumed: u32,
    /// Times that the delegate died, over all lives.
    pub lost: u32,
    /// Appends that were tried, over all lives.
    pub appends: u32,
    /// Acts that were begun, over all lives.
    pub acts: u32,
    /// Times that the delegate was asked, over all lives.
    pub asked: u32,
    /// Times that the claim was handed on, over all lives.
    pub commits: u32,
}

/// The verdicts as the log holds them.
#[must_use]
pub fn rows(log: &[Entry]) -> Vec<Row> {
    let row = |entry: &Entry| match &entry.event {
        Event::VerdictMerged {
            turn,
            judgement,
            code,
            counted,
            drift,
            repeat_of,
            reused,
            flaky,
            ..
        } => Some(Row {
            turn: turn.number,
            judgement: *judgement,
            code: code.to_string(),
            counted: *counted,
            drift: *drift,
            repeat_of: repeat_of.map(|turn| turn.number),
            reused: reused.map(|turn| turn.number),
            flaky: *flaky,
        }),
        _ => None,
    };
    log.iter().filter_map(row).collect()
}
