//! Texts that a support can point into besides evidence: statements of claims, results of tools.

use std::collections::HashSet;

use crate::evidence::Cache;
use crate::identity::{Key, canonical};
use crate::model::Returned;
use crate::tape::Tape;

/// The most bytes of these texts that are held.
const HELD_BYTES: usize = 8 << 20;

/// The longest of these texts that is held.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The most bytes of these texts that supports may have read, all of them together.
const MAX_READ_BYTES: usize = 256 << 20;

/// Texts by the id of the claim or the call.
#[derive(Debug)]
pub(super) struct Texts {
    held: Cache,
    bytes_left: usize,
    /// Calls that have returned.
    calls: HashSet<Key>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { held: Cache::new(HELD_BYTES), bytes_left: MAX_READ_BYTES, calls: HashSet::new() }
    }
}

impl Texts {
    /// Takes what a tool returned, as it stands in the record.
    pub(super) fn returned(&mut self, returned: &Returned) {
        let key = Key::of(&returned.call_id);
        if self.calls.insert(key) {
            self.hold(key, returned.result.raw());
        }
    }

    pub(super) fn claimed(&mut self, key: Key, statement: &str) {
        self.hold(key, statement);
    }

    /// Whether a call has returned.
    pub(super) fn has_returned(&self, call: Key) -> bool {
        self.calls.contains(&call)
    }

    /// The statement of a claim; `None` if it is not held, or enough was read.
    pub(super) fn statement(&mut self, claim: Key) -> Option<&[u8]> {
        let text = self.held.get(claim)?;
        self.bytes_left = self.bytes_left.checked_sub(text.len())?;
        Some(text)
    }

    /// The canonical text of what a call returned; `None` as for a statement.
    pub(super) fn result(&mut self, call: Key) -> Option<String> {
        let raw = std::str::from_utf8(self.statement(call)?).ok()?;
        let mut tape = Tape::default();
        tape.read(raw).ok()?;
        Some(canonical(tape.root(raw)))
    }

    fn hold(&mut self, key: Key, text: &str) {
        if text.len() <= MAX_TEXT_BYTES {
            self.held.insert(key, text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_is_read_and_no_more() {
        let mut texts = Texts::default();
        let key = Key::of("claim");
        texts.claimed(key, &"x".repeat(MAX_TEXT_BYTES));
        let reads = MAX_READ_BYTES / MAX_TEXT_BYTES;
        assert!((0..reads).all(|_| texts.statement(key).is_some()));
        assert_eq!(texts.statement(key), None);
    }
}
