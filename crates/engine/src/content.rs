//! What the events only name: claims, reasons, evidence, faults. One JSON form each, kept as blobs.

use probity_core::{Claim, Digest, Evidence, Fault, Finding, Verdict};
use probity_record::blob_digest;
use serde::{Deserialize, Serialize};

/// A blob on its way to the store.
pub(crate) type Blob = (Digest, Vec<u8>);

/// The blob of a claim.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredClaim {
    /// What the delegate said.
    pub(crate) claim: Claim,
    /// The conversation to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

/// The blob of a fault, or of a delegate's failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredFault {
    /// What broke.
    pub(crate) message: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<String>,
}

/// The blob of a human's answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredAnswer {
    /// Who answered.
    pub(crate) by: String,
}

/// The longest reason that is kept, in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 64 * 1024;

/// Splits a verifier's answer into what an event may hold and the blobs it names.
pub(crate) fn finding(
    answer: Result<Verdict, Fault>,
) -> Result<(Finding, Vec<Blob>), serde_json::Error> {
    let mut blobs = Vec::new();
    let finding = match answer {
        Ok(verdict) => Finding::Verdict {
            verdict: verdict.kind,
            code: verdict.code,
            reason: keep_text(&mut blobs, &verdict.reason),
            criteria: verdict.criteria,
            confidence_bp: verdict.confidence_bp,
            evidence: keep_evidence(&mut blobs, &verdict.evidence)?,
            output: verdict.output.map(|output| keep_json(&mut blobs, &output)).transpose()?,
        },
        Err(fault) => {
            let stored = StoredFault { message: fault.message, location: fault.location };
            Finding::Fault { code: fault.code, detail: keep_json(&mut blobs, &stored)? }
        }
    };
    Ok((finding, blobs))
}

/// Stages a value as a JSON blob.
pub(crate) fn keep_json(
    blobs: &mut Vec<Blob>,
    value: &impl Serialize,
) -> Result<Digest, serde_json::Error> {
    let bytes = serde_json::to_vec(value)?;
    Ok(keep(blobs, bytes))
}

/// Stages bytes as a blob.
pub(crate) fn keep(blobs: &mut Vec<Blob>, bytes: Vec<u8>) -> Digest {
    let digest = blob_digest(&bytes);
    blobs.push((digest, bytes));
    digest
}

fn keep_text(blobs: &mut Vec<Blob>, text: &str) -> Option<Digest> {
    if text.is_empty() {
        return None;
    }
    let end = text.floor_char_boundary(MAX_REASON_BYTES);
    let kept = text.get(..end).unwrap_or_default();
    Some(keep(blobs, kept.as_bytes().to_vec()))
}

fn keep_evidence(
    blobs: &mut Vec<Blob>,
    evidence: &[Evidence],
) -> Result<Option<Digest>, serde_json::Error> {
    if evidence.is_empty() {
        return Ok(None);
    }
    keep_json(blobs, &evidence).map(Some)
}
