//! The name of a pool, as a request has it.

use probity_store::Pool;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// # Errors
/// What the writer makes of it.
pub(super) fn serialize<S: Serializer>(
    pool: &Option<Pool>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    pool.as_ref().map(Pool::as_str).serialize(serializer)
}

/// # Errors
/// For a text that names no pool.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Pool>, D::Error> {
    let name: Option<String> = Option::deserialize(deserializer)?;
    name.map(|name| name.parse().map_err(D::Error::custom)).transpose()
}
