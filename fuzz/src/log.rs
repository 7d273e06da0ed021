//! Run logs and bundles.

/// Audits an exported run log.
pub(crate) fn run_log(_bytes: &[u8]) {}

/// Logs to start from.
pub(crate) fn log_seeds() -> Vec<Vec<u8>> {
    Vec::new()
}

/// Audits a proof bundle.
pub(crate) fn bundle(_bytes: &[u8]) {}

/// Bundles to start from.
pub(crate) fn bundle_seeds() -> Vec<Vec<u8>> {
    Vec::new()
}
