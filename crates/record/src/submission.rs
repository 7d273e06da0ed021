//! The name of a submission, the same whoever computes it and however often.

use probity_core::{Digest, RunId, SubmissionId, Turn};
use uuid::Uuid;

/// The namespace of submission ids: UUIDv5 of `probity.submission` in the nil namespace.
/// Published; changing it would rename every submission.
pub const SUBMISSION_NAMESPACE: Uuid = Uuid::from_u128(0xce42_dc09_57ba_5486_b60d_bafe_d3e5_91b1);

/// UUIDv5 over `run`, newline, `epoch`, newline, `turn`, newline, `candidate`: decimal numbers
/// without leading zeros, the digest in 64 lower-case hex digits. No part may hold a newline, so no
/// two submissions share a text.
#[must_use]
pub fn submission_id(run: &RunId, turn: Turn, candidate: &Digest) -> SubmissionId {
    let text = format!("{run}\n{}\n{}\n{candidate}", turn.epoch, turn.number);
    SubmissionId::from_uuid(Uuid::new_v5(&SUBMISSION_NAMESPACE, text.as_bytes()).as_u128())
}
