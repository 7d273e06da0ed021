//! What goes wrong in a fleet, and when: a function of the seed.

use std::fmt;

use crate::Rng;

/// One schedule.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Where it comes from.
    pub seed: u64,
    /// Places for workers. Whoever dies or is drained is followed by another one.
    pub workers: usize,
    /// Runs in one worker's hands at most.
    pub concurrency: usize,
    /// How long a lease lasts, in milliseconds.
    pub lease_ms: u64,
    /// How long a worker waits with nothing in flight, in milliseconds.
    pub patience_ms: u64,
    /// How often parked runs are brought in, in milliseconds.
    pub sweep_ms: u64,
    /// Failures in a row that make a run a dead letter.
    pub max_failures: u32,
    /// How long runs may go on once a worker is drained, in milliseconds.
    pub drain_ms: u64,
    /// How often the store and the queue fail.
    pub faults: Faults,
    /// One life in this many does not die by itself.
    pub spared: u64,
    /// When all faults stop, in milliseconds.
    pub quiet_ms: u64,
    /// What happens at a time of its own, by time.
    pub events: Vec<(u64, Happens)>,
    /// Runs that are submitted.
    pub runs: usize,
}

/// How often a store fails, in thousandths of its operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Done, and answered as if not.
    pub lost_replies: u64,
    /// Not done.
    pub refusals: u64,
    /// Answered late.
    pub delays: u64,
    /// How late at most, in milliseconds.
    pub delay_ms: u64,
    /// A heartbeat is acknowledged and not kept: the lease runs out early.
    pub early_expiries: u64,
    /// A job is given out again while it is held.
    pub duplicates: u64,
    /// No plan is made of a run, this time or for good.
    pub plan_failures: u64,
}

/// Something that happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happens {
    /// Somebody submits a run.
    Submit(usize),
    /// Somebody submits a run and dies in the midst of it, at that step.
    HalfSubmit(usize, u64),
    /// Somebody wants a run to stop.
    Cancel(usize),
    /// Somebody says something to a run's delegate.
    Steer(usize),
    /// Somebody has a run looked at.
    Resume(usize),
    /// A worker stands still for so many milliseconds.
    Freeze(usize, u64),
    /// A worker does not reach the store for so many milliseconds.
    CutOff(usize, u64),
    /// A worker's clock jumps by so many milliseconds.
    Jump(usize, i64),
    /// A worker dies.
    Kill(usize),
    /// A worker is drained and followed by another.
    Drain(usize),
}

impl Schedule {
    /// The schedule of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5c4e_d01e);
        let workers = count(rng.between(2, 4));
        let runs = count(rng.between(2, 6));
        let lease_ms = rng.pick(&[1_000, 3_000, 10_000]).copied().unwrap_or(1_000);
        let quiet_ms = rng.between(5_000, 40_000);
        let mut schedule = Self {
            seed,
            workers,
            concurrency: count(rng.between(1, 4)),
            lease_ms,
            patience_ms: rng.pick(&[50, 1_000, 5_000]).copied().unwrap_or(50),
            sweep_ms: rng.pick(&[2_000, 10_000, 30_000]).copied().unwrap_or(2_000),
            max_failures: u32::try_from(rng.between(3, 8)).unwrap_or(3),
            drain_ms: rng.pick(&[0, 500, 5_000]).copied().unwrap_or(0),
            faults: faults(&mut rng),
            spared: rng.pick(&[1, 2, 4]).copied().unwrap_or(1),
            quiet_ms,
            events: Vec::new(),
            runs,
        };
        schedule.events = schedule.draw_events(&mut rng);
        schedule
    }

    fn draw_events(&self, rng: &mut Rng) -> Vec<(u64, Happens)> {
        let mut events = Vec::new();
        for run in 0..self.runs {
            let at_ms = rng.below(self.quiet_ms / 2);
            if rng.one_in(6) {
                let step = rng.between(1, 4);
                events
                    .push((at_ms.saturating_sub(rng.below(3_000)), Happens::HalfSubmit(run, step)));
            }
            for _ in 0..if rng.one_in(4) { 2 } else { 1 } {
                events.push((at_ms + rng.below(500), Happens::Submit(run)));
            }
            let mut sometimes = |one_in, what| {
                if rng.one_in(one_in) {
                    events.push((at_ms + rng.below(self.quiet_ms), what));
                }
            };
            sometimes(8, Happens::Cancel(run));
            sometimes(4, Happens::Steer(run));
            sometimes(4, Happens::Resume(run));
        }
        for _ in 0..rng.below(6) {
            let who = count(rng.below(self.workers as u64));
            let long_ms = rng.between(self.lease_ms / 4, self.lease_ms * 4);
            let what = match rng.below(6) {
                0 | 1 => Happens::Freeze(who, long_ms),
                2 => Happens::CutOff(who, long_ms),
                3 => Happens::Jump(who, i64::try_from(rng.below(20_000)).unwrap_or(0) - 10_000),
                4 => Happens::Kill(who),
                _ => Happens::Drain(who),
            };
            events.push((rng.below(self.quiet_ms), what));
        }
        // What happens at the same time happens in the order in which it was drawn.
        events.sort_by_key(|(at_ms, _)| *at_ms);
        events
    }
}

/// Most schedules know a few kinds of faults, so that each kind is seen alone and with others.
fn faults(rng: &mut Rng) -> Faults {
    let mut often = |most: u64| if rng.one_in(2) { rng.between(1, most) } else { 0 };
    Faults {
        lost_replies: often(60),
        refusals: often(60),
        delays: often(500),
        delay_ms: often(400).max(5),
        early_expiries: often(200),
        duplicates: often(200),
        plan_failures: often(150),
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, concurrency, lease_ms, patience_ms, sweep_ms, .. } = self;
        let Self { max_failures, drain_ms, quiet_ms, runs, spared, .. } = self;
        let Faults { lost_replies, refusals, delays, delay_ms, .. } = self.faults;
        let Faults { early_expiries, duplicates, plan_failures, .. } = self.faults;
        writeln!(f, "seed {}: {runs} runs, {workers} workers of {concurrency}", self.seed)?;
        writeln!(
            f,
            "  lease {lease_ms} ms, patience {patience_ms} ms, sweep {sweep_ms} ms, {max_failures} \
             failures, drain {drain_ms} ms; one life in {spared} does not die; quiet from {quiet_ms} ms"
        )?;
        writeln!(
            f,
            "  of 1000: {lost_replies} lost replies, {refusals} refusals, {delays} delays to {delay_ms} \
             ms, {early_expiries} early expiries, {duplicates} duplicates, {plan_failures} plan failures"
        )?;
        for (at_ms, happens) in &self.events {
            writeln!(f, "  {at_ms:>6} ms  {happens:?}")?;
        }
        Ok(())
    }
}
