//! Scripts that a real process can enact: no clock to reach, nobody who cancels or touches anything.

use probity_core::{MAX_CHECK_MS, OnFailure, Subject};

use crate::{Does, Rng, Says, Script, Sight, Tempo};

impl Script {
    /// A random script for a real engine on a real store. Equal seeds give equal scripts.
    ///
    /// Hooks, humans, terms and waits stay in the simulated world. A verifier has no way to say that it
    /// does not apply, so no check here says so; the waits between two tries are short; and most
    /// turns are rejected, so that runs take several.
    #[must_use]
    pub fn job(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut script = Self::random(&mut rng, Tempo::Relaxed);
        script.policy.on_fail = OnFailure::Reject;
        script.policy.on_exhausted = OnFailure::Reject;
        script.policy.verify_backoff_ms = 1;
        script.starts_unreadable = false;
        script.red_writes = false;
        script.red_unreadable = false;
        script.cancel = None;
        script.hooks.clear();
        script.terms = None;
        for check in &mut script.checks {
            if matches!(check.subject, Subject::Hook | Subject::Human) {
                (check.subject, check.timeout_ms) = (Subject::Claim, MAX_CHECK_MS);
            }
        }
        for turn in &mut script.turns {
            turn.touches = None;
            turn.beats.retain(|beat| matches!(beat.does, Does::Notes(..)));
            if turn.says == Says::Spent {
                turn.says = Says::Nothing;
            }
            turn.unreadable = false;
            let is_rejected = !rng.one_in(3);
            for saw in turn.sees.iter_mut().flatten() {
                let ends = matches!(saw.sight, Sight::Wrong | Sight::Broken);
                if is_rejected && (ends || rng.one_in(2)) {
                    saw.sight = Sight::Bad;
                }
            }
        }
        let looks = script.turns.iter_mut().flat_map(|turn| turn.sees.iter_mut().flatten());
        for saw in looks.chain(&mut script.red) {
            if saw.sight == Sight::Moot {
                saw.sight = Sight::Good;
            }
        }
        script
    }
}
