//! What the events only name: claims, reasons, evidence, faults. One JSON form each, kept as blobs.

use probity_core::{Claim, Digest, Evidence, Fault, Finding, RunId, Verdict};
use probity_record::blob_digest;
use probity_store::limits::MAX_BLOB_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// What they said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) text: String,
}

/// The blob of what a parked run waits for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredParking {
    /// The delegate's name of the wait.
    pub(crate) key: String,
    /// What is asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) question: String,
    /// The runs whose ends are the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) children: Vec<RunId>,
}

/// The blob of an answer to a parked run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredWoken {
    /// Who answered.
    pub(crate) by: String,
    /// What they answered.
    pub(crate) value: Value,
}

/// The longest text that is kept of a reason, or of what someone said broke, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The most that is kept beside one event by a claim, a verdict or a reading, in bytes.
pub(crate) const MAX_KEPT_BYTES: usize = MAX_BLOB_BYTES;
/// The most criteria of one verdict: they stand in the record itself.
const MAX_CRITERIA: usize = 1000;

impl StoredFault {
    /// Message and location, cut where they are too long to keep.
    pub(crate) fn new(message: &str, location: Option<&str>) -> Self {
        let location = location.map(|location| cut(location).to_owned());
        Self { message: cut(message).to_owned(), location }
    }

    /// What is said in the place of content that no store takes.
    pub(crate) fn too_large(what: &str, bytes: usize) -> Self {
        let message = format!("the {what} is {bytes} bytes, more than the {MAX_KEPT_BYTES} kept");
        Self { message, location: None }
    }
}

/// Splits a verifier's answer into what an event may hold and the blobs it names.
pub(crate) fn finding(
    answer: Result<Verdict, Fault>,
) -> Result<(Finding, Vec<Blob>), serde_json::Error> {
    let criteria = answer.as_ref().map_or(0, |verdict| verdict.criteria.len());
    let (finding, blobs) = split(answer)?;
    let bytes = blobs.iter().map(|(_, bytes)| bytes.len()).sum();
    let message = if criteria > MAX_CRITERIA {
        format!("the verdict names {criteria} criteria, more than the {MAX_CRITERIA} recorded")
    } else if bytes > MAX_KEPT_BYTES {
        StoredFault::too_large("verdict", bytes).message
    } else {
        return Ok((finding, blobs));
    };
    split(Err(Fault::new("verdict_too_large", message)))
}

fn split(answer: Result<Verdict, Fault>) -> Result<(Finding, Vec<Blob>), serde_json::Error> {
    let mut blobs = Vec::new();
    let finding = match answer {
        Ok(verdict) => Finding::Verdict {
            verdict: verdict.kind,
            code: verdict.code,
            reason: keep_text(&mut blobs, &verdict.reason),
            criteria: verdict.criteria,
            confidence_bp: verdict.confidence_bp,
            evidence: keep_evidence(&mut blobs, &verdict.evidence)?,
            metadata: verdict.metadata.map(|it| keep_json(&mut blobs, &it)).transpose()?,
            output: verdict.output.map(|output| keep_json(&mut blobs, &output)).transpose()?,
        },
        Err(fault) => {
            let stored = StoredFault::new(&fault.message, fault.location.as_deref());
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

/// Stages what somebody said.
pub(crate) fn keep_answer(
    blobs: &mut Vec<Blob>,
    by: &str,
    text: &str,
) -> Result<Digest, serde_json::Error> {
    keep_json(blobs, &StoredAnswer { by: by.to_owned(), text: cut(text).to_owned() })
}

/// Stages what somebody answered to a parked run.
pub(crate) fn keep_woken(
    blobs: &mut Vec<Blob>,
    by: &str,
    value: &Value,
) -> Result<Digest, serde_json::Error> {
    keep_json(blobs, &StoredWoken { by: by.to_owned(), value: value.clone() })
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
    Some(keep(blobs, cut(text).as_bytes().to_vec()))
}

/// The part of a text that is kept.
pub(crate) fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default()
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
