//! A length of time as people write it: `500ms`, `10s`, `5m`, `2h`. The notation is that of requests.
//!
//! Checks read the same notation with bounds of their own, in a crate that does not know this one, nor
//! this one it. Below both is only `core`, which takes numbers with their unit in the name and reads
//! no text for people; two dozen lines twice are less than a parser there.

/// Reads a length of time in milliseconds; `None` if it is none, or is zero or overflows.
pub(super) fn parse_ms(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let scale = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale).filter(|millis| *millis > 0)
}

/// Writes milliseconds in the largest unit that loses nothing.
pub(super) fn text(millis: u64) -> String {
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let unit = units.into_iter().find(|(scale, _)| millis > 0 && millis.is_multiple_of(*scale));
    match unit {
        Some((scale, unit)) => format!("{}{unit}", millis / scale),
        None => format!("{millis}ms"),
    }
}
