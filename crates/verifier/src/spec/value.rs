//! Values of checks that have a notation of their own: durations, file modes, status sets.

use std::fmt;
use std::str::FromStr;

use probity_core::{MAX_CHECK_MS, MAX_WALL_MS};
use serde::{Deserialize, Deserializer, Serialize};

/// Reads a whole number with a unit (`ms`, `s`, `m`, `h`) as milliseconds. `None` if it is not one,
/// or not between 1 ms and one hour.
#[must_use]
pub fn parse_duration_ms(text: &str) -> Option<u64> {
    bounded_ms(text, MAX_CHECK_MS)
}

/// As [`parse_duration_ms`], for what people are waited for: also in days (`d`), and up to 30 of them.
#[must_use]
pub fn parse_long_duration_ms(text: &str) -> Option<u64> {
    bounded_ms(text, MAX_WALL_MS)
}

fn bounded_ms(text: &str, max_ms: u64) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let scale = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" if max_ms > MAX_CHECK_MS => 86_400_000,
        _ => return None,
    };
    let millis = number.parse::<u64>().ok()?.checked_mul(scale)?;
    (1..=max_ms).contains(&millis).then_some(millis)
}

/// Writes milliseconds in the largest unit that loses nothing.
#[must_use]
pub fn format_duration_ms(millis: u64) -> String {
    for (scale, unit) in [(3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
        if millis != 0 && millis.is_multiple_of(scale) {
            return format!("{}{unit}", millis / scale);
        }
    }
    format!("{millis}ms")
}

/// The text is not of the notation that its key asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {legal}")]
pub struct NotationError {
    text: String,
    legal: &'static str,
}

/// Permission bits of a file, written in octal: `0644`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mode(u32);

impl Mode {
    /// The low twelve bits of a Unix mode.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Keeps the low twelve bits.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & 0o7777)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.0)
    }
}

impl FromStr for Mode {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, NotationError> {
        let octal = (3..=4).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'0'..=b'7'));
        match u32::from_str_radix(text, 8) {
            Ok(bits) if octal => Ok(Self(bits)),
            _ => Err(NotationError { text: text.to_owned(), legal: "a mode such as 0644" }),
        }
    }
}

impl TryFrom<String> for Mode {
    type Error = NotationError;

    fn try_from(text: String) -> Result<Self, NotationError> {
        text.parse()
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        mode.to_string()
    }
}

/// A set of HTTP status codes: codes and classes joined by `|`, such as `200|204` or `2xx`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct StatusSet(Vec<StatusRange>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatusRange {
    Code(u16),
    Class(u16),
}

impl StatusSet {
    /// Whether the code is in the set.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| match range {
            StatusRange::Code(code) => *code == status,
            StatusRange::Class(class) => *class == status / 100,
        })
    }
}

impl Default for StatusSet {
    /// `2xx`.
    fn default() -> Self {
        Self(vec![StatusRange::Class(2)])
    }
}

impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("|")?;
            }
            match range {
                StatusRange::Code(code) => write!(f, "{code}")?,
                StatusRange::Class(class) => write!(f, "{class}xx")?,
            }
        }
        Ok(())
    }
}

impl FromStr for StatusSet {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, NotationError> {
        text.split('|')
            .map(|part| match part.strip_suffix("xx") {
                Some(class) => class
                    .parse()
                    .ok()
                    .filter(|class| class_digit(class, part))
                    .map(StatusRange::Class),
                None => part
                    .parse()
                    .ok()
                    .filter(|code| part.len() == 3 && (100..=599).contains(code))
                    .map(StatusRange::Code),
            })
            .collect::<Option<_>>()
            .map(Self)
            .ok_or_else(|| NotationError {
                text: text.to_owned(),
                legal: "a set of status codes such as 200|204 or 2xx",
            })
    }
}

fn class_digit(class: &u16, part: &str) -> bool {
    part.len() == 3 && (1..=5).contains(class)
}

impl From<StatusSet> for String {
    fn from(set: StatusSet) -> Self {
        set.to_string()
    }
}

impl<'de> Deserialize<'de> for StatusSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Code(u16),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Code(code) => code.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// One text or a list of texts, read as a list.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::One(text) => vec![text],
        Written::Many(list) => list,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_a_range() {
        for (text, millis) in
            [("1ms", 1), ("500ms", 500), ("10s", 10_000), ("2m", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(parse_duration_ms(text), Some(millis), "{text}");
            assert_eq!(format_duration_ms(millis), text);
        }
        for text in
            ["", "0ms", "10", "s", "1.5s", "-1s", "2h", "3601s", "1 s", "99999999999999999999s"]
        {
            assert_eq!(parse_duration_ms(text), None, "{text}");
        }
        assert_eq!(format_duration_ms(1_500), "1500ms");
        for (text, millis) in [
            ("1ms", Some(1)),
            ("24h", Some(86_400_000)),
            ("30d", Some(2_592_000_000)),
            ("720h", Some(2_592_000_000)),
            ("31d", None),
            ("0d", None),
            ("1", None),
        ] {
            assert_eq!(parse_long_duration_ms(text), millis, "{text}");
        }
        assert_eq!(parse_duration_ms("1d"), None);
    }

    #[test]
    fn modes_are_octal() {
        assert_eq!("0644".parse::<Mode>().unwrap().bits(), 0o644);
        assert_eq!("755".parse::<Mode>().unwrap().to_string(), "0755");
        for text in ["", "8", "0888", "rwx", "07777", "+644", "-644"] {
            assert!(text.parse::<Mode>().is_err(), "{text}");
        }
    }

    #[test]
    fn status_sets_hold_codes_and_classes() {
        let set: StatusSet = "200|3xx".parse().unwrap();
        for (status, inside) in [(200, true), (201, false), (301, true), (399, true), (404, false)]
        {
            assert_eq!(set.contains(status), inside, "{status}");
        }
        assert_eq!(set.to_string(), "200|3xx");
        for text in ["", "200|", "20", "2x", "6xx", "099", "600", "2xxx", "xx", "+20"] {
            assert!(text.parse::<StatusSet>().is_err(), "{text}");
        }
        assert_eq!(serde_json::from_str::<StatusSet>("204").unwrap().to_string(), "204");
    }
}
