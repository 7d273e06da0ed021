//! Every first verdict under every rule: what comes of it. Later verdicts are `pass`, whoever is asked
//! says "fine", and every child leaves another result.

use probity_workflow::{Effect, Event, Judgement, Status};
use serde_json::json;

use crate::rig::{Rig, checked_team, end, next};

/// What a critic does first.
#[derive(Clone, Copy)]
enum First {
    Says(Judgement),
    Breaks,
    Hangs,
    IsTheWorker,
}

const FIRST: [(&str, First); 6] = [
    ("pass", First::Says(Judgement::Pass)),
    ("fail", First::Says(Judgement::Fail)),
    ("revise", First::Says(Judgement::Revise)),
    ("breaks", First::Breaks),
    ("hangs", First::Hangs),
    ("is the worker", First::IsTheWorker),
];

/// One line per row: what was told, how often something was taken over, and how it ended.
fn row(name: &str, first: First, on_fail: &str, is_gating: bool) -> String {
    let mut team = checked_team(json!([next(&["writer"]), end()]), on_fail);
    if matches!(first, First::IsTheWorker) {
        team["metadata"]["probity"]["verifiers"]["desk"]["agentId"] = json!("writer");
    }
    let mut rig = Rig::with(&team, |start| {
        start.terms.is_gating = is_gating;
        start.bounds.max_loop_iterations = 4;
    });
    let mut children = 0;
    let mut first = Some(first);
    while !rig.run.is_ended() {
        if rig.snapshot().status == Status::WaitingInput {
            rig.resolve("boss", json!({"next": "fine"}));
            continue;
        }
        rig.run.pending();
        let outstanding: Vec<Effect> = std::iter::from_fn(|| rig.run.poll_effect()).collect();
        match outstanding.last() {
            Some(Effect::StartChild { .. }) => {
                children += 1;
                rig.complete_child(json!({"out": format!("v{children}")}));
            }
            Some(Effect::Verify { .. }) => match first.take() {
                Some(First::Says(verdict)) => rig.judge(verdict),
                Some(First::Breaks) => rig.break_verifier(),
                Some(First::Hangs) => rig.wait(),
                Some(First::IsTheWorker) | None => rig.judge(Judgement::Pass),
            },
            other => panic!("nothing goes on: {other:?}"),
        }
    }
    rig.assert_sound();
    let told = |entry: &&probity_workflow::Entry| match &entry.event {
        Event::AgentVerified(verified) => Some(format!("{:?}", verified.verdict).to_lowercase()),
        _ => None,
    };
    let told: Vec<String> = rig.entries().iter().filter_map(told).collect();
    let snapshot = rig.snapshot();
    let end = snapshot.error.map_or_else(
        || if snapshot.is_goal_satisfied == Some(true) { "done" } else { "gave up" }.to_owned(),
        |error| error.code,
    );
    format!(
        "{name} | {on_fail} | told [{}] | {} turns, {children} children, asked {} | taken over {} {} | {end}",
        told.join(" "),
        rig.count("supervisor-decided"),
        rig.count("clarification-requested"),
        rig.count("handoff desk harvested"),
        rig.variable("result"),
    )
}

fn table(is_gating: bool) -> Vec<String> {
    let rows = FIRST.iter().flat_map(|(name, first)| {
        let rules = ["ask-user", "again", "give-up"];
        rules.map(move |on_fail| row(name, *first, on_fail, is_gating))
    });
    rows.collect()
}

#[test]
fn where_verdicts_gate() {
    let told = table(true);
    assert_eq!(
        told,
        [
            r#"pass | ask-user | told [pass] | 2 turns, 1 children, asked 0 | taken over 1 "v1" | done"#,
            r#"pass | again | told [pass] | 2 turns, 1 children, asked 0 | taken over 1 "v1" | done"#,
            r#"pass | give-up | told [pass] | 2 turns, 1 children, asked 0 | taken over 1 "v1" | done"#,
            r#"fail | ask-user | told [fail pass] | 4 turns, 2 children, asked 1 | taken over 1 "v2" | done"#,
            r#"fail | again | told [fail pass] | 3 turns, 2 children, asked 0 | taken over 1 "v2" | done"#,
            r#"fail | give-up | told [fail] | 2 turns, 1 children, asked 0 | taken over 0 null | gave up"#,
            r#"revise | ask-user | told [revise pass] | 3 turns, 2 children, asked 0 | taken over 1 "v2" | done"#,
            r#"revise | again | told [revise pass] | 3 turns, 2 children, asked 0 | taken over 1 "v2" | done"#,
            r#"revise | give-up | told [revise pass] | 3 turns, 2 children, asked 0 | taken over 1 "v2" | done"#,
            r#"breaks | ask-user | told [pass] | 4 turns, 2 children, asked 1 | taken over 1 "v2" | done"#,
            r#"breaks | again | told [pass] | 3 turns, 2 children, asked 0 | taken over 1 "v2" | done"#,
            r#"breaks | give-up | told [] | 2 turns, 1 children, asked 0 | taken over 0 null | gave up"#,
            r#"hangs | ask-user | told [pass] | 4 turns, 2 children, asked 1 | taken over 1 "v2" | done"#,
            r#"hangs | again | told [pass] | 3 turns, 2 children, asked 0 | taken over 1 "v2" | done"#,
            r#"hangs | give-up | told [] | 2 turns, 1 children, asked 0 | taken over 0 null | gave up"#,
            r#"is the worker | ask-user | told [] | 4 turns, 2 children, asked 2 | taken over 0 null | loop_limit_exceeded"#,
            r#"is the worker | again | told [] | 4 turns, 4 children, asked 0 | taken over 0 null | loop_limit_exceeded"#,
            r#"is the worker | give-up | told [] | 2 turns, 1 children, asked 0 | taken over 0 null | gave up"#,
        ]
    );
}

#[test]
fn where_verdicts_are_only_told() {
    for line in table(false) {
        let told = match line.split_once(" | ").unwrap().0 {
            word @ ("pass" | "fail" | "revise") => word,
            _ => "",
        };
        let rest =
            format!(r#"told [{told}] | 2 turns, 1 children, asked 0 | taken over 1 "v1" | done"#);
        assert!(line.ends_with(&rest), "{line}");
    }
}
