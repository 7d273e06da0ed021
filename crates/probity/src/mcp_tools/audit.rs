//! `audit`: a run's record, proved from its bytes.

use std::sync::Arc;

use probity_audit::log::{LogPolicy, audit_log};
use probity_core::RunId;
use probity_engine::EngineError;
use probity_mcp::serve::{Answer, Call};
use probity_report::VerificationReport;
use probity_store::Store;
use tokio::runtime::Handle;

use super::arguments::run_id;
use super::error::ToolFault;
use super::{Work, aside, told};
use crate::Recorded;
use crate::stored::{StoredContent, log_of};

/// Audits the record of a run in this workspace.
///
/// # Errors
/// [`ToolFault`] if there is no such run, or the store fails. A damaged record is a finding.
pub(super) async fn audit(desk: &Work, call: Call) -> Result<Answer, ToolFault> {
    let run = run_id(call.arguments)?;
    desk.require_run(&run).await?;
    match Recorded::read(desk.store.as_ref(), &run).await {
        Ok(recorded) if desk.is_here(&recorded.request) => {}
        Ok(_) => return Err(EngineError::Missing { run }.into()),
        // What is damaged does not say where it was; that it is, is the finding.
        Err(_) => {}
    }
    let (store, named) = (Arc::clone(&desk.store), run.clone());
    let report = aside(move || proved(store, &named)).await?;
    Ok(told::audit(&run, &report))
}

fn proved(store: Arc<dyn Store>, run: &RunId) -> Result<VerificationReport, ToolFault> {
    let runtime = Handle::current();
    let log = runtime.block_on(log_of(store.as_ref(), run))?;
    let content = StoredContent::new(store, runtime);
    let report = audit_log(&log, run.as_str(), &content, LogPolicy::default());
    content.refuse_failed()?;
    Ok(report)
}
