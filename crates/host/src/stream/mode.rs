//! Which events a reader is told.

use super::frame::Frame;
use crate::error::{Failure, Reason};

/// The words of the wire.
const SUPPORTED: [&str; 4] = ["updates", "values", "messages", "debug"];

/// What a reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Modes {
    updates: bool,
    messages: bool,
    debug: bool,
    /// The whole state after each step, instead of events.
    pub(crate) values: bool,
}

impl Modes {
    /// Reads a list of modes. Without one it is `updates`.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Failure> {
        let mut modes = Self::default();
        for word in text.unwrap_or("updates").split(',').map(str::trim) {
            match word {
                "updates" => modes.updates = true,
                "values" => modes.values = true,
                "messages" => modes.messages = true,
                "debug" => modes.debug = true,
                _ => {
                    let word: String = word.chars().take(32).collect();
                    return Err(unsupported(format!("there is no stream mode `{word}`")));
                }
            }
        }
        if modes.values && (modes.updates || modes.messages || modes.debug) {
            return Err(unsupported("`values` goes with no other stream mode".to_owned()));
        }
        Ok(modes)
    }

    /// Whether an event is told.
    pub(crate) const fn admits(self, frame: &Frame) -> bool {
        // Nothing here writes message by message: `messages` alone tells nothing, and ends with the run.
        self.debug || ((self.updates || self.values) && frame.is_update)
    }
}

fn unsupported(message: String) -> Failure {
    Failure::new(Reason::UnsupportedStreamMode, message).detail("supported", SUPPORTED.to_vec())
}
