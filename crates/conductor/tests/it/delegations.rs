//! Critics and delegates that lie, fail, hang and break.

use std::sync::Arc;

use probity_conductor::ConductorOptions;
use probity_workflow::{Entry, Event};

use crate::cast::Part;
use crate::rig::{Rig, assert_sound, id, kinds, start, to_end};

async fn run(part: Part, workflow: &str) -> (Rig, Vec<Arc<Entry>>) {
    let options = ConductorOptions { max_tries: 4, ..ConductorOptions::default() };
    let rig = Rig { options, ..Rig::new(part) };
    let conductor = rig.conductor();
    conductor.begin(id("wf-1"), start(&conductor, workflow)).await.unwrap();
    let entries = to_end(&conductor, &id("wf-1")).await;
    assert_sound(&entries);
    (rig, entries)
}

fn has(entries: &[Arc<Entry>], kind: &str) -> bool {
    kinds(entries).iter().any(|it| it == kind)
}

fn is_taken_over(entries: &[Arc<Entry>]) -> bool {
    entries.iter().any(|entry| matches!(&entry.event, Event::Handoff { harvested: Some(_), .. }))
}

#[tokio::test(start_paused = true)]
async fn no_critic_that_fails_lets_anything_through() {
    for part in [Part::Lie, Part::Hang, Part::Never, Part::Late(99)] {
        let (_, entries) = run(part.clone(), "quits").await;
        assert!(!has(&entries, "agent-verified"), "{part:?}: no critic spoke");
        assert!(!is_taken_over(&entries), "{part:?}");
        assert_eq!(kinds(&entries).last().unwrap(), "run-completed", "{part:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_critic_that_panics_is_a_critic_that_broke() {
    let (_, entries) = run(Part::Panic, "quits").await;
    assert!(!has(&entries, "agent-verified") && !is_taken_over(&entries));
}

#[tokio::test(start_paused = true)]
async fn a_critic_that_hangs_is_stopped_at_its_time() {
    let (rig, entries) = run(Part::Hang, "quits").await;
    let passed = entries.last().unwrap().at_ms - entries[0].at_ms;
    assert!((5_000..6_000).contains(&passed), "{passed}");
    assert_eq!(rig.cast.stopped(), rig.cast.begun());
}

#[tokio::test(start_paused = true)]
async fn who_asks_later_is_asked_again() {
    let (rig, entries) = run(Part::Late(3), "checked").await;
    assert!(has(&entries, "agent-verified") && is_taken_over(&entries));
    assert_eq!(rig.cast.begun().len(), 4);
    rig.cast.begun().windows(2).for_each(|pair| assert_eq!(pair[0], pair[1], "by one name"));
}

#[tokio::test(start_paused = true)]
async fn a_delegation_that_cannot_be_had_fails_its_node() {
    for (part, code) in [(Part::Never, "no_room"), (Part::Late(99), "no_room")] {
        let (_, entries) = run(part, "work").await;
        let Event::RunFailed { error, .. } = &entries.last().unwrap().event else {
            panic!("a failure")
        };
        let told = serde_json::to_string(error).unwrap();
        assert!(told.contains(code) || error.code == "delegate_failed", "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_delegation_delivers_is_a_variable() {
    let (_, entries) = run(Part::Mock, "work").await;
    let Event::RunCompleted { outputs } = &entries.last().unwrap().event else { panic!("an end") };
    assert_eq!(outputs["result"]["of"]["task"], "add");
}
