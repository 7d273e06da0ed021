//! What the caller demands of a trace.

use serde::Serialize;

/// What the caller demands. The trust anchor: no part of it comes from the trace under audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TracePolicy {
    /// Distinct pieces of evidence that each derived claim must cite, at least. Absent: what the
    /// problem's own `constraints.min_supports_per_claim` says, else 2. A number here may raise that,
    /// never lower it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_supports: Option<u64>,
    /// Accept derived claims beside an insufficient-evidence output where all of them are marked
    /// insufficient: `structured.insufficient` is `true` and `status` is `rejected`.
    pub allow_marked_insufficient: bool,
    /// Whether the text before a marker must be what the marker cites.
    pub quotes: Quotes,
    /// Demand the seal: manifest, fingerprint, run metadata, no unlisted file. Off, those checks are
    /// skipped and the verdict says so.
    pub seal: bool,
    /// Threads that one audit may use: 1 or 2.
    #[serde(skip)]
    pub threads: u8,
}

/// Whether the text before a marker must be what the marker cites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quotes {
    /// It must be, to the byte.
    Exact,
    /// It may be any text; the cited bytes must still hash as the marker says.
    Any,
}

impl Default for TracePolicy {
    fn default() -> Self {
        Self {
            min_supports: None,
            allow_marked_insufficient: false,
            quotes: Quotes::Exact,
            seal: true,
            threads: 2,
        }
    }
}
