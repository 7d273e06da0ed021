//! `run_status`: what a run came to.

use probity_engine::{EngineError, Report};
use probity_mcp::serve::{Answer, Call};

use super::arguments::run_id;
use super::error::ToolFault;
use super::{Work, told};
use crate::Recorded;

/// Tells of a run in this workspace. Other runs of the store are not there.
///
/// # Errors
/// [`ToolFault`] if there is no such run, or it cannot be read.
pub(super) async fn status(desk: &Work, call: Call) -> Result<Answer, ToolFault> {
    let run = run_id(call.arguments)?;
    desk.require_run(&run).await?;
    let recorded = Recorded::read(desk.store.as_ref(), &run).await?;
    if !desk.is_here(&recorded.request) {
        return Err(EngineError::Missing { run }.into());
    }
    let report = Report::read(desk.store.as_ref(), &run).await?;
    Ok(told::status(&report, desk.options.shows_content))
}
