//! The sample runs keep every rule, and the auditor and their writer agree on every id.

use probity_trace::sample::{Ending, Events, Retrieval, SampleRun, reid, reseal};
use probity_trace::{Quotes, TraceAuditor, TracePolicy, Verdict, VerificationReport};
use proptest::prelude::*;

fn audit(run: &SampleRun, policy: TracePolicy) -> VerificationReport {
    TraceAuditor::new(policy).audit(&run.files(), "sample")
}

/// Every kind of run, in a few sizes.
fn every_run() -> Vec<SampleRun> {
    let mut runs = Vec::new();
    for retrieval in [Retrieval::Memory, Retrieval::Bm25] {
        for ending in [Ending::Answer, Ending::Insufficient, Ending::Marked] {
            for is_unicode in [false, true] {
                for (pairs, text_bytes, seed) in [(1, 0, 0), (3, 75, 7), (11, 900, 1)] {
                    runs.push(SampleRun { pairs, text_bytes, retrieval, ending, is_unicode, seed });
                }
            }
        }
    }
    runs
}

#[test]
fn every_run_is_valid_and_marked_ones_on_demand_only() {
    for run in every_run() {
        let report = audit(&run, TracePolicy::default());
        let is_marked = run.ending == Ending::Marked;
        let right = if is_marked { Verdict::Invalid } else { Verdict::Valid };
        assert_eq!(report.verdict, right, "{run:?} {:?}", report.failures);
        let policy = TracePolicy {
            allow_marked_insufficient: true,
            quotes: Quotes::Any,
            threads: 1,
            ..TracePolicy::default()
        };
        let report = audit(&run, policy);
        assert_eq!(report.verdict, Verdict::Valid, "{run:?} {:?}", report.failures);
        assert!(report.failures.is_empty(), "{run:?} {:?}", report.failures);
    }
}

#[test]
fn without_a_demand_for_a_seal_a_run_is_never_valid() {
    let policy = TracePolicy { seal: false, ..TracePolicy::default() };
    let report = audit(&SampleRun::default(), policy);
    assert_eq!(report.verdict, Verdict::IntegrityOnly);
}

#[test]
fn a_stricter_demand_is_kept() {
    for (min_supports, right) in [(1, Verdict::Valid), (2, Verdict::Valid), (3, Verdict::Invalid)] {
        let policy = TracePolicy { min_supports: Some(min_supports), ..TracePolicy::default() };
        assert_eq!(audit(&SampleRun::default(), policy).verdict, right, "{min_supports}");
    }
}

#[test]
fn a_run_has_nine_events_a_pair_and_two_pieces_of_evidence() {
    for pairs in [1, 2, 11, 40] {
        let run = SampleRun { pairs, ..SampleRun::default() };
        let parts = run.parts();
        let pairs = usize::try_from(pairs).expect("small");
        assert_eq!(Events::new(&parts).count(), 9 * pairs + 6);
        let evidence = Events::new(&parts).filter_map(|record| record.evidence).count();
        assert_eq!(evidence, 2 * pairs);
        let files = run.files();
        let is_evidence = |path: &&String| path.starts_with("evidence/");
        assert_eq!(files.files.keys().filter(is_evidence).count(), 2 * pairs);
    }
}

#[test]
fn sealing_again_changes_nothing() {
    for run in every_run().into_iter().filter(|run| run.pairs < 11) {
        let files = run.files();
        let mut again = files.clone();
        reseal(&mut again);
        assert_eq!(again, files, "{run:?}");
        reid(&mut again);
        assert_eq!(again, files, "{run:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn runs_of_any_size_are_valid(
        pairs in 1_u64..24,
        text_bytes in 0_usize..3000,
        is_bm25: bool,
        is_unicode: bool,
        seed in 0_u64..1 << 53,
    ) {
        let retrieval = if is_bm25 { Retrieval::Bm25 } else { Retrieval::Memory };
        let run = SampleRun { pairs, text_bytes, retrieval, is_unicode, seed, ..SampleRun::default() };
        let report = audit(&run, TracePolicy::default());
        prop_assert_eq!(report.verdict, Verdict::Valid, "{:?}", report.failures);
    }
}
