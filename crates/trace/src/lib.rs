//! Reasoning traces: plan, events and evidence of a run directory, proved from their bytes alone.
//!
//! Fail-closed, without a model, without the network. Provenance and structure only: that a claim
//! is grounded does not make it true. Files come through [`RunFiles`]; nothing is opened otherwise.
//! `docs/traces.md` lists every rule.
//!
//! - [`TraceAuditor`]: a run directory in, a [`VerificationReport`] out.
//! - [`TracePolicy`]: what the caller demands. Nothing of it is taken from the trace under audit.
//! - [`compat`]: the verdict of the source system's own verifier, gaps included.

mod answer;
mod claim;
pub mod compat;
mod evidence;
mod files;
mod float;
mod identity;
mod lifecycle;
mod model;
mod plan;
mod policy;
mod provenance;
mod read;
mod rule;
#[cfg(feature = "sample")]
pub mod sample;
mod scene;
mod seal;
mod spec;
mod stream;
mod tape;
mod tool;

pub use files::{FileEntry, FileError, FileKind, MemoryFiles, RunFiles};
pub use policy::{Quotes, TracePolicy};
pub use probity_report::{Verdict, VerificationReport};
pub use rule::{CHECKS, rules};
pub use stream::{
    MAX_LINE_BYTES, MAX_MANIFEST_BYTES, MAX_PLAN_BYTES, MAX_SPEC_BYTES, TraceAuditor,
};
