//! `verify`: the checks without the delegate.

use std::sync::Arc;

use probity_core::RedFirst;
use probity_mcp::serve::{Answer, Call};
use probity_verifier::NoFacts;
use probity_verifier::spec::CheckSpec;

use super::additions::{Merged, lowered, merge, require_addable};
use super::arguments::{Bounds, Claimed, claimed};
use super::error::ToolFault;
use super::narrator::Narrator;
use super::{Work, aside, draw_run_id, told};
use crate::given::{GivenClaim, compares};
use crate::own_store::leave_out;
use crate::{Prepared, Request, open_workspace, prepare_with};

/// Checks a claim against the world as it is now.
///
/// # Errors
/// [`ToolFault`] if no run could be opened or driven on. What a run comes to is an answer.
pub(super) async fn verify(desk: Arc<Work>, call: Call) -> Result<Answer, ToolFault> {
    let asked = claimed(call.arguments)?;
    require_addable(&asked.checks, &desk.options)?;
    let preparing = Arc::clone(&desk);
    let Merged { prepared, callers } = aside(move || preparing.verification(asked)).await?;
    let Prepared { mut plan, warnings } = prepared;
    plan.facts = Arc::new(NoFacts);
    let narrator = Narrator::new(call.progress);
    let report = desk.drive(plan, &narrator, call.cancel).await?;
    Ok(told::run(&report, &callers, &warnings))
}

impl Work {
    fn verification(&self, asked: Claimed) -> Result<Merged, ToolFault> {
        self.require_agent(asked.agent.as_deref())?;
        let caller = Request { task: asked.task, agent: asked.agent, ..Request::default() };
        let operator = self.under(caller)?;
        refuse_comparisons(operator.expect.iter().chain(&asked.checks))?;
        let run = draw_run_id()?;
        let mut request = Request {
            id: Some(run.clone()),
            command: Vec::new(),
            resume: None,
            max_verify_retries: Some(0),
            // There was no moment before the work that could have been looked at.
            red_first: Some(RedFirst::Off),
            ..lowered(&operator, Bounds::default(), &self.options)?
        };
        leave_out(&mut request, &self.url)?;
        let workspace = open_workspace(&request)?;
        let given = Arc::new(GivenClaim { claim: asked.claim });
        merge(request, asked.checks, &run, |request, run| {
            let (workspace, given) = (Arc::clone(&workspace), Arc::clone(&given));
            prepare_with(request, run, &self.programs, workspace, given)
        })
    }
}

/// There was no reading before the work.
fn refuse_comparisons<'a>(
    mut checks: impl Iterator<Item = &'a CheckSpec>,
) -> Result<(), ToolFault> {
    match checks.find(|check| compares(check)) {
        None => Ok(()),
        Some(check) => {
            let check = format!("{}:{}", check.kind(), check.target());
            Err(ToolFault::Compares { check })
        }
    }
}
