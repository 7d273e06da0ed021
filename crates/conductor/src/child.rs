//! Runs that runs begin.

use std::sync::Arc;

use probity_core::{Code, RunId};
use probity_workflow::{ChildEnd, Effect, Event, Failure, Input, Kin, Origin, Refusal, Start};
use tokio_util::sync::CancellationToken;

use crate::ConductError;
use crate::errands::{Word, failed};
use crate::house::{House, Message};
use crate::journal::Journal;
use crate::tale::Tale;

/// Begins a child, unless it has begun; stops it again where it is unwanted by then.
pub(crate) async fn begin(
    house: Arc<House>,
    parent: RunId,
    effect: Effect,
    unwanted: CancellationToken,
) -> Word {
    let Effect::StartChild { child, workflow, inputs, node, is_dispatch } = effect else {
        return Word::Done;
    };
    let mut tries = 1;
    while !unwanted.is_cancelled() {
        let origin = Origin::Child { parent: parent.clone(), node: node.clone(), is_dispatch };
        let begun = try_begin(&house, &child, &workflow, inputs.clone(), origin).await;
        let error = match begun {
            Ok(()) if unwanted.is_cancelled() => break,
            Ok(()) => return Word::Began { child },
            Err(error) => error,
        };
        if error.is_storage() && tries < house.options.max_tries {
            tokio::time::sleep(house.options.pause(tries)).await;
            tries += 1;
            continue;
        }
        // The conductor lets go of the parent as well; whoever takes it up asks again.
        if error == ConductError::Stopping {
            return Word::Done;
        }
        let (code, message) = (Code::slug(error.code()), error.to_string());
        return Word::Answer(Box::new(failed(Kin::Child, child, code, message)));
    }
    stop(&house, &parent, &child).await;
    Word::Done
}

async fn try_begin(
    house: &Arc<House>,
    child: &RunId,
    workflow: &str,
    inputs: serde_json::Map<String, serde_json::Value>,
    origin: Origin,
) -> Result<(), ConductError> {
    let Origin::Child { parent, .. } = &origin else { return Err(ConductError::NotForTelling) };
    if let Some(there) = house.start_of(child).await? {
        // The definition may be another one by now: a child that began stays what it is.
        return match there.origin == Some(origin) {
            true => house.begun(child).await.map(drop),
            false => Err(ConductError::Exists { run: child.clone() }),
        };
    }
    let unknown = || ConductError::WorkflowUnknown { workflow: workflow.to_owned() };
    let missing = || ConductError::Missing { run: parent.clone() };
    let above = house.start_of(parent).await?.ok_or_else(missing)?;
    // A plan names what its run's tenant may begin, and nobody else's.
    let shelves = &house.shelves;
    let definition = shelves.get(&house.definitions, &above.owner.tenant, workflow).await?;
    let definition = definition.ok_or_else(unknown)?;
    let root = check_depth(house, parent, &above).await?;
    let start = Start {
        definition: definition.as_ref().clone(),
        inputs,
        owner: above.owner,
        origin: Some(origin),
        tags: above.tags,
        metadata: serde_json::Map::new(),
        bounds: above.bounds,
        terms: above.terms,
    };
    house.lineages.admit(house, &root).await?;
    let begun = house.begin(child.clone(), start).await;
    if begun.is_err() {
        house.lineages.withdraw(&root).await;
    }
    begun.map(drop)
}

/// A definition that begins itself comes to an end. Gives the run that nobody began as a child.
async fn check_depth(house: &House, parent: &RunId, start: &Start) -> Result<RunId, ConductError> {
    let max = house.options.max_depth;
    let (mut top, mut above) = (parent.clone(), start.origin.clone());
    for _ in 1..max {
        let Some(Origin::Child { parent, .. }) = above else { return Ok(top) };
        above = house.start_of(&parent).await?.and_then(|start| start.origin);
        top = parent;
    }
    match above {
        Some(Origin::Child { .. }) => Err(ConductError::TooDeep { max }),
        _ => Ok(top),
    }
}

/// Waits for the end of a child that has begun.
pub(crate) async fn ended(house: Arc<House>, child: RunId) -> Word {
    let mut tries = 1;
    loop {
        let error = match await_end(&house, &child).await {
            Ok(end) => {
                return Word::Answer(Box::new(Input::ChildEnded { child, end }));
            }
            Err(error) => error,
        };
        if error == ConductError::Stopping {
            return Word::Done;
        }
        if !error.is_storage() || tries >= house.options.max_tries {
            let code = error.code().to_owned();
            let error = Failure { code, message: error.to_string(), details: None };
            let end = ChildEnd::Failed { error, was_started: true };
            return Word::Answer(Box::new(Input::ChildEnded { child, end }));
        }
        tokio::time::sleep(house.options.pause(tries)).await;
        tries += 1;
    }
}

async fn await_end(house: &Arc<House>, child: &RunId) -> Result<ChildEnd, ConductError> {
    while !house.store.state(child).await?.unwrap_or_default().sealed {
        house.begun(child).await?;
        house.left(child).await;
    }
    let missing = || ConductError::Missing { run: child.clone() };
    let mut end = end_of(house, child).await?.ok_or_else(missing)?;
    if let ChildEnd::Completed { is_goal_satisfied, .. } = &mut end {
        let tale = Tale::find(&house.store, child).await?.ok_or_else(missing)?;
        *is_goal_satisfied = tale.machine.snapshot().is_goal_satisfied == Some(true);
    }
    Ok(end)
}

/// How a run ended; `None` while it has not, and for one that there is not. Whether its goal was met, its
/// last step does not say.
pub(crate) async fn end_of(house: &House, run: &RunId) -> Result<Option<ChildEnd>, ConductError> {
    let state = house.store.state(run).await?.unwrap_or_default();
    let Some(last) = state.len.checked_sub(1).filter(|_| state.sealed) else { return Ok(None) };
    let step = Journal::new(Arc::clone(&house.store), run.clone()).step_at(last).await?;
    let event = step.and_then(|step| step.entries.into_iter().next_back());
    Ok(event.and_then(|entry| match entry.event {
        Event::RunCompleted { outputs } => {
            Some(ChildEnd::Completed { outputs, is_goal_satisfied: true })
        }
        Event::RunFailed { error, .. } => Some(ChildEnd::Failed { error, was_started: true }),
        Event::RunCancelled { .. } => Some(ChildEnd::Cancelled),
        _ => None,
    }))
}

/// Has a child cancelled, if it has begun and not ended.
pub(crate) async fn stop(house: &Arc<House>, parent: &RunId, child: &RunId) {
    for tries in 1..=house.options.max_tries {
        match try_stop(house, parent, child).await {
            Err(error) if error.is_storage() => {
                tokio::time::sleep(house.options.pause(tries)).await;
            }
            _ => return,
        }
    }
}

pub(crate) async fn try_stop(
    house: &Arc<House>,
    parent: &RunId,
    child: &RunId,
) -> Result<(), ConductError> {
    let state = house.store.state(child).await?;
    if state.is_none_or(|state| state.sealed) {
        return Ok(());
    }
    let reason = Some("the run that began it does not want it any more".to_owned());
    let cancel = Input::Cancel { reason, by: None, parent: Some(parent.clone()) };
    let told = house.ask(child, |reply| Message::Tell(Box::new(cancel.clone()), reply)).await;
    match told {
        Ok(_) | Err(ConductError::Refused(Refusal::Ended)) => Ok(()),
        Err(error) => Err(error),
    }
}
