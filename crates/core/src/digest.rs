//! A SHA-256 digest: the only way content is named in an event.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 32 bytes of SHA-256. Printed and serialised as 64 lower-case hex digits.
///
/// `core` never computes one: whoever holds the bytes hashes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps the 32 bytes of a finished hash.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The raw bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hex digits, in one go: every record holds several.
    fn digits<'a>(&self, digits: &'a mut [u8; 64]) -> &'a str {
        const fn digit(nibble: u8) -> u8 {
            if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
        }
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        std::str::from_utf8(digits).unwrap_or_default()
    }

    /// The first twelve hex digits: for people, never for comparison.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.digits(&mut [0; 64]))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The text was not 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 lower-case hex digits, got {length} characters")]
pub struct DigestParseError {
    length: usize,
}

impl FromStr for Digest {
    type Err = DigestParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = DigestParseError { length: text.chars().count() };
        let digits: Vec<u8> = text.bytes().filter_map(nibble).collect();
        if text.len() != 64 || digits.len() != 64 {
            return Err(error);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |value, digit| (value << 4) | digit);
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.digits(&mut [0; 64]))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Upper case is refused: one digest has one spelling.
fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses_the_same_64_digits() {
        let text = format!("{}{}", "00ff10a5".repeat(7), "deadbeef");
        let digest: Digest = text.parse().unwrap();
        assert_eq!(digest.to_string(), text);
        assert_eq!(serde_json::to_string(&digest).unwrap(), format!("\"{text}\""));
        assert_eq!(digest.short(), "00ff10a500ff");
    }

    #[test]
    fn refuses_every_other_spelling() {
        for text in ["", "ab", &"A".repeat(64), &"g".repeat(64), &"a".repeat(63), &"é".repeat(32)]
        {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
