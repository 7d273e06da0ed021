//! Those outside: they submit runs, say things to them and answer what they ask.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Answer, Event, RunId, Stage};
use probity_engine::Post;
use probity_store::{Pool, Queue as _};
use serde_json::json;
use tokio::time::sleep;

use super::actor::Desk;
use super::crew::Slot;
use super::invariant::Defect;
use super::job::wait_place;
use super::life::Life;
use super::schedule::Happens;
use super::truth::Truth;

/// How often somebody who must get through tries.
const MAX_TRIES: u64 = 200;
/// How often whoever answers looks for questions, in milliseconds.
const ANSWERS_EVERY_MS: u64 = 700;

/// The name of a run that is submitted.
pub(crate) fn run_name(number: usize) -> Option<RunId> {
    format!("r{number}").parse().ok()
}

/// Everything that happens at a time of its own.
pub(crate) async fn conduct(desk: Desk, slots: Arc<Vec<Slot>>) {
    let truth = Arc::clone(&desk.truth);
    for (at_ms, happens) in truth.schedule.events.clone() {
        sleep(Duration::from_millis(at_ms.saturating_sub(truth.now_ms()))).await;
        truth.trace(&desk.life, format_args!("{happens:?}"));
        match happens {
            Happens::Submit(number) => {
                tokio::spawn(submit(desk.clone(), number));
            }
            Happens::HalfSubmit(number, step) => {
                tokio::spawn(submit_half(Arc::clone(&truth), number, step));
            }
            Happens::Cancel(number) => {
                tokio::spawn(cancel(desk.clone(), number));
            }
            Happens::Steer(number) => {
                tokio::spawn(steer(desk.clone(), number));
            }
            Happens::Resume(number) => {
                tokio::spawn(resume(desk.clone(), number));
            }
            Happens::Freeze(place, for_ms) => on(&slots, place, |life| {
                truth.lock().tally.freezes += 1;
                life.freeze(for_ms);
            }),
            Happens::CutOff(place, for_ms) => on(&slots, place, |life| {
                truth.lock().tally.partitions += 1;
                life.cut_off(for_ms);
            }),
            Happens::Jump(place, by_ms) => on(&slots, place, |life| {
                truth.lock().tally.clock_jumps += 1;
                life.jump(by_ms);
            }),
            Happens::Kill(place) => on(&slots, place, |life| {
                life.die();
                truth.ends_all_of(life);
            }),
            Happens::Drain(place) => slots.get(place).into_iter().for_each(Slot::drain),
        }
    }
    revive_all(desk).await;
}

fn on(slots: &[Slot], place: usize, what: impl FnOnce(&Life)) {
    if let Some(life) = slots.get(place).and_then(Slot::life) {
        what(&life);
    }
}

/// Somebody who does not stop until it is done.
async fn submit(desk: Desk, number: usize) {
    let Some(run) = run_name(number) else { return };
    let plan = desk.plan(&desk.truth.job_of(&run, None));
    for tries in 0..MAX_TRIES {
        let submitted = desk.fleet().submit(&plan, &Pool::default(), Duration::ZERO).await;
        match submitted {
            Ok(_) => return,
            // A dead letter may become a job again.
            Err(_) => sleep(Duration::from_millis(50 * (tries + 1))).await,
        }
    }
}

/// Somebody who dies in the midst of it.
async fn submit_half(truth: Arc<Truth>, number: usize, step: u64) {
    let life = {
        let mut state = truth.lock();
        let life = Arc::new(Life::new(state.lives.len(), format!("c{number}"), 0, Some(step)));
        state.lives.push(Arc::clone(&life));
        life
    };
    let desk = Desk { truth, life: Arc::clone(&life) };
    tokio::select! {
        biased;
        () = life.died() => {}
        () = submit(desk, number) => {}
    }
    life.die();
}

async fn cancel(desk: Desk, number: usize) {
    let Some(run) = run_name(number) else { return };
    let post = Post::Cancel { by: "ana".to_owned(), text: "enough".to_owned() };
    if say(&desk, &run, &post).await {
        desk.truth.lock().tally.cancels += 1;
    }
}

async fn steer(desk: Desk, number: usize) {
    let Some(run) = run_name(number) else { return };
    let job = desk.truth.job_of(&run, None);
    if job.heeds_steering() {
        return;
    }
    let post = Post::Steer { by: "ana".to_owned(), text: "look at the tests".to_owned() };
    if say(&desk, &run, &post).await {
        desk.truth.lock().tally.steers += 1;
    }
}

/// A few tries; a run that is not there or has ended takes nothing.
async fn say(desk: &Desk, run: &RunId, post: &Post) -> bool {
    for tries in 0..5 {
        match desk.fleet().post(run, post).await {
            Ok(posted) => return posted.is_new,
            Err(_) => sleep(Duration::from_millis(100 * (tries + 1))).await,
        }
    }
    false
}

async fn resume(desk: Desk, number: usize) {
    let Some(run) = run_name(number) else { return };
    let _ = desk.fleet().resume(&run, &Pool::default()).await;
}

/// Once nothing fails any more, dead letters are given another chance.
async fn revive_all(desk: Desk) {
    let truth = Arc::clone(&desk.truth);
    sleep(Duration::from_millis(truth.schedule.quiet_ms.saturating_sub(truth.now_ms()))).await;
    truth.trace(&desk.life, "quiet");
    loop {
        let dead = truth.store.dead(None, usize::MAX).await.unwrap_or_default();
        for letter in dead {
            let _ = desk.fleet().resume(&letter.run, &Pool::default()).await;
        }
        sleep(Duration::from_secs(5)).await;
    }
}

/// Somebody answers whatever is asked, for ever.
pub(crate) async fn answer_all(desk: Desk) {
    loop {
        let runs: Vec<_> = desk.truth.lock().logs.keys().cloned().collect();
        for run in runs {
            answer(&desk, &run).await;
        }
        let wait_ms = desk.truth.draw(|rng| rng.between(1, ANSWERS_EVERY_MS));
        sleep(Duration::from_millis(wait_ms)).await;
    }
}

async fn answer(desk: &Desk, run: &RunId) {
    let answers = {
        let state = desk.truth.lock();
        let Some(log) = state.logs.get(run) else { return };
        // Most runs ask nobody: no need to read them whole.
        let is_asking = matches!(
            log.steps().next(),
            Some(Event::Escalated { .. } | Event::DelegateParked { until_ms: None, .. })
        );
        if !is_asking {
            return;
        }
        log.entries.iter().filter(|entry| matches!(entry.event, Event::Answered { .. })).count()
    };
    let Some(job) = desk.truth.job(run) else { return };
    let fleet = desk.fleet();
    let Ok(found) = fleet.engine().find(run).await else { return };
    let told = match found.machine().stage() {
        Stage::Escalated { .. } => {
            let answer = job.script.human.get(answers).copied().unwrap_or(Answer::Reject);
            fleet.answer(desk.plan(&job), "ana", answer).await.is_ok()
        }
        Stage::Parked { until_ms: None, .. } => {
            let Ok(Some(wait)) = found.wait().await else { return };
            let is_mine = wait.children.is_empty() || desk.truth.has(Defect::AnswersForChildren);
            if !is_mine || wait_place(&wait.key).is_none() {
                return;
            }
            let (about, by) = (wait.key, "ana".to_owned());
            let post = Post::Wake { about, by, value: json!("yes") };
            fleet.post(run, &post).await.is_ok()
        }
        _ => return,
    };
    if told {
        desk.truth.lock().tally.answers += 1;
    }
}
