//! The workspace as facts.

/// Every entry of a workspace at one moment.
#[derive(Debug, Clone, Default)]
pub struct Manifest;
