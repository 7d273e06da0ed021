//! Our own host, held to everything.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use probity_conformance::{Disposition, Filter, Level, Outcome, Report};
use probity_host::wire::v1 as wire;
use serde_json::json;

use crate::broken::Rule;
use crate::served::Served;
use crate::shapes::Shapes;

/// What the host does not offer, and says so.
const NOT_OFFERED: &[&str] = &["core/artifacts"];

#[tokio::test(flavor = "multi_thread")]
async fn our_host_passes() {
    let report = held(Filter::default(), None).await;
    assert_eq!(report.failed(), Vec::<&str>::new(), "{}", report.to_text());
    let is_skipped =
        |outcome: &&Outcome| matches!(outcome.disposition, Disposition::Skipped { .. });
    let skipped = report.outcomes.iter().filter(is_skipped).map(|outcome| outcome.id);
    let beyond: Vec<&str> = skipped.filter(|id| !NOT_OFFERED.contains(id)).collect();
    assert_eq!(beyond, Vec::<&str>::new(), "{}", report.to_text());
}

/// Each rule that is turned off, and the scenarios that name it: exactly those fail.
const RULES: [(Rule, &[&str]); 15] = [
    (Rule::FailKeepsOut, &["verifier/fail-keeps-out"]),
    (Rule::NoSuccess, &["verifier/no-success-after-fail"]),
    (Rule::ReviseTurns, &["verifier/revise-turns"]),
    (Rule::ReviseBounded, &["verifier/revise-bounded"]),
    (Rule::TargetResolves, &["verifier/target-resolves"]),
    (Rule::NoContent, &["verifier/no-content"]),
    (Rule::PlainCriteria, &["verifier/no-content", "verifier/seam-content"]),
    (Rule::BrokenCritic, &["verifier/broken-critic-keeps-out"]),
    (Rule::SilentCritic, &["verifier/silent-critic-keeps-out"]),
    (Rule::OtherCritic, &["verifier/self-verification"]),
    (Rule::Contradiction, &["verifier/contradiction"]),
    (Rule::ReplayKeeps, &["verifier/replay-keeps-verdicts"]),
    (Rule::VerdictBeforeMerge, &["verifier/verdict-before-merge"]),
    (Rule::FailStands, &["verifier/fail-again"]),
    (Rule::BoundToBytes, &["verifier/pass-merges"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_turned_off_is_caught_by_name() {
    for (rule, scenarios) in RULES {
        let filter = Filter { levels: vec![Level::Verifier], ..Filter::default() };
        let report = held(filter, Some(rule)).await;
        let (failed, expected): (BTreeSet<&str>, BTreeSet<&str>) =
            (report.failed().into_iter().collect(), scenarios.iter().copied().collect());
        assert_eq!(failed, expected, "{rule:?}: {}", report.to_text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_a_replay_passes_over_is_caught_by_name() {
    let filter = Filter { levels: vec![Level::Replay], ..Filter::default() };
    let report = held(filter, Some(Rule::DivergenceTold)).await;
    assert_eq!(report.failed(), ["replay/refusal-divergence"], "{}", report.to_text());
}

/// Every run of a whole run of the kit, children and seams included, not only what its scenarios read.
#[tokio::test(flavor = "multi_thread")]
async fn every_event_and_state_of_a_run_of_the_kit_fits_its_schema() {
    let served = Served::start(None).await;
    let report = served.kit(Filter::default()).await;
    assert_eq!(report.failed(), Vec::<&str>::new(), "{}", report.to_text());
    let shapes = Shapes::load();
    let (mut events, mut runs, mut after) = (0_u64, 0, None);
    let mut kinds = BTreeSet::new();
    loop {
        let names = served.runs.list(after, 100).await.unwrap();
        let Some((_, last)) = names.last() else { break };
        after = Some(*last);
        for (run, _) in names {
            let Ok(Some(snapshot)) = served.runs.snapshot(&run).await else { continue };
            shapes.holds("run-snapshot", &wire::run_snapshot(&snapshot));
            let page = served.runs.entries(&run, 0, 100_000).await.unwrap().unwrap();
            for entry in &page.entries {
                let event = wire::render(&run, entry);
                shapes.is_event(&event);
                kinds.insert(event["type"].as_str().unwrap().to_owned());
                events += 1;
            }
            runs += 1;
        }
    }
    assert!(events > report.totals.events / 4 && runs > 150, "{runs} runs, {events} events");
    for kind in ["agent.verified", "cap.breached", "replay.divergedAtRefusal", "approval.received"]
    {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
}

/// A replay takes the recorded verdicts: the critics of this host count.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_asks_no_critic() {
    let served = Served::start(None).await;
    for workflow in ["conformance-verifier-pass", "conformance-verifier-give-up"] {
        let run = served.ended(workflow, json!({})).await;
        let asked = served.critics.asked.load(Ordering::SeqCst);
        assert!(asked > 0);
        let body = json!({"mode": "replay", "fromSeq": 0});
        let replay = served.post(&format!("/v1/runs/{run}:fork"), &body).await;
        served.is_ended(replay["runId"].as_str().unwrap()).await;
        assert_eq!(served.critics.asked.load(Ordering::SeqCst), asked, "{workflow}");
    }
}

async fn held(filter: Filter, rule: Option<Rule>) -> Report {
    Served::start(rule).await.kit(filter).await
}
