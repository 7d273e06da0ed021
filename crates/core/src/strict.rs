//! What the derive macro leaves open: a variant without fields takes any field beside its tag, even
//! where unknown fields are denied. In an event that would be a place for content.

use serde::{Deserialize, Deserializer};

/// Reads a variant that has no fields beside its tag, and refuses any.
pub(crate) fn no_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Empty {}

    Empty::deserialize(deserializer).map(|Empty {}| ())
}
