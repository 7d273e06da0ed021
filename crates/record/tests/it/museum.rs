//! Every released version keeps its samples, and every build reads them all. A sample of a released
//! version is never written again; those of a version in the making are, with `PROBITY_BLESS=1
//! cargo test -p probity-record`.

use std::collections::BTreeSet;

use probity_core::{Delegation, Outcome};
use probity_record::{FormatVersion, read_jsonl, verify_jsonl};

use crate::{sample, testdata};

/// Version folder, sample, records, and the outcome of its seal.
const MUSEUM: [(&str, &str, usize, Option<Outcome>); 43] = [
    ("1.0", "exhausted", 25, Some(Outcome::Exhausted)),
    ("1.0", "faulted", 13, Some(Outcome::Faulted)),
    ("1.0", "unsealed", 16, None),
    ("1.0", "verified-after-two-attempts", 19, Some(Outcome::Verified)),
    ("1.1", "asked-a-human", 23, Some(Outcome::Inconclusive)),
    ("1.1", "delegate-failed", 9, Some(Outcome::DelegateFailed)),
    ("1.1", "exhausted", 25, Some(Outcome::Exhausted)),
    ("1.1", "fallen-back", 20, Some(Outcome::Rejected)),
    ("1.1", "faulted", 13, Some(Outcome::Faulted)),
    ("1.1", "hook-blocked", 9, Some(Outcome::Rejected)),
    ("1.1", "rewritten-by-hooks", 39, Some(Outcome::Verified)),
    ("1.1", "unreadable", 10, Some(Outcome::Inconclusive)),
    ("1.1", "unsealed", 16, None),
    ("1.1", "verified-after-two-attempts", 19, Some(Outcome::Verified)),
    ("1.2", "asked-a-human", 23, Some(Outcome::Inconclusive)),
    ("1.2", "budget-kept", 12, Some(Outcome::Exhausted)),
    ("1.2", "delegate-failed", 9, Some(Outcome::DelegateFailed)),
    ("1.2", "exhausted", 25, Some(Outcome::Exhausted)),
    ("1.2", "fallen-back", 20, Some(Outcome::Rejected)),
    ("1.2", "faulted", 13, Some(Outcome::Faulted)),
    ("1.2", "hook-blocked", 9, Some(Outcome::Rejected)),
    ("1.2", "noted-and-parked", 30, Some(Outcome::Verified)),
    ("1.2", "parked", 9, None),
    ("1.2", "rewritten-by-hooks", 39, Some(Outcome::Verified)),
    ("1.2", "unreadable", 10, Some(Outcome::Inconclusive)),
    ("1.2", "unsealed", 16, None),
    ("1.2", "verified-after-two-attempts", 19, Some(Outcome::Verified)),
    ("1.3", "asked-a-human", 23, Some(Outcome::Inconclusive)),
    ("1.3", "budget-kept", 12, Some(Outcome::Exhausted)),
    ("1.3", "cancel-requested", 11, Some(Outcome::Cancelled)),
    ("1.3", "delegate-failed", 9, Some(Outcome::DelegateFailed)),
    ("1.3", "exhausted", 25, Some(Outcome::Exhausted)),
    ("1.3", "fallen-back", 20, Some(Outcome::Rejected)),
    ("1.3", "faulted", 13, Some(Outcome::Faulted)),
    ("1.3", "handed-over", 30, Some(Outcome::Verified)),
    ("1.3", "hook-blocked", 9, Some(Outcome::Rejected)),
    ("1.3", "noted-and-parked", 30, Some(Outcome::Verified)),
    ("1.3", "parked", 9, None),
    ("1.3", "released", 2, None),
    ("1.3", "rewritten-by-hooks", 39, Some(Outcome::Verified)),
    ("1.3", "unreadable", 10, Some(Outcome::Inconclusive)),
    ("1.3", "unsealed", 16, None),
    ("1.3", "verified-after-two-attempts", 19, Some(Outcome::Verified)),
];

#[test]
fn every_sample_reads_as_what_it_is() {
    for (version, name, records, outcome) in MUSEUM {
        let bytes = std::fs::read(testdata(&format!("{version}/{name}.jsonl"))).unwrap();
        let log = read_jsonl(&bytes).unwrap_or_else(|error| panic!("{version}/{name}: {error}"));
        assert_eq!(log.run.as_str(), format!("run-{name}"));
        assert_eq!(log.entries.len(), records, "{version}/{name}");
        assert_eq!(log.seal.map(|seal| seal.outcome), outcome, "{version}/{name}");
        let report = verify_jsonl(&bytes);
        assert!(report.is_whole());
        assert_eq!(report.is_sealed(), outcome.is_some());
        assert_eq!((report.run, report.head, report.seal), (Some(log.run), log.head, log.seal));
    }
}

/// The samples are runs: the machine would have written each entry where it stands. A minor version
/// changes no meaning, so that holds for the older ones too.
#[test]
fn every_sample_is_a_run_of_the_machine() {
    let current = FormatVersion::CURRENT.to_string();
    let (mut replayed, mut kinds) = (0, BTreeSet::new());
    for (version, name, _, outcome) in MUSEUM {
        let bytes = std::fs::read(testdata(&format!("{version}/{name}.jsonl"))).unwrap();
        let entries = read_jsonl(&bytes).unwrap().entries;
        let machine = Delegation::replay(&entries)
            .unwrap_or_else(|error| panic!("{version}/{name}: {error}"));
        assert_eq!(machine.ending().map(|ending| ending.outcome), outcome, "{name}");
        if version == current {
            replayed += 1;
            kinds.extend(entries.iter().map(|entry| entry.event.name()));
        }
    }
    assert_eq!(replayed, sample::NAMES.len());
    assert_eq!(kinds.len(), 27, "every kind of event is in a sample: {kinds:?}");
}

#[test]
fn no_sample_is_forgotten() {
    let listed: BTreeSet<String> =
        MUSEUM.iter().map(|(version, name, ..)| format!("{version}/{name}.jsonl")).collect();
    let mut found = BTreeSet::new();
    for folder in std::fs::read_dir(testdata("")).unwrap().map(Result::unwrap) {
        let version = folder.file_name().into_string().unwrap();
        if version.parse::<FormatVersion>().is_err() {
            continue;
        }
        for file in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let name = file.file_name().into_string().unwrap();
            if name != "README.md" {
                found.insert(format!("{version}/{name}"));
            }
        }
    }
    assert_eq!(found, listed);
}

#[test]
fn the_samples_of_the_current_version_are_what_the_writer_writes() {
    let bless = std::env::var_os("PROBITY_BLESS").is_some_and(|value| value == "1");
    for name in sample::NAMES {
        let path = testdata(&format!("{}/{name}.jsonl", FormatVersion::CURRENT));
        let written = sample::jsonl(name);
        if bless {
            std::fs::write(&path, &written).unwrap();
        }
        let kept = std::fs::read(&path).unwrap_or_default();
        assert!(
            kept == written,
            "the writer writes {name} in other bytes than {}; if the version is not released yet: \
             PROBITY_BLESS=1 cargo test -p probity-record",
            path.display()
        );
    }
}
