//! The machine under inputs that are mostly what it waits for, and sometimes anything else.

mod charter;
mod rule;
mod step;

use probity_core::{Delegation, Digest, Effect, Entry, Handled, Input};
use probity_record::Chain;

use super::{Target, record};
use crate::seed;
use crate::tape::Tape;

pub(super) const TARGETS: [Target; 1] = [Target::new("machine", machine, || seed::tapes(32, 160))];

/// The most inputs of one run: each is followed by a replay of the whole log.
const MAX_INPUTS: usize = 80;
/// When every run is opened.
const OPENED_MS: u64 = 1_000;

fn machine(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let charter = charter::read(&mut tape);
    let Ok(run) = "run-1".parse() else { return };
    let Ok(machine) = Delegation::open(OPENED_MS, run, digest(1), charter) else { return };
    let mut rig = Rig { machine, log: Vec::new(), seal: None, now_ms: OPENED_MS, due: Vec::new() };
    rig.drain();
    for _ in 0..MAX_INPUTS {
        if tape.is_empty() {
            break;
        }
        rig.now_ms += if tape.one_in(3) { tape.number() % 1_500 } else { 0 };
        if tape.one_in(16) {
            rig.crash();
        }
        let input = step::input(&rig, &mut tape);
        rig.feed(input);
        rule::holds(&rig);
    }
    rig.audited();
}

/// A run with its log.
struct Rig {
    machine: Delegation,
    log: Vec<Entry>,
    seal: Option<Entry>,
    now_ms: u64,
    /// What the last input that was taken asked for, without the append.
    due: Vec<Effect>,
}

impl Rig {
    /// What is refused, or changes nothing, leaves nothing behind; what is taken is one append, before
    /// everything else; and the log folds to the live value.
    fn feed(&mut self, input: Input) {
        let (before, length) = (self.machine.clone(), self.log.len());
        let (is_seal, is_resumption) = (input == Input::Sealed, input == Input::Resume);
        let stage = self.machine.stage();
        let handled = self.machine.handle(self.now_ms, input);
        if handled == Ok(Handled::Accepted) {
            if is_seal {
                self.log.extend(self.seal.take());
            }
            self.drain();
            assert!(self.log.len() > length, "taken, and not recorded: {stage:?}");
        } else {
            // Who takes up a run that waits is asked once more for what it waits for.
            while let Some(effect) = self.machine.poll_effect() {
                let waits = matches!(
                    effect,
                    Effect::Park { .. } | Effect::Ask { .. } | Effect::Escalate { .. }
                );
                assert!(waits && is_resumption, "nothing happened, and it has effects: {effect:?}");
            }
            assert_eq!(self.machine, before, "nothing happened, and something changed");
        }
        let replayed = Delegation::replay(&self.log);
        assert_eq!(replayed.as_ref(), Ok(&self.machine), "{:#?}", self.log);
    }

    /// The process dies behind its last append and is started again. Only the interruption is counted.
    fn crash(&mut self) {
        let before = self.machine.clone();
        let Ok(machine) = Delegation::replay(&self.log) else { return };
        self.machine = machine;
        self.seal = None;
        self.feed(Input::Resume);
        // What had come due is taken in with the resumption: somebody's time to answer, a next try.
        if before.poll_timeout().is_none_or(|due_ms| due_ms > self.now_ms) {
            assert_eq!(self.machine.attempts(), before.attempts(), "a crash was charged");
            assert_eq!(self.machine.judged().len(), before.judged().len(), "a crash was a verdict");
        }
        assert_eq!(self.machine.usage(), before.usage(), "a crash was paid for");
        assert!(self.machine.interruptions() - before.interruptions() <= 1);
    }

    fn drain(&mut self) {
        self.due.clear();
        let mut is_first = true;
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                Effect::Append(entries) => {
                    assert!(is_first && !entries.is_empty(), "an append comes first");
                    self.log.extend(entries);
                }
                effect => {
                    if let Effect::Seal(entry) = &effect {
                        self.seal = Some(entry.clone());
                    }
                    self.due.push(effect);
                }
            }
            is_first = false;
        }
    }

    /// What the machine wrote is a log to the reader and to the auditor as well.
    fn audited(&self) {
        let mut chain = Chain::new(self.machine.run().clone());
        let mut export = Vec::new();
        for entry in &self.log {
            let line = chain.append(entry);
            assert!(line.is_ok(), "what the machine decided cannot be written: {line:?}");
            export.extend(line.map(probity_record::Line::into_bytes).unwrap_or_default());
            export.push(b'\n');
        }
        record::judge(&self.log, &export);
        assert!(Delegation::replay(&self.log).is_ok(), "the machine refuses its own log");
    }
}

/// A digest that stands for a number.
const fn digest(number: u8) -> Digest {
    Digest::from_bytes([number; 32])
}
