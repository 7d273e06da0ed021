//! The corpus of this crate: documents of the same shapes as those of other systems, and what each
//! must come to, to the last finding.

use probity_audit::Acceptance::{Accepted, Rejected};
use probity_audit::{Acceptance, EpisodeAuditor, EpisodeReport, SealRule};

use crate::{auditor, codes, data, drifts};

/// What one document must come to.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) file: &'static str,
    pub(crate) verdict: Acceptance,
    pub(crate) seal: Option<Option<SealRule>>,
    pub(crate) codes: &'static [&'static str],
    pub(crate) drift: &'static [&'static str],
    /// Verification, reason and outcome as they must be read.
    pub(crate) reads_as: Option<[&'static str; 3]>,
}

impl Row {
    pub(crate) fn hold(&self, report: &EpisodeReport) {
        let file = self.file;
        assert_eq!(codes(report), self.codes, "{file}: {:#?}", report.findings);
        assert_eq!(report.verdict, self.verdict, "{file}");
        assert_eq!(report.seal.as_ref().map(|seal| seal.rule), self.seal, "{file}");
        assert_eq!(drifts(report), self.drift, "{file}");
        let reads_as = report.reads_as.as_ref();
        let reads_as = reads_as.map(|read| [read.verification, read.reason, read.outcome]);
        assert_eq!(reads_as, self.reads_as, "{file}");
    }
}

pub(crate) const SORTED: Option<Option<SealRule>> = Some(Some(SealRule::Sorted));
pub(crate) const NONE: Option<Option<SealRule>> = Some(None);

const EPISODES: &[Row] = &[
    Row {
        file: "01_success.json",
        verdict: Accepted,
        seal: SORTED,
        codes: &["?pack_hash_differs", "?action_timeout_over_budget"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "02_stale_abstain.json",
        verdict: Accepted,
        seal: SORTED,
        codes: &["?pack_hash_differs", "?stage_sum", "?act_without_action", ".context_stale"],
        drift: &[
            "freshness yellow FreezeCard::freshness::stale",
            "fallback yellow FreezeCard::fallback::abstain",
        ],
        reads_as: None,
    },
    Row {
        file: "03_late_fallback.json",
        verdict: Rejected,
        seal: SORTED,
        codes: &[
            "?pack_hash_differs",
            "!deadline_exceeded",
            "?stage_over_budget",
            "?action_timeout_over_budget",
            "!verify_too_late",
        ],
        drift: &[
            "time yellow FreezeCard::time::deadline",
            "fallback green FreezeCard::fallback::cache_bundle",
            "verify red FreezeCard::verify::read_after_write::timeout",
        ],
        reads_as: Some(["inconclusive", "timeout", "fail"]),
    },
    Row {
        file: "04_blocked.json",
        verdict: Rejected,
        seal: SORTED,
        codes: &[
            "?pack_hash_differs",
            "?stage_sum",
            "?act_without_action",
            "?fallback_differs",
            "!bypassed_nothing",
        ],
        drift: &["bypass red FreezeCard::bypass::blocked_action"],
        reads_as: Some(["na", "blocked", "abstain"]),
    },
    Row {
        file: "stub_inconclusive_partial.json",
        verdict: Rejected,
        seal: SORTED,
        codes: &["?act_without_action", "!outcome_unverified", "?method_placeholder"],
        drift: &[
            "fallback yellow FreezeCard::fallback::hitl",
            "verify yellow FreezeCard::verify::stub::inconclusive",
            "outcome yellow FreezeCard::outcome::unverified",
        ],
        reads_as: Some(["inconclusive", "inconclusive", "fail"]),
    },
    Row {
        file: "stub_stale_success.json",
        verdict: Rejected,
        seal: SORTED,
        codes: &[
            "?act_without_action",
            ".context_stale",
            "!stale_not_abstained",
            "?pass_without_action",
            "!method_placeholder",
        ],
        drift: &[
            "freshness red FreezeCard::freshness::stale_acted",
            "verify yellow FreezeCard::verify::stub::no_method",
        ],
        reads_as: Some(["inconclusive", "no_method", "fail"]),
    },
    Row {
        file: "stub_late_fail.json",
        verdict: Rejected,
        seal: SORTED,
        codes: &[
            "?act_without_action",
            "!deadline_exceeded",
            "?stage_over_budget",
            "?stage_over_budget",
            "?stage_over_budget",
            "?stage_over_budget",
            "?method_placeholder",
        ],
        drift: &[
            "time yellow FreezeCard::time::deadline",
            "fallback yellow FreezeCard::fallback::hitl",
            "verify yellow FreezeCard::verify::stub::fail",
        ],
        reads_as: None,
    },
];

#[test]
fn episodes_under_their_envelope_and_pack() {
    for row in EPISODES {
        row.hold(&auditor().episode(&data(row.file), row.file));
    }
}

/// Held against nothing but their own words.
const ALONE: &[Row] = &[
    Row {
        file: "seal_present.json",
        verdict: Rejected,
        seal: Some(Some(SealRule::SealPresent)),
        codes: &["!other_vocabulary", "?seal_with_place", "?duration_implausible"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "agent_log.json",
        verdict: Rejected,
        seal: NONE,
        codes: &["!other_vocabulary", "?seal_prefixed", "!seal_mismatch", "!method_missing"],
        drift: &[
            "verify yellow freeze::verify::none::no_method",
            "verify red freeze::verify::seal::mismatch",
        ],
        reads_as: Some(["inconclusive", "no_method", "fail"]),
    },
    Row {
        file: "wrapped.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary", "!seal_of_nothing", "!seal_not_a_digest"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "snake_episode.json",
        verdict: Rejected,
        seal: NONE,
        codes: &["!other_vocabulary", "?seal_prefixed", "!seal_not_a_digest"],
        drift: &["verify red ::verify::seal::mismatch"],
        reads_as: None,
    },
    Row {
        file: "primitive_episode.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "primitive_drift.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "snake_envelope.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "drift_bypass.json",
        verdict: Accepted,
        seal: None,
        codes: &[],
        drift: &["bypass red FreezeCard::UNSAFE_ACTION"],
        reads_as: None,
    },
    Row {
        file: "drift_freshness.json",
        verdict: Accepted,
        seal: None,
        codes: &[],
        drift: &["freshness yellow FreezeCard::TTL_BREACH"],
        reads_as: None,
    },
    Row {
        file: "drift_time.json",
        verdict: Accepted,
        seal: None,
        codes: &[],
        drift: &["time yellow FreezeCard::P99_SPIKE"],
        reads_as: None,
    },
];

#[test]
fn documents_of_other_vocabularies_get_one_finding_for_it() {
    for row in ALONE {
        row.hold(&EpisodeAuditor::new().episode(&data(row.file), row.file));
    }
}

#[test]
fn an_old_list_is_told_once_for_each() {
    let reports = EpisodeAuditor::new().document(&data("old_list.json"), "old_list.json");
    let expected: [&[&str]; 3] = [
        &["!other_vocabulary", "?seal_prefixed", "!seal_not_a_digest", "!method_missing"],
        &["!other_vocabulary", "?seal_prefixed", "!seal_not_a_digest", "!method_missing"],
        &[
            "!other_vocabulary",
            "?seal_prefixed",
            "!seal_not_a_digest",
            "!outcome_unverified",
            "!step_unknown",
        ],
    ];
    let found: Vec<Vec<String>> = reports.iter().map(codes).collect();
    assert_eq!(found, expected);
    let message = &reports[2].findings[0].message;
    for name in ["`sealedAt`", "`type`", "`verifierId`", "blastRadiusTier: high", "5 more names"] {
        assert!(message.contains(name), "{name}: {message}");
    }
}

#[test]
fn a_mapped_envelope_is_decided_explicitly() {
    let report = EpisodeAuditor::new().episode(&data("snake_envelope.json"), "x");
    let message = &report.findings[0].message;
    assert!(message.contains("with its names mapped it is a valid envelope"), "{message}");
    let broken = String::from_utf8(data("snake_envelope.json")).unwrap();
    let broken = broken.replace("\"deadline_ms\": 500", "\"deadline_ms\": 50");
    let report = EpisodeAuditor::new().episode(broken.as_bytes(), "x");
    let message = &report.findings[0].message;
    assert!(message.contains("no valid envelope"), "{message}");
}

#[test]
fn the_age_of_a_decision_of_a_hundred_days_is_told() {
    let report = EpisodeAuditor::new().episode(&data("seal_present.json"), "x");
    let finding = report.findings.iter().find(|f| f.code == "duration_implausible").unwrap();
    assert!(finding.message.contains("100 days"), "{}", finding.message);
}
