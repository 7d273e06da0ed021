//! The samples of every released version of the format.

use std::path::PathBuf;

use probity_audit::log::{LogPolicy, NoContent, audit_log};
use probity_report::Verdict;

use crate::{ALONE, codes};

fn samples() -> Vec<(String, Vec<u8>)> {
    let museum = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/records");
    let mut samples = Vec::new();
    for version in ["1.0", "1.1", "1.2", "1.3"] {
        for file in std::fs::read_dir(museum.join(version)).unwrap().map(Result::unwrap) {
            let name = format!("{version}/{}", file.file_name().into_string().unwrap());
            if name.ends_with(".jsonl") {
                samples.push((name, std::fs::read(file.path()).unwrap()));
            }
        }
    }
    samples
}

#[test]
fn every_sample_is_valid_as_a_log_that_stands_alone() {
    let samples = samples();
    assert_eq!(samples.len(), 43);
    for (name, bytes) in samples {
        let is_open = ["unsealed.jsonl", "/parked.jsonl", "/released.jsonl"]
            .iter()
            .any(|end| name.ends_with(end));
        let report = audit_log(&bytes, &name, &NoContent, ALONE);
        let expected = if is_open { vec!["log_unsealed"] } else { vec![] };
        assert_eq!(codes(&report), expected, "{name}: {:#?}", report.failures);
        let open = LogPolicy { allow_unsealed: true, ..ALONE };
        let report = audit_log(&bytes, &name, &NoContent, open);
        assert_eq!(report.verdict, Verdict::Valid, "{name}: {:#?}", report.failures);
    }
}
