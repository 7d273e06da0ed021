//! What an index answers.

use probity_core::Outcome;
use probity_projection::{CheckQuality, Ended, Index, Wanted};

use crate::world::{full, samples};

fn every() -> Wanted {
    Wanted { marks: vec![String::new()], ..Wanted::default() }
}

async fn index() -> Index {
    let mut index = Index::in_memory("memory").unwrap();
    index.update(&full().await).await.unwrap();
    index
}

#[tokio::test]
async fn pages_together_hold_every_run_once_newest_first() {
    let index = index().await;
    let whole = index.page(&every(), None, 100).unwrap();
    assert_eq!((whole.runs.len(), whole.next), (samples().len(), None));
    for limit in [1, 3, samples().len()] {
        let (mut runs, mut place) = (Vec::new(), None);
        loop {
            let page = index.page(&every(), place.as_ref(), limit).unwrap();
            assert!(page.runs.len() <= limit);
            runs.extend(page.runs);
            place = page.next;
            if place.is_none() {
                break;
            }
        }
        assert_eq!(runs, whole.runs, "{limit} at a time");
    }
    assert!(whole.runs.is_sorted_by(|a, b| a.opened_at_ms >= b.opened_at_ms));
}

#[tokio::test]
async fn what_is_wanted_is_what_comes() {
    let index = index().await;
    let all = index.page(&every(), None, 100).unwrap().runs;
    let names = |wanted: &Wanted| -> Vec<String> {
        index.page(wanted, None, 100).unwrap().runs.into_iter().map(|run| run.run_id).collect()
    };
    let by = |keeps: &dyn Fn(&probity_projection::IndexedRun) -> bool| -> Vec<String> {
        all.iter().filter(|run| keeps(run)).map(|run| run.run_id.clone()).collect()
    };
    let verified = Wanted { ended: Some(Ended::As(Outcome::Verified)), ..every() };
    assert_eq!(names(&verified), by(&|run| run.outcome.as_deref() == Some("verified")));
    let open = Wanted { ended: Some(Ended::Open), ..every() };
    assert_eq!(names(&open), by(&|run| run.outcome.is_none()));
    assert!(!names(&open).is_empty());
    let not = Wanted { ended: Some(Ended::NotVerified), ..every() };
    assert_eq!(names(&not), by(&|run| run.outcome.as_deref().is_some_and(|it| it != "verified")));
    let parked = Wanted { stage: Some("parked".to_owned()), ..every() };
    assert_eq!(names(&parked), by(&|run| run.stage == "parked"));
    let at_ms = all[0].opened_at_ms;
    let since = Wanted { since_ms: Some(at_ms), ..every() };
    assert_eq!(names(&since), by(&|run| run.opened_at_ms >= at_ms));
    let until = Wanted { until_ms: Some(at_ms), ..every() };
    assert_eq!(names(&until), by(&|run| run.opened_at_ms < at_ms));
    let text = Wanted { text: Some("exhaus".to_owned()), ..every() };
    assert_eq!(names(&text), ["run-exhausted"]);
    // It is text and no pattern.
    for odd in ["%", "_", "run-exhausted'", "\" OR 1 = 1 --"] {
        let text = Wanted { text: Some(odd.to_owned()), ..every() };
        assert_eq!(names(&text), Vec::<String>::new(), "{odd}");
    }
    let nobody = Wanted { marks: Vec::new(), ..every() };
    assert_eq!(names(&nobody), Vec::<String>::new());
    let others = Wanted { marks: vec!["0123456789ab".to_owned()], ..every() };
    assert_eq!(names(&others), Vec::<String>::new());
    let counts = index.counts(&every()).unwrap();
    assert_eq!(counts.total, all.len() as u64);
    assert_eq!(counts.outcomes.values().sum::<u64>(), counts.total);
    let words = index.words(&every()).unwrap();
    assert!(words.stages.contains(&"sealed".to_owned()) && !words.codes.is_empty(), "{words:?}");
}

#[tokio::test]
async fn claims_are_counted_by_what_came_of_them() {
    let index = index().await;
    let claims = index.claims(&every(), 1_000).unwrap();
    let [of] = claims.delegates.as_slice() else { panic!("{:?}", claims.delegates) };
    // The samples have no requests.
    assert_eq!((of.delegate.as_str(), of.runs), ("unknown", samples().len() as u64));
    assert_eq!(of.claims, of.passed + of.refused + of.unsettled + of.unchecked);
    assert!(of.passed > 0 && of.refused > 0, "{of:?}");
    assert_eq!(of.attempts_to_verify.values().sum::<u64>(), of.outcomes["verified"]);
    let of_series: u64 = claims
        .told
        .iter()
        .map(|told| told.passed + told.refused + told.unsettled + told.unchecked)
        .sum();
    assert_eq!(of_series, of.claims);
    assert!(claims.told.is_sorted_by(|a, b| a.at_ms < b.at_ms));
    assert!(claims.told.iter().all(|told| told.at_ms % 1_000 == 0));
    let refused: u64 = claims.refusals.iter().map(|refusal| refusal.claims).sum();
    assert_eq!(refused, of.claims - of.passed);
    assert!(claims.refusals.is_sorted_by(|a, b| a.claims >= b.claims));
    let missing = claims.reasons.iter().find(|it| it.code == "file_missing").unwrap();
    assert_eq!((missing.check.as_deref(), missing.judgement.as_str()), (Some("file"), "revise"));
    assert!(missing.reason_digest.is_some() && missing.runs <= missing.claims);
}

#[tokio::test]
async fn drift_is_counted_red_first() {
    let index = index().await;
    let drifts = index.drifts(&every()).unwrap();
    assert_eq!(drifts.drifts.iter().map(|it| it.verdicts).sum::<u64>(), drifts.verdicts);
    assert!(drifts.verdicts > 0 && drifts.verdicts < drifts.verdicts_of_all, "{drifts:?}");
    assert!(
        drifts.drifts.iter().all(|it| it.first_at_ms <= it.last_at_ms && !it.last_run.is_empty())
    );
    assert!(drifts.drifts.is_sorted_by_key(|it| it.drift != "red"));
    let of_runs: u64 = drifts.decisions.iter().map(|it| it.runs).sum();
    assert!(drifts.decisions.iter().all(|it| it.sealed <= it.runs), "{of_runs}");
}

#[tokio::test]
async fn a_check_is_told_by_what_it_said_before_it_passed() {
    let index = index().await;
    let one = Wanted { text: Some("verified-after-two-attempts".to_owned()), ..every() };
    let checks = index.checks(&one).unwrap();
    let [file] = checks.checks.as_slice() else { panic!("{checks:?}") };
    let CheckQuality { check, subject, runs, passed_at_last, discriminating, .. } = file;
    assert_eq!((check.as_str(), subject.as_str()), ("file", "world"));
    assert_eq!((*runs, *passed_at_last, *discriminating), (1, 1, 1));
    assert_eq!((file.results["revise"], file.results["pass"]), (1, 1));
    assert_eq!(file.red_first["discriminating"], 1);
    assert_eq!((file.timed, file.p50_ms, file.p99_ms, file.max_ms), (2, Some(2), Some(2), Some(2)));
    let exhausted = Wanted { text: Some("run-exhausted".to_owned()), ..every() };
    let [file] = &index.checks(&exhausted).unwrap().checks[..] else { panic!() };
    assert_eq!((file.runs, file.passed_at_last, file.discriminating), (1, 0, 0));
    let all = index.checks(&every()).unwrap();
    assert!(!all.is_cut && all.checks.len() > 1, "{all:?}");
}
