//! What the delegate does in the midst of a turn.

use super::Model;
use crate::script::{Does, TurnScript};

impl Model<'_> {
    /// The delegate at work, up to its answer. False if the time ends first.
    pub(super) fn works(&mut self, turn: u32, happens: &TurnScript) -> bool {
        self.begin_act();
        for (place, beat) in happens.beats.iter().enumerate() {
            if !self.spend(beat.took_ms) {
                return false;
            }
            match beat.does {
                Does::Notes(_, usage) => {
                    self.tokens += usage.tokens;
                    self.tool_calls += usage.tool_calls;
                    self.notes.push((turn, place));
                }
                // The time of a wait is nobody's.
                Does::Sleeps(for_ms) | Does::Asks(for_ms) => {
                    self.clock_ms += for_ms;
                    self.stop_ms = self.stop_ms.map(|stop_ms| stop_ms + for_ms);
                    self.stage_ms = self.stage_ms.map(|stage_ms| stage_ms + for_ms);
                    self.waits += 1;
                }
                Does::Dies => self.begin_act(),
            }
        }
        self.spend(happens.took_ms)
    }

    /// The act stage has its whole time.
    fn begin_act(&mut self) {
        self.stage_ms = self.stages().map(|stages| self.clock_ms + stages.act_ms);
    }
}
