//! The events of a trace, decoded: names of the source system, borrowed from the line.
//!
//! An event that is here has the right shape: exact keys, exact JSON types, digests of 64 lower-case
//! hex digits, closed words. What it says may still be wrong.

use std::borrow::Cow;

use probity_report::Place;

use crate::tape::Value;

/// Name of the trace in a run directory.
pub(crate) const TRACE: &str = "trace.jsonl";

/// One event of the trace.
#[derive(Debug, Clone)]
pub(crate) struct Event<'a> {
    /// 1-based line of the file; the header is line 1.
    pub(crate) line: u64,
    /// Offset in the file of the line's first byte.
    pub(crate) offset: u64,
    /// What it says its number is.
    pub(crate) idx: u64,
    /// The step it belongs to, as it says.
    pub(crate) step_id: Cow<'a, str>,
    /// What happened.
    pub(crate) body: Body<'a>,
    /// The value of `event` in the record.
    pub(crate) value: Value<'a>,
}

/// What happened.
#[derive(Debug, Clone)]
pub(crate) enum Body<'a> {
    StepStarted,
    StepFinished(Output<'a>),
    ToolCalled(Call<'a>),
    ToolReturned(Returned<'a>),
    EvidenceRegistered(Evidence<'a>),
    ClaimEmitted(Claim<'a>),
}

/// The kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum StepKind {
    Understand,
    Gather,
    Derive,
    Verify,
    Finalize,
}

/// What a step gave.
#[derive(Debug, Clone)]
pub(crate) enum Output<'a> {
    Understand {
        normalized_question: Cow<'a, str>,
    },
    Gather {
        evidence_ids: Vec<Cow<'a, str>>,
        retrieval_queries: Vec<Cow<'a, str>>,
        retrieval_provenance: Value<'a>,
    },
    Derive {
        claim_ids: Vec<Cow<'a, str>>,
    },
    Verify {
        validated: Vec<Cow<'a, str>>,
        rejected: Vec<Cow<'a, str>>,
        missing_support: Vec<Cow<'a, str>>,
    },
    Finalize {
        claim_ids: Vec<Cow<'a, str>>,
        answer: Option<Cow<'a, str>>,
    },
    Insufficient {
        retrieved: i64,
        required: i64,
    },
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) tool_name: Cow<'a, str>,
    pub(crate) arguments: Value<'a>,
    pub(crate) step_id: Cow<'a, str>,
    pub(crate) call_idx: i64,
}

/// What a tool returned.
#[derive(Debug, Clone)]
pub(crate) struct Returned<'a> {
    pub(crate) call_id: Cow<'a, str>,
    pub(crate) success: bool,
    pub(crate) result: Value<'a>,
    pub(crate) error: Option<Cow<'a, str>>,
}

/// A piece of evidence.
#[derive(Debug, Clone)]
pub(crate) struct Evidence<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) uri: Cow<'a, str>,
    pub(crate) sha256: Cow<'a, str>,
    /// Bytes of the source document: `[start, end)`.
    pub(crate) span: (u64, u64),
    pub(crate) chunk_id: Cow<'a, str>,
    pub(crate) content_path: Cow<'a, str>,
}

/// A claim.
#[derive(Debug, Clone)]
pub(crate) struct Claim<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) statement: Cow<'a, str>,
    pub(crate) status: Status,
    pub(crate) claim_type: ClaimType,
    pub(crate) supports: Vec<Support<'a>>,
    /// An object, or null.
    pub(crate) structured: Value<'a>,
    /// The claim as it stands in the record.
    pub(crate) value: Value<'a>,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Proposed,
    Validated,
    Rejected,
}

/// What a claim rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimType {
    Derived,
    Observed,
    Assumed,
}

/// One support of a claim.
#[derive(Debug, Clone)]
pub(crate) struct Support<'a> {
    pub(crate) kind: SupportKind,
    pub(crate) ref_id: Cow<'a, str>,
    /// Bytes of what is referred to: `[start, end)`, `start < end`.
    pub(crate) span: (u64, u64),
    pub(crate) snippet_sha256: Cow<'a, str>,
}

/// What a support refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SupportKind {
    Claim,
    Evidence,
    ToolCall,
}

impl Event<'_> {
    /// The place of a value of this event: a JSON pointer below `event`, with the bytes it spans.
    pub(crate) fn place(&self, pointer: &str) -> Place {
        let span = self.value.pointer(pointer).map_or_else(|| self.value.span(), Value::span);
        let at = |byte: usize| self.offset.saturating_add(byte as u64);
        Place::file(TRACE)
            .line(self.line)
            .bytes(at(span.start), at(span.end))
            .pointer(format!("/event{pointer}"))
    }
}
