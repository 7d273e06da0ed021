//! The writer.

use std::io::Write;

use probity_core::Digest;
use probity_record::{RunRecords, blob_digest, canonical, read_jsonl};

use super::container::Packer;
use super::manifest::{ContentState, Item, Listed, Manifest, Named, Proof};
use super::{
    BLOBS, BUNDLE_FORMAT, BUNDLE_SCHEMAS, BundleError, EPISODE, Inclusion, LOG, MANIFEST,
    MAX_ENTRY_BYTES, MAX_MANIFEST_BYTES, RECEIPT, STATEMENT, named,
};
use crate::attest::{Envelope, SigningKey, Statement};
use crate::episode::SealedEpisode;
use crate::log::{Blob, Content};

/// What goes into a bundle.
#[derive(Clone, Copy)]
pub struct BundleInput<'a> {
    /// The log as it is exported: one record per line. It goes in byte for byte.
    pub log: &'a [u8],
    /// What the log names. What is [`Blob::Withheld`] is listed as redacted. Asked twice for each.
    pub content: &'a dyn Content,
    /// The episode of the run; its receipt goes in with it.
    pub episode: Option<&'a SealedEpisode>,
    /// Which content leaves.
    pub inclusion: &'a Inclusion,
    /// Who signs; without a key nobody does.
    pub key: Option<&'a SigningKey>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BundleSummary {
    /// Bytes of the whole file.
    pub bytes: u64,
    /// SHA-256 of the manifest: it names the bundle.
    pub manifest: Digest,
    /// SHA-256 of what the statement covers. Redaction does not change it.
    pub proof: Digest,
    /// Content that is included.
    pub included: u64,
    /// Content that was left out by choice.
    pub redacted: u64,
    /// Content that nobody gave.
    pub absent: u64,
}

/// Writes the bundle of a sealed run. Equal input gives equal bytes.
///
/// # Errors
/// [`BundleError`]. Only after [`BundleError::Sink`] or [`BundleError::Blob`] may something have been
/// written.
pub fn write_bundle(
    input: &BundleInput,
    sink: &mut dyn Write,
) -> Result<BundleSummary, BundleError> {
    let records = sealed(input.log)?;
    let episode = Episode::of(input, &records)?;
    let mut content = Vec::new();
    let mut items = Vec::new();
    for digest in named::blobs(&records.entries) {
        let item = item(input, &digest)?;
        content.push(Named { name: item.name.clone(), sha256: digest });
        items.push(item);
    }
    for (name, bytes) in episode.iter().flat_map(Episode::entries) {
        content.push(Named { name: name.to_owned(), sha256: blob_digest(bytes) });
        let is_included = episode.as_ref().is_some_and(|episode| episode.is_included);
        items.push(known(name.to_owned(), is_included.then_some(bytes)));
    }
    let proof = proof(input.log, &records, content)?;
    let statement = statement(&records, &proof, input)?;
    let manifest = Manifest {
        format: BUNDLE_FORMAT.to_owned(),
        proof,
        content: items,
        statement: Listed::of(STATEMENT, &statement),
    };
    let fetch = |name: &str| match name {
        LOG => Some(input.log.to_vec()),
        STATEMENT => Some(statement.clone()),
        EPISODE => episode.as_ref().map(|episode| episode.bytes.to_vec()),
        RECEIPT => episode.as_ref().map(|episode| episode.receipt.clone()),
        _ => blob(input, name).or_else(|| schema(name)),
    };
    pack(&manifest, &fetch, sink)
}

/// Writes what a manifest lists. Each entry must still be what is listed.
pub(super) fn pack(
    manifest: &Manifest,
    fetch: &dyn Fn(&str) -> Option<Vec<u8>>,
    sink: &mut dyn Write,
) -> Result<BundleSummary, BundleError> {
    let bytes = manifest.bytes()?;
    // What a reader would refuse is not written.
    let of_manifest = ("bytes of the manifest".to_owned(), bytes.len() as u64, MAX_MANIFEST_BYTES);
    let over = Some(of_manifest).filter(|(_, found, max)| found > max);
    if let Some((what, found, max)) = manifest.over().or(over) {
        return Err(BundleError::TooLarge { what, found, max });
    }
    let mut packer = Packer::new(sink);
    packer.entry(MANIFEST, &bytes)?;
    for entry in manifest.entries() {
        let content = fetch(&entry.name).filter(|content| Listed::of("", content).is_like(&entry));
        let content = content.ok_or(BundleError::Blob { digest: entry.sha256 })?;
        packer.entry(&entry.name, &content)?;
    }
    let count = |state| manifest.content.iter().filter(|item| item.state == state).count() as u64;
    Ok(BundleSummary {
        bytes: packer.finish()?,
        manifest: blob_digest(&bytes),
        proof: manifest.proof.digest()?,
        included: count(ContentState::Included),
        redacted: count(ContentState::Redacted),
        absent: count(ContentState::Absent),
    })
}

/// An episode on its way into a bundle.
struct Episode<'a> {
    bytes: &'a [u8],
    receipt: Vec<u8>,
    is_included: bool,
}

impl<'a> Episode<'a> {
    fn of(input: &BundleInput<'a>, records: &RunRecords) -> Result<Option<Self>, BundleError> {
        let Some(episode) = input.episode else { return Ok(None) };
        if episode.episode_id() != records.run.as_str() {
            let (episode, run) = (episode.episode_id().to_owned(), records.run.to_string());
            return Err(BundleError::Episode { episode, run });
        }
        let bytes = episode.bytes();
        let receipt = canonical::to_canonical(&episode.receipt())?;
        let mut sources = named::of_episode(&records.entries);
        sources.insert(blob_digest(bytes));
        let is_included = sources.iter().all(|digest| input.inclusion.has(digest));
        Ok(Some(Self { bytes, receipt, is_included }))
    }

    fn entries(&self) -> [(&'static str, &[u8]); 2] {
        [(EPISODE, self.bytes), (RECEIPT, &self.receipt)]
    }
}

fn sealed(log: &[u8]) -> Result<RunRecords, BundleError> {
    if log.len() as u64 > MAX_ENTRY_BYTES {
        let (what, found) = ("bytes of the log".to_owned(), log.len() as u64);
        return Err(BundleError::TooLarge { what, found, max: MAX_ENTRY_BYTES });
    }
    let records =
        read_jsonl(log).map_err(|error| BundleError::Log { message: error.to_string() })?;
    if records.seal.is_none() { Err(BundleError::Unsealed) } else { Ok(records) }
}

fn proof(log: &[u8], records: &RunRecords, content: Vec<Named>) -> Result<Proof, BundleError> {
    let schemas = BUNDLE_SCHEMAS.iter().map(|s| Listed::of(s.name, s.text.as_bytes()));
    Ok(Proof {
        run: records.run.clone(),
        outcome: records.seal.ok_or(BundleError::Unsealed)?.outcome,
        events: records.entries.len() as u64,
        head: records.head,
        files: std::iter::once(Listed::of(LOG, log)).chain(schemas).collect(),
        content,
    })
}

fn statement(
    records: &RunRecords,
    proof: &Proof,
    input: &BundleInput,
) -> Result<Vec<u8>, BundleError> {
    let statement = Statement::of(records, blob_digest(input.log), proof.digest()?);
    let statement = statement.ok_or(BundleError::Unsealed)?;
    let envelope = Envelope::wrap(&canonical::to_canonical(&statement)?, input.key);
    Ok(canonical::to_canonical(&envelope)?)
}

/// What becomes of a blob.
fn item(input: &BundleInput, digest: &Digest) -> Result<Item, BundleError> {
    let name = format!("{BLOBS}{digest}");
    if !input.inclusion.has(digest) {
        return Ok(known(name, None));
    }
    match input.content.blob(digest) {
        Blob::Bytes(bytes) if blob_digest(&bytes) == *digest => Ok(known(name, Some(&bytes))),
        Blob::Bytes(_) => Err(BundleError::Blob { digest: *digest }),
        Blob::Withheld => Ok(known(name, None)),
        Blob::Absent => Ok(Item { name, state: ContentState::Absent, bytes: None }),
    }
}

/// An item whose bytes are included, or left out.
fn known(name: String, bytes: Option<&[u8]>) -> Item {
    let bytes = bytes.map(|bytes| bytes.len() as u64);
    let state = if bytes.is_some() { ContentState::Included } else { ContentState::Redacted };
    Item { name, state, bytes }
}

fn blob(input: &BundleInput, name: &str) -> Option<Vec<u8>> {
    let digest = name.strip_prefix(BLOBS)?.parse().ok()?;
    match input.content.blob(&digest) {
        Blob::Bytes(bytes) => Some(bytes.into_owned()),
        Blob::Withheld | Blob::Absent => None,
    }
}

fn schema(name: &str) -> Option<Vec<u8>> {
    let schema = BUNDLE_SCHEMAS.iter().find(|schema| schema.name == name)?;
    Some(schema.text.as_bytes().to_vec())
}
