//! Without a crash: the machine does what the model says, to the millisecond.

use std::collections::BTreeMap;

use probity_core::Outcome;
use probity_sim::{Prediction, Rng, Script, Tempo, World, predict};

const SEEDS: u64 = 20_000;
/// When every simulated run begins.
const OPENED_MS: u64 = 1_000_000;

#[test]
fn the_machine_does_what_the_model_says() {
    for tempo in [Tempo::Relaxed, Tempo::Tight] {
        let mut outcomes = BTreeMap::<Outcome, u32>::new();
        let mut codes = BTreeMap::<String, u32>::new();
        for seed in 0..SEEDS {
            let script = Script::random(&mut Rng::new(seed), tempo);
            let predicted = predict(&script);
            let report = World::new(&script, &[])
                .run()
                .unwrap_or_else(|violation| panic!("{tempo:?} {seed}: {violation}\n{script:#?}"));
            assert_eq!(report.account, predicted, "{tempo:?} {seed}\n{script:#?}");
            assert_eq!((report.interruptions, report.resumed), (report.lost, report.lost));
            *outcomes.entry(predicted.outcome).or_default() += 1;
            let way = format!("{} {}", predicted.outcome, predicted.code);
            // Its time ended with a claim in hand, and what was known by then decided.
            let wall_ms = script.policy.wall_ms.unwrap_or(u64::MAX);
            let is_late = predicted.ended_ms == OPENED_MS.saturating_add(wall_ms);
            if is_late && predicted.rows.len() == predicted.dispatched.len() {
                *codes.entry(format!("late {way}")).or_default() += 1;
            }
            // A human gave another turn to a delegate that had used up the time, and it was judged.
            let has_gap = |row: &probity_sim::Row| row.turn as usize >= predicted.rows.len();
            if predicted.rows.last().is_some_and(has_gap) {
                *codes.entry("again".to_owned()).or_default() += 1;
            }
            *codes.entry(way).or_default() += 1;
            for way in features(&predicted) {
                *codes.entry(way).or_default() += 1;
            }
        }
        // Breadth: every outcome that ends a run, and every way to get there, often enough.
        let ends: Vec<_> = Outcome::ALL.into_iter().filter(|o| *o != Outcome::Escalated).collect();
        assert_eq!(outcomes.keys().copied().collect::<Vec<_>>(), ends);
        for way in [
            "exhausted attempts",
            "exhausted no_progress",
            "exhausted rejections",
            "exhausted budget_tokens",
            "exhausted budget_tool_calls",
            "exhausted budget_model_calls",
            "noted",
            "waited",
            "rejected forbidden",
            "rejected judge_tampered",
            "inconclusive http_timeout",
            "inconclusive connection_refused",
            "unverified no_checks",
            "unverified non_discriminating",
            "unverified not_applicable",
            "faulted script_raised",
            "faulted unreadable",
            "inconclusive unreadable",
            "rejected hook_blocked",
            "inconclusive hook_offline",
            "faulted hook_broke",
            "rejected over_limit",
            "rejected approval_required",
            "rejected stale_context",
            "inconclusive no_method",
            "given a rewritten task",
            "given a rewritten prompt",
            "committed as hooks made it",
            "edited behind the verdict",
            "red for its tier",
            "Freshness cache_bundle",
            "Freshness abstain",
            "Verification hitl",
            "Verification abstain",
            "Approval hitl",
            "Approval abstain",
        ] {
            assert!(codes.get(way).is_some_and(|seen| *seen >= 20), "{way}: {codes:#?}");
        }
        if tempo == Tempo::Tight {
            for way in [
                "exhausted budget_wall",
                "inconclusive wall_timeout",
                "inconclusive hook_timeout",
                "inconclusive verify_timeout",
                "inconclusive human_timeout",
                "exhausted budget_act",
                "exhausted time_pressure",
                "Time cache_bundle",
                "Time small_model",
                "Time rules_only",
                "Time abstain",
            ] {
                assert!(codes.get(way).is_some_and(|seen| *seen >= 20), "{way}: {codes:#?}");
            }
            for way in [
                "late exhausted budget_wall",
                "late rejected forbidden",
                "late faulted script_raised",
                "late inconclusive http_timeout",
                "late inconclusive wall_timeout",
                "again",
            ] {
                assert!(codes.get(way).is_some_and(|seen| *seen >= 5), "{way}: {codes:#?}");
            }
        }
    }
}

/// What a run met besides its end.
fn features(predicted: &Prediction) -> Vec<String> {
    let mut met: Vec<String> =
        predicted.fallen.iter().map(|(_, trigger, step)| format!("{trigger:?} {step}")).collect();
    let mut orders = predicted.orders.iter();
    let is_wide = |row: &probity_sim::Row| {
        row.code == "connection_refused" && row.drift == Some(probity_core::Drift::Red)
    };
    for (is_met, what) in [
        (orders.clone().any(|order| order.task.is_some()), "given a rewritten task"),
        (orders.any(|order| order.prompt.is_some()), "given a rewritten prompt"),
        (predicted.committed.is_some_and(|it| it >= 100), "committed as hooks made it"),
        (predicted.edited.is_some(), "edited behind the verdict"),
        (!predicted.notes.is_empty(), "noted"),
        (predicted.waits > 0, "waited"),
        (predicted.rows.iter().any(is_wide), "red for its tier"),
    ] {
        if is_met {
            met.push(what.to_owned());
        }
    }
    met
}
