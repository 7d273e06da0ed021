//! The documents of seed 001's system, and what each must come to. They are not in this repository:
//! the tests run where `PROBITY_REFERENCE` names a folder that has them.

use std::path::PathBuf;

use probity_audit::Acceptance::{Accepted, Rejected};
use probity_audit::{
    Acceptance, DocumentKind, DriftCounter, DriftSignal, EpisodeAuditor, EpisodeReport, SealRule,
    SealedEpisode,
};
use probity_policy::{Envelope, Format, Pack};

use crate::codes;
use crate::corpus::{NONE, Row, SORTED};

fn folder() -> Option<PathBuf> {
    std::env::var_os("PROBITY_REFERENCE").map(|path| PathBuf::from(path).join("deepsigma"))
}

fn text(name: &str) -> String {
    let path = folder().unwrap().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn auditor() -> EpisodeAuditor {
    let envelope = Envelope::parse(&text("dte/account_quarantine.dte.yaml"), Format::Yaml);
    let pack = Pack::parse(&text("policy/demo_policy_pack_v1.json"), Format::Json);
    EpisodeAuditor::new().with_envelope(envelope.unwrap()).with_pack(pack.unwrap())
}

fn alone(name: &str) -> EpisodeReport {
    EpisodeAuditor::new().episode(text(name).as_bytes(), name)
}

const EPISODES: &[Row] = &[
    Row {
        file: "episodes/01_success.json",
        verdict: Accepted,
        seal: SORTED,
        codes: &["?pack_hash_differs", "?action_timeout_over_budget"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "episodes/02_freshness_drift_abstain.json",
        verdict: Accepted,
        seal: SORTED,
        codes: &["?pack_hash_differs", "?stage_sum", "?act_without_action", ".context_stale"],
        drift: &[
            "freshness yellow AccountQuarantine::freshness::stale",
            "fallback yellow AccountQuarantine::fallback::abstain",
        ],
        reads_as: None,
    },
    Row {
        file: "episodes/03_time_drift_fallback.json",
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
            "time yellow AccountQuarantine::time::deadline",
            "fallback green AccountQuarantine::fallback::cache_bundle",
            "verify red AccountQuarantine::verify::read_after_write::timeout",
        ],
        reads_as: Some(["inconclusive", "timeout", "fail"]),
    },
    Row {
        file: "episodes/04_unsafe_action_blocked.json",
        verdict: Rejected,
        seal: SORTED,
        codes: &[
            "?pack_hash_differs",
            "?stage_sum",
            "?act_without_action",
            "?fallback_differs",
            "!bypassed_nothing",
        ],
        drift: &["bypass red AccountQuarantine::bypass::blocked_action"],
        reads_as: Some(["na", "blocked", "abstain"]),
    },
];

#[test]
fn published_episodes() {
    if folder().is_none() {
        return;
    }
    for row in EPISODES {
        row.hold(&auditor().episode(text(row.file).as_bytes(), row.file));
        assert_eq!(
            SealedEpisode::parse(text(row.file).as_bytes()).unwrap().rule(),
            SealRule::Sorted
        );
    }
    let hashes = EPISODES.iter().map(|row| {
        SealedEpisode::parse(text(row.file).as_bytes()).unwrap().seal_hash()[..16].to_owned()
    });
    let published =
        ["7dbcd87af138dd3a", "ef65f340ed29d57c", "bcd2c485616b05ad", "17e8408baaff88e7"];
    assert_eq!(hashes.collect::<Vec<_>>(), published);
}

#[test]
fn published_signals_name_published_episodes() {
    if folder().is_none() {
        return;
    }
    let joined = [
        ("bypass", "04_unsafe_action_blocked", "UNSAFE_ACTION"),
        ("freshness", "02_freshness_drift_abstain", "TTL_BREACH"),
        ("time", "03_time_drift_fallback", "P99_SPIKE"),
    ];
    for (kind, episode, reason) in joined {
        let name = format!("drift/{kind}_drift.json");
        let report = alone(&name);
        assert_eq!((report.kind, report.verdict), (DocumentKind::Drift, Accepted), "{name}");
        assert_eq!(codes(&report), [""; 0]);
        let signal = DriftSignal::parse(text(&name).as_bytes()).unwrap();
        let episode = text(&format!("episodes/{episode}.json"));
        let episode = SealedEpisode::parse(episode.as_bytes()).unwrap();
        assert_eq!(signal.episode_id, episode.episode_id());
        assert_eq!(signal.fingerprint.key, format!("AccountQuarantine::{reason}"));
        assert_eq!(signal.fingerprint.version, "1.0");
    }
}

/// What their runner wrote: all of it has the shape and a seal that matches.
#[test]
fn generated_episodes() {
    if folder().is_none() {
        return;
    }
    let runs: [(u8, Acceptance, &[&str]); 9] = [
        (1, Rejected, &["!method_placeholder"]),
        (2, Rejected, &["!method_placeholder"]),
        (3, Accepted, &["?method_placeholder"]),
        (4, Rejected, &["!outcome_unverified"]),
        (5, Rejected, &["!stale_not_abstained", "!pass_degraded"]),
        (6, Accepted, &[".context_stale"]),
        (7, Rejected, &["!stale_not_abstained"]),
        (8, Rejected, &["!deadline_exceeded"]),
        (10, Rejected, &["!deadline_exceeded", "!verify_too_late"]),
    ];
    for (run, verdict, expected) in runs {
        let name = format!("generated/run{run}.episode.json");
        let report = auditor().episode(text(&name).as_bytes(), &name);
        let found = codes(&report);
        assert!(!found.iter().any(|code| code.contains("shape") || code.contains("vocab")));
        assert_eq!(report.seal.as_ref().unwrap().rule, Some(SealRule::Sorted), "{name}");
        for code in expected {
            assert!(found.contains(&(*code).to_owned()), "{name}: {found:?}");
        }
        assert_eq!(report.verdict, verdict, "{name}: {found:?}");
        let kinds: Vec<String> = crate::drifts(&report);
        match run {
            // Inconclusive is not part of a success.
            4 => assert_eq!(report.reads_as.unwrap().outcome, "fail"),
            // Both, where their runner kept only the last.
            8 => assert!(
                kinds.iter().any(|kind| kind.starts_with("time yellow"))
                    && kinds.iter().any(|kind| kind.starts_with("verify yellow")),
                "{kinds:?}"
            ),
            _ => {}
        }
    }
    for run in [1, 3, 4, 5, 6, 7, 8, 10] {
        let report = alone(&format!("generated/run{run}.drift.json"));
        assert_eq!((report.kind, report.verdict), (DocumentKind::Drift, Rejected));
        assert_eq!(codes(&report), ["!other_vocabulary"]);
        let message = &report.findings[0].message;
        assert!(message.contains("`type` is `driftType` here"), "{message}");
        assert!(message.contains("`observedAt` is `detectedAt` here"), "{message}");
    }
}

const ALONE: &[Row] = &[
    Row {
        file: "generated/agent_log_episode.json",
        verdict: Rejected,
        seal: NONE,
        codes: &["!other_vocabulary", "?seal_prefixed", "!seal_mismatch", "!method_missing"],
        drift: &[
            "verify yellow quarantine_account::verify::none::no_method",
            "verify red quarantine_account::verify::seal::mismatch",
        ],
        reads_as: Some(["inconclusive", "no_method", "fail"]),
    },
    Row {
        file: "nonconforming/golden_path_episode.json",
        verdict: Rejected,
        seal: Some(Some(SealRule::SealPresent)),
        codes: &["!other_vocabulary", "?seal_with_place", "?duration_implausible"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "nonconforming/sample_decision_episode_001.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary", "!seal_of_nothing", "!seal_not_a_digest"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "nonconforming/ep-hc-001.json",
        verdict: Rejected,
        seal: NONE,
        codes: &["!other_vocabulary", "?seal_prefixed", "!seal_not_a_digest"],
        drift: &["verify red ::verify::seal::mismatch"],
        reads_as: None,
    },
    Row {
        file: "nonconforming/decision_episode_example.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "nonconforming/ds-hc-001-formulary-mismatch.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "nonconforming/drift_signal_example.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "nonconforming/snake_case_dte_document_record.json",
        verdict: Rejected,
        seal: None,
        codes: &["!other_vocabulary"],
        drift: &[],
        reads_as: None,
    },
    Row {
        file: "policy/demo_policy_pack_v1.json",
        verdict: Accepted,
        seal: None,
        codes: &[],
        drift: &[],
        reads_as: None,
    },
];

#[test]
fn documents_that_do_not_conform() {
    if folder().is_none() {
        return;
    }
    for row in ALONE {
        row.hold(&alone(row.file));
    }
    let message = |name: &str, code: &str| {
        let report = alone(name);
        report.findings.iter().find(|f| f.code == code).unwrap().message.clone()
    };
    let days = message("nonconforming/golden_path_episode.json", "duration_implausible");
    assert!(days.contains("106 days"), "{days}");
    let empty = message("nonconforming/sample_decision_episode_001.json", "seal_of_nothing");
    assert!(empty.contains("e3b0c442") && empty.contains("the empty input"), "{empty}");
    let mapped = "nonconforming/snake_case_dte_document_record.json";
    let mapped = message(mapped, "other_vocabulary");
    assert!(mapped.contains("with its names mapped it is"), "{mapped}");
}

#[test]
fn sample_lists() {
    if folder().is_none() {
        return;
    }
    let name = "nonconforming/sample_episodes.json";
    let reports = EpisodeAuditor::new().document(text(name).as_bytes(), name);
    assert_eq!(reports.len(), 3);
    for report in &reports {
        let found = codes(report);
        assert_eq!(found[..3], ["!other_vocabulary", "?seal_prefixed", "!seal_not_a_digest"]);
        assert!(!report.seal.as_ref().unwrap().matches);
    }
    let third = codes(&reports[2]);
    assert_eq!(third[3..], ["!outcome_unverified", "!step_unknown"]);

    let name = "nonconforming/sample_drift.json";
    let reports = EpisodeAuditor::new().document(text(name).as_bytes(), name);
    let mut counter = DriftCounter::new(3_600_000);
    let mut due = Vec::new();
    for report in &reports {
        assert_eq!(codes(report), ["!other_vocabulary"]);
        let note = &report.drift[0];
        let (severity, at_ms) = (note.severity.unwrap(), note.detected_at_ms.unwrap());
        if counter.observe(&note.fingerprint.key, severity, at_ms).is_patch_due {
            due.push(note.fingerprint.key.as_str());
        }
    }
    assert_eq!((reports.len(), due), (5, vec!["verify:smoke-test-v1:fail"]));

    let name = "nonconforming/golden_path_drift_report.json";
    let reports = EpisodeAuditor::new().document(text(name).as_bytes(), name);
    assert_eq!(reports.len(), 6);
    for report in &reports {
        assert_eq!(
            (report.kind, codes(report)),
            (DocumentKind::Drift, vec!["!other_vocabulary".to_owned()])
        );
    }
}

/// Their schemas and ours say the same of their own documents and of every one of ours.
#[test]
fn published_schemas_agree() {
    if folder().is_none() {
        return;
    }
    let parse = |name: &str| serde_json::from_str::<serde_json::Value>(&text(name)).unwrap();
    let action = parse("schemas/action_contract.strict-f895e8a.schema.json");
    let registry = jsonschema::Registry::new()
        .add(action["$id"].as_str().unwrap(), action.clone())
        .unwrap()
        .prepare()
        .unwrap();
    let build = |schema: &serde_json::Value| {
        jsonschema::options()
            .with_registry(&registry)
            .should_validate_formats(true)
            .build(schema)
            .unwrap()
    };
    let (episode, drift) =
        (parse("schemas/episode.schema.json"), parse("schemas/drift.schema.json"));
    let theirs = [build(&episode), build(&drift)];
    let files = [
        "episodes/01_success.json",
        "episodes/02_freshness_drift_abstain.json",
        "episodes/03_time_drift_fallback.json",
        "episodes/04_unsafe_action_blocked.json",
        "drift/bypass_drift.json",
        "drift/freshness_drift.json",
        "drift/time_drift.json",
        "generated/run1.episode.json",
        "generated/run1.drift.json",
        "generated/agent_log_episode.json",
        "nonconforming/golden_path_episode.json",
    ];
    for name in files {
        let report = alone(name);
        let at = usize::from(report.kind == DocumentKind::Drift);
        let is_valid = theirs[at].is_valid(&parse(name));
        let is_whole = !report
            .findings
            .iter()
            .any(|f| f.code.starts_with("shape_") || f.code == "other_vocabulary");
        assert_eq!(is_whole, is_valid, "{name}: {:?}", codes(&report));
    }
}
