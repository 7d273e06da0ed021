//! Break it on purpose: every kind of damage to every part is found and named, and nothing is valid.

use probity_audit::log::{LogPolicy, MAX_LOG_BYTES, NoContent, audit_log};
use probity_record::MAX_RECORD_BYTES;
use probity_report::{CheckState, Verdict, VerificationReport};
use proptest::prelude::*;

use crate::rig::{Rig, join, jsonl, records};
use crate::{ALONE, codes, run};

fn audit(rig: &Rig, bytes: &[u8]) -> VerificationReport {
    audit_log(bytes, "log", &rig.shelf, LogPolicy::default())
}

/// What was done to a record, and a code that it must come to.
type Damage = (&'static str, fn(&mut Vec<Vec<u8>>, usize), [&'static str; 3]);

/// Codes for the first record, one in the middle, the seal.
#[rustfmt::skip]
const DAMAGES: [Damage; 8] = [
    ("drop", |lines, at| drop(lines.remove(at)), ["log_header", "log_prev", "log_unsealed"]),
    ("truncate", |lines, at| { let half = lines[at].len() / 2; lines[at].truncate(half); },
        ["record_envelope", "record_envelope", "record_envelope"]),
    ("flip", |lines, at| { let middle = lines[at].len() / 2; lines[at][middle] ^= 1; },
        ["record_hash", "record_hash", "record_hash"]),
    ("swap", |lines, at| { let other = if at == 0 { 1 } else { at - 1 }; lines.swap(at, other); },
        ["log_header", "log_seq", "log_after_seal"]),
    ("duplicate", |lines, at| { let copy = lines[at].clone(); lines.insert(at, copy); },
        ["log_header", "log_seq", "log_after_seal"]),
    ("reorder", |lines, at| { let line = lines.remove(at); let to = if at == 0 { 4 } else { 1 }; lines.insert(to, line); },
        ["log_header", "log_seq", "log_after_seal"]),
    ("retype", |lines, at| {
        let text = String::from_utf8(lines[at].clone()).unwrap();
        let (before, behind) = text.split_once(r#""type":""#).unwrap();
        let behind = behind.split_once('"').unwrap().1;
        lines[at] = format!(r#"{before}"type":"run.forgotten"{behind}"#).into_bytes();
    }, ["record_body", "record_body", "record_body"]),
    ("overlong", |lines, at| lines[at].resize(MAX_RECORD_BYTES + 1, b' '),
        ["record_too_long", "record_too_long", "record_too_long"]),
];

#[test]
fn every_damage_to_every_part_of_a_log_is_named() {
    for (name, run) in run::RUNS {
        let rig = run();
        let lines = records(&rig.log);
        for (how, damage, expected) in DAMAGES {
            let parts = [0, lines.len() / 2, lines.len() - 1];
            for (part, code) in parts.into_iter().zip(expected) {
                let mut damaged = lines.clone();
                damage(&mut damaged, part);
                let report = audit(&rig, &join(&damaged));
                assert_eq!(report.verdict, Verdict::Invalid, "{name}: {how} {part}");
                assert!(report.has(code), "{name}: {how} {part}: {:?}", codes(&report));
                let placed = report.failures.iter().find(|failure| failure.code == code).unwrap();
                assert!(placed.place.line.is_some() && placed.place.span.is_some());
            }
        }
    }
}

/// The last column of the matrix: the blobs. What is dropped, reordered or repeated among them is a
/// blob that is not there, or nothing at all, for they have no order.
#[test]
fn every_damage_to_a_blob_is_named() {
    let rig = run::twice();
    let bytes = jsonl(&rig.log);
    let mut digests: Vec<_> = rig.shelf.blobs.keys().copied().collect();
    digests.retain(|digest| {
        let mut without = rig.clone();
        without.shelf.blobs.remove(digest);
        audit(&without, &bytes).verdict != Verdict::Valid
    });
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 6] = [
        ("truncate", |blob| blob.truncate(blob.len() / 2)),
        ("empty", Vec::clear),
        ("flip", |blob| blob[0] ^= 1),
        ("retype", |blob| *blob = b"{}".to_vec()),
        ("overlong", |blob| blob.resize(blob.len() + (1 << 20), b' ')),
        ("reorder", |blob| blob.reverse()),
    ];
    for digest in digests {
        for (how, damage) in damages {
            let mut damaged = rig.clone();
            damage(damaged.shelf.blobs.get_mut(&digest).unwrap());
            let report = audit(&damaged, &bytes);
            assert_eq!(report.verdict, Verdict::Invalid, "{how}");
            assert_eq!(codes(&report), ["log_blob_differs"], "{how}");
        }
        let mut swapped = rig.clone();
        let other = swapped.shelf.keep("another blob");
        let bytes_of_other = swapped.shelf.blobs[&other].clone();
        *swapped.shelf.blobs.get_mut(&digest).unwrap() = bytes_of_other;
        assert_eq!(codes(&audit(&swapped, &bytes)), ["log_blob_differs"]);
    }
}

#[test]
fn a_flip_of_any_bit_of_any_byte_is_found() {
    let rig = run::too_often();
    let whole = jsonl(&rig.log);
    assert_eq!(audit(&rig, &whole).verdict, Verdict::Valid);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        let report = audit(&rig, &damaged);
        assert!(report.verdict == Verdict::Invalid, "byte {at}: {:?}", report.verdict);
        let meaning =
            report.checks.iter().filter(|check| check.name != "chain" && check.name != "seal");
        assert!(meaning.clone().count() > 0);
        assert!(meaning.into_iter().all(|check| check.state == CheckState::Skipped), "byte {at}");
    }
}

#[test]
fn a_cut_at_any_byte_is_never_valid() {
    let rig = run::too_often();
    let whole = jsonl(&rig.log);
    for length in 0..whole.len() {
        let report = audit(&rig, &whole[..length]);
        assert_ne!(report.verdict, Verdict::Valid, "{length}");
        assert!(!report.failures.is_empty(), "{length}");
    }
}

#[test]
fn bytes_that_hold_no_record_are_malformed() {
    let rig = run::once();
    for bytes in [&b""[..], b"\n", b"hello", b"{}\n{}\n", &[0xff; 300], &[b'\n'; 300]] {
        let report = audit(&rig, bytes);
        assert_eq!(report.verdict, Verdict::Malformed, "{bytes:?}");
        assert!(report.checks.iter().all(|check| check.state != CheckState::Passed));
    }
}

#[test]
fn a_log_beyond_the_bound_is_not_looked_at() {
    let bytes = vec![0; MAX_LOG_BYTES + 1];
    let report = audit_log(&bytes, "log", &NoContent, ALONE);
    assert_eq!((report.verdict, codes(&report)), (Verdict::LimitExceeded, vec!["log_too_long"]));
    assert!(report.checks.iter().all(|check| check.state != CheckState::Passed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_never_valid(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let report = audit_log(&bytes, "log", &NoContent, ALONE);
        prop_assert_eq!(report.verdict, Verdict::Malformed);
    }

    /// Bytes put anywhere into a log, in the place of as many or more.
    #[test]
    fn a_log_with_anything_in_it_is_never_valid(
        at in any::<prop::sample::Index>(),
        gone in 0_usize..200,
        put in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let whole = jsonl(&run::hooked().log);
        let at = at.index(whole.len());
        let behind = (at + gone).min(whole.len());
        let bytes = [&whole[..at], &put, &whole[behind..]].concat();
        let report = audit_log(&bytes, "log", &NoContent, ALONE);
        prop_assert!(bytes == whole || report.verdict != Verdict::Valid);
    }

    /// Records that parse, in any order and number, sealed or not: no panic, and valid only as the
    /// run that it was.
    #[test]
    fn events_in_any_order_are_never_valid(
        order in proptest::collection::vec(any::<prop::sample::Index>(), 1..40),
    ) {
        let honest = run::hooked().log;
        let last = honest.len() - 1;
        let mut log = vec![honest[0].clone()];
        log.extend(order.iter().map(|at| honest[1 + at.index(last - 1)].clone()));
        log.push(honest[last].clone());
        let report = audit_log(&jsonl(&log), "log", &NoContent, ALONE);
        prop_assert!(log == honest || report.verdict == Verdict::Invalid);
    }
}
