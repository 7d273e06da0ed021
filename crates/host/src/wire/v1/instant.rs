//! Times as the wire writes them.

use time::OffsetDateTime;

/// Milliseconds since the Unix epoch as RFC 3339 text in UTC, to the millisecond.
#[must_use]
pub fn rfc3339(at_ms: u64) -> String {
    let nanos = i128::from(at_ms) * 1_000_000;
    let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.millisecond(),
    )
}
