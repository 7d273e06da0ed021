//! How much one call of a script may use.

use serde::{Deserialize, Serialize};

/// Bounds of one call.
///
/// `ticks` and `callstack` are exact: the same script on the same input stops at the same point on
/// every machine. `heap_bytes` is looked at once per thousand ticks and does not see the storage of
/// dicts, so a single operation can pass it; what stops such a script is the address space of its
/// worker process ([`crate::PoolConfig::memory_bytes`]). `wall_ms` is enforced from outside by
/// killing the worker. Inside the process ([`crate::Execution::InProcess`]) neither of those two
/// outer walls exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Calls plus loop turns. 1 to 1 000 000 000.
    pub ticks: u64,
    /// Bytes on the script's heap. 64 KiB to 1 GiB.
    pub heap_bytes: u64,
    /// Nested calls. 1 to 500.
    pub callstack: u32,
    /// Bytes of each text the script produces (its return value, one `json.encode`) and of all it
    /// prints. 64 bytes to 16 MiB.
    pub output_bytes: u64,
    /// Wall time of the script itself in milliseconds; waiting for a host (`http`, `git`, `exec`)
    /// and between the reads of a poll is not counted. 1 ms to 1 h.
    pub wall_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ticks: 10_000_000,
            heap_bytes: 64 << 20,
            callstack: 100,
            output_bytes: 1 << 20,
            wall_ms: 5_000,
        }
    }
}

/// A limit is out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("script limit `{field}` must be {min} to {max}, got {value}")]
pub struct LimitError {
    /// The field's name.
    pub field: &'static str,
    /// Its value.
    pub value: u64,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
}

impl Limits {
    /// Checks every bound.
    ///
    /// # Errors
    /// [`LimitError`] naming the first field out of its range.
    pub fn validate(&self) -> Result<(), LimitError> {
        bound("ticks", self.ticks, 1, 1_000_000_000)?;
        bound("heap_bytes", self.heap_bytes, 64 << 10, 1 << 30)?;
        bound("callstack", self.callstack.into(), 1, 500)?;
        bound("output_bytes", self.output_bytes, 64, 16 << 20)?;
        bound("wall_ms", self.wall_ms, 1, 3_600_000)
    }
}

fn bound(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), LimitError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(LimitError { field, value, min, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_legal_and_each_bound_is_checked() {
        let ok = Limits::default();
        ok.validate().unwrap();
        for (limits, field) in [
            (Limits { ticks: 0, ..ok }, "ticks"),
            (Limits { heap_bytes: 1, ..ok }, "heap_bytes"),
            (Limits { callstack: 501, ..ok }, "callstack"),
            (Limits { output_bytes: 1 << 30, ..ok }, "output_bytes"),
            (Limits { wall_ms: 0, ..ok }, "wall_ms"),
        ] {
            assert_eq!(limits.validate().unwrap_err().field, field);
        }
    }
}
