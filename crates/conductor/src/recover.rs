//! What is found in a store after a restart.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use probity_core::RunId;
use probity_store::limits::MAX_PAGE_RUNS;
use probity_workflow::{ChildEnd, Effect, Kin, Origin};
use tokio::task::JoinSet;

use crate::conductor::Recovered;
use crate::house::House;
use crate::tale::Tale;
use crate::{ConductError, child, errands};

/// What came of one run.
enum Found {
    Driven,
    NoWorkflow,
    Full,
    Damaged(RunId, &'static str),
}

pub(crate) async fn recover(house: &Arc<House>) -> Result<Recovered, ConductError> {
    let mut recovered = Recovered::default();
    let mut looks = JoinSet::new();
    let mut after = None;
    // Once is enough, and of the runs that ended long ago nothing is left to be stopped.
    let mut looks_at_ended = !house.is_recovered.swap(true, Ordering::SeqCst);
    loop {
        let page = house.store.list(after, MAX_PAGE_RUNS).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.cursor);
        for listed in page {
            if listed.state.sealed && !looks_at_ended {
                continue;
            }
            if looks.len() >= house.options.recover_at_once.max(1) {
                recovered.note(looks.join_next().await);
            }
            let (house, is_ended) = (Arc::clone(house), listed.state.sealed);
            looks.spawn(async move {
                match is_ended {
                    true => stop_again(house, listed.run).await,
                    false => take_up(house, listed.run).await,
                }
            });
        }
        looks_at_ended = false;
    }
    while let Some(found) = looks.join_next().await {
        recovered.note(Some(found));
    }
    Ok(recovered)
}

/// A run may have ended without having been able to stop the delegations that it had begun.
async fn stop_again(house: Arc<House>, run: RunId) -> Found {
    let ended = child::end_of(&house, &run).await;
    if let Ok(Some(ChildEnd::Failed { .. } | ChildEnd::Cancelled)) = ended
        && let Ok(Some(mut tale)) = Tale::find(&house.store, &run).await
    {
        tale.machine.pending();
        while let Some(effect) = tale.machine.poll_effect() {
            if let Effect::Stop { run: name, kind: kind @ (Kin::Delegation | Kin::Verification) } =
                effect
            {
                errands::stop(Arc::clone(&house), run.clone(), name, kind).await;
            }
        }
    }
    Found::NoWorkflow
}

async fn take_up(house: Arc<House>, run: RunId) -> Found {
    match try_take_up(&house, &run).await {
        Ok(found) => found,
        Err(ConductError::Busy { .. }) => Found::Full,
        Err(error) => Found::Damaged(run, error.code()),
    }
}

async fn try_take_up(house: &Arc<House>, run: &RunId) -> Result<Found, ConductError> {
    let Some(start) = house.start_of(run).await? else { return Ok(Found::NoWorkflow) };
    let Some(Origin::Child { parent, .. }) = &start.origin else {
        if !house.is_live(run) {
            house.check_room(false)?;
            house.drive(run, false, None)?;
        }
        house.begun(run).await?;
        return Ok(Found::Driven);
    };
    // Nobody begins a child before it has begun itself: a copy whose fork was never made.
    if house.start_of(parent).await?.is_none() {
        return Ok(Found::NoWorkflow);
    }
    // Whoever began it may have ended without having been able to stop it.
    if child::end_of(house, parent).await?.is_some() {
        child::try_stop(house, parent, run).await?;
        return Ok(Found::Driven);
    }
    house.begun(run).await?;
    Ok(Found::Driven)
}

impl Recovered {
    fn note(&mut self, found: Option<Result<Found, tokio::task::JoinError>>) {
        match found {
            Some(Ok(Found::Driven)) => self.driven = self.driven.saturating_add(1),
            Some(Ok(Found::Full)) => self.has_more = true,
            Some(Ok(Found::Damaged(run, code))) => self.damaged.push((run, code)),
            Some(Ok(Found::NoWorkflow) | Err(_)) | None => {}
        }
    }
}
