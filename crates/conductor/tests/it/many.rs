//! Many runs, many followers, slow ones.

use std::sync::Arc;
use std::time::Duration;

use probity_conductor::{Conductor, ConductorOptions};
use probity_store::WorkStore;
use probity_store_sqlite::{Options, SqliteStore};
use probity_workflow::{Input, Judgement};

use crate::cast::Part;
use crate::rig::{Rig, assert_sound, bounded, id, start, to_end};

async fn hundred(rig: Rig) {
    let conductor = rig.conductor();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..100 {
        let conductor = conductor.clone();
        tasks.spawn(async move {
            let run = id(&format!("wf-{n}"));
            conductor.begin(run.clone(), start(&conductor, "checked")).await.unwrap();
            assert_sound(&to_end(&conductor, &run).await);
            let ended = conductor.snapshot(&run).await.unwrap().unwrap();
            assert_eq!(ended.variables["result"], "good");
        });
    }
    while let Some(done) = bounded(tasks.join_next()).await {
        done.unwrap();
    }
    assert!(conductor.drain(Duration::from_secs(60)).await);
    assert_eq!(conductor.live_runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_runs_at_once() {
    hundred(Rig::new(Part::Verdict(Judgement::Pass))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_runs_at_once_on_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("runs.db"), Options::default()).unwrap();
    let store: Arc<dyn WorkStore> = Arc::new(store);
    hundred(Rig::timed(store, Part::Verdict(Judgement::Pass))).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_follower_misses_nothing_and_holds_up_nobody() {
    let options = ConductorOptions { follower_entries: 1, ..ConductorOptions::default() };
    let rig = Rig { options, ..Rig::new(Part::Mock) };
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "slow")).await.unwrap();
    let mut slow = conductor.follow(&run, 0).await.unwrap().unwrap();
    let mut seen = vec![slow.next().await.unwrap().unwrap()];
    for _ in 0..20 {
        conductor.tell(&run, Input::Pause { reason: None, drain_policy: None }).await.unwrap();
        conductor.tell(&run, Input::Resume { reason: None }).await.unwrap();
    }
    // A call that is given up takes nothing along.
    for _ in 0..5 {
        let _ = tokio::time::timeout(Duration::ZERO, slow.next()).await.map(|entry| {
            seen.push(entry.unwrap().unwrap());
        });
    }
    while let Some(entry) = bounded(slow.next()).await.unwrap() {
        seen.push(entry);
    }
    assert_sound(&seen);
    assert!(seen.len() > 40);
    let from = conductor.follow(&run, 10).await.unwrap();
    assert_eq!(from.unwrap().next().await.unwrap().unwrap().sequence, 10);
}

#[tokio::test(start_paused = true)]
async fn a_long_log_is_read_from_wherever_it_is_asked_for() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "slow")).await.unwrap();
    for _ in 0..300 {
        conductor.tell(&run, Input::Pause { reason: None, drain_policy: None }).await.unwrap();
        conductor.tell(&run, Input::Resume { reason: None }).await.unwrap();
    }
    let all = to_end(&conductor, &run).await;
    assert_sound(&all);
    assert!(all.len() > 600);
    for from in (0..all.len()).step_by(7).chain([all.len() - 1, all.len(), all.len() + 5]) {
        let page = conductor.entries(&run, u64::try_from(from).unwrap(), 3).await.unwrap().unwrap();
        let expected: Vec<_> = all.iter().skip(from).take(3).cloned().collect();
        assert_eq!(page.entries, expected, "{from}");
        assert_eq!(page.is_complete, from + 3 >= all.len(), "{from}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_file_write_whole_logs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let open = || -> Arc<dyn WorkStore> {
        Arc::new(SqliteStore::open(&path, Options::default()).unwrap())
    };
    let rig = Rig::timed(open(), Part::Verdict(Judgement::Pass));
    let (one, two) = (rig.conductor(), rig.conductor_on(open()));
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20 {
        let (one, two) = (one.clone(), two.clone());
        tasks.spawn(async move {
            let run = id(&format!("wf-{n}"));
            let begin = |conductor: &Conductor| {
                let conductor = conductor.clone();
                let (run, start) = (run.clone(), start(&conductor, "checked"));
                async move { conductor.begin(run, start).await.unwrap().is_new }
            };
            let (a, b) = tokio::join!(begin(&one), begin(&two));
            assert!(a != b, "one of them began it");
            let (seen, also) = tokio::join!(to_end(&one, &run), to_end(&two, &run));
            assert_sound(&seen);
            assert_eq!(seen, also);
        });
    }
    while let Some(done) = bounded(tasks.join_next()).await {
        done.unwrap();
    }
}
