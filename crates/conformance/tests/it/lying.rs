//! An honest host passes; a host that breaks one rule fails the scenario of that rule.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use probity_conformance::{Disposition, Filter, Key, Kit, Options, Report, Silent};

use crate::host::{self, KEY, OTHER_KEY};
use crate::lie::Lie;

/// What the host of these tests does not offer, and says so.
const UNADVERTISED: [&str; 25] = [
    "beyond/spans",
    "beyond/spans-no-content",
    "core/artifacts",
    "core/bound-ceiling",
    "core/bulk-cancel",
    "core/pause-resume",
    "core/pause-waiting",
    "interrupts/token",
    "interrupts/token-late",
    "loop/seam-bound",
    "loop/seam-iterations",
    "loop/seam-resume",
    "loop/seam-workspace",
    "orchestration/agent-events",
    "orchestration/approval-before-merge",
    "orchestration/approval-fails-closed",
    "orchestration/attest-seam",
    "orchestration/attest-stable",
    "orchestration/attested",
    "orchestration/confidence-agent",
    "replay/ancestry",
    "replay/diff",
    "replay/llm-cache-key",
    "replay/refusal-divergence",
    "replay/refusal-program",
];

#[tokio::test(flavor = "multi_thread")]
async fn an_honest_host_passes_everything_that_it_advertises() {
    let report = run(None, Filter::default(), |options| {
        options.other_tenant = Some(Key::new(OTHER_KEY));
    })
    .await;
    assert_eq!(report.failed(), Vec::<&str>::new(), "{}", report.to_text());
    let skipped: BTreeSet<&str> = report
        .outcomes
        .iter()
        .filter(|outcome| matches!(outcome.disposition, Disposition::Skipped { .. }))
        .map(|outcome| outcome.id)
        .collect();
    assert_eq!(skipped, BTreeSet::from(UNADVERTISED));
    assert_eq!(report.exit_code(true), 0);
    assert_eq!(report.exit_code(false), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_strict_run_what_is_not_advertised_fails() {
    let filter = Filter {
        ids: vec!["loop/seam-resume".to_owned(), "loop/iterations".to_owned()],
        ..Filter::default()
    };
    let report = run(None, filter, |options| options.is_strict = true).await;
    assert_eq!(report.failed(), ["loop/seam-resume"], "{}", report.to_text());
    assert_eq!(report.exit_code(true), 1);
}

/// One test for each lie, so that they run beside each other and are named where one goes through.
macro_rules! lies {
    ($($name:ident: $lie:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            caught(Lie::$lie).await;
        })*

        #[test]
        fn every_lie_is_told() {
            let told = [$(Lie::$lie),*];
            assert_eq!(told.len(), Lie::ALL.len());
            assert!(Lie::ALL.iter().all(|(lie, _, _)| told.contains(lie)));
        }
    };
}

lies! {
    a_fail_that_merges: FailMerges,
    a_fail_that_succeeds: FailSucceeds,
    a_give_up_that_says_met: GiveUpSaysMet,
    a_revision_that_merges: ReviseMerges,
    a_revision_without_end: ReviseEndless,
    a_target_that_is_none: TargetIsAgent,
    a_verdict_that_tells_content: VerdictTellsContent,
    a_broken_critic_that_lets_through: FaultMerges,
    a_silent_critic_that_lets_through: HangMerges,
    a_fail_that_is_outvoted: FailOutvoted,
    a_replay_that_asks_again: ReplayAsksAgain,
    a_merge_before_its_verdict: MergeBeforeVerdict,
    a_merge_apart_from_its_verdict: MergeApartFromVerdict,
    a_worker_that_checks_itself: SelfVerified,
    a_seam_that_commits_anyway: SeamCommitsAnyway,
    no_cache_control: NoCacheControl,
    a_status_that_is_none: SnapshotBadStatus,
    an_envelope_with_more: EnvelopeExtra,
    forbidden_for_a_missing_key: ForbiddenForMissingKey,
    existence_before_the_key: ExistenceBeforeKey,
    a_sequence_from_one: SequenceFromOne,
    an_event_behind_the_end: EventBehindEnd,
    a_status_before_the_end: StatusBeforeEnd,
    a_time_that_is_none: TimestampNoDate,
    an_error_without_message: ErrorWithoutMessage,
    a_cursor_that_repeats: CursorInclusive,
    a_conflict_for_a_late_cancel: CancelEndedConflicts,
    one_node_too_many: OneNodeTooMany,
    bounds_that_nobody_checks: BoundsUnchecked,
    one_turn_too_many: OneTurnTooMany,
    an_iteration_that_stays: IterationStays,
    a_key_that_is_ignored: KeyIgnored,
    a_key_for_any_body: KeyTakesAnyBody,
    a_repetition_that_is_not_marked: ReplayUnmarked,
    a_stream_that_stays_open: StreamNeverCloses,
    updates_that_tell_all: UpdatesTellAll,
    a_resumption_that_repeats: ResumeRepeats,
    any_mode: AnyModeTaken,
    any_answer: AnyAnswerTaken,
    a_decision_of_nobody: NobodyDecided,
    a_cause_of_something_else: CauseOfNothing,
    a_harvest_of_a_failure: HarvestOfFailure,
    a_decision_that_nobody_is_sure_of: LowConfidenceGoesOn,
    a_key_in_errors: KeyInErrors,
    a_delivery_without_signature: HookUnsigned,
    a_delivery_to_anywhere: HookAnywhere,
}

async fn caught(lie: Lie) {
    let (_, expected, parts) = *Lie::ALL.iter().find(|(known, _, _)| *known == lie).unwrap();
    let ids = parts.iter().map(|part| (*part).to_owned()).collect();
    let report = run(Some(lie), Filter { ids, ..Filter::default() }, |_| {}).await;
    let failed: BTreeSet<&str> = report.failed().into_iter().collect();
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    assert_eq!(failed, expected, "{}", report.to_text());
    assert!(report.totals.passed > 0, "nothing is left that holds: {}", report.to_text());
}

async fn run(lie: Option<Lie>, filter: Filter, change: impl FnOnce(&mut Options)) -> Report {
    let url = host::start(lie, None).await;
    let mut options = Options::new("a mark of this test");
    options.receiver = Some((Ipv4Addr::LOCALHOST, 0).into());
    change(&mut options);
    let kit = Kit::new(&url, Key::new(KEY), options).unwrap();
    kit.run(&filter, &Silent).await.unwrap()
}
