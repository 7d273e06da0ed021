//! An episode before and after its seal: two types, so that a sealed one cannot be changed.

use std::borrow::Cow;

use probity_core::Digest;
use probity_record::blob_digest;
use serde::{Deserialize, Serialize};

use crate::document::{Member, Node, Without, read, sorted};
use crate::drift::{from_ms, to_ms};
use crate::finding::{Finding, Findings};
use crate::report::SealRule;
use crate::seal::{self, MEMBER};
use crate::shape::{EPISODE, time};
use crate::vocabulary::{self, EPISODE_SIGNS};
use crate::{facts::Facts, rule};

/// An episode without a seal. Its shape was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenEpisode {
    /// In canonical form, without `seal`.
    text: Vec<u8>,
}

/// An episode whose seal matches its bytes. There is no way to change it or to seal it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedEpisode {
    bytes: Vec<u8>,
    episode_id: String,
    seal_hash: String,
    rule: SealRule,
    whole: Digest,
}

/// What is kept beside a sealed episode: a digest over all of it. The seal itself does not cover
/// `sealedAt`, because the published rule leaves the whole `seal` member out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The episode's name.
    pub episode_id: String,
    /// SHA-256 over the whole episode, seal included, in the form of [`SealRule::Sorted`].
    pub whole: Digest,
}

/// The bytes are no open episode, or it cannot be sealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// They carry a seal already.
    #[error("the episode carries a seal; what was sealed is not sealed again")]
    AlreadySealed,
    /// They are not an episode, or its seal does not match.
    #[error("not an episode: {}", crate::finding::first(.findings))]
    Invalid {
        /// Why; at least one is an error.
        findings: Vec<Finding>,
    },
    /// The time of sealing lies before the episode's end, or beyond the year 9999.
    #[error("an episode cannot be sealed at {sealed_at_ms} ms: give a time after its end")]
    Time {
        /// The time that was given, in milliseconds since the Unix epoch.
        sealed_at_ms: u64,
    },
}

impl SealError {
    /// Stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AlreadySealed => "episode_already_sealed",
            Self::Invalid { .. } => "episode_invalid",
            Self::Time { .. } => "episode_seal_time",
        }
    }
}

impl OpenEpisode {
    /// Reads an episode without `seal`, strictly: its shape must be whole but for the seal.
    ///
    /// # Errors
    /// [`SealError::AlreadySealed`] where `seal` is there, [`SealError::Invalid`] with everything
    /// that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, SealError> {
        let mut findings = Findings::default();
        let mut node = strict(bytes, &mut findings)?;
        if node.get(MEMBER).is_some() {
            return Err(SealError::AlreadySealed);
        }
        let text = sorted(&node, Without::Nothing);
        // The shape of a sealed episode asks for a seal: any well-formed one will do.
        put_seal(&mut node, "1970-01-01T00:00:00Z", "");
        vocabulary::shape(&node, &EPISODE, EPISODE_SIGNS, &mut findings);
        valid(findings).map(|()| Self { text })
    }

    /// Seals the episode by [`SealRule::Sorted`], the rule that published episodes are sealed by.
    ///
    /// # Errors
    /// [`SealError::Time`] for a time before the episode's end or beyond the year 9999.
    pub fn seal(self, sealed_at_ms: u64) -> Result<SealedEpisode, SealError> {
        let mut findings = Findings::default();
        let mut node = strict(&self.text, &mut findings)?;
        let facts = Facts::new(&node);
        let ended_at_ms = facts.text(&["endedAt"]).and_then(time).and_then(to_ms);
        let episode_id = facts.text(&["episodeId"]).unwrap_or_default().to_owned();
        let sealed_at = from_ms(sealed_at_ms)
            .filter(|_| ended_at_ms.is_none_or(|ended| ended <= sealed_at_ms))
            .ok_or(SealError::Time { sealed_at_ms })?;
        let seal_hash = seal::digest(&node);
        put_seal(&mut node, &sealed_at, &seal_hash);
        let bytes = sorted(&node, Without::Nothing);
        let whole = blob_digest(&bytes);
        Ok(SealedEpisode { bytes, episode_id, seal_hash, rule: SealRule::Sorted, whole })
    }

    /// The episode in canonical form.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }
}

impl SealedEpisode {
    /// Reads a sealed episode: its shape must be whole and its seal must match by one of the rules.
    ///
    /// # Errors
    /// [`SealError::Invalid`] with everything that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, SealError> {
        let mut findings = Findings::default();
        let node = strict(bytes, &mut findings)?;
        vocabulary::shape(&node, &EPISODE, EPISODE_SIGNS, &mut findings);
        let state = seal::check(&node, &mut findings);
        let episode_id = node.get("episodeId").and_then(Node::text).unwrap_or_default().to_owned();
        match (state.and_then(|state| Some((state.rule?, state.found))), valid(findings)) {
            (Some((rule, seal_hash)), Ok(())) => {
                let whole = whole(&node);
                Ok(Self { bytes: bytes.to_vec(), episode_id, seal_hash, rule, whole })
            }
            (_, Err(error)) => Err(error),
            (None, Ok(())) => Err(SealError::Invalid { findings: Vec::new() }),
        }
    }

    /// The bytes as they were read or sealed.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The episode's name.
    #[must_use]
    pub fn episode_id(&self) -> &str {
        &self.episode_id
    }

    /// The digest of the seal, 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn seal_hash(&self) -> &str {
        &self.seal_hash
    }

    /// The rule by which the seal matches.
    #[must_use]
    pub const fn rule(&self) -> SealRule {
        self.rule
    }

    /// What to keep beside it.
    #[must_use]
    pub fn receipt(&self) -> Receipt {
        Receipt { episode_id: self.episode_id.clone(), whole: self.whole }
    }
}

impl Receipt {
    /// Holds an episode against the receipt.
    pub(crate) fn hold(&self, node: &Node, findings: &mut Findings) {
        let name = node.get("episodeId").and_then(Node::text).unwrap_or_default();
        let found = whole(node);
        if name != self.episode_id {
            let message = format!("the receipt is for `{}`, this is `{name}`", self.episode_id);
            findings.add(&rule::RECEIPT_DIFFERS, "/episodeId", message);
        } else if found != self.whole {
            let message = format!(
                "the receipt covers `{}`, the bytes give `{found}`: something was changed, perhaps \
                 `seal.sealedAt`, which the seal does not cover",
                self.whole
            );
            findings.add(&rule::RECEIPT_DIFFERS, "", message);
        }
    }
}

fn whole(node: &Node) -> Digest {
    blob_digest(&sorted(node, Without::Nothing))
}

/// Reads bytes whose spelling leaves nothing open.
fn strict<'a>(bytes: &'a [u8], findings: &mut Findings) -> Result<Node<'a>, SealError> {
    match read(bytes) {
        Ok(document) => {
            document.tell(findings);
            Ok(document.node)
        }
        Err(error) => {
            findings.add(error.rule, "", error.message);
            Err(SealError::Invalid { findings: std::mem::take(findings).into_list() })
        }
    }
}

fn valid(findings: Findings) -> Result<(), SealError> {
    if findings.is_accepted() {
        return Ok(());
    }
    Err(SealError::Invalid { findings: findings.into_list() })
}

/// Puts the seal where the order of keys has it.
fn put_seal(node: &mut Node, sealed_at: &str, seal_hash: &str) {
    let Node::Object(members) = node else { return };
    let text = |key, text: &str| Member {
        key: Cow::Borrowed(key),
        value: Node::Text(Cow::Owned(text.to_owned())),
    };
    let seal = Node::Object(vec![text("sealHash", seal_hash), text("sealedAt", sealed_at)]);
    let at = members.partition_point(|member| &*member.key < MEMBER);
    members.insert(at, Member { key: Cow::Borrowed(MEMBER), value: seal });
}
