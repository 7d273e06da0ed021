//! How much content one run may hold, and one step may copy: a definition names a value as often as it
//! likes.

use serde_json::{Map, Value};

use super::Run;
use crate::event::Failure;

/// Bytes of all variables of a run, and of what is given to one child or delegation, about as JSON.
const MAX_HELD_BYTES: usize = 8 * 1024 * 1024;
/// Bytes that one step copies from variable to variable.
const MAX_COPIED_BYTES: usize = 8 * 1024 * 1024;

impl Run {
    /// Whether these values may become variables, in this step. Looks at them only as far as they may.
    pub(super) fn may_take<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>) -> bool {
        let Some(bytes) = within(values, MAX_COPIED_BYTES.saturating_sub(self.copied_bytes)) else {
            return false;
        };
        self.copied_bytes = self.copied_bytes.saturating_add(bytes);
        self.held_bytes.saturating_add(bytes) <= MAX_HELD_BYTES
    }

    /// Another value of a variable is held.
    pub(super) fn weigh(&mut self, previous: Option<&Value>, next: &Value) {
        let before = previous.map_or(0, size);
        self.held_bytes = self.held_bytes.saturating_sub(before).saturating_add(size(next));
    }
}

/// Whether these values may be given to a child or a delegation.
pub(super) fn may_give<'a>(values: impl IntoIterator<Item = &'a Value>) -> bool {
    within(values, MAX_HELD_BYTES).is_some()
}

pub(super) fn held(variables: &Map<String, Value>) -> usize {
    variables.values().fold(0, |sum, value| sum.saturating_add(size(value)))
}

pub(super) fn too_large() -> Failure {
    let why = format!("no more than {MAX_HELD_BYTES} bytes of values are held, copied or given on");
    Failure::new("content_too_large", why)
}

/// The bytes of them all, unless there are more than that.
fn within<'a>(values: impl IntoIterator<Item = &'a Value>, max_bytes: usize) -> Option<usize> {
    let mut sum = 0_usize;
    for value in values {
        sum = sum.saturating_add(size(value));
        if sum > max_bytes {
            return None;
        }
    }
    Some(sum)
}

/// About the bytes of a value as JSON; what is escaped counts as its longest escape.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 24,
        Value::String(text) => text_size(text),
        Value::Array(items) => {
            items.iter().fold(2, |sum, item| sum.saturating_add(size(item)).saturating_add(1))
        }
        Value::Object(members) => members.iter().fold(2, |sum, (key, member)| {
            sum.saturating_add(text_size(key)).saturating_add(size(member)).saturating_add(2)
        }),
    }
}

fn text_size(text: &str) -> usize {
    let escaped = text.bytes().filter(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')).count();
    text.len().saturating_add(escaped.saturating_mul(5)).saturating_add(2)
}
