//! Ground truth out of reach: asked again with backoff, within the check's time, and never charged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use probity_core::{Drift, Event, Outcome, Phase, Verdict};

use crate::rig::{Eye, Rig, liar};

/// Out of reach for the first `until` looks at a claim, then there.
fn flaky(rig: &Rig, until: u32) -> Arc<Eye> {
    let looks = AtomicU32::new(0);
    Eye::new(rig, move |ctx| {
        let nth = match ctx.phase {
            Phase::Before => 0,
            Phase::After => looks.fetch_add(1, Ordering::SeqCst) + 1,
        };
        std::future::ready(Ok(match ctx.phase {
            Phase::Before => Verdict::revise("not_yet", ""),
            Phase::After if nth <= until => Verdict::inconclusive("http_timeout", "no answer"),
            Phase::After => Verdict::pass(),
        }))
    })
}

async fn drifts(rig: &Rig) -> Vec<Option<Drift>> {
    let log = rig.log().await;
    let drift = |event: &Event| match event {
        Event::VerdictMerged { drift, .. } => Some(*drift),
        _ => None,
    };
    log.entries.iter().filter_map(|entry| drift(&entry.event)).collect()
}

#[tokio::test]
async fn it_is_asked_again_until_it_answers_and_the_delegate_is_not() {
    let rig = Rig::new();
    let eye = flaky(&rig, 2);
    let mut plan = rig.plan(liar(), [eye.check("c")]);
    plan.policy.verify_backoff_ms = 5;
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, report.attempts), (Outcome::Verified, 1));
    assert_eq!((eye.after().len(), rig.account.count("ask")), (3, 1));
    let tries: Vec<_> = rig
        .log()
        .await
        .entries
        .iter()
        .filter_map(|entry| match entry.event {
            Event::CheckStarted { phase: Phase::After, tries, .. } => Some((tries, entry.at_ms)),
            _ => None,
        })
        .collect();
    assert_eq!(tries.iter().map(|it| it.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(tries[1].1 - tries[0].1 >= 5 && tries[2].1 - tries[1].1 >= 10, "{tries:?}");
    let submissions: Vec<_> = eye.after().into_iter().map(|look| look.submission).collect();
    assert!(submissions.windows(2).all(|pair| pair[0] == pair[1] && pair[0].is_some()));
    assert!(eye.after().iter().all(|look| !look.is_replay));
    assert_eq!(drifts(&rig).await, [None]);
}

#[tokio::test]
async fn only_what_is_open_is_asked_again() {
    let rig = Rig::new();
    let (open, passes) = (flaky(&rig, 1), Eye::then(&rig, Ok(Verdict::pass())));
    let mut plan = rig.plan(liar(), [open.check("a"), passes.check("b")]);
    plan.policy.verify_backoff_ms = 5;
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
    assert_eq!((open.after().len(), passes.after().len()), (2, 1));
}

#[tokio::test]
async fn a_contradiction_by_another_check_ends_the_waiting() {
    let rig = Rig::new();
    let open = flaky(&rig, 9);
    let contradicts = Eye::then(&rig, Ok(Verdict::fail("forged", "")));
    let ended = rig.run(rig.plan(liar(), [open.check("a"), contradicts.check("b")])).await;
    assert_eq!((ended.outcome, open.after().len()), (Outcome::Rejected, 1));
}

#[tokio::test]
async fn tries_are_bounded_and_the_drift_of_a_timeout_is_red() {
    let rig = Rig::new();
    let eye = flaky(&rig, 99);
    let mut plan = rig.plan(liar(), [eye.check("c")]);
    plan.policy.verify_backoff_ms = 1;
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "http_timeout"));
    assert_eq!((eye.after().len(), report.attempts), (4, 0));
    assert_eq!(drifts(&rig).await, [Some(Drift::Red)]);
}

#[tokio::test]
async fn the_time_of_a_check_holds_for_all_its_tries() {
    let rig = Rig::new();
    let eye = Eye::new(&rig, |ctx| async move {
        if ctx.phase == Phase::Before {
            return Ok(Verdict::revise("not_yet", ""));
        }
        tokio::time::sleep(ctx.timeout).await;
        Ok(Verdict::inconclusive("http_unreachable", "no route"))
    });
    let started = Instant::now();
    let ended = rig.run(rig.plan(liar(), [eye.timed("c", 100)])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "http_unreachable"));
    assert_eq!(eye.after().len(), 1);
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(drifts(&rig).await, [Some(Drift::Yellow)]);
}

#[tokio::test]
async fn what_is_out_of_reach_before_the_delegate_is_not_assessed() {
    let rig = Rig::new();
    let eye = Eye::new(&rig, |ctx| {
        std::future::ready(Ok(match ctx.phase {
            Phase::Before => Verdict::inconclusive("http_unreachable", "no route"),
            Phase::After => Verdict::pass(),
        }))
    });
    let (ended, report) = rig.whole(rig.plan(liar(), [eye.check("c")])).await;
    assert_eq!((ended.outcome, report.checks[0].discriminating), (Outcome::Verified, None));
    assert_eq!(eye.looks().len(), 2);
}

#[tokio::test]
async fn every_judgement_has_its_drift() {
    let rows: [(Result<Verdict, probity_core::Fault>, Option<Drift>); 4] = [
        (Ok(Verdict::pass()), None),
        (Ok(Verdict::revise("a", "")), Some(Drift::Yellow)),
        (Ok(Verdict::fail("a", "")), Some(Drift::Yellow)),
        (Err(probity_core::Fault::new("a", "")), Some(Drift::Red)),
    ];
    for (answer, drift) in rows {
        let rig = Rig::new();
        let mut plan = rig.plan(liar(), [Eye::then(&rig, answer).check("c")]);
        plan.policy.max_attempts = 1;
        rig.run(plan).await;
        assert_eq!(drifts(&rig).await, [drift]);
    }
}
