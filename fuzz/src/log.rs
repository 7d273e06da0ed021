//! Run logs and bundles.

use std::path::{Path, PathBuf};

use probity_audit::{
    BundlePolicy, Inclusion, LogAuditor, LogPolicy, NoContent, audit_bundle, redact_bundle,
};
use probity_report::Verdict;

/// Audits an exported run log. Valid only if it is a sample: nobody finds a second log under a seal
/// by trying.
pub(crate) fn run_log(bytes: &[u8]) {
    let policy = LogPolicy { stands_alone: true, ..LogPolicy::default() };
    let report = LogAuditor::new(&NoContent).with_policy(policy).jsonl(bytes, "log");
    if report.verdict == Verdict::Valid {
        assert!(log_seeds().iter().any(|sample| sample == bytes), "a log that nobody wrote");
    }
}

/// The logs of the museum.
pub(crate) fn log_seeds() -> Vec<Vec<u8>> {
    ["1.0", "1.1", "1.2", "1.3"]
        .map(|it| format!("records/{it}"))
        .iter()
        .flat_map(samples)
        .collect()
}

/// Audits a proof bundle, and takes its content out.
pub(crate) fn bundle(bytes: &[u8]) {
    let mut source = bytes;
    let report = audit_bundle(&mut source, "bundle", &BundlePolicy::default());
    if report.verdict == Verdict::Valid {
        assert!(bundle_seeds().iter().any(|sample| sample == bytes), "a bundle that nobody wrote");
    }
    let mut source = bytes;
    let _ = redact_bundle(&mut source, &Inclusion::Nothing, &mut std::io::sink());
}

/// The committed bundles.
pub(crate) fn bundle_seeds() -> Vec<Vec<u8>> {
    samples("bundles/1.0")
}

fn samples(folder: impl AsRef<Path>) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(folder);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
}
