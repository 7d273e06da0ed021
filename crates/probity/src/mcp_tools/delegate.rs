//! `delegate`: a task handed on under the gate.

use std::sync::Arc;

use probity_mcp::serve::{Answer, Call, Progress};
use tokio_util::sync::CancellationToken;

use super::additions::{Merged, lowered, merge, require_addable};
use super::arguments::{Delegated, delegated};
use super::error::ToolFault;
use super::narrator::Narrator;
use super::{Work, aside, draw_run_id, told};
use crate::own_store::leave_out;
use crate::{Request, prepare};

/// Runs a delegation to its end.
///
/// # Errors
/// [`ToolFault`] if no run could be opened or driven on. What a run comes to is an answer.
pub(super) async fn delegate(desk: Arc<Work>, call: Call) -> Result<Answer, ToolFault> {
    let asked = delegated(call.arguments)?;
    require_addable(&asked.checks, &desk.options)?;
    let _place = place(&desk, &call.progress, &call.cancel).await?;
    let preparing = Arc::clone(&desk);
    let merged = aside(move || preparing.delegation(asked)).await?;
    let Merged { prepared, callers } = merged;
    let narrator = Narrator::new(call.progress);
    let report = desk.drive(prepared.plan, &narrator, call.cancel).await?;
    Ok(told::run(&report, &callers, &prepared.warnings))
}

/// One delegate at a time works in the workspace.
async fn place<'a>(
    desk: &'a Work,
    progress: &Progress,
    cancel: &CancellationToken,
) -> Result<tokio::sync::SemaphorePermit<'a>, ToolFault> {
    if let Ok(place) = desk.delegations.try_acquire() {
        return Ok(place);
    }
    progress.step("waits for another delegation in this workspace");
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolFault::Cancelled),
        place = desk.delegations.acquire() => place.map_err(|_| ToolFault::Internal),
    }
}

impl Work {
    fn delegation(&self, asked: Delegated) -> Result<Merged, ToolFault> {
        self.require_agent(asked.agent.as_deref())?;
        let caller = Request { task: asked.task, agent: asked.agent, ..Request::default() };
        let operator = self.under(caller)?;
        let run = draw_run_id()?;
        let mut request = lowered(&operator, asked.bounds, &self.options)?;
        request.id = Some(run.clone());
        leave_out(&mut request, &self.url)?;
        merge(request, asked.checks, &run, |request, run| prepare(request, run, &self.programs))
    }
}
