//! The manifest: what is in a bundle, what was left out, and the part of it that a signature covers.

use probity_core::{Digest, Outcome, RunId};
use probity_record::{blob_digest, canonical};
use probity_report::{Place, Rule};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::container::is_plain;
use super::rule::{self, Refusal};
use super::{
    BLOBS, BUNDLE_FORMAT, EPISODE, LOG, MANIFEST, MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES,
    MAX_SCHEMAS, MAX_STATEMENT_BYTES, RECEIPT, SCHEMAS, STATEMENT,
};

/// The first entry of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) format: String,
    pub(super) proof: Proof,
    /// What became of each item of `proof.content`, in the same order.
    pub(super) content: Vec<Item>,
    pub(super) statement: Listed,
}

/// What the signature covers: everything but which content is included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Proof {
    pub(super) run: RunId,
    pub(super) outcome: Outcome,
    /// Records of the log, the sealing one included.
    pub(super) events: u64,
    /// The hash of the last of them.
    pub(super) head: Digest,
    /// What is always there: the log and the schemas.
    pub(super) files: Vec<Listed>,
    /// What may be left out. No sizes: they would tell of what was left out.
    pub(super) content: Vec<Named>,
}

/// An entry that is always there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
}

/// An entry that may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) sha256: Digest,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) state: ContentState,
    /// Present exactly where it is included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
}

/// Whether content of a run is in its bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentState {
    /// Its bytes are there.
    Included,
    /// They were left out, by choice.
    Redacted,
    /// Whoever made the bundle did not have them.
    Absent,
}

impl Manifest {
    /// Reads a manifest: of this version, in canonical form, and consistent in itself.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        if let Some(found) = other_version(bytes) {
            let place = Place::file(MANIFEST).pointer("/format");
            let message = format!("format `{found}`; this reader reads {BUNDLE_FORMAT}");
            return Err(Refusal::new(&rule::VERSION, place, message));
        }
        let manifest: Self = read_canonical(bytes, MANIFEST, &rule::MANIFEST_SHAPE)?;
        manifest.check_files()?;
        manifest.check_content()?;
        manifest.check_size()?;
        Ok(manifest)
    }

    pub(super) fn bytes(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_canonical(self)
    }

    /// Every entry behind the manifest, in the order in which they stand.
    pub(super) fn entries(&self) -> Vec<Listed> {
        let items = self.content.iter().zip(&self.proof.content).filter_map(|(item, named)| {
            let (name, sha256) = (item.name.clone(), named.sha256);
            item.bytes.map(|bytes| Listed { name, bytes, sha256 })
        });
        let statement = std::iter::once(self.statement.clone());
        self.proof.files.iter().cloned().chain(items).chain(statement).collect()
    }

    /// The entry that the log is.
    pub(super) fn log(&self) -> Option<&Listed> {
        self.proof.files.first()
    }

    fn check_files(&self) -> Result<(), Refusal> {
        let names: Vec<&str> = self.proof.files.iter().map(|file| file.name.as_str()).collect();
        let is_sorted = names.is_sorted_by(|one, next| one < next);
        let is_legal = match names.split_first() {
            Some((first, schemas)) => *first == LOG && schemas.iter().all(|name| is_schema(name)),
            None => false,
        };
        if !is_sorted || !is_legal || names.len() > MAX_SCHEMAS + 1 {
            return Err(shape(
                "/proof/files",
                "must be the log and the schemas, each once, sorted by name",
            ));
        }
        if self.statement.name != STATEMENT {
            return Err(shape("/statement/name", "the statement has another name"));
        }
        Ok(())
    }

    fn check_content(&self) -> Result<(), Refusal> {
        let proof = &self.proof.content;
        if !proof.is_sorted_by(|one, next| one.name < next.name) {
            return Err(shape("/proof/content", "must name each item once, sorted by name"));
        }
        let has = |name: &str| proof.iter().any(|named| named.name == name);
        if has(EPISODE) != has(RECEIPT) {
            return Err(shape("/proof/content", "an episode and its receipt go together"));
        }
        for (at, named) in proof.iter().enumerate() {
            let is_blob = named.name.strip_prefix(BLOBS) == Some(&named.sha256.to_string());
            if !is_blob && named.name != EPISODE && named.name != RECEIPT {
                return Err(shape(&format!("/proof/content/{at}"), "not a name of content"));
            }
        }
        let names = proof.iter().map(|named| &named.name);
        if !names.eq(self.content.iter().map(|item| &item.name)) {
            return Err(shape(
                "/content",
                "must say of each item of /proof/content what became of it",
            ));
        }
        let is_stated =
            |item: &&Item| (item.state == ContentState::Included) != item.bytes.is_some();
        match self.content.iter().position(|item| is_stated(&item)) {
            Some(at) => Err(shape(
                &format!("/content/{at}"),
                "`bytes` must be there exactly where the item is included",
            )),
            None => Ok(()),
        }
    }

    fn check_size(&self) -> Result<(), Refusal> {
        match self.over() {
            None => Ok(()),
            Some((what, found, max)) => {
                let message = format!("{what}: {found}, at most {max} are read");
                Err(Refusal::new(&rule::TOO_LARGE, Place::file(MANIFEST), message))
            }
        }
    }

    /// The first bound that it breaks: what there is too much of, how much, and the bound. Content
    /// that was left out counts as an entry, so that a bundle and its redaction are both read.
    pub(super) fn over(&self) -> Option<(String, u64, u64)> {
        let entries = self.entries();
        let count = self.proof.files.len().saturating_add(self.content.len()).saturating_add(2);
        let total = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.bytes));
        let bounds = [
            ("entries", count as u64, MAX_ENTRIES as u64),
            ("bytes of the statement", self.statement.bytes, MAX_STATEMENT_BYTES),
            ("bytes of all entries", total, MAX_BUNDLE_BYTES),
        ];
        let bounds = bounds.into_iter().map(|(what, found, max)| (what.to_owned(), found, max));
        let each = entries.into_iter().map(|entry| (entry.name, entry.bytes, MAX_ENTRY_BYTES));
        bounds.chain(each).find(|(_, found, max)| found > max)
    }
}

impl Proof {
    /// The digest that the signed statement names.
    pub(super) fn digest(&self) -> Result<Digest, canonical::CanonicalError> {
        Ok(blob_digest(&canonical::to_canonical(self)?))
    }
}

impl Listed {
    /// Whether both are the same bytes.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.sha256 == other.sha256
    }

    pub(super) fn of(name: impl Into<String>, bytes: &[u8]) -> Self {
        Self { name: name.into(), bytes: bytes.len() as u64, sha256: blob_digest(bytes) }
    }
}

/// Reads a value that must be spelled exactly as it would be written here.
pub(crate) fn read_canonical<T: Serialize + DeserializeOwned>(
    bytes: &[u8],
    file: &str,
    rule: &'static Rule,
) -> Result<T, Refusal> {
    let refuse = |message: String| Refusal::new(rule, Place::file(file), message);
    canonical::check(bytes).map_err(|error| refuse(error.to_string()))?;
    let value: T = serde_json::from_slice(bytes).map_err(|error| refuse(error.to_string()))?;
    match canonical::to_canonical(&value) {
        Ok(spelled) if spelled == bytes => Ok(value),
        _ => Err(refuse("a member that must be left out, or another spelling".to_owned())),
    }
}

/// The version, where the bytes name one that is not read here.
fn other_version(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct FormatOnly {
        format: String,
    }
    let only: FormatOnly = serde_json::from_slice(bytes).ok()?;
    (only.format != BUNDLE_FORMAT).then_some(only.format)
}

fn is_schema(name: &str) -> bool {
    is_plain(name)
        && name.strip_prefix(SCHEMAS).is_some_and(|rest| !rest.contains('/'))
        && name.ends_with(".schema.json")
}

fn shape(pointer: &str, message: &str) -> Refusal {
    Refusal::new(&rule::MANIFEST_SHAPE, Place::file(MANIFEST).pointer(pointer), message)
}
