//! A list that the store keeps under a name: what is put in is appended, by whoever is first, and read by
//! all. It stands in ledgers that no run has. A ledger that is long is sealed, and the next one begins with
//! what still counts; so what was taken out again does not make the list grow for ever.

use std::sync::Arc;

use probity_core::RunId;
use probity_record::{Ledger, read_step};
use probity_store::limits::MAX_BATCH_RECORDS;
use probity_store::{Batch, WorkStore};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::ConductError;
use crate::journal::{AppendFailure, CHUNK, Journal};

/// Entries of one ledger, unless one append holds more.
const MAX_ENTRIES: u64 = 2_000;
/// Ledgers of one list.
const MAX_LEDGERS: u64 = 100_000;
/// Hex digits of the owner's hash in a name.
const HASH_CHARS: usize = 40;

/// A list, and how far it was read.
pub struct Roll {
    store: Arc<dyn WorkStore>,
    name: String,
    /// Which ledger is read; the first one until the last one was looked for.
    number: u64,
    end: Ledger,
    is_placed: bool,
    /// The ledger takes nothing more, and the next one is not there yet.
    is_sealed: bool,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heard {
    /// What was read before does not count any more.
    pub is_anew: bool,
    /// In order.
    pub entries: Vec<Value>,
}

/// An entry was not put in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RollError {
    /// Somebody else was faster: read on, decide again.
    #[error("somebody else put something in: read on first")]
    Overtaken,
    /// The store fails, or what it holds is damaged.
    #[error(transparent)]
    Conduct(#[from] ConductError),
}

impl Roll {
    /// The list of that kind (a short word) of that owner. Nothing is read yet.
    ///
    /// # Errors
    /// The kind is no part of a name.
    pub fn new(store: Arc<dyn WorkStore>, kind: &str, owner: &str) -> Result<Self, ConductError> {
        let mut hash = hex::encode(Sha256::digest(owner.as_bytes()));
        hash.truncate(HASH_CHARS);
        let name = format!("{kind}-{hash}");
        let end = Ledger::new(ledger(&name, 0)?);
        Ok(Self { store, name, number: 0, end, is_placed: false, is_sealed: false })
    }

    /// The ledger that is read, by its name.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        self.end.run()
    }

    /// What was put in since it was read last.
    ///
    /// # Errors
    /// The store fails, or what it holds is damaged. Reading again is safe.
    pub async fn read(&mut self) -> Result<Heard, ConductError> {
        self.place().await?;
        let mut heard = Heard::default();
        let (mut number, mut end) = (self.number, self.end.clone());
        let mut is_sealed = false;
        while number < MAX_LEDGERS {
            let state = self.store.state(end.run()).await?.unwrap_or_default();
            while end.len() < state.len {
                let lines = self.store.read(end.run(), end.len(), CHUNK).await?;
                if lines.is_empty() {
                    break;
                }
                for line in lines {
                    heard.entries.push(self.entry(&mut end, &line).await?);
                }
            }
            is_sealed = state.sealed;
            let next = ledger(&self.name, number + 1)?;
            if !is_sealed || self.store.state(&next).await?.is_none() {
                break;
            }
            // It begins with what still counted.
            heard = Heard { is_anew: true, entries: Vec::new() };
            (number, end) = (number + 1, Ledger::new(next));
        }
        (self.number, self.end, self.is_sealed) = (number, end, is_sealed);
        Ok(heard)
    }

    /// Puts an entry in, if nobody else put anything in since this was read. `counting` is all that
    /// counts of what was read: a new ledger begins with it.
    ///
    /// # Errors
    /// [`RollError::Overtaken`]; others if the store fails or the entry cannot be recorded.
    pub async fn append(
        &mut self,
        now_ms: u64,
        counting: impl FnOnce() -> Vec<Value>,
        entry: Value,
    ) -> Result<(), RollError> {
        let (mut end, mut entries) = match self.is_sealed {
            true => (Ledger::new(ledger(&self.name, self.number + 1)?), counting()),
            false => (self.end.clone(), Vec::new()),
        };
        entries.push(entry);
        if entries.len() > MAX_BATCH_RECORDS {
            let why = format!("more than {MAX_BATCH_RECORDS} entries at a time");
            return Err(ConductError::Unrecordable { why }.into());
        }
        let before = end.clone();
        let mut batch = Batch::default();
        for entry in &entries {
            let line = end.append(now_ms, entry);
            let line =
                line.map_err(|error| ConductError::Unrecordable { why: error.to_string() })?;
            batch.records.push(line.bytes);
            batch.blobs.extend(line.blob);
        }
        batch.seal = end.len() >= MAX_ENTRIES;
        let is_last = batch.seal;
        match Journal::at(Arc::clone(&self.store), before).write(&batch).await {
            Ok(()) => {}
            Err(AppendFailure::Overtaken) => return Err(RollError::Overtaken),
            Err(AppendFailure::Failed(error)) => return Err(error.into()),
        }
        self.number += u64::from(self.is_sealed);
        (self.end, self.is_sealed) = (end, is_last);
        Ok(())
    }

    /// Begins to read at the last ledger that there is.
    async fn place(&mut self) -> Result<(), ConductError> {
        while !self.is_placed && self.number < MAX_LEDGERS {
            let next = ledger(&self.name, self.number + 1)?;
            match self.store.state(&next).await? {
                Some(_) => (self.number, self.end) = (self.number + 1, Ledger::new(next)),
                None => self.is_placed = true,
            }
        }
        Ok(())
    }

    async fn entry(&self, end: &mut Ledger, line: &[u8]) -> Result<Value, ConductError> {
        let place = Journal::at(Arc::clone(&self.store), end.clone());
        let record = end.read(line).map_err(|fault| place.faulty(&fault))?;
        let text = place.step_text(record.step).await?;
        read_step(&text).map_err(|error| place.damaged("ledger_step", error.to_string()))
    }
}

impl std::fmt::Debug for Roll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roll").field("end", &self.end).finish_non_exhaustive()
    }
}

fn ledger(name: &str, number: u64) -> Result<RunId, ConductError> {
    let text = format!("{name}-{number}");
    let illegal = |_| ConductError::Unrecordable { why: format!("`{text}` is no name") };
    text.parse().map_err(illegal)
}

/// Whether the text of a step is an entry of a list, or of something else that is no run's.
pub(crate) fn is_entry(text: &[u8]) -> bool {
    let read = read_step(text).unwrap_or_default();
    read.get("type").is_some_and(Value::is_string) && read.get("input").is_none()
}
