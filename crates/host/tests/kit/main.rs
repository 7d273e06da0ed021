//! The host held to the conformance kit: as it is, and with one rule of verification off at a time.

#![expect(clippy::unwrap_used, reason = "a test that does not hold what it states shall stop")]

mod broken;
mod own;
