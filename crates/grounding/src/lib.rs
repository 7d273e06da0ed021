//! Citations: markers in a text, held against the bytes of the evidence that they name.
//!
//! The one piece of code behind the `citations` check of a live run and the audit of a recorded
//! trace. No I/O, no clock. Grounding says that a text quotes what it names, not that it is true.
//!
//! # Marker
//! `[evidence:ID:START-END:SHA]`: bytes `START` to `END` (not included) of the content of a piece of
//! evidence, and their SHA-256. Offsets count bytes, never characters. What looks like a marker and
//! is none is a fault, never ordinary text.
//!
//! # Quote
//! The text before a marker. Where it must be what the marker cites, evidence that itself holds
//! `[evidence`, or what looks like it, is quoted with one more backslash behind the bracket than stand
//! there: `[\evidence`. Nothing else is escaped.
//!
//! # Answer
//! With exact quotes: quotes and markers in turn, and white space. A line break behind a marker ends a
//! claim. With any text: every line that says something ends with a marker, full stops aside. An
//! answer without evidence is `INSUFFICIENT EVIDENCE`, or `INSUFFICIENT EVIDENCE: ` and a reason on
//! one line; a line that begins so claims nothing.
//!
//! # Names
//! - [`pieces`]: markers and texts, in order.
//! - [`escape`], [`cite`]: how a quote and its marker are written.
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
