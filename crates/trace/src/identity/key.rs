//! Ids as keys of a fixed size: what is remembered of an id.

use std::fmt;
use std::hash::{Hash, Hasher};

use sha2::{Digest as _, Sha256};

/// The kinds of content ids that are kept as their digest. The place in the list is the tag.
const KINDS: [&str; 5] = ["node_v1_", "call_v1_", "ev_v1_", "evidence_v1_", "claim_v1_"];

/// The tag of every other id.
const OTHER: u8 = u8::MAX;

/// An id: 33 bytes, however long it is. Different ids have different keys, as far as SHA-256 tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    tag: u8,
    digest: [u8; 32],
}

/// The digest alone, all of it: the tag tells nothing apart that often meets in one map, and whoever
/// writes ids may choose any part of them.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.digest);
    }
}

impl Key {
    /// The key of an id.
    pub(crate) fn of(id: &str) -> Self {
        for (kind, tag) in KINDS.iter().zip(0..) {
            if let Some(digest) = id.strip_prefix(kind).and_then(digest) {
                return Self { tag, digest };
            }
        }
        Self { tag: OTHER, digest: Sha256::digest(id).into() }
    }
}

/// The id, or what is left of it.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KINDS.get(usize::from(self.tag)) {
            Some(kind) => f.write_str(kind)?,
            None => f.write_str("an id with SHA-256 ")?,
        }
        f.write_str(&hex::encode(self.digest))
    }
}

/// The bytes of a digest of 64 lower-case hex digits.
pub(crate) fn digest(hex: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    if pairs.len() != digest.len() || !rest.is_empty() {
        return None;
    }
    let mut seen = 0;
    for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
        let (high, low) = (nibble(*high), nibble(*low));
        seen |= high | low;
        *byte = high << 4 | (low & 0xf);
    }
    (seen <= 0xf).then_some(digest)
}

/// The value of a digit, by a table: more than 15 for what is none.
fn nibble(digit: u8) -> u8 {
    static VALUES: [u8; 256] = values();
    VALUES.get(usize::from(digit)).copied().unwrap_or(u8::MAX)
}

const fn values() -> [u8; 256] {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        let digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
        #[expect(clippy::indexing_slicing, reason = "a byte is within 256 values")]
        {
            values[digit as usize] = value;
        }
        value += 1;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_content_id_is_its_kind_and_digest() {
        for kind in KINDS {
            let id = format!("{kind}{HEX}");
            assert_eq!(Key::of(&id).to_string(), id);
        }
    }

    #[test]
    fn ids_that_differ_have_different_keys() {
        let upper = HEX.to_uppercase();
        let mut ids: Vec<String> = KINDS.iter().map(|kind| format!("{kind}{HEX}")).collect();
        ids.extend(KINDS.iter().map(|kind| format!("{kind}{upper}")));
        ids.extend(KINDS.iter().map(|kind| format!("{kind}{HEX}0")));
        ids.extend(["", "c", HEX, "ev_v1_"].map(str::to_owned));
        for (at, id) in ids.iter().enumerate() {
            for other in ids.iter().skip(at + 1) {
                assert_ne!(Key::of(id), Key::of(other), "{id} {other}");
            }
        }
    }

    #[test]
    fn a_digest_is_64_lower_case_digits() {
        assert!(digest(HEX).is_some());
        for wrong in ["", "0", &HEX.to_uppercase(), &format!("{HEX}0"), &HEX.replace('0', "g")] {
            assert_eq!(digest(wrong), None, "{wrong}");
        }
    }
}
