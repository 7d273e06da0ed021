//! Signals: their shape, their weight, their key, and how often they come back.

use probity_audit::{
    Acceptance, DriftCounter, DriftSeverity, DriftSignal, DriftType, EpisodeAuditor, Fingerprint,
    NonPass, PatchType, verify_drift, verify_patch, verify_severity,
};
use probity_core::Tier;
use proptest::prelude::*;

use crate::{codes, data, value};

use DriftSeverity::{Green, Red, Yellow};

#[test]
fn the_whole_table_of_weights() {
    use NonPass::{Fail, Fault, Inconclusive, Timeout};
    use Tier::{Large, Medium, Small, Tiny};
    let tiers = [None, Some(Tiny), Some(Small), Some(Medium), Some(Large)];
    let table = [
        (Fail, [Yellow, Yellow, Yellow, Yellow, Yellow]),
        (Timeout, [Red, Red, Red, Red, Red]),
        (Inconclusive, [Yellow, Yellow, Yellow, Red, Red]),
        (Fault, [Red, Red, Red, Red, Red]),
    ];
    for (why, row) in table {
        for (tier, expected) in tiers.into_iter().zip(row) {
            assert_eq!(verify_severity(why, tier), expected, "{why:?} {tier:?}");
        }
    }
    for why in NonPass::ALL {
        for tier in tiers {
            let expected = match (why, tier) {
                (Fail, Some(Large)) => PatchType::ActionScopeTighten,
                (Fail, _) => PatchType::ManualReview,
                _ => PatchType::VerificationChange,
            };
            assert_eq!(verify_patch(why, tier), expected);
        }
    }
}

#[test]
fn a_key_names_the_fault_and_not_the_run() {
    let key = Fingerprint::verify("FreezeCard", "read_after_write", "timeout");
    assert_eq!(key.key, "FreezeCard::verify::read_after_write::timeout");
    assert_eq!(key.version, "2");
    let key = Fingerprint::new("FreezeCard", DriftType::Time, &["deadline"]);
    assert_eq!(key.key, "FreezeCard::time::deadline");
    // Two episodes with the same fault share it.
    let mut one = value("03_late_fallback.json");
    let first = crate::auditor().episode(one.to_string().as_bytes(), "x").drift;
    one["episodeId"] = "another".into();
    one["telemetry"]["stageMs"]["verify"] = 117.into();
    one["telemetry"]["endToEndMs"] = 241.into();
    let one = crate::sealed(one);
    assert_eq!(crate::auditor().episode(one.to_string().as_bytes(), "y").drift, first);
}

#[test]
fn a_signal_is_read_and_written() {
    for file in ["drift_bypass.json", "drift_freshness.json", "drift_time.json"] {
        let signal = DriftSignal::parse(&data(file)).unwrap();
        assert_eq!(serde_json::to_value(&signal).unwrap(), value(file));
        assert_eq!(signal.detected_at_ms(), Some(1_772_442_905_000));
    }
}

#[test]
fn older_signals_are_refused_with_the_names_they_use() {
    let report = verify_drift(&data("run_drift.json"), "run_drift.json");
    assert_eq!(codes(&report), ["!other_vocabulary"]);
    let message = &report.findings[0].message;
    for hint in [
        "`type` is `driftType` here",
        "`observedAt` is `detectedAt` here",
        "`fingerprint` as a string is an object with `key` and `version` here",
        "`patchHint` is `recommendedPatchType` here",
        "`details` is `notes` here",
    ] {
        assert!(message.contains(hint), "{hint}: {message}");
    }
    let error = DriftSignal::parse(&data("run_drift.json")).unwrap_err();
    assert_eq!(error.findings[0].code, "other_vocabulary");
    assert!(error.to_string().contains("other_vocabulary"), "{error}");
}

#[test]
fn a_fault_of_this_vocabulary_is_told_at_its_place() {
    let cases = [
        ("driftType", serde_json::json!("warp"), "!shape_value"),
        ("severity", serde_json::json!("orange"), "!shape_value"),
        ("driftId", serde_json::json!(""), "!shape_value"),
        ("detectedAt", serde_json::json!("soon"), "!shape_time"),
        ("evidenceRefs", serde_json::json!([1]), "!shape_type"),
        ("fingerprint", serde_json::json!({ "key": "k" }), "!shape_missing"),
        ("more", serde_json::json!(1), "!shape_unknown"),
    ];
    for (member, replacement, expected) in cases {
        let mut signal = value("drift_time.json");
        signal[member] = replacement;
        let report = verify_drift(signal.to_string().as_bytes(), "x");
        assert_eq!(codes(&report), [expected], "{member}");
        assert_eq!(report.verdict, Acceptance::Rejected);
        assert!(DriftSignal::parse(signal.to_string().as_bytes()).is_err());
    }
}

#[test]
fn the_second_is_yellow_and_the_third_is_red_and_asks_for_a_patch() {
    let mut counter = DriftCounter::new(1000);
    let first = counter.observe("k", Green, 10_000);
    assert_eq!((first.occurrence, first.severity, first.is_patch_due), (1, Green, false));
    let second = counter.observe("k", Green, 10_500);
    assert_eq!((second.occurrence, second.severity, second.is_patch_due), (2, Yellow, false));
    let third = counter.observe("k", Green, 11_000);
    assert_eq!((third.occurrence, third.severity, third.is_patch_due), (3, Red, true));
    let fourth = counter.observe("k", Yellow, 11_000);
    assert_eq!((fourth.occurrence, fourth.severity, fourth.is_patch_due), (3, Red, true));
    // Another key has its own series, and a red one stays red.
    assert_eq!(counter.observe("other", Red, 11_000).severity, Red);
    // Beyond the window it begins again.
    assert_eq!(counter.observe("k", Green, 12_001).occurrence, 1);
}

#[test]
fn an_escalated_signal_takes_the_severity_of_its_series() {
    let mut counter = DriftCounter::new(u64::MAX);
    let signal = DriftSignal::parse(&data("drift_time.json")).unwrap();
    let observe = |counter: &mut DriftCounter| {
        let at_ms = signal.detected_at_ms().unwrap();
        counter.observe(&signal.fingerprint.key, signal.severity, at_ms)
    };
    let all: Vec<_> = (0..3).map(|_| observe(&mut counter)).collect();
    assert_eq!(signal.clone().escalated(all[0]).severity, Yellow);
    assert_eq!(signal.escalated(all[2]).severity, Red);
}

/// Signals in another vocabulary are refused, and still counted.
#[test]
fn three_old_signals_with_one_key_are_a_series() {
    let reports = EpisodeAuditor::new().document(&data("old_drift.json"), "x");
    let mut counter = DriftCounter::new(3_600_000);
    let mut red = Vec::new();
    for report in &reports {
        assert_eq!(codes(report), ["!other_vocabulary"]);
        let note = &report.drift[0];
        let severity = note.severity.unwrap();
        let series = counter.observe(&note.fingerprint.key, severity, note.detected_at_ms.unwrap());
        if series.is_patch_due {
            red.push((note.fingerprint.key.clone(), series.severity));
        }
    }
    assert_eq!(red, [("verify:smoke-v1:fail".to_owned(), Red)]);
}

#[test]
fn memory_is_bounded_and_what_recurs_is_not_forgotten() {
    let mut counter = DriftCounter::with_bound(u64::MAX, 10);
    for n in 0..1000_u64 {
        let often = counter.observe("often", Green, n);
        assert_eq!(u64::from(often.occurrence), (n + 1).min(3));
        assert_eq!(counter.observe(&format!("k{n}"), Green, n).occurrence, 1);
    }
    // Long out of both generations.
    assert_eq!(counter.observe("k0", Green, 1000).occurrence, 1);
    assert_eq!(counter.observe("k999", Green, 1000).occurrence, 2);
}

proptest! {
    /// Against a counter that remembers everything, for signals in the order of time.
    #[test]
    fn two_times_are_enough(
        window in 0_u64..50,
        steps in prop::collection::vec((0_u64..30, 0_usize..3), 1..60),
    ) {
        let mut counter = DriftCounter::new(window);
        let mut seen: Vec<(usize, u64)> = Vec::new();
        let mut now = 0;
        for (step, key) in steps {
            now += step;
            let near = seen.iter().filter(|(k, at)| *k == key && now - at <= window).count();
            let expected = u8::try_from((near + 1).min(3)).unwrap();
            let got = counter.observe(&key.to_string(), Green, now);
            prop_assert_eq!(got.occurrence, expected);
            seen.push((key, now));
        }
    }
}
