//! The table of outcomes, whole, and the docs that print it.

use std::collections::BTreeSet;

use probity_core::Outcome;
use probity_telemetry::{Metric, Standing, VerifyOutcome, key};

/// Every standing: what it is where no verifier ran, and where one did.
fn table() -> Vec<(Standing, VerifyOutcome, VerifyOutcome)> {
    use VerifyOutcome::{Failed, Passed, Skipped};
    let row = |outcome| match outcome {
        Outcome::Verified => (Passed, Passed),
        Outcome::Faulted => (Failed, Failed),
        Outcome::Unverified => (Skipped, Skipped),
        Outcome::Exhausted
        | Outcome::Rejected
        | Outcome::Inconclusive
        | Outcome::DelegateFailed
        | Outcome::Cancelled
        | Outcome::Escalated => (Skipped, Failed),
    };
    let mut rows: Vec<_> = Outcome::ALL
        .into_iter()
        .map(|outcome| (Standing::Ended(outcome), row(outcome).0, row(outcome).1))
        .collect();
    rows.push((Standing::Interrupted, Skipped, Failed));
    rows
}

#[test]
fn every_outcome_is_one_of_three_words() {
    for (standing, none_ran, one_ran) in table() {
        assert_eq!(VerifyOutcome::of(standing, 0), none_ran, "{standing:?}");
        for rounds in [1, 2, 100] {
            assert_eq!(VerifyOutcome::of(standing, rounds), one_ran, "{standing:?}");
        }
    }
}

#[test]
fn only_a_verified_run_has_passed() {
    for (standing, none_ran, one_ran) in table() {
        let is_verified = standing == Standing::Ended(Outcome::Verified);
        for verify in [none_ran, one_ran] {
            assert_eq!(verify == VerifyOutcome::Passed, is_verified, "{standing:?}");
        }
    }
}

fn docs() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_docs_print_the_table() {
    let docs = docs();
    for (standing, none_ran, one_ran) in table() {
        let row = format!("| `{}` | `{none_ran}` | `{one_ran}` |", standing.as_str());
        assert!(docs.contains(&row), "{row}");
    }
}

#[test]
fn the_docs_name_every_attribute_and_metric() {
    let docs = docs();
    let names: BTreeSet<&str> = key::ALL.into_iter().collect();
    assert_eq!(names.len(), key::ALL.len(), "a name stands twice");
    for name in names {
        assert!(docs.contains(&format!("`{name}`")), "{name}");
    }
    for metric in Metric::ALL {
        let row = format!("| `{}` |", metric.name());
        let row = docs.lines().find(|line| line.starts_with(&row));
        let row = row.unwrap_or_else(|| panic!("{}", metric.name()));
        assert!(row.contains(&format!("`{}`", metric.unit())), "{row}");
        for label in metric.labels() {
            assert!(row.contains(&format!("`{label}`")), "{row}");
        }
    }
}
