//! File names as text, without loss.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The key of a path: how it is written in manifests, changes and records.
///
/// UTF-8 text stands for itself. A backslash is doubled; a control character (below 0x20, and 0x7f)
/// and every byte that is not part of valid UTF-8 is written `\xHH` with lower-case digits. So a key
/// is one line of text, and two different paths have two different keys.
///
/// The path is taken as it is: no component is added, removed or resolved.
#[must_use]
pub fn key_of(path: impl AsRef<Path>) -> String {
    key_of_bytes(path.as_ref().as_os_str().as_bytes())
}

/// The path that a key stands for; `None` when the text is not a key that [`key_of`] writes.
#[must_use]
pub fn path_of(key: &str) -> Option<PathBuf> {
    if !key.contains('\\') && !key.bytes().any(is_control) {
        return Some(PathBuf::from(key));
    }
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'\\', [b'\\', after @ ..]) => {
                bytes.push(b'\\');
                after
            }
            (b'\\', [b'x', high, low, after @ ..]) => {
                bytes.push(nibble(*high)? << 4 | nibble(*low)?);
                after
            }
            (b'\\', _) => return None,
            (byte, after) => {
                bytes.push(*byte);
                after
            }
        };
    }
    // One path has one key: an escape that was not needed is refused.
    (key_of_bytes(&bytes) == key).then(|| PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

pub(crate) fn key_of_name(name: &OsStr) -> String {
    key_of_bytes(name.as_bytes())
}

/// `parent/name`, where an empty parent is the root.
pub(crate) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        return name.to_owned();
    }
    let mut key = String::with_capacity(parent.len() + 1 + name.len());
    key.push_str(parent);
    key.push('/');
    key.push_str(name);
    key
}

pub(crate) fn key_of_bytes(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.bytes().any(|byte| byte == b'\\' || is_control(byte))
    {
        return text.to_owned();
    }
    let mut key = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => key.push_str("\\\\"),
                '\0'..='\x1f' | '\x7f' => push_escape(&mut key, char as u8),
                _ => key.push(char),
            }
        }
        chunk.invalid().iter().for_each(|byte| push_escape(&mut key, *byte));
    }
    key
}

fn push_escape(key: &mut String, byte: u8) {
    // Writing to a `String` cannot fail.
    let _ = write!(key, "\\x{byte:02x}");
}

fn is_control(byte: u8) -> bool {
    byte < 0x20 || byte == 0x7f
}

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
    use proptest::prelude::*;

    fn path(bytes: &[u8]) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(bytes))
    }

    #[test]
    fn plain_text_stands_for_itself_and_the_rest_is_escaped() {
        for (bytes, key) in [
            (&b"src/main.rs"[..], "src/main.rs"),
            ("é/日本".as_bytes(), "é/日本"),
            (b"a\\b", "a\\\\b"),
            (b"a\nb", "a\\x0ab"),
            (b"\x7f", "\\x7f"),
            (b"caf\xe9", "caf\\xe9"),
            (b"\\xe9", "\\\\xe9"),
        ] {
            assert_eq!(key_of(path(bytes)), key);
            assert_eq!(path_of(key), Some(path(bytes)));
        }
    }

    #[test]
    fn refuses_text_that_is_no_key() {
        // A raw control character, lone and unknown escapes, upper case, escapes that are not needed.
        for text in ["a\nb", "\\", "\\n", "\\x", "\\xF", "\\xFF", "\\x41", "\\xc3\\xa9"] {
            assert_eq!(path_of(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_name_survives_the_way_there_and_back(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            let key = key_of(path(&bytes));
            prop_assert!(!key.contains('\n'));
            prop_assert_eq!(path_of(&key), Some(path(&bytes)));
        }
    }
}
