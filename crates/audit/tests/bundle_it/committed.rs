//! Bundles that were written once and are read for ever.

use std::path::PathBuf;

use probity_audit::bundle::{BUNDLE_FORMAT, BundlePolicy, Inclusion};
use probity_report::Verdict;

use crate::{audit_with, bundle, codes, public_key, sample, signing_key, write};

/// Every committed sample: name, whether it is signed, and what it comes to.
const SAMPLES: [(&str, bool, Verdict); 4] = [
    ("unsigned", false, Verdict::Valid),
    ("signed", true, Verdict::Valid),
    ("decision", true, Verdict::Valid),
    ("redacted", true, Verdict::IntegrityOnly),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bundles").join(BUNDLE_FORMAT)
}

fn written(name: &str) -> Vec<u8> {
    let key = signing_key();
    match name {
        "unsigned" => bundle(&sample::plain(), None),
        "signed" => bundle(&sample::plain(), Some(&key)),
        "decision" => bundle(&sample::decision(), Some(&key)),
        "redacted" => write(&sample::decision(), &Inclusion::Nothing, Some(&key)),
        other => panic!("no sample `{other}`"),
    }
}

/// `PROBITY_BLESS=1` writes the samples of a version that is not released.
#[test]
fn the_committed_samples_are_read() {
    for (name, is_signed, verdict) in SAMPLES {
        let path = folder().join(format!("{name}.probity"));
        if std::env::var_os("PROBITY_BLESS").is_some() {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, written(name)).unwrap();
        }
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let key = is_signed.then(public_key);
        let policy = BundlePolicy { public_key: key, ..BundlePolicy::default() };
        let report = audit_with(&bytes, &policy);
        assert_eq!(report.verdict, verdict, "{name}: {:?}", codes(&report));
    }
}

#[test]
fn the_folder_holds_what_the_table_names() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut named: Vec<String> =
        SAMPLES.iter().map(|(name, ..)| format!("{name}.probity")).collect();
    named.sort();
    assert_eq!(found, named);
}
