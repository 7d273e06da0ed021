//! Citations: markers in a text, held against the bytes of the evidence that they name.
//!
//! The one piece of code behind the `citations` check of a live run and the audit of a recorded
//! trace. No I/O, no clock. Grounding says that a text quotes what it names, not that it is true.
//!
//! - [`Marker`]: `[evidence:ID:START-END:SHA]`, spans in bytes. [`pieces`] finds them in a text.
//! - [`escape`], [`cite`]: how text that looks like a marker is quoted, and how a citation is written.
//! - [`cited`], [`quoted`]: one citation against the bytes of its evidence.
//! - [`audit_answer`]: a whole answer against an [`EvidenceSource`].

mod answer;
mod cited;
mod escape;
mod evidence;
mod fault;
mod marker;
mod opening;
mod piece;
mod source;
mod statement;

pub use answer::{
    AnswerAudit, AnswerPolicy, Found, MAX_ANSWER_BYTES, MAX_EVIDENCE_BYTES, MAX_FAULTS,
    MAX_HASHED_BYTES, MAX_MARKERS, MAX_SEARCHED, Quotes, audit_answer,
};
pub use cited::{cited, quoted};
pub use escape::{Uncitable, cite, escape, unescape};
pub use fault::{Bound, Fault};
pub use marker::{MAX_ID_BYTES, MAX_OFFSET, Malformation, Marker};
pub use piece::{Piece, PieceKind, Pieces, pieces};
pub use source::{EvidenceSource, MemoryEvidence, NoEvidence};
pub use statement::{INSUFFICIENT, insufficiency};
