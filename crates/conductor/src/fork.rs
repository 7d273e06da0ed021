//! A run that goes the recorded way of another one.

mod children;
mod feed;

use std::sync::Arc;

use probity_core::RunId;
use probity_workflow::{Input, Origin, Start, Step, Terms};
use serde_json::{Map, Value};

use crate::house::House;
use crate::journal::{AppendFailure, CHUNK, Journal, text};
use crate::tale::Tale;
use crate::{Begun, ConductError};
use feed::Feed;

/// How a run is forked off another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Fork {
    /// How many events the fork shares with its source; all there are where it is not said. A step is
    /// never parted: a verdict takes along what it decided.
    pub from_sequence: Option<u64>,
    /// Whether everything recorded in the source is taken from there, to its end. Otherwise the fork
    /// goes on by itself behind what it shares.
    pub is_replay: bool,
    /// Values that its variables begin with in place of the source's: not in a replay.
    pub inputs: Map<String, Value>,
    /// The rules of the host that it begins under, in place of those that its source began under: not in a
    /// replay, which goes on nowhere.
    pub terms: Option<Terms>,
}

/// There is no such fork.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidFork {
    /// The source has fewer events.
    #[error("run `{run}` has {len} events: `fromSeq` must be at most that, and is {from}")]
    Beyond {
        /// The source.
        run: RunId,
        /// How many it has.
        len: u64,
        /// How many were to be shared.
        from: u64,
    },
    /// A replay changes nothing.
    #[error("a replay takes everything from its source: leave the overlay out, or branch")]
    ReplayOverlay,
    /// What is recorded does not fit what the fork begins with.
    #[error("what run `{run}` recorded at {at_sequence} does not fit the fork: {why}")]
    Differs {
        /// The source.
        run: RunId,
        /// The place in it.
        at_sequence: u64,
        /// Why.
        why: String,
    },
}

/// Begins a fork: everything that it shares is in its log before anybody drives it.
pub(crate) async fn fork(
    house: &Arc<House>,
    source: &RunId,
    run: RunId,
    fork: Fork,
) -> Result<Begun, ConductError> {
    house.check_room(false)?;
    if fork.is_replay && !fork.inputs.is_empty() {
        return Err(InvalidFork::ReplayOverlay.into());
    }
    let steps = read_all(house, source).await?;
    let Some((start, len)) = start_and_len(&steps) else {
        return Err(ConductError::Missing { run: source.clone() });
    };
    if let Some(from) = fork.from_sequence.filter(|from| *from > len) {
        return Err(InvalidFork::Beyond { run: source.clone(), len, from }.into());
    }
    // A replay takes everything, wherever it is said to begin.
    let shared = if fork.is_replay { len } else { fork.from_sequence.unwrap_or(len) };
    let mut start = start.clone();
    start.inputs.extend(fork.inputs);
    start.terms = fork.terms.filter(|_| !fork.is_replay).unwrap_or(start.terms);
    let (source, is_replay) = (source.clone(), fork.is_replay);
    start.origin = Some(Origin::Fork { source, from_sequence: shared, is_replay });
    begin(house, run, start, &steps).await
}

async fn begin(
    house: &Arc<House>,
    run: RunId,
    start: Start,
    steps: &[Step],
) -> Result<Begun, ConductError> {
    let mut feed = Feed::new(house.clock.now_ms(), run.clone(), start, steps)?;
    feed.ask(Arc::clone(&house.models));
    let fed = feed.run_through(steps)?;
    children::copy(house, &run, &feed, steps, house.options.max_depth).await?;
    let mut tale = Tale::new(house, run.clone(), feed.into_machine());
    match tale.append(&fed).await {
        Ok(()) => {
            let snapshot = tale.machine.snapshot();
            for step in &fed {
                house.tell_subscribers(&run, &step.entries);
            }
            if !tale.machine.is_ended() {
                tale.machine.pending();
                house.drive(&run, false, Some(tale))?;
            }
            Ok(Begun { snapshot, is_new: true })
        }
        Err(AppendFailure::Overtaken) => {
            let mine = fed.first().map(|step| &step.input);
            match house.start_of(&run).await? {
                Some(there) if mine == Some(&Input::Start(Box::new(there.clone()))) => {
                    house.begun(&run).await
                }
                _ => Err(ConductError::Exists { run }),
            }
        }
        Err(AppendFailure::Failed(error)) => Err(error),
    }
}

/// Feeds a fork the rest of what it shares, where it was left before all of that was in its log.
pub(crate) async fn catch_up(house: &House, tale: &mut Tale) -> Result<(), ConductError> {
    let snapshot = tale.machine.snapshot();
    let Some(Origin::Fork { source, from_sequence, .. }) = &snapshot.origin else { return Ok(()) };
    if snapshot.events >= *from_sequence || tale.machine.is_ended() {
        return Ok(());
    }
    let steps = read_all(house, source).await?;
    let mine = read_all(house, &snapshot.run).await?;
    let Some((start, _)) = start_and_len(&mine) else { return Ok(()) };
    let now_ms = mine.first().map_or(0, |step| step.at_ms);
    let mut feed = Feed::again(now_ms, snapshot.run.clone(), start.clone(), &steps)?;
    let fed = feed.run_through(&steps)?;
    // A branch may come to fewer events than its source and live on: nothing of what it shares is missing.
    let Some(rest) = fed.get(mine.len()..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
    for (fed, mine) in fed.iter().zip(&mine) {
        if text(fed)? != text(mine)? {
            // It went its own way already.
            return Ok(());
        }
    }
    match tale.append(rest).await {
        Ok(()) => {
            tale.machine = feed.into_machine();
            Ok(())
        }
        Err(AppendFailure::Overtaken) => {
            tale.read_on().await?;
            Ok(())
        }
        Err(AppendFailure::Failed(error)) => Err(error),
    }
}

async fn read_all(house: &House, run: &RunId) -> Result<Vec<Step>, ConductError> {
    let mut journal = Journal::new(Arc::clone(&house.store), run.clone());
    let mut all = Vec::new();
    loop {
        let steps = journal.read(CHUNK).await?;
        if steps.is_empty() {
            return Ok(all);
        }
        all.extend(steps.into_iter().map(|recorded| recorded.step));
    }
}

fn start_and_len(steps: &[Step]) -> Option<(&Start, u64)> {
    let Input::Start(start) = &steps.first()?.input else { return None };
    let len = steps.iter().map(|step| step.entries.len()).sum::<usize>();
    Some((start, u64::try_from(len).unwrap_or(u64::MAX)))
}

impl InvalidFork {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Beyond { .. } => "fork_point_invalid",
            Self::ReplayOverlay => "fork_replay_overlay",
            Self::Differs { .. } => "fork_differs",
        }
    }
}
