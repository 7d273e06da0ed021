//! What the original's checks look at, of a trace and its plan.

use super::json::Value;
use super::number::Integer;
use super::text::Text;

/// The trace.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    pub(super) schema_version: Integer,
    pub(super) runtime_protocol_version: Integer,
    pub(super) canonicalization_version: Integer,
    pub(super) fingerprint_algo: Text,
    /// `metadata.reasoning_policy.min_supports_per_claim`, where the policy is an object.
    pub(super) min_supports: Option<Value>,
    /// `metadata.reasoning_trace`, if it is an object: its hash, where that is one.
    pub(super) reasoning: Option<Option<Text>>,
    pub(super) events: Vec<Event>,
}

/// One event.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// 1-based line of the file.
    pub(super) line: u64,
    pub(super) idx: Option<Integer>,
    pub(super) step_id: Text,
    pub(super) body: Body,
}

/// What happened.
#[derive(Debug, Clone)]
pub(super) enum Body {
    StepStarted,
    StepFinished(Output),
    ToolCalled { call_id: Text },
    ToolReturned { call_id: Text },
    EvidenceRegistered(Evidence),
    ClaimEmitted(Claim),
}

/// The kind of what a step gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Output {
    Understand,
    Gather,
    Derive,
    Verify,
    Finalize,
    InsufficientEvidence,
}

/// A piece of evidence.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    pub(super) id: Text,
    pub(super) sha256: Text,
    pub(super) span: Span,
    pub(super) chunk_id: Text,
    pub(super) content_path: Text,
}

/// Half open, `0 <= start < end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: Integer,
    pub(super) end: Integer,
}

/// A claim.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) id: Text,
    pub(super) statement: Text,
    pub(super) is_derived: bool,
    pub(super) supports: Vec<Support>,
    /// `structured.result_sha256`, where it is a string of 64 characters.
    pub(super) result_sha256: Option<Text>,
}

/// One support of a claim.
#[derive(Debug, Clone)]
pub(super) struct Support {
    pub(super) kind: SupportKind,
    pub(super) ref_id: Text,
    pub(super) span: Span,
    pub(super) snippet_sha256: Text,
}

/// What a support refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SupportKind {
    Claim,
    Evidence,
    ToolCall,
}

/// The plan.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
}

/// A node of the plan.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) id: Text,
    pub(super) dependencies: Vec<Text>,
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {})", self.start, self.end)
    }
}
