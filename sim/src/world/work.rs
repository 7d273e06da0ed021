//! The delegate at work: it goes on behind what it wrote down, and is told what it waited for.

use probity_core::{Code, Delegation, Digest, Event, Input, Noted, Stage, Turn, Woken};

use super::{Act, Violation, World, broken};
use crate::script::{Does, MAX_BEATS, Says, digest, submission};

const NOTE: u8 = 20;
const WAIT: u8 = 21;
const ANSWER: u8 = 22;

/// What a beat of a turn is called, in a digest of its kind.
fn named(turn: u32, place: usize, kind: u8) -> Digest {
    let place = u64::try_from(place).unwrap_or(u64::MAX);
    digest(u64::from(turn) * MAX_BEATS as u64 + place, kind)
}

impl World<'_> {
    /// What the delegate does next: a beat, or its answer. It knows from its notes, and from the
    /// answers that it was given, how far it came.
    pub(super) fn work(&self, turn: Turn) -> Result<Act, Violation> {
        let Some(happens) = self.script.turn(turn.number) else { return broken("no turns") };
        let place = self.beats_done(turn);
        if let Some(beat) = happens.beats.get(place) {
            let done_ms = self.clock_ms + beat.took_ms;
            let input = match beat.does {
                Does::Notes(kind, usage) => {
                    let content = named(turn.number, place, NOTE);
                    Input::Noted { turn, kind, content, usage }
                }
                Does::Sleeps(for_ms) => Input::Parked {
                    turn,
                    until_ms: Some(done_ms + for_ms),
                    detail: named(turn.number, place, WAIT),
                },
                Does::Asks(_) => {
                    Input::Parked { turn, until_ms: None, detail: named(turn.number, place, WAIT) }
                }
                Does::Dies => Input::Resume,
            };
            return Ok(Act { done_ms, input });
        }
        let done_ms = self.clock_ms + happens.took_ms;
        let failed = |code: &str| {
            let (code, detail) = (Code::slug(code), digest(0, 97));
            Act { done_ms, input: Input::DelegateFailed { turn, code, detail } }
        };
        let candidate = match happens.says {
            Says::Done(candidate) => candidate,
            Says::Nothing => return Ok(failed("exit_1")),
            Says::Spent => return Ok(failed("budget_model_calls")),
        };
        let Some(submission) = submission(turn) else { return broken("no submission id") };
        let input = Input::Claimed {
            turn,
            submission,
            candidate: digest(candidate.into(), 2),
            claim: digest(turn.number.into(), 3),
            work: self.script.work_until(turn.number),
            usage: happens.usage(),
        };
        Ok(Act { done_ms, input })
    }

    /// How many beats of a turn nobody has to do again.
    fn beats_done(&self, of: Turn) -> usize {
        let is_done = |event: &Event| match event {
            Event::DelegateNoted { turn, .. } | Event::DelegateWoken { turn, .. } => *turn == of,
            _ => false,
        };
        let recorded = self.log.iter().filter(|entry| is_done(&entry.event)).count();
        recorded + self.lost.iter().filter(|(turn, _)| *turn == of.number).count()
    }

    /// The delegate died where it is.
    pub(super) fn loses(&mut self, turn: Turn) {
        self.lost.push((turn.number, self.beats_done(turn)));
    }

    /// The end of a wait, as far as somebody brings it about.
    pub(super) fn wait(&self, turn: Turn, until_ms: Option<u64>) -> Result<Option<Act>, Violation> {
        self.announced(
            |event| matches!(event, Event::DelegateParked { turn: of, until_ms: until, .. } if (*of, *until) == (turn, until_ms)),
        )?;
        let place = self.beats_done(turn);
        let happens = self.script.turn(turn.number);
        let does = happens.and_then(|happens| happens.beats.get(place)).map(|beat| beat.does);
        match (does, until_ms) {
            (Some(Does::Sleeps(_)), Some(_)) => Ok(None),
            (Some(Does::Asks(after_ms)), None) => {
                let input = Input::Woken { answer: named(turn.number, place, ANSWER) };
                Ok(Some(Act { done_ms: self.clock_ms + after_ms, input }))
            }
            other => broken(format!("a wait that nobody asked for: {other:?}")),
        }
    }

    /// What a delegate that is asked is given: every note in order, none lost and none twice, and the
    /// end of its last wait.
    pub(super) fn hands_back(&self, machine: &Delegation, turn: Turn) -> Result<(), Violation> {
        let notes: Vec<Digest> =
            machine.notes().iter().map(|Noted { content, .. }| *content).collect();
        if notes != self.noted() {
            return broken(format!("not the notes that were written: {notes:?}"));
        }
        let woken = machine.woken().filter(|woken| woken.turn == turn);
        if woken != self.last_wait(turn).as_ref() {
            return broken(format!("not what was waited for: {woken:?}"));
        }
        Ok(())
    }

    /// The notes as the script has them, turn by turn, up to where the log says each turn came.
    fn noted(&self) -> Vec<Digest> {
        let mut noted = Vec::new();
        for number in &self.dispatched {
            let turn = Turn { epoch: 0, number: *number };
            let beats = self.script.turn(*number).map(|happens| happens.beats.as_slice());
            let done = beats.unwrap_or_default().iter().take(self.beats_done(turn)).enumerate();
            let notes = done.filter(|(_, beat)| matches!(beat.does, Does::Notes(..)));
            noted.extend(notes.map(|(place, _)| named(*number, place, NOTE)));
        }
        noted
    }

    fn last_wait(&self, turn: Turn) -> Option<Woken> {
        let beats = &self.script.turn(turn.number)?.beats;
        let done = beats.iter().take(self.beats_done(turn)).enumerate();
        let mut waits = done.filter_map(|(place, beat)| match beat.does {
            Does::Sleeps(_) => Some((place, None)),
            Does::Asks(_) => Some((place, Some(named(turn.number, place, ANSWER)))),
            Does::Notes(..) | Does::Dies => None,
        });
        let (place, answer) = waits.next_back()?;
        Some(Woken { turn, detail: named(turn.number, place, WAIT), answer })
    }

    /// A delegate that wrote a note goes on with its work.
    pub(super) fn goes_on(&self, machine: &Delegation) -> Result<Option<Act>, Violation> {
        match machine.stage() {
            Stage::Delegated { turn } => self.work(turn).map(Some),
            _ => Ok(None),
        }
    }

    /// The notes of the whole run: turn, and place among the beats.
    pub(super) fn notes_of(machine: &Delegation) -> Vec<(u32, usize)> {
        let place = |content: &Digest| {
            let last = content.as_bytes().get(7).copied().unwrap_or(u8::MAX);
            usize::from(last) % MAX_BEATS
        };
        machine.notes().iter().map(|note| (note.turn.number, place(&note.content))).collect()
    }
}
