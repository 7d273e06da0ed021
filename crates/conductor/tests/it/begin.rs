//! Runs begin, are found, asked, answered, and end.

use std::sync::Arc;
use std::time::Duration;

use probity_conductor::{ConductError, ConductorOptions};
use probity_workflow::{Input, Refusal, Status};
use serde_json::json;

use crate::cast::Part;
use crate::rig::{Rig, assert_sound, bounded, cancel, id, kinds, resolve, start, to_end, to_wait};

#[tokio::test(start_paused = true)]
async fn a_run_that_is_begun_again_is_the_same_run() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    let begun = conductor.begin(run.clone(), start(&conductor, "writer")).await.unwrap();
    assert!(begun.is_new);
    let again = conductor.begin(run.clone(), start(&conductor, "writer")).await.unwrap();
    assert!(!again.is_new);
    let other = conductor.begin(run.clone(), start(&conductor, "slow")).await.unwrap_err();
    assert_eq!(other, ConductError::Exists { run: run.clone() });
    let entries = to_end(&conductor, &run).await;
    assert_sound(&entries);
    let after = conductor.begin(run.clone(), start(&conductor, "writer")).await.unwrap();
    assert_eq!((after.is_new, after.snapshot.status), (false, Status::Completed));
    assert_eq!(to_end(&conductor, &run).await, entries);
}

#[tokio::test(start_paused = true)]
async fn a_number_is_the_same_number_however_it_was_spelled() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let with = |n: serde_json::Value| {
        let mut start = start(&conductor, "writer");
        start.inputs.insert("n".to_owned(), n);
        start
    };
    assert!(conductor.begin(id("wf-1"), with(json!(1.0))).await.unwrap().is_new);
    assert!(!conductor.begin(id("wf-1"), with(json!(1))).await.unwrap().is_new);
    let error = conductor.begin(id("wf-2"), with(json!(u64::MAX))).await.unwrap_err();
    assert_eq!(error.code(), "input_unrecordable");
    assert_eq!(conductor.snapshot(&id("wf-2")).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_missing_and_what_has_ended_takes_nothing() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    assert_eq!(conductor.snapshot(&run).await.unwrap(), None);
    assert_eq!(conductor.entries(&run, 0, 10).await.unwrap(), None);
    assert!(conductor.follow(&run, 0).await.unwrap().is_none());
    let missing = ConductError::Missing { run: run.clone() };
    assert_eq!(conductor.tell(&run, cancel()).await.unwrap_err(), missing);
    conductor.begin(run.clone(), start(&conductor, "writer")).await.unwrap();
    to_end(&conductor, &run).await;
    let ended = ConductError::Refused(Refusal::Ended);
    assert_eq!(conductor.tell(&run, cancel()).await.unwrap_err(), ended);
    let timer = conductor.tell(&run, Input::Timer).await.unwrap_err();
    assert_eq!(timer, ConductError::NotForTelling);
    assert_eq!(conductor.live_runs(), 0, "what has ended takes no room");
    let state = rig.store.state(&run).await.unwrap().unwrap();
    assert!(state.sealed);
}

#[tokio::test(start_paused = true)]
async fn a_gate_waits_for_its_answer_and_refuses_others() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "ask")).await.unwrap();
    let node = to_wait(&conductor, &run).await;
    let waiting = conductor.snapshot(&run).await.unwrap().unwrap();
    assert_eq!(waiting.status, Status::WaitingApproval);
    let wrong = conductor.tell(&run, resolve(&node, json!("maybe"))).await.unwrap_err();
    assert_eq!(wrong.code(), "validation_error");
    let told = conductor.tell(&run, resolve(&node, json!("accept"))).await.unwrap();
    assert_eq!(told.status, Status::Completed);
    assert_sound(&to_end(&conductor, &run).await);
}

#[tokio::test(start_paused = true)]
async fn a_paused_run_goes_on_when_it_is_resumed() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "slow")).await.unwrap();
    let pause = Input::Pause { reason: None, drain_policy: None };
    assert_eq!(conductor.tell(&run, pause.clone()).await.unwrap().status, Status::Paused);
    let again = conductor.tell(&run, pause).await.unwrap_err();
    assert_eq!(again.code(), "run_paused");
    let resumed = conductor.tell(&run, Input::Resume { reason: None }).await.unwrap();
    assert_eq!(resumed.status, Status::Running);
    let entries = to_end(&conductor, &run).await;
    assert_sound(&entries);
    assert_eq!(kinds(&entries).last().unwrap(), "run-completed");
    let passed = entries.last().unwrap().at_ms - entries[0].at_ms;
    assert!((30_000..31_000).contains(&passed), "{passed}");
}

#[tokio::test(start_paused = true)]
async fn pages_are_cut_anywhere_and_say_when_nothing_follows() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "team")).await.unwrap();
    let all = to_end(&conductor, &run).await;
    for from in 0..=all.len() {
        for max in [1, 3, all.len()] {
            let page =
                conductor.entries(&run, u64::try_from(from).unwrap(), max).await.unwrap().unwrap();
            let to = all.len().min(from + max);
            assert_eq!(page.entries, all[from..to], "{from} {max}");
            assert_eq!(page.is_complete, to == all.len(), "{from} {max}");
        }
    }
    let beyond = conductor.entries(&run, 1_000, 5).await.unwrap().unwrap();
    assert!(beyond.entries.is_empty() && beyond.is_complete);
}

#[tokio::test(start_paused = true)]
async fn a_full_conductor_begins_nothing_more_but_children() {
    let options = ConductorOptions { max_live_runs: 1, ..ConductorOptions::default() };
    let rig = Rig { options, ..Rig::new(Part::Mock) };
    let conductor = rig.conductor();
    conductor.begin(id("wf-1"), start(&conductor, "ask")).await.unwrap();
    let full = conductor.begin(id("wf-2"), start(&conductor, "ask")).await.unwrap_err();
    assert_eq!(full, ConductError::Busy { max: 1 });
    conductor.tell(&id("wf-1"), cancel()).await.unwrap();
    to_end(&conductor, &id("wf-1")).await;
    conductor.begin(id("wf-2"), start(&conductor, "team")).await.unwrap();
    assert_eq!(kinds(&to_end(&conductor, &id("wf-2")).await).last().unwrap(), "run-completed");
}

#[tokio::test(start_paused = true)]
async fn draining_loses_nothing_and_another_conductor_goes_on() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "slow")).await.unwrap();
    assert!(conductor.drain(Duration::from_secs(5)).await);
    assert_eq!(conductor.live_runs(), 0);
    let refused = conductor.begin(id("wf-2"), start(&conductor, "slow")).await.unwrap_err();
    assert_eq!(refused, ConductError::Stopping);
    assert_eq!(conductor.snapshot(&run).await.unwrap().unwrap().status, Status::Running);
    let next = rig.conductor();
    let recovered = next.recover().await.unwrap();
    assert_eq!((recovered.driven, recovered.damaged.len()), (1, 0));
    let mut follower = conductor.follow(&run, 0).await.unwrap().unwrap();
    let mut last = None;
    while let Some(entry) = bounded(follower.next()).await.unwrap() {
        last = Some(entry);
    }
    assert!(last.unwrap().event.is_terminal(), "seen through the one that drains");
}

#[tokio::test(start_paused = true)]
async fn whoever_subscribes_hears_of_every_run_once() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let mut told = conductor.subscribe();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "team")).await.unwrap();
    let entries = to_end(&conductor, &run).await;
    let child = conductor.children(&run).await.unwrap().remove(0);
    let of_child = to_end(&conductor, &child).await;
    let mut heard = (Vec::new(), Vec::new());
    while let Ok((of, entry)) = told.try_recv() {
        if of == run { heard.0.push(entry) } else { heard.1.push(entry) }
    }
    assert_eq!((heard.0, heard.1), (entries, of_child));
}

#[tokio::test(start_paused = true)]
async fn the_last_clone_takes_the_drivers_along() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "slow")).await.unwrap();
    let mut follower = conductor.follow(&run, 0).await.unwrap().unwrap();
    drop(conductor);
    while let Ok(next) = tokio::time::timeout(Duration::from_secs(3_600), follower.next()).await {
        assert!(!next.unwrap().unwrap().event.is_terminal());
    }
    assert_eq!(Arc::strong_count(&rig.cast), 2, "the follower's and ours");
}
