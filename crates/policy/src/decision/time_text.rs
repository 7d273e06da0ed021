//! Moments: milliseconds since the Unix epoch here, RFC 3339 on the wire. Finer parts are cut off.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub(super) fn serialize<S: Serializer>(at_ms: &Option<u64>, writer: S) -> Result<S::Ok, S::Error> {
    let text = at_ms.map(|at_ms| {
        let nanos = i128::from(at_ms) * 1_000_000;
        let moment = OffsetDateTime::from_unix_timestamp_nanos(nanos).map_err(S::Error::custom)?;
        moment.format(&Rfc3339).map_err(S::Error::custom)
    });
    text.transpose()?.serialize(writer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<u64>, D::Error> {
    let Some(text) = Option::<String>::deserialize(reader)? else { return Ok(None) };
    let moment = OffsetDateTime::parse(&text, &Rfc3339).map_err(|error| {
        D::Error::custom(format_args!("`{text}` is not a time of RFC 3339 ({error})"))
    })?;
    u64::try_from(moment.unix_timestamp_nanos() / 1_000_000)
        .map(Some)
        .map_err(|_| D::Error::custom(format_args!("`{text}` lies before 1970")))
}
