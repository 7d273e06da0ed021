//! What is wrong with a citation, or with a text that should have some.

use crate::{MAX_ANSWER_BYTES, MAX_EVIDENCE_BYTES, MAX_HASHED_BYTES, MAX_MARKERS, Malformation};

/// What is wrong with a citation, or with a text that should have some.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The marker names evidence that there is not.
    #[error("no evidence has the id that the marker names")]
    Fabricated,
    /// The evidence is known, its content is gone.
    #[error("the content of the evidence is gone")]
    EvidenceMissing,
    /// The content of the evidence cannot be read.
    #[error("the content of the evidence cannot be read: {why}")]
    EvidenceUnreadable {
        /// What stood in the way.
        why: String,
    },
    /// What is cited stands in another piece of evidence, not in this one.
    #[error("what is cited stands in {found_in:?}, not in the evidence that the marker names")]
    Misattributed {
        /// The evidence in which it stands.
        found_in: String,
    },
    /// The text before the marker is not what the marker cites.
    #[error("the text before the marker is not what the marker cites")]
    QuoteDiffers,
    /// The span ends behind the evidence.
    #[error("the span ends at byte {end}, the evidence has {len} bytes")]
    OutOfBounds {
        /// End of the span.
        end: u64,
        /// Bytes of the evidence.
        len: u64,
    },
    /// The span begins or ends within a character of UTF-8.
    #[error("the span begins or ends within a character")]
    SplitCharacter,
    /// The cited bytes have another hash than the marker says.
    #[error("the cited bytes have the SHA-256 {actual}")]
    HashMismatch {
        /// SHA-256 of the cited bytes.
        actual: String,
    },
    /// The cited bytes are no UTF-8.
    #[error("the evidence is no UTF-8 there")]
    NotUtf8,
    /// A text looks like a marker and is none.
    #[error("this looks like a marker and is none: {}", .0.reason())]
    MarkerMalformed(Malformation),
    /// A statement, or a part of one, that no marker covers.
    #[error("no marker covers this text")]
    Unmarked,
    /// A claim rests on fewer distinct pieces of evidence than it must.
    #[error("the claim rests on {found} distinct pieces of evidence, it must be {required}")]
    TooFewSupports {
        /// Distinct pieces of evidence that it cites and that hold.
        found: u64,
        /// How many there must be.
        required: u64,
    },
    /// The text makes no claim and does not say that the evidence is insufficient.
    #[error("there is no claim, and nothing says that the evidence is insufficient")]
    NoClaim,
    /// The text says that the evidence is insufficient, where that is no answer.
    #[error("an answer is demanded, and the text says that the evidence is insufficient")]
    InsufficientRefused,
    /// The text says that the evidence is insufficient and makes claims nevertheless.
    #[error("claims stand beside the statement that the evidence is insufficient")]
    InsufficientBesideClaims,
    /// A bound was reached: nothing is said of what lies beyond.
    #[error("{0}")]
    Limit(Bound),
}

/// A bound of [`crate::audit_answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Bound {
    /// [`MAX_ANSWER_BYTES`].
    #[error("the answer is larger than {MAX_ANSWER_BYTES} bytes")]
    Answer,
    /// [`MAX_MARKERS`].
    #[error("the answer has more than {MAX_MARKERS} markers")]
    Markers,
    /// [`MAX_EVIDENCE_BYTES`].
    #[error("the cited evidence has more than {MAX_EVIDENCE_BYTES} bytes in all")]
    Evidence,
    /// [`MAX_HASHED_BYTES`].
    #[error("the spans of the markers have more than {MAX_HASHED_BYTES} bytes in all")]
    Hashed,
}

impl Fault {
    /// Stable machine word; its page is `docs/codes/<code>.md`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Fabricated => "citation_fabricated",
            Self::EvidenceMissing => "citation_evidence_missing",
            Self::EvidenceUnreadable { .. } => "citation_evidence_unreadable",
            Self::Misattributed { .. } => "citation_misattributed",
            Self::QuoteDiffers => "citation_quote_differs",
            Self::OutOfBounds { .. } => "citation_out_of_bounds",
            Self::SplitCharacter => "citation_split_character",
            Self::HashMismatch { .. } => "citation_hash_mismatch",
            Self::NotUtf8 => "citation_not_utf8",
            Self::MarkerMalformed(_) => "citation_marker_malformed",
            Self::Unmarked => "citation_unmarked",
            Self::TooFewSupports { .. } => "citation_too_few_supports",
            Self::NoClaim => "citation_no_claim",
            Self::InsufficientRefused => "citation_insufficient_refused",
            Self::InsufficientBesideClaims => "citation_insufficient_beside_claims",
            Self::Limit(_) => "citation_limit",
        }
    }
}
