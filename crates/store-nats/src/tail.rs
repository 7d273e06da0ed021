//! Where run logs end, as far as this process knows.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use probity_core::RunId;
use probity_store::LogState;

use crate::stored::Stored;

/// Runs that are remembered at most; the others are asked for.
const MAX_RUNS: usize = 4096;
/// Places of a run that are remembered at most.
const MAX_PLACES: usize = 64;

/// Headers of a batch.
pub(crate) mod header {
    /// Records of the run, this batch included.
    pub(crate) const LEN: &str = "Probity-Len";
    /// Records of this batch.
    pub(crate) const RECORDS: &str = "Probity-Records";
    /// `1` if the last record is the seal.
    pub(crate) const SEALED: &str = "Probity-Sealed";
    /// The blob that holds the records, where they are too many for a message.
    pub(crate) const BODY: &str = "Probity-Body";
    /// The id of the append.
    pub(crate) const ID: &str = "Nats-Msg-Id";
    /// The last message that the subject must have; 0 for none.
    pub(crate) const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
    /// The subject of that, where it is another one.
    pub(crate) const EXPECTED_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
}

/// The end of a log: its length and the number of its last message. All 0 for a run that does not
/// exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) len: u64,
    pub(crate) seq: u64,
    pub(crate) sealed: bool,
}

impl Tail {
    /// Reads the headers of a batch. `None`: it is none of ours.
    pub(crate) fn of(message: &Stored) -> Option<Self> {
        Some(Self {
            len: message.headers.number(header::LEN)?,
            seq: message.seq,
            sealed: message.headers.get(header::SEALED) == Some("1"),
        })
    }

    pub(crate) fn state(self) -> Option<LogState> {
        (self.len > 0).then_some(LogState { len: self.len, sealed: self.sealed })
    }
}

/// What is remembered, within bounds.
#[derive(Debug, Default)]
pub(crate) struct Tails(Mutex<HashMap<RunId, Known>>);

#[derive(Debug, Default)]
struct Known {
    tail: Tail,
    /// After how many records which message ended.
    places: BTreeMap<u64, u64>,
}

impl Tails {
    pub(crate) fn get(&self, run: &RunId) -> Option<Tail> {
        self.lock().get(run).map(|known| known.tail)
    }

    /// The nearest known place at or before a record: records before it, and the message that they
    /// end with.
    pub(crate) fn place_before(&self, run: &RunId, from_seq: u64) -> (u64, u64) {
        let known = self.lock();
        let place = known.get(run).and_then(|known| known.places.range(..=from_seq).next_back());
        place.map_or((0, 0), |(len, seq)| (*len, *seq))
    }

    /// Remembers a tail, unless a later one is known.
    pub(crate) fn learn(&self, run: &RunId, tail: Tail) {
        self.learn_place(run, tail.len, tail.seq);
        let mut known = self.lock();
        if let Some(known) = known.get_mut(run)
            && known.tail.seq < tail.seq
        {
            known.tail = tail;
        }
    }

    /// Remembers that so many records end with that message.
    pub(crate) fn learn_place(&self, run: &RunId, len: u64, seq: u64) {
        let mut all = self.lock();
        if all.len() >= MAX_RUNS && !all.contains_key(run) {
            let some = all.keys().next().cloned();
            some.and_then(|run| all.remove(&run));
        }
        let known = all.entry(run.clone()).or_default();
        if known.places.len() >= MAX_PLACES {
            // The middle goes: readers begin at the front, followers at the end.
            let middle = known.places.keys().nth(MAX_PLACES / 2).copied();
            middle.and_then(|len| known.places.remove(&len));
        }
        known.places.insert(len, seq);
    }

    /// Forgets a run whose stream no longer holds what is known.
    pub(crate) fn forget(&self, run: &RunId) {
        self.lock().remove(run);
    }

    /// The lock is held for short stretches that cannot panic.
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
