//! The content that the log names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use probity_core::{Claim, Digest, Entry, Event};
use probity_record::{blob_digest, claim_candidate};
use probity_report::Draft;
use serde::Deserialize;

use super::read::Log;
use super::rule;
use super::{Blob, Content};

/// The content of a claim, as the record format describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredClaim {
    claim: Claim,
    #[serde(default, rename = "session")]
    _session: Option<String>,
}

/// Every digest that the log points at is there, is what it says, and a claim has its candidate hash.
pub(super) fn check(log: &Log<'_>, content: &dyn Content, draft: &mut Draft) {
    let mut seen = BTreeMap::new();
    let mut withheld = 0_u64;
    for (seq, entry) in (0..).zip(&log.entries) {
        for (role, digest) in entry.event.named() {
            if seen.contains_key(&digest) {
                continue;
            }
            seen.insert(digest, seq);
            let place = || log.lines.record(seq);
            match content.blob(&digest) {
                Blob::Withheld => withheld = withheld.saturating_add(1),
                Blob::Absent => {
                    let message = format!("the {role} {digest} is not there");
                    draft.failures.add(&rule::BLOB_MISSING, place(), message);
                }
                Blob::Bytes(bytes) => {
                    let actual = blob_digest(&bytes);
                    if actual != digest {
                        draft.failures.differs(&rule::BLOB_DIFFERS, place(), digest, actual);
                    }
                }
            }
        }
    }
    claims(log, content, draft);
    draft.metrics.insert("blobs_named", seen.len() as u64);
    draft.metrics.insert("blobs_withheld", withheld);
    if withheld > 0 {
        let message = format!("{withheld} of {} blobs were taken out", seen.len());
        draft.failures.add(&rule::WITHHELD, log.lines.record(0), message);
    }
}

/// Claims whose content is there and is what the log names: what else there is was told already.
fn claims(log: &Log<'_>, content: &dyn Content, draft: &mut Draft) {
    let mut seen = BTreeSet::new();
    for (seq, entry) in (0..).zip(&log.entries) {
        let Some((claim, candidate)) = claimed(entry) else { continue };
        if !seen.insert((claim, candidate)) {
            continue;
        }
        let Some(bytes) = whole(content, &claim) else { continue };
        let place = log.lines.record(seq);
        match serde_json::from_slice::<StoredClaim>(&bytes) {
            Ok(stored) => {
                let actual = claim_candidate(&stored.claim);
                if actual != candidate {
                    draft.failures.differs(&rule::CANDIDATE, place, candidate, actual);
                }
            }
            Err(error) => {
                let message = format!("the content of {claim} is not a claim: {error}");
                draft.failures.add(&rule::CLAIM_UNREADABLE, place, message);
            }
        }
    }
}

/// A claim and the candidate hash that the log gives it.
fn claimed(entry: &Entry) -> Option<(Digest, Digest)> {
    match &entry.event {
        Event::ClaimReceived { claim, candidate, .. } => Some((*claim, *candidate)),
        Event::CheckFinished { rewrite, .. } => {
            rewrite.as_ref().map(|rewrite| (rewrite.claim, rewrite.candidate))
        }
        _ => None,
    }
}

fn whole<'a>(content: &'a dyn Content, digest: &Digest) -> Option<Cow<'a, [u8]>> {
    match content.blob(digest) {
        Blob::Bytes(bytes) if blob_digest(&bytes) == *digest => Some(bytes),
        _ => None,
    }
}
