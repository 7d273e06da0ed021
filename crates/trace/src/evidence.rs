//! Evidence: every registered piece has its file, whole and alone.

mod cache;
mod file;

use std::collections::HashMap;

use probity_report::{Failures, Place, Rule};

use crate::identity::{Key, digest};
use crate::model::{Event, Evidence};
use crate::scene::Scene;
use crate::{FileError, FileKind};

pub(crate) use cache::Cache;
use file::{Content, is_whole, read, read_range};

const CHECK: &str = "evidence";
const CONTENT: &str = "INV-EVD-001";

static TWICE: Rule = Rule::error("trace_evidence_twice", CHECK, "evidence with the id of another")
    .under("INV-SCH-001");
static PATH: Rule =
    Rule::error("trace_evidence_path", CHECK, "evidence whose file is not evidence/<id>.txt");
static MISSING: Rule =
    Rule::error("trace_evidence_missing", CHECK, "evidence whose file is not there").under(CONTENT);
static LINK: Rule =
    Rule::error("trace_evidence_link", CHECK, "evidence that is a link, or behind one")
        .under(CONTENT);
static NOT_A_FILE: Rule =
    Rule::error("trace_evidence_not_a_file", CHECK, "evidence that is no regular file")
        .under(CONTENT);
static UNREADABLE: Rule =
    Rule::error("trace_evidence_unreadable", CHECK, "evidence that cannot be read").under(CONTENT);
static TOO_LARGE: Rule =
    Rule::limit("trace_evidence_too_large", CHECK, "evidence that is larger than is read");
static SHA256: Rule =
    Rule::error("trace_evidence_sha256", CHECK, "evidence whose file has another SHA-256")
        .under(CONTENT);
static CHUNK_ID: Rule =
    Rule::error("trace_evidence_chunk_id", CHECK, "evidence whose chunk is not its content");
static LENGTH: Rule =
    Rule::error("trace_evidence_length", CHECK, "evidence whose file is not as long as its span");
static NOT_UTF8: Rule =
    Rule::error("trace_evidence_not_utf8", CHECK, "evidence whose file is no UTF-8");

/// What is found of evidence.
pub(crate) static RULES: &[&Rule] = &[
    &TWICE,
    &PATH,
    &MISSING,
    &LINK,
    &NOT_A_FILE,
    &UNREADABLE,
    &TOO_LARGE,
    &SHA256,
    &CHUNK_ID,
    &LENGTH,
    &NOT_UTF8,
];

/// The most bytes of evidence that are held for the claims that follow. What no longer is, is read
/// again.
const HELD_BYTES: usize = 8 << 20;

/// The most bytes that claims may have read again or hashed, all of them together.
const MAX_CITED_BYTES: u64 = 16 << 30;

/// What opening a file counts for among them.
const OPENING_BYTES: u64 = 4 << 10;

/// What was registered. No family by itself: [`crate::claim::Claims`] hands it its events.
#[derive(Debug)]
pub(crate) struct Evidences {
    known: HashMap<Key, Fact>,
    held: Cache,
    buffer: Vec<u8>,
    cited_bytes_left: u64,
    counts: Counts,
}

/// How much evidence there is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Pieces whose file has any byte.
    pub(crate) non_empty: u64,
    /// Pieces whose file has more than white space.
    pub(crate) non_blank: u64,
}

/// What is remembered of a piece.
#[derive(Debug, Clone, Copy)]
struct Fact {
    sha256: [u8; 32],
    len: u64,
    is_sound: bool,
}

/// Bytes of a piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window<'w> {
    pub(crate) bytes: &'w [u8],
    /// Where in the evidence they begin.
    pub(crate) base: u64,
}

/// Why bytes of evidence are not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// No evidence has the id.
    Unknown,
    /// What is wrong with the evidence was told when it was registered.
    Told,
    /// The file is not what it was when it was registered.
    Changed,
    /// A bound was reached.
    Limit,
    /// The range ends behind the file, which has so many bytes.
    Outside(u64),
}

impl Default for Evidences {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            held: Cache::new(HELD_BYTES),
            buffer: Vec::new(),
            cited_bytes_left: MAX_CITED_BYTES,
            counts: Counts::default(),
        }
    }
}

impl Evidences {
    /// Holds a piece of evidence against its file.
    pub(crate) fn register(
        &mut self,
        scene: &Scene,
        event: &Event,
        evidence: &Evidence,
        failures: &mut Failures,
    ) {
        let key = Key::of(&evidence.id);
        if self.known.contains_key(&key) {
            failures.add(&TWICE, event.place("/evidence/id"), TWICE.finds);
            return;
        }
        check_chunk_id(event, evidence, failures);
        let content = self.content(scene, event, evidence, failures);
        let sha256 = content.as_ref().map_or([0; 32], |content| content.sha256);
        let len = content.as_ref().map_or(0, |content| content.len);
        let is_sound = content.is_some();
        self.known.insert(key, Fact { sha256, len, is_sound });
        let Some(content) = content else { return };
        self.counts.non_empty = self.counts.non_empty.saturating_add(u64::from(len > 0));
        let is_blank = u64::from(!content.is_blank);
        self.counts.non_blank = self.counts.non_blank.saturating_add(is_blank);
        if content.is_whole {
            self.held.insert(key, &self.buffer);
        }
    }

    /// How much was registered so far.
    pub(crate) const fn counts(&self) -> Counts {
        self.counts
    }

    /// SHA-256 of the files that are what they should be, by id.
    pub(crate) fn sums(&self) -> HashMap<Key, [u8; 32]> {
        let sound = self.known.iter().filter(|(_, fact)| fact.is_sound);
        sound.map(|(key, fact)| (*key, fact.sha256)).collect()
    }

    /// The bytes around a range of a piece of evidence: the byte behind the range is among them, if
    /// there is one.
    pub(crate) fn window(
        &mut self,
        scene: &Scene,
        id: &str,
        (start, end): (u64, u64),
    ) -> Result<Window<'_>, Withheld> {
        let key = Key::of(id);
        let fact = *self.known.get(&key).ok_or(Withheld::Unknown)?;
        if !fact.is_sound {
            return Err(Withheld::Told);
        }
        if end > fact.len {
            return Err(Withheld::Outside(fact.len));
        }
        let is_held = self.held.contains(key);
        let reading = if is_held { 0 } else { fact.len.saturating_add(OPENING_BYTES) };
        let cost = reading.saturating_add(end.saturating_sub(start));
        self.cited_bytes_left = self.cited_bytes_left.checked_sub(cost).ok_or(Withheld::Limit)?;
        if is_held {
            let bytes = self.held.get(key).unwrap_or_default();
            return Ok(Window { bytes, base: 0 });
        }
        let path = path_of(id);
        if !is_whole(fact.len) {
            let range = (start, end);
            read_range(scene.files, &path, range, &mut self.buffer).map_err(withheld)?;
            return Ok(Window { bytes: &self.buffer, base: start });
        }
        let content = read(scene.files, &path, &mut self.buffer).map_err(withheld)?;
        if content.sha256 != fact.sha256 || !content.is_whole {
            return Err(Withheld::Changed);
        }
        self.held.insert(key, &self.buffer);
        Ok(Window { bytes: &self.buffer, base: 0 })
    }

    /// What the file holds, if it is what it should be. Everything that it is not is told.
    fn content(
        &mut self,
        scene: &Scene,
        event: &Event,
        evidence: &Evidence,
        failures: &mut Failures,
    ) -> Option<Content> {
        let path = path_of(&evidence.id);
        if evidence.content_path != path || !is_name(&evidence.id) {
            failures.differs(
                &PATH,
                event.place("/evidence/content_path"),
                path,
                &evidence.content_path,
            );
            return None;
        }
        let content = match read(scene.files, &path, &mut self.buffer) {
            Ok(content) => content,
            Err(error) => {
                let message = error.to_string();
                failures.add(rule_of(&error), Place::file(path), message);
                return None;
            }
        };
        let is_same = digest(&evidence.sha256) == Some(content.sha256);
        if !is_same {
            let actual = hex::encode(content.sha256);
            failures.differs(&SHA256, Place::file(&path), &evidence.sha256, actual);
        }
        let (start, end) = evidence.span;
        let is_as_long = end.checked_sub(start) == Some(content.len);
        if !is_as_long {
            let (place, len) = (event.place("/evidence/span"), end.saturating_sub(start));
            failures.differs(&LENGTH, place, len, content.len);
        }
        if !content.is_utf8 {
            failures.add(&NOT_UTF8, Place::file(path), NOT_UTF8.finds);
        }
        (is_same && content.is_utf8).then_some(content)
    }
}

/// The chunk of a piece of evidence is named by the hash of its bytes.
fn check_chunk_id(event: &Event, evidence: &Evidence, failures: &mut Failures) {
    if evidence.chunk_id != evidence.sha256 {
        let place = event.place("/evidence/chunk_id");
        failures.differs(&CHUNK_ID, place, &evidence.sha256, &evidence.chunk_id);
    }
}

fn path_of(id: &str) -> String {
    format!("evidence/{id}.txt")
}

/// Whether an id can be a file's name on every system: no separator, no drive, no way up.
fn is_name(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=200).contains(&id.len()) && !id.starts_with('.') && id.bytes().all(is_plain)
}

const fn rule_of(error: &FileError) -> &'static Rule {
    match error {
        FileError::Missing => &MISSING,
        FileError::NotRegular(FileKind::Link) => &LINK,
        FileError::NotRegular(_) => &NOT_A_FILE,
        FileError::TooLarge { .. } | FileError::TooMany { .. } => &TOO_LARGE,
        FileError::Io(_) => &UNREADABLE,
    }
}

fn withheld(error: FileError) -> Withheld {
    match error {
        FileError::TooLarge { .. } | FileError::TooMany { .. } => Withheld::Limit,
        _ => Withheld::Changed,
    }
}
