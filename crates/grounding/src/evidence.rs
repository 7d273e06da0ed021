//! The evidence of one audit: read once, within bounds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use memchr::memmem;
use sha2::{Digest as _, Sha256};

use crate::cited::hashes_in;
use crate::{
    Bound, EvidenceSource, Fault, MAX_EVIDENCE_BYTES, MAX_HASHED_BYTES, MAX_SEARCHED, Marker,
    NoEvidence, cited, quoted, unescape,
};

/// The most bytes that one audit looks through for misattributed text.
const MAX_SEARCHED_BYTES: usize = 256 << 20;

/// The shortest text that says where it comes from.
const MIN_SEARCHED_BYTES: usize = 8;

/// The evidence that an answer cites.
pub(crate) struct Shelf<'a> {
    source: &'a dyn EvidenceSource,
    loaded: BTreeMap<String, Result<Loaded<'a>, Fault>>,
    /// Where misattributed text is looked for; asked for when it first is.
    ids: Option<Vec<String>>,
    bytes_left: usize,
    hashed_left: usize,
    searched_left: usize,
}

struct Loaded<'a> {
    content: Cow<'a, [u8]>,
    sha256: [u8; 32],
}

impl<'a> Shelf<'a> {
    pub(crate) fn new(source: &'a dyn EvidenceSource) -> Self {
        Self {
            source,
            loaded: BTreeMap::new(),
            ids: None,
            bytes_left: MAX_EVIDENCE_BYTES,
            hashed_left: MAX_HASHED_BYTES,
            searched_left: MAX_SEARCHED_BYTES,
        }
    }

    /// Holds a citation against its evidence; `quote` is the text before the marker, where that must
    /// be the cited bytes.
    pub(crate) fn hold(&mut self, marker: &Marker, quote: Option<&str>) -> Result<(), Fault> {
        let len = self.load(marker.id)?.content.len();
        let span = usize::try_from(marker.end.saturating_sub(marker.start)).unwrap_or(usize::MAX);
        let cost = span.min(len).saturating_add(quote.map_or(0, str::len));
        let left = self.hashed_left.checked_sub(cost).ok_or(Fault::Limit(Bound::Hashed))?;
        self.hashed_left = left;
        let content = &self.load(marker.id)?.content;
        let held = cited(marker, content)
            .and_then(|cited| quote.map_or(Ok(()), |quote| quoted(quote, cited.trim())));
        held.map_err(|fault| match fault {
            Fault::Unmarked => fault,
            fault => self
                .elsewhere(marker, quote)
                .map_or(fault, |found_in| Fault::Misattributed { found_in }),
        })
    }

    /// SHA-256 of the content of a piece of evidence, where there is some.
    pub(crate) fn sha256(&mut self, id: &str) -> Option<[u8; 32]> {
        self.load(id).ok().map(|loaded| loaded.sha256)
    }

    fn load(&mut self, id: &str) -> Result<&Loaded<'a>, Fault> {
        if !self.loaded.contains_key(id) {
            let read = read(self.source, id, &mut self.bytes_left);
            self.loaded.insert(id.to_owned(), read);
        }
        match self.loaded.get(id) {
            Some(Ok(loaded)) => Ok(loaded),
            Some(Err(fault)) => Err(fault.clone()),
            None => Err(Fault::Fabricated),
        }
    }

    /// The first other piece of evidence that holds what is cited: bytes at the same place with the
    /// hash of the marker, or the quote anywhere.
    fn elsewhere(&mut self, marker: &Marker, quote: Option<&str>) -> Option<String> {
        let quote = quote.map(unescape).filter(|quote| quote.len() >= MIN_SEARCHED_BYTES);
        if self.ids.is_none() {
            let mut ids = self.source.ids();
            ids.truncate(MAX_SEARCHED);
            self.ids = Some(ids);
        }
        let ids = self.ids.take().unwrap_or_default();
        let found = ids.iter().find(|id| {
            *id != marker.id && self.holds(id, marker, quote.as_deref().map(str::as_bytes))
        });
        let found = found.cloned();
        self.ids = Some(ids);
        found
    }

    fn holds(&mut self, id: &str, marker: &Marker, quote: Option<&[u8]>) -> bool {
        let Ok(loaded) = self.load(id) else { return false };
        // Never more than hashing the whole and searching the whole.
        let cost = loaded.content.len().saturating_mul(2).saturating_add(1);
        let Some(left) = self.searched_left.checked_sub(cost) else { return false };
        self.searched_left = left;
        let Ok(Loaded { content, .. }) = self.load(id) else { return false };
        hashes_in(marker, content)
            || quote.is_some_and(|quote| memmem::find(content, quote).is_some())
    }
}

fn read<'a>(
    source: &'a dyn EvidenceSource,
    id: &str,
    bytes_left: &mut usize,
) -> Result<Loaded<'a>, Fault> {
    let content = source.content(id).map_err(|none| match none {
        NoEvidence::Unknown => Fault::Fabricated,
        NoEvidence::Missing => Fault::EvidenceMissing,
        NoEvidence::TooLarge => Fault::Limit(Bound::Evidence),
        NoEvidence::Unreadable(why) => Fault::EvidenceUnreadable { why },
    })?;
    let left = bytes_left.checked_sub(content.len()).ok_or(Fault::Limit(Bound::Evidence))?;
    *bytes_left = left;
    let sha256 = Sha256::digest(&content).into();
    Ok(Loaded { content, sha256 })
}
