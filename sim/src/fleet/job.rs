//! The runs of a schedule: what happens in each, and who waits for whom.

use probity_core::{Counting, MAX_CHECK_MS, OnFailure, RunId, Subject};

use crate::{Does, Prediction, Rng, Script, Sight, Tempo, predict};

/// A run and everything around it.
#[derive(Debug, Clone)]
pub struct FleetJob {
    /// The run.
    pub run: RunId,
    /// How the world behaves in it.
    pub script: Script,
    /// The run that waits for it.
    pub parent: Option<RunId>,
    /// What every time of the script is multiplied with.
    pub scale: u64,
    /// Whether delegate and checks are polled in place.
    pub yields: bool,
    seed: u64,
}

/// One run in this many is a child that waits for children of its own.
const MAX_DEPTH: u32 = 2;

impl FleetJob {
    /// The run of that name. A function of the seed and the name.
    #[must_use]
    pub fn of(seed: u64, run: RunId, parent: Option<RunId>) -> Self {
        let seed = named(seed, run.as_str());
        let mut rng = Rng::new(seed);
        let script = Script::shift(&mut rng);
        let scale = rng.pick(&[1, 4, 20, 60]).copied().unwrap_or(1);
        Self { run, script, parent, scale, yields: rng.one_in(2), seed }
    }

    /// The children that answer a wait; none where a human does.
    #[must_use]
    pub fn children(&self, turn: u32, place: usize) -> Vec<RunId> {
        let depth = self.run.as_str().matches('_').count();
        let mut rng = Rng::new(self.seed ^ (u64::from(turn) << 8) ^ place as u64);
        if depth >= MAX_DEPTH as usize || rng.one_in(3) {
            return Vec::new();
        }
        let most = if depth == 0 { 3 } else { 1 };
        let names = (0..rng.between(1, most)).map(|n| format!("{}_{turn}-{place}-{n}", self.run));
        names.filter_map(|name| name.parse().ok()).collect()
    }

    /// What must come of it, whatever happens to the workers.
    #[must_use]
    pub fn prediction(&self) -> Prediction {
        predict(&self.script)
    }

    /// What somebody says to the delegate counts as work, and may change what is charged.
    #[must_use]
    pub fn heeds_steering(&self) -> bool {
        self.script.policy.counting != Counting::EverySubmission
    }

    /// Milliseconds of the script as the world has them.
    #[must_use]
    pub const fn scaled(&self, ms: u64) -> u64 {
        ms.saturating_mul(self.scale)
    }
}

/// What a wait is called.
#[must_use]
pub(crate) fn wait_key(turn: u32, place: usize) -> String {
    format!("{turn}-{place}")
}

/// Turn and place of a wait.
#[must_use]
pub(crate) fn wait_place(key: &str) -> Option<(u32, usize)> {
    let (turn, place) = key.split_once('-')?;
    Some((turn.parse().ok()?, place.parse().ok()?))
}

/// A seed for a name: FNV-1a.
fn named(seed: u64, name: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, fold)
}

impl Script {
    /// A random script for workers: notes, waits, deaths of the delegate and calls for a human, no hooks,
    /// no terms, and no bound of time that a crash could make bind.
    #[must_use]
    pub fn shift(rng: &mut Rng) -> Self {
        let mut script = Self::random(rng, Tempo::Relaxed);
        script.terms = None;
        script.hooks.clear();
        script.cancel = None;
        (script.starts_unreadable, script.red_writes, script.red_unreadable) =
            (false, false, false);
        script.turns.truncate(5);
        if !rng.one_in(4) {
            (script.policy.on_fail, script.policy.on_exhausted) =
                (OnFailure::Reject, OnFailure::Reject);
        }
        if rng.one_in(8) {
            script.policy.max_interruptions = u32::try_from(rng.between(1, 4)).unwrap_or(1);
        }
        for check in &mut script.checks {
            if matches!(check.subject, Subject::Hook | Subject::Human) {
                (check.subject, check.timeout_ms) = (Subject::Claim, MAX_CHECK_MS);
            }
        }
        for turn in &mut script.turns {
            (turn.touches, turn.unreadable, turn.edits) = (None, false, false);
            turn.spoken.clear();
            turn.beats.truncate(3);
            // A process that dies at once dies before it could have said that it was there.
            turn.beats.dedup_by(|one, other| one.does == Does::Dies && other.does == Does::Dies);
        }
        let looks = script.turns.iter_mut().flat_map(|turn| turn.sees.iter_mut().flatten());
        for saw in looks.chain(&mut script.red) {
            saw.rewrites = false;
            if saw.sight == Sight::Moot {
                saw.sight = Sight::Good;
            }
        }
        script
    }
}
