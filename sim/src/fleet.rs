//! A fleet in a simulated world: several workers, one store, everything that can go wrong between them.
//!
//! The real engine and the real workers run on a clock that only the runtime moves. What goes wrong,
//! and when, is a [`Schedule`], a function of the seed; what delegates, checks and people do is the
//! [`Script`](crate::Script) of each run, a function of the seed and the run's name. Everyone has a store
//! of their own over the one truth, which loses replies, refuses, is late and is cut off; any step on it
//! can be a worker's last. What really happened is written down outside of the store, and compared: with
//! what the reference model says of each script, and with every [`Invariant`].
//!
//! A schedule runs on one thread, and the same seed gives the same trace, record for record.

mod actor;
mod check;
mod control;
mod crew;
mod faulty;
mod invariant;
mod job;
mod life;
mod naive;
mod schedule;
mod tally;
mod token;
mod truth;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;
use probity_store::Queue as _;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use actor::Desk;
use crew::Slot;
use life::Life;
use truth::Truth;

pub use invariant::{Breach, Defect, Invariant};
pub use job::FleetJob;
pub use schedule::{Faults, Happens, Schedule};
pub use tally::FleetTally;

/// How long everything may take behind the last fault, in milliseconds.
const SETTLE_MS: u64 = 3_600_000;
/// How long the queue may take behind the last seal, in milliseconds.
const REST_MS: u64 = 300_000;
/// How often it is looked whether all runs have ended, in milliseconds.
const LOOK_MS: u64 = 500;
/// Lines of the trace that a failure shows.
const TAIL: usize = 60;

/// What a schedule came to.
#[derive(Debug, Clone)]
pub struct FleetReport {
    /// The schedule.
    pub schedule: Schedule,
    /// What did not hold.
    pub breaches: Vec<Breach>,
    /// Everything that happened, line by line.
    pub trace: Vec<String>,
    /// Its counts.
    pub tally: FleetTally,
}

/// Plays the schedule of a seed.
///
/// # Panics
/// If no runtime can be made.
#[must_use]
pub fn play(seed: u64) -> FleetReport {
    play_with(Schedule::of(seed), None)
}

/// Plays a schedule, with a defect that is built in.
///
/// # Panics
/// If no runtime can be made.
#[must_use]
#[expect(clippy::expect_used, reason = "there is nothing to report without a runtime")]
pub fn play_with(schedule: Schedule, defect: Option<Defect>) -> FleetReport {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and files");
    runtime.block_on(async {
        let truth = Arc::new(Truth::new(schedule, defect));
        perform(&truth).await;
        check::check(&truth).await;
        let state = truth.lock();
        FleetReport {
            schedule: truth.schedule.clone(),
            breaches: state.breaches.clone(),
            trace: state.trace.clone(),
            tally: state.tally,
        }
    })
}

async fn perform(truth: &Arc<Truth>) {
    let life = Arc::new(Life::new(0, "ctl".to_owned(), 0, None));
    truth.lock().lives.push(Arc::clone(&life));
    let desk = Desk { truth: Arc::clone(truth), life };
    let over = CancellationToken::new();
    let slot = |place| Slot::new(Arc::clone(truth), place, over.clone());
    let slots = Arc::new((0..truth.schedule.workers).map(slot).collect::<Vec<_>>());
    let crew: Vec<_> = (0..slots.len())
        .map(|place| {
            let slots = Arc::clone(&slots);
            tokio::spawn(async move {
                if let Some(slot) = slots.get(place) {
                    slot.staff().await;
                }
            })
        })
        .collect();
    let conductor = tokio::spawn(control::conduct(desk.clone(), Arc::clone(&slots)));
    let human = tokio::spawn(control::answer_all(desk));
    crew::at_most(truth.schedule.quiet_ms + SETTLE_MS, until_all_ended(truth)).await;
    crew::at_most(REST_MS, until_at_rest(truth)).await;
    conductor.abort();
    human.abort();
    check::at_rest(truth).await;
    over.cancel();
    for staff in crew {
        let _ = staff.await;
    }
    truth.lock().tally.virtual_ms += truth.now_ms();
}

async fn until_all_ended(truth: &Arc<Truth>) {
    loop {
        if truth.is_quiet() {
            let state = truth.lock();
            let ended = |run: &RunId| state.logs.get(run).is_some_and(truth::Log::is_sealed);
            let names = (0..truth.schedule.runs).filter_map(control::run_name);
            if names.chain(state.logs.keys().cloned()).all(|run| ended(&run)) {
                return;
            }
        }
        sleep(Duration::from_millis(LOOK_MS)).await;
    }
}

async fn until_at_rest(truth: &Arc<Truth>) {
    loop {
        let runs: Vec<_> = truth.lock().jobs.keys().cloned().collect();
        let mut is_empty = true;
        for run in runs {
            is_empty &= matches!(truth.store.standing(&run).await, Ok(None));
        }
        if is_empty {
            return;
        }
        sleep(Duration::from_millis(LOOK_MS)).await;
    }
}

impl fmt::Display for FleetReport {
    /// What one needs to know of a failure, and how to see it again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for breach in &self.breaches {
            writeln!(f, "{breach}")?;
        }
        write!(f, "{}", self.schedule)?;
        let skipped = self.trace.len().saturating_sub(TAIL);
        writeln!(f, "... {skipped} lines before")?;
        for line in self.trace.iter().skip(skipped) {
            writeln!(f, "{line}")?;
        }
        let seed = self.schedule.seed;
        writeln!(
            f,
            "replay: PROBITY_SIM_SEED={seed} cargo nextest run -p probity-sim fleet_replay --no-capture"
        )
    }
}
