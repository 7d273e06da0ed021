//! A run as far as its log was read: the machine, and the place in the log that it stands at.

use std::sync::Arc;

use probity_core::RunId;
use probity_store::WorkStore;
use probity_workflow::{Entry, Input, Refusal, ReplayError, Run, Start, Step};

use crate::ConductError;
use crate::house::House;
use crate::journal::{AppendFailure, CHUNK, Journal, Recorded, as_recorded, text};

/// How often somebody who was overtaken by another append reads the log again.
const MAX_RACES: u32 = 64;

/// A run and its log.
pub(crate) struct Tale {
    pub(crate) machine: Run,
    journal: Journal,
}

/// What an input came to.
pub(crate) struct Taken {
    /// What others put into the log before.
    pub(crate) heard: Vec<Entry>,
    /// What came of the input.
    pub(crate) told: Result<Vec<Entry>, ConductError>,
}

impl Tale {
    /// Begins a run. Nothing is appended yet.
    pub(crate) fn open(
        store: Arc<dyn WorkStore>,
        now_ms: u64,
        run: RunId,
        start: Start,
    ) -> Result<(Self, Step), ConductError> {
        let journal = Journal::new(store, run.clone());
        let (machine, step) = Run::open(now_ms, run, start)?;
        Ok((Self { machine, journal }, step))
    }

    /// A machine whose steps are not in the log yet.
    pub(crate) fn new(house: &House, run: RunId, machine: Run) -> Self {
        Self { machine, journal: Journal::new(Arc::clone(&house.store), run) }
    }

    /// Reads a run; `None` if there is no workflow run of that name.
    pub(crate) async fn find(
        store: &Arc<dyn WorkStore>,
        run: &RunId,
    ) -> Result<Option<Self>, ConductError> {
        let mut journal = Journal::new(Arc::clone(store), run.clone());
        let mut first = match journal.read(CHUNK).await {
            Err(ConductError::Missing { .. }) => return Ok(None),
            read => read?.into_iter(),
        };
        let Some(opening) = first.next() else { return Ok(None) };
        let machine = fold_start(&journal, run, &opening)?;
        let mut tale = Self { machine, journal };
        for (at, recorded) in (1..).zip(first) {
            tale.fold(at, &recorded)?;
        }
        tale.read_on().await?;
        Ok(Some(tale))
    }

    /// Steps that are in the log.
    pub(crate) const fn len(&self) -> u64 {
        self.journal.len()
    }

    /// Makes the steps that the machine is behind already durable.
    pub(crate) async fn append(&mut self, steps: &[Step]) -> Result<(), AppendFailure> {
        self.journal.append(steps).await
    }

    /// Takes in what others appended.
    pub(crate) async fn read_on(&mut self) -> Result<Vec<Entry>, ConductError> {
        let mut heard = Vec::new();
        while !self.machine.is_ended() {
            let mut journal = self.journal.clone();
            let from = journal.len();
            let more = journal.read(CHUNK).await?;
            if more.is_empty() {
                break;
            }
            for (at, recorded) in (from..).zip(more) {
                self.fold(at, &recorded)?;
                heard.extend(recorded.step.entries);
            }
            self.journal = journal;
        }
        Ok(heard)
    }

    /// Takes an input in, and appends what comes of it. The machine is what the log says, whatever
    /// happens.
    pub(crate) async fn take(&mut self, now_ms: u64, input: &Input) -> Taken {
        let mut heard = Vec::new();
        let told = self.try_take(now_ms, input, &mut heard).await;
        Taken { heard, told }
    }

    async fn try_take(
        &mut self,
        now_ms: u64,
        input: &Input,
        heard: &mut Vec<Entry>,
    ) -> Result<Vec<Entry>, ConductError> {
        let input = as_recorded(input)?;
        for _ in 0..MAX_RACES {
            let mut next = self.machine.clone();
            let step = next.handle(now_ms.max(self.journal.at_ms()), input.clone())?;
            match self.journal.append(std::slice::from_ref(&step)).await {
                Ok(()) => {
                    self.machine = next;
                    return Ok(step.entries);
                }
                Err(AppendFailure::Overtaken) => {
                    heard.extend(self.read_on().await?);
                    self.machine.pending();
                }
                Err(AppendFailure::Failed(error)) => return Err(error),
            }
        }
        Err(ConductError::Overtaken { run: self.machine.run().clone() })
    }

    /// The log is only believed where the machine says the same.
    fn fold(&mut self, at: u64, recorded: &Recorded) -> Result<(), ConductError> {
        let Recorded { step, text: was } = recorded;
        let refused = |refusal: Refusal| ReplayError::Refused { step: at, refusal };
        let again = self.machine.handle(step.at_ms, step.input.clone());
        let again = again.map_err(|refusal| illegal(&self.journal, &refused(refusal)))?;
        compare(&self.journal, at, was, &again)?;
        while self.machine.poll_effect().is_some() {}
        Ok(())
    }
}

fn fold_start(journal: &Journal, run: &RunId, opening: &Recorded) -> Result<Run, ConductError> {
    let Input::Start(start) = &opening.step.input else {
        return Err(illegal(journal, &ReplayError::NoStart));
    };
    let opened = Run::open(opening.step.at_ms, run.clone(), start.as_ref().clone());
    let (mut machine, again) =
        opened.map_err(|error| illegal(journal, &ReplayError::Open(error)))?;
    compare(journal, 0, &opening.text, &again)?;
    while machine.poll_effect().is_some() {}
    Ok(machine)
}

/// By their texts: one number may be held in two ways, and is spelled in one.
fn compare(journal: &Journal, at: u64, was: &[u8], again: &Step) -> Result<(), ConductError> {
    match text(again)? == was {
        true => Ok(()),
        false => Err(illegal(journal, &ReplayError::Differs { step: at })),
    }
}

/// This machine would not have written the log.
pub(crate) fn illegal(journal: &Journal, error: &ReplayError) -> ConductError {
    journal.damaged(error.code(), error.to_string())
}
