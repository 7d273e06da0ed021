//! Honest logs give no finding, whichever way the run went.

use std::collections::BTreeSet;

use probity_audit::log::{LogAuditor, LogPolicy, NoContent, audit_log};
use probity_report::{Severity, Verdict};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::rig::{jsonl, records};
use crate::run::RUNS;
use crate::schedule::{charters, play, steps};
use crate::{ALONE, codes};

#[test]
fn every_way_a_run_can_go_is_valid_with_its_content() {
    let mut kinds = BTreeSet::new();
    for (name, run) in RUNS {
        let rig = run();
        let report = audit_log(&jsonl(&rig.log), name, &rig.shelf, LogPolicy::default());
        assert_eq!(report.verdict, Verdict::Valid, "{name}: {:#?}", report.failures);
        assert!(report.failures.is_empty(), "{name}: {:#?}", report.failures);
        assert_eq!(report.summary_metrics["checks_skipped"], 0, "{name}");
        kinds.extend(rig.log.iter().map(|entry| entry.event.name()));
    }
    // One needs its own run: that of the museum has it.
    assert_eq!(kinds.len(), 26, "{kinds:?}");
}

#[test]
fn a_store_and_its_export_have_one_report() {
    for (name, run) in RUNS {
        let rig = run();
        let auditor = LogAuditor::new(&rig.shelf);
        assert_eq!(
            auditor.records(&records(&rig.log), name),
            auditor.jsonl(&jsonl(&rig.log), name),
            "{name}"
        );
    }
}

proptest! {
    #![proptest_config(Config { cases: 512, failure_persistence: None, ..Config::default() })]

    /// Policies, charters and inputs at random; the run is taken wherever the schedule left it.
    #[test]
    fn a_random_run_is_valid(charter in charters(), steps in steps(), ends in any::<bool>()) {
        let rig = play(charter, &steps, ends);
        let policy = LogPolicy { allow_unsealed: true, stands_alone: false };
        let report = audit_log(&jsonl(&rig.log), "log", &rig.shelf, policy);
        prop_assert_eq!(report.verdict, Verdict::Valid, "{:#?}\n{:#?}", report.failures, rig.log);
        prop_assert!(report.failures.iter().all(|it| it.severity == Severity::Warning));
    }
}

/// The schedules go everywhere: else the test above would prove little.
#[test]
fn random_runs_reach_every_kind_of_event_and_outcome() {
    let mut runner = TestRunner::deterministic();
    let (mut kinds, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..400 {
        let schedule = (charters(), steps(), Just(true)).new_tree(&mut runner).unwrap();
        let (charter, steps, ends) = schedule.current();
        let rig = play(charter, &steps, ends);
        kinds.extend(rig.log.iter().map(|entry| entry.event.name()));
        outcomes.extend(rig.machine.ending().map(|ending| ending.outcome));
    }
    assert_eq!(kinds.len(), 27, "{kinds:?}");
    assert_eq!(outcomes.len(), 8, "all but the one that waits: {outcomes:?}");
}

#[test]
fn an_open_run_is_refused_unless_the_caller_allows_it() {
    for (name, run) in RUNS {
        let mut log = run().log;
        log.pop();
        let report = audit_log(&jsonl(&log), name, &NoContent, ALONE);
        assert_eq!((report.verdict, codes(&report)), (Verdict::Invalid, vec!["log_unsealed"]));
        let open = LogPolicy { allow_unsealed: true, ..ALONE };
        let report = audit_log(&jsonl(&log), name, &NoContent, open);
        assert_eq!((report.verdict, codes(&report)), (Verdict::Valid, vec!["log_unsealed"]));
    }
}
