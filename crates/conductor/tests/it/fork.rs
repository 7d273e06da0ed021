//! Forks: the recorded way again, and another one from a point on.

use std::sync::Arc;

use probity_conductor::{ConductError, Conductor, Fork};
use probity_core::RunId;
use probity_record::{Ledger, StepText};
use probity_store::{Batch, MemoryStore, RunLog as _, read_run};
use probity_workflow::{Entry, Event, Judgement, Origin, Status};
use serde_json::{Map, json};

use crate::cast::Part;
use crate::rig::{Rig, assert_sound, cancel, id, kinds, resolve, start, timeless, to_end, to_wait};

fn replay() -> Fork {
    Fork { from_sequence: None, is_replay: true, inputs: Map::new(), terms: None }
}

fn branch(from: u64) -> Fork {
    Fork { from_sequence: Some(from), is_replay: false, inputs: Map::new(), terms: None }
}

async fn ended(rig: &Rig, workflow: &str) -> Conductor {
    let conductor = rig.conductor();
    conductor.begin(id("wf-1"), start(&conductor, workflow)).await.unwrap();
    to_end(&conductor, &id("wf-1")).await;
    conductor
}

#[tokio::test(start_paused = true)]
async fn a_replay_tells_the_same_and_asks_nobody() {
    for workflow in ["two-turns", "again"] {
        let rig = Rig::new(Part::Verdicts(vec![Judgement::Revise]));
        let conductor = ended(&rig, workflow).await;
        let asked = rig.cast.begun().len();
        let again = conductor.fork(&id("wf-1"), id("wf-2"), replay()).await.unwrap();
        assert_eq!((again.is_new, again.snapshot.status), (true, Status::Completed));
        let (was, is) =
            (to_end(&conductor, &id("wf-1")).await, to_end(&conductor, &id("wf-2")).await);
        assert_eq!(kinds(&was), kinds(&is), "{workflow}");
        assert_sound(&is);
        assert_eq!(was.last().unwrap().at_ms, is.last().unwrap().at_ms, "at the same times");
        assert_eq!(rig.cast.begun().len(), asked, "nobody was asked again");
        assert!(rig.store.state(&id("wf-2")).await.unwrap().unwrap().sealed);
        let len = u64::try_from(was.len()).unwrap();
        let (source, from_sequence) = (id("wf-1"), len);
        let origin = Origin::Fork { source, from_sequence, is_replay: true };
        assert_eq!(again.snapshot.origin, Some(origin));
        assert!(!conductor.fork(&id("wf-1"), id("wf-2"), replay()).await.unwrap().is_new);
    }
}

#[tokio::test(start_paused = true)]
async fn a_branch_keeps_recorded_verdicts_and_lives_on_from_every_point() {
    let rig = Rig::new(Part::Verdict(Judgement::Pass));
    let conductor = ended(&rig, "two-turns").await;
    let was = to_end(&conductor, &id("wf-1")).await;
    let at = was.iter().rposition(|entry| matches!(entry.event, Event::AgentVerified(_)));
    let delegated = was.iter().position(
        |entry| matches!(&entry.event, Event::VariableChanged { name, .. } if name == "made"),
    );
    let (verified, delegated) = (at.unwrap(), delegated.unwrap());
    tokio::time::sleep(std::time::Duration::from_secs(86_400)).await;
    for from in 0..=was.len() {
        let asked = rig.cast.begun().len();
        let run = id(&format!("fork-{from}"));
        let from_sequence = u64::try_from(from).unwrap();
        conductor.fork(&id("wf-1"), run.clone(), branch(from_sequence)).await.unwrap();
        let is = to_end(&conductor, &run).await;
        assert_sound(&is);
        assert_eq!(kinds(&is), kinds(&was), "{from}: a day later, and no bound is breached");
        let asked = rig.cast.begun().len() - asked;
        if from > verified {
            assert_eq!(asked, 0, "{from}");
        } else if from > delegated {
            assert_eq!(asked, 1, "{from}: the critic");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_children_of_a_fork_are_there_as_well() {
    let rig = Rig::new(Part::Verdicts(vec![Judgement::Revise]));
    let conductor = ended(&rig, "again").await;
    conductor.fork(&id("wf-1"), id("wf-2"), replay()).await.unwrap();
    let (were, are) = (
        conductor.children(&id("wf-1")).await.unwrap(),
        conductor.children(&id("wf-2")).await.unwrap(),
    );
    assert_eq!((were.len(), are.len()), (2, 2));
    let targets: Vec<RunId> = to_end(&conductor, &id("wf-2"))
        .await
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::AgentVerified(verified) => Some(verified.target.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(targets, are, "every verdict is on a run that there is");
    for (was, is) in were.iter().zip(&are) {
        let (was, is) = (to_end(&conductor, was).await, to_end(&conductor, is).await);
        assert_sound(&is);
        assert_eq!(kinds(&was), kinds(&is));
    }
    let child = conductor.start(&are[0]).await.unwrap().unwrap();
    let (parent, node) = (id("wf-2"), "desk".to_owned());
    assert_eq!(child.origin, Some(Origin::Child { parent, node, is_dispatch: true }));
}

#[tokio::test(start_paused = true)]
async fn a_fork_that_was_cut_off_takes_the_rest_from_its_source() {
    let rig = Rig::new(Part::Verdicts(vec![Judgement::Revise]));
    let conductor = ended(&rig, "again").await;
    let len = to_end(&conductor, &id("wf-1")).await.len();
    for fork in [replay(), branch(u64::try_from(len - 3).unwrap())] {
        let run = id(if fork.is_replay { "replay" } else { "branch" });
        conductor.fork(&id("wf-1"), run.clone(), fork).await.unwrap();
        let whole = to_end(&conductor, &run).await;
        let source = read_run(rig.store.as_ref(), &id("wf-1")).await.unwrap();
        let records = read_run(rig.store.as_ref(), &run).await.unwrap();
        for len in 1..records.len() {
            let store = Arc::new(MemoryStore::new());
            let sealed = Batch { seal: true, ..Batch::of(source.clone()) };
            store.append(&id("wf-1"), 0, sealed).await.unwrap();
            store.append(&run, 0, Batch::of(records[..len].to_vec())).await.unwrap();
            let other = Rig::on(store, Part::Never);
            let conductor = other.conductor();
            assert_eq!(conductor.recover().await.unwrap().driven, 1);
            assert_eq!(timeless(&to_end(&conductor, &run).await), timeless(&whole), "{len}");
            assert_eq!(other.cast.begun(), [], "nobody was asked");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_branch_may_begin_with_other_values() {
    let rig = Rig::new(Part::Mock);
    let conductor = ended(&rig, "writer").await;
    let mut inputs = Map::new();
    inputs.insert("out".to_owned(), json!("else"));
    let fork = Fork { inputs: inputs.clone(), ..branch(0) };
    conductor.fork(&id("wf-1"), id("wf-2"), fork).await.unwrap();
    let entries = to_end(&conductor, &id("wf-2")).await;
    let Event::RunCompleted { outputs } = &entries.last().unwrap().event else { panic!("an end") };
    assert_eq!(outputs["out"], "else");
    let overlaid = Fork { inputs, ..replay() };
    let error = conductor.fork(&id("wf-1"), id("wf-3"), overlaid).await.unwrap_err();
    assert_eq!(error.code(), "fork_replay_overlay");
}

#[tokio::test(start_paused = true)]
async fn a_branch_takes_no_verdict_on_what_was_asked_otherwise() {
    let rig = Rig::new(Part::Mock);
    let conductor = ended(&rig, "work").await;
    let was = to_end(&conductor, &id("wf-1")).await;
    let is_verdict = |entry: &Arc<Entry>| matches!(entry.event, Event::AgentVerified(_));
    let verified = u64::try_from(was.iter().position(is_verdict).unwrap()).unwrap();
    let inputs = Map::from_iter([("task".to_owned(), json!("delete"))]);
    let asked = rig.cast.begun().len();
    for from in [None, Some(verified + 1)] {
        let fork =
            Fork { from_sequence: from, is_replay: false, inputs: inputs.clone(), terms: None };
        let error = conductor.fork(&id("wf-1"), id("wf-2"), fork).await.unwrap_err();
        assert_eq!(error.code(), "fork_differs");
        assert_eq!(conductor.snapshot(&id("wf-2")).await.unwrap(), None);
    }
    assert_eq!(rig.cast.begun().len(), asked);
    // Up to there it is asked by itself.
    let fork = Fork { inputs, ..branch(verified) };
    conductor.fork(&id("wf-1"), id("wf-3"), fork).await.unwrap();
    let is = to_end(&conductor, &id("wf-3")).await;
    let Event::RunCompleted { outputs } = &is.last().unwrap().event else { panic!("an end") };
    assert_eq!(outputs["result"]["of"]["task"], "delete");
    assert_eq!(rig.cast.begun().len(), asked + 1);
}

#[tokio::test(start_paused = true)]
async fn who_let_something_through_let_nothing_else_through() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    conductor.begin(id("wf-1"), start(&conductor, "ask")).await.unwrap();
    let gate = to_wait(&conductor, &id("wf-1")).await;
    conductor.tell(&id("wf-1"), resolve(&gate, json!("accept"))).await.unwrap();
    let was = to_end(&conductor, &id("wf-1")).await;
    let asked = was.iter().position(|it| matches!(it.event, Event::InterruptRequested(_))).unwrap();
    let asked = u64::try_from(asked).unwrap();
    let inputs = Map::from_iter([("what".to_owned(), json!("that"))]);
    let after = Fork { inputs: inputs.clone(), ..branch(asked + 2) };
    let error = conductor.fork(&id("wf-1"), id("wf-2"), after).await.unwrap_err();
    assert_eq!(error.code(), "fork_differs");
    let before = Fork { inputs, ..branch(asked + 1) };
    let fork = conductor.fork(&id("wf-1"), id("wf-3"), before).await.unwrap();
    assert_eq!(fork.snapshot.status, Status::WaitingApproval, "they are asked themselves");
    let same = conductor.fork(&id("wf-1"), id("wf-4"), branch(asked + 2)).await.unwrap();
    assert_eq!(same.snapshot.variables["what"], "this");
}

#[tokio::test(start_paused = true)]
async fn a_branch_begins_under_the_rules_of_its_own_time() {
    let rig = Rig::new(Part::Verdict(Judgement::Fail));
    let conductor = rig.conductor();
    let mut ungated = start(&conductor, "quits");
    let gated = ungated.terms;
    ungated.terms.is_gating = false;
    conductor.begin(id("wf-1"), ungated).await.unwrap();
    let was = to_end(&conductor, &id("wf-1")).await;
    let is_taken = |entries: &[Arc<Entry>]| {
        let is_harvest = |event: &Event| matches!(event, Event::Handoff { harvested: Some(_), .. });
        entries.iter().any(|entry| is_harvest(&entry.event))
    };
    assert!(is_taken(&was), "there was no gate");
    let fork = Fork { terms: Some(gated), ..branch(1) };
    conductor.fork(&id("wf-1"), id("wf-2"), fork).await.unwrap();
    assert!(!is_taken(&to_end(&conductor, &id("wf-2")).await));
    // What has happened, happened: a replay tells it as it was.
    let again = Fork { terms: Some(gated), ..replay() };
    conductor.fork(&id("wf-1"), id("wf-3"), again).await.unwrap();
    assert!(is_taken(&to_end(&conductor, &id("wf-3")).await));
}

#[tokio::test(start_paused = true)]
async fn no_fork_of_what_is_not_there() {
    let rig = Rig::new(Part::Mock);
    let conductor = ended(&rig, "writer").await;
    let missing = conductor.fork(&id("none"), id("wf-2"), replay()).await.unwrap_err();
    assert_eq!(missing, ConductError::Missing { run: id("none") });
    let beyond = conductor.fork(&id("wf-1"), id("wf-2"), branch(99)).await.unwrap_err();
    assert_eq!(beyond.code(), "fork_point_invalid");
    assert_eq!(conductor.snapshot(&id("wf-2")).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_is_replayed_to_its_cancellation() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    conductor.begin(id("wf-1"), start(&conductor, "slow")).await.unwrap();
    conductor.tell(&id("wf-1"), cancel()).await.unwrap();
    let again = conductor.fork(&id("wf-1"), id("wf-2"), replay()).await.unwrap();
    assert_eq!(again.snapshot.status, Status::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_comes_to_something_else_says_so_and_fails() {
    let rig = Rig::new(Part::Verdict(Judgement::Pass));
    ended(&rig, "checked").await;
    let mut ledger = Ledger::new(id("wf-1"));
    let mut changed = Ledger::new(id("wf-1"));
    let mut lines = Vec::new();
    for line in read_run(rig.store.as_ref(), &id("wf-1")).await.unwrap() {
        let record = ledger.read(&line).unwrap();
        let StepText::Inline(text) = record.step else { panic!("a short step") };
        // The source says that something else was harvested than the machine gives.
        let text =
            String::from_utf8(text).unwrap().replace("\"next\":\"good\"", "\"next\":\"bad\"");
        let step: serde_json::Value = serde_json::from_str(&text).unwrap();
        lines.push(changed.append(record.at_ms, &step).unwrap().bytes);
    }
    let store = Arc::new(MemoryStore::new());
    store.append(&id("wf-1"), 0, Batch { seal: true, ..Batch::of(lines) }).await.unwrap();
    let other = Rig::on(store, Part::Never);
    let conductor = other.conductor();
    let forked = conductor.fork(&id("wf-1"), id("wf-2"), replay()).await.unwrap();
    assert_eq!(forked.snapshot.status, Status::Failed);
    let entries = to_end(&conductor, &id("wf-2")).await;
    assert_sound(&entries);
    assert!(kinds(&entries).contains(&"replay-diverged".to_owned()));
    assert!(!forked.snapshot.variables.contains_key("result"));
    assert_eq!(other.cast.begun(), []);
}
