//! A workspace at one moment, as a sorted list of facts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use probity_core::Digest;
use serde::{Deserialize, Deserializer, Serialize};

use crate::hash::digest_of;
use crate::workspace::{Kind, key_of, path_of};

const HEADER: &str = "probity manifest 1";

/// One entry of a workspace. Times, owners and extended attributes are no part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file's content or of a link's target text; 0 for the rest.
    pub size: u64,
    /// Permission bits, `0o7777` at most; `0o777` for links, whose bits mean nothing.
    pub mode: u32,
    /// SHA-256 of a file's content or of a link's target text. `None` for directories, special
    /// files, and what could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The content of a file or link, or the names in a directory, could not be read. `size` is then
    /// what the system says of a file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
}

impl Entry {
    /// Kind, bounds and presence of a digest fit together.
    fn is_sound(&self) -> bool {
        let has_content = matches!(self.kind, Kind::File | Kind::Symlink);
        self.mode <= 0o7777
            && self.digest.is_some() == (has_content && !self.unreadable)
            && (has_content || self.size == 0)
            && !(self.kind == Kind::Other && self.unreadable)
    }
}

/// Every recorded entry of a workspace, by key ([`crate::key_of`]), sorted by the key's bytes, and
/// facts about the same moment that are no entries, such as the commits that refs were at.
///
/// Two manifests are equal exactly when [`Manifest::to_bytes`] is. The JSON form holds the entries
/// only: it is for verifiers, not for records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Manifest {
    entries: BTreeMap<String, Entry>,
    #[serde(skip)]
    facts: BTreeMap<String, String>,
}

impl Manifest {
    /// A manifest of these entries.
    ///
    /// # Errors
    /// [`ManifestError`] when a key or an entry is not one that a snapshot writes, or when a key
    /// comes twice.
    pub fn from_entries(
        entries: impl IntoIterator<Item = (String, Entry)>,
    ) -> Result<Self, ManifestError> {
        let mut sorted = BTreeMap::new();
        for (key, entry) in entries {
            if !is_entry_key(&key) {
                return Err(ManifestError::Key { key });
            }
            if !entry.is_sound() {
                return Err(ManifestError::Entry { key });
            }
            if sorted.contains_key(&key) {
                return Err(ManifestError::Order { key });
            }
            sorted.insert(key, entry);
        }
        Ok(Self { entries: sorted, facts: BTreeMap::new() })
    }

    /// Adds facts; a name that is there already gets the new value.
    #[must_use]
    pub fn with_facts(mut self, facts: impl IntoIterator<Item = (String, String)>) -> Self {
        self.facts.extend(facts);
        self
    }

    /// The facts, by name.
    #[must_use]
    pub const fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }

    /// Entries that are known to be sound: straight from the file system.
    pub(crate) fn of_walk(entries: BTreeMap<String, Entry>) -> Self {
        Self { entries, facts: BTreeMap::new() }
    }

    /// The entry at a key; `None` when nothing was recorded there. The workspace's root has no entry.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Keys and entries, sorted by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    /// The entries at and below the directory `key`; all of them for the empty key.
    pub fn below(&self, key: &str) -> impl Iterator<Item = (&str, &Entry)> {
        let prefix = if key.is_empty() { String::new() } else { format!("{key}/") };
        let at = self.entries.get_key_value(key);
        let from = self.entries.range(prefix.clone()..);
        at.into_iter()
            .chain(from.take_while(move |(key, _)| key.starts_with(&prefix)))
            .map(|(key, entry)| (key.as_str(), entry))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// SHA-256 of [`Manifest::to_bytes`]: names the state, and the blob it is stored as.
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest_of(&self.to_bytes())
    }

    /// The canonical form: UTF-8 lines, each ended by `\n`. The first is `probity manifest 1`; then
    /// one line per fact, sorted by the bytes of its name; then one line per entry, sorted by the
    /// bytes of its key:
    ///
    /// ```text
    /// = NAME TAB VALUE
    /// KIND MODE SIZE CONTENT KEY
    /// ```
    ///
    /// NAME and VALUE are written as keys are, so neither holds a tab. The words of an entry are
    /// separated by single spaces; KIND is `f` (regular file), `d` (directory), `l` (symbolic link)
    /// or `o` (special file); MODE four octal digits; SIZE decimal without leading zeros; CONTENT 64
    /// lower-case hex digits of SHA-256, `-` where there is no content, `!` where it could not be
    /// read; KEY the rest of the line, as [`crate::key_of`] writes it, which never holds `\n`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = String::with_capacity(HEADER.len() + 1 + self.entries.len() * 112);
        text.push_str(HEADER);
        text.push('\n');
        for (name, value) in &self.facts {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "= {}\t{}", key_of(name), key_of(value));
        }
        for (key, entry) in &self.entries {
            let _ = write!(text, "{} {:04o} {} ", letter(entry.kind), entry.mode, entry.size);
            match (&entry.digest, entry.unreadable) {
                (Some(digest), _) => {
                    let mut hex = [0; 64];
                    let _ = hex::encode_to_slice(digest.as_bytes(), &mut hex);
                    text.push_str(std::str::from_utf8(&hex).unwrap_or_default());
                }
                (None, true) => text.push('!'),
                (None, false) => text.push('-'),
            }
            text.push(' ');
            text.push_str(key);
            text.push('\n');
        }
        text.into_bytes()
    }

    /// Reads the form that [`Manifest::to_bytes`] writes, and only that: one state has one form.
    ///
    /// # Errors
    /// [`ManifestError`], naming the line.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ManifestError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ManifestError::NotText)?;
        let mut lines = text.split('\n').zip(1_usize..);
        if lines.next().map(|(line, _)| line) != Some(HEADER) {
            return Err(ManifestError::Header);
        }
        if !text.ends_with('\n') {
            return Err(ManifestError::Truncated);
        }
        let mut entries = BTreeMap::new();
        let mut facts = BTreeMap::new();
        for (line, number) in lines.take_while(|(line, _)| !line.is_empty()) {
            if let Some(fact) = line.strip_prefix("= ") {
                let (name, value) = parse_fact(fact).ok_or(ManifestError::Line { number })?;
                facts.insert(name, value);
                continue;
            }
            let (key, entry) = parse_line(line).ok_or(ManifestError::Line { number })?;
            if entries.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(ManifestError::Order { key });
            }
            entries.insert(key, entry);
        }
        let manifest = Self { entries, facts };
        // Catches every other spelling: an empty line inside, a leading zero, a sign.
        if manifest.to_bytes() == bytes { Ok(manifest) } else { Err(ManifestError::NotCanonical) }
    }
}

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = BTreeMap::<String, Entry>::deserialize(deserializer)?;
        Self::from_entries(entries).map_err(serde::de::Error::custom)
    }
}

/// Bytes that are no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not UTF-8.
    #[error("the manifest is not UTF-8 text; it was damaged or is something else")]
    NotText,
    /// The first line is not ours.
    #[error(
        "the manifest does not start with `{HEADER}`; it is something else or from another version"
    )]
    Header,
    /// The last line has no end.
    #[error("the manifest is cut short; the last line has no end")]
    Truncated,
    /// A line that is no entry.
    #[error("line {number} of the manifest is no entry; the manifest was damaged")]
    Line {
        /// 1-based.
        number: usize,
    },
    /// A key that is no relative path in its one spelling.
    #[error("`{key}` is no key of a manifest")]
    Key {
        /// The text.
        key: String,
    },
    /// Kind, size, mode and digest do not fit together.
    #[error("the entry of `{key}` contradicts itself")]
    Entry {
        /// The entry's key.
        key: String,
    },
    /// A key out of order, or twice.
    #[error("`{key}` comes twice in the manifest, or out of order")]
    Order {
        /// The key.
        key: String,
    },
    /// Another spelling of a manifest.
    #[error(
        "the manifest is not in its canonical form; it was written or edited by something else"
    )]
    NotCanonical,
}

impl ManifestError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "manifest_damaged"
    }
}

fn letter(kind: Kind) -> char {
    match kind {
        Kind::File => 'f',
        Kind::Dir => 'd',
        Kind::Symlink => 'l',
        Kind::Other => 'o',
    }
}

fn parse_fact(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('\t')?;
    let text = |key: &str| path_of(key)?.into_os_string().into_string().ok();
    Some((text(name)?, text(value)?))
}

fn parse_line(line: &str) -> Option<(String, Entry)> {
    let mut fields = line.splitn(5, ' ');
    let kind = match fields.next()? {
        "f" => Kind::File,
        "d" => Kind::Dir,
        "l" => Kind::Symlink,
        "o" => Kind::Other,
        _ => return None,
    };
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let size = fields.next()?.parse().ok()?;
    let (digest, unreadable) = match fields.next()? {
        "-" => (None, false),
        "!" => (None, true),
        hex => (Some(hex.parse().ok()?), false),
    };
    let key = fields.next()?;
    let entry = Entry { kind, size, mode, digest, unreadable };
    (is_entry_key(key) && entry.is_sound()).then(|| (key.to_owned(), entry))
}

fn is_entry_key(key: &str) -> bool {
    path_of(key).is_some()
        && key
            .split('/')
            .all(|name| !name.is_empty() && name != "." && name != ".." && !name.contains('\0'))
}
