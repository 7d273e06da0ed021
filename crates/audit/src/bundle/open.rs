//! A bundle, opened: its container read to the end and every byte held against the manifest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use probity_core::Digest;
use probity_record::blob_digest;
use probity_report::{Failures, Place};

use super::container::{Standing, Unpacker};
use super::manifest::{Listed, Manifest};
use super::rule::{self, Refusal};
use super::{BLOBS, LOG, MANIFEST, MAX_MANIFEST_BYTES};
use crate::log::{Blob, Content};

/// What a bundle holds.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) manifest: Manifest,
    /// The digest of the manifest's bytes: it names the bundle.
    pub(super) digest: Digest,
    /// The bytes of every other entry, by name.
    pub(super) entries: BTreeMap<String, Vec<u8>>,
}

impl Opened {
    /// Reads a bundle. An entry with other bytes than are listed is told, and read nonetheless.
    pub(super) fn read(source: &mut dyn Read, failures: &mut Failures) -> Result<Self, Refusal> {
        let mut unpacker = Unpacker::new(source);
        let bytes = unpacker.first(MANIFEST, MAX_MANIFEST_BYTES)?;
        let manifest = Manifest::parse(&bytes)?;
        let listed = manifest.entries();
        let mut entries = BTreeMap::new();
        for (at, entry) in listed.iter().enumerate() {
            let standing = |name: &str| standing(&listed, at, name);
            let found = unpacker.next(&entry.name, entry.bytes, &standing)?;
            let digest = blob_digest(&found);
            if digest != entry.sha256 {
                let place = Place::file(entry.name.as_str());
                failures.differs(&rule::ENTRY_DIGEST, place, entry.sha256, digest);
            }
            entries.insert(entry.name.clone(), found);
        }
        unpacker.end(&|name| standing(&listed, listed.len(), name))?;
        Ok(Self { manifest, digest: blob_digest(&bytes), entries })
    }

    /// The bytes of an entry; none where it was left out.
    pub(super) fn entry(&self, name: &str) -> Option<&[u8]> {
        self.entries.get(name).map(Vec::as_slice)
    }
}

/// The content of an opened bundle. Content that does not have its digest is handed on all the same:
/// whoever asks holds it against the digest that it asked for. What the manifest lists as not there is
/// withheld: the bundle's own audit says why.
impl Content for Opened {
    fn blob(&self, digest: &Digest) -> Blob<'_> {
        let name = format!("{BLOBS}{digest}");
        if let Some(bytes) = self.entry(&name) {
            return Blob::Bytes(Cow::Borrowed(bytes));
        }
        let items = &self.manifest.content;
        match items.binary_search_by(|item| item.name.cmp(&name)) {
            Ok(_) => Blob::Withheld,
            Err(_) => Blob::Absent,
        }
    }
}

/// The log of a bundle, and its content.
pub(crate) fn opened(
    source: &mut dyn Read,
    failures: &mut Failures,
) -> Option<(Vec<u8>, Box<dyn Content>)> {
    let mut opened = Opened::read(source, failures).ok()?;
    let log = opened.entries.remove(LOG)?;
    Some((log, Box::new(opened)))
}

fn standing(listed: &[Listed], at: usize, name: &str) -> Standing {
    match listed.iter().position(|entry| entry.name == name) {
        Some(place) if place < at => Standing::Behind,
        Some(_) => Standing::Ahead,
        None if name == MANIFEST => Standing::Behind,
        None => Standing::Unlisted,
    }
}
