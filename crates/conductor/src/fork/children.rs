//! The children of a fork. What they left is recorded in it, so they are there as well: as their sources
//! were, under the names that the fork knows them by.

use std::sync::Arc;

use probity_core::RunId;
use probity_workflow::{Origin, Step};

use super::feed::Feed;
use super::{read_all, start_and_len};
use crate::ConductError;
use crate::house::House;
use crate::journal::AppendFailure;
use crate::tale::Tale;

/// Puts the children that ended in what was fed into the store. They stand there before whoever names
/// them; one that is there already stays.
pub(super) async fn copy(
    house: &Arc<House>,
    run: &RunId,
    feed: &Feed,
    steps: &[Step],
    depth: u32,
) -> Result<(), ConductError> {
    if depth == 0 {
        return Ok(());
    }
    for (theirs, mine) in feed.children(steps) {
        if let Some(child) = paired(house, run, feed, &theirs, &mine).await? {
            let Paired { mut feed, steps } = child;
            let fed = feed.run_through(&steps)?;
            Box::pin(copy(house, &mine, &feed, &steps, depth.saturating_sub(1))).await?;
            let mut tale = Tale::new(house, mine, feed.into_machine());
            match tale.append(&fed).await {
                Ok(()) | Err(AppendFailure::Overtaken) => {}
                Err(AppendFailure::Failed(error)) => return Err(error),
            }
        }
    }
    Ok(())
}

struct Paired {
    feed: Feed,
    steps: Vec<Step>,
}

/// `None` where the child was never begun, or is not known to have ended.
async fn paired(
    house: &House,
    run: &RunId,
    feed: &Feed,
    theirs: &RunId,
    mine: &RunId,
) -> Result<Option<Paired>, ConductError> {
    let steps = read_all(house, theirs).await?;
    let Some((start, len)) = start_and_len(&steps) else { return Ok(None) };
    let Some(Origin::Child { node, is_dispatch, .. }) = start.origin.clone() else {
        return Ok(None);
    };
    if !steps.last().is_some_and(Step::is_last) {
        return Ok(None);
    }
    let mut start = start.clone();
    start.origin = Some(Origin::Child { parent: run.clone(), node, is_dispatch });
    let at_ms = feed.moved(steps.first().map_or(0, |step| step.at_ms));
    let feed = Feed::pair((theirs.clone(), len, false), at_ms, mine.clone(), start, &steps)?;
    Ok(Some(Paired { feed, steps }))
}
