//! What a caller adds to what the operator asks.

use std::collections::BTreeSet;

use probity_core::{Code, Policy, RunId};
use probity_verifier::spec::{CheckSpec, Effect};

use super::McpOptions;
use super::arguments::Bounds;
use super::error::ToolFault;
use crate::request::Millis;
use crate::{PrepareError, Prepared, Request};

/// A plan with the caller's checks beside the operator's.
pub(super) struct Merged {
    pub(super) prepared: Prepared,
    /// The names of the checks that the caller added.
    pub(super) callers: BTreeSet<Code>,
}

/// Refuses checks that are not a caller's to add.
///
/// # Errors
/// [`ToolFault::CheckKind`] or [`ToolFault::CheckWeakens`].
pub(super) fn require_addable(checks: &[CheckSpec], options: &McpOptions) -> Result<(), ToolFault> {
    for check in checks {
        let denied = |why, hint| ToolFault::CheckKind { kind: check.kind(), why, hint };
        match &check.effect {
            Effect::Agent(_) => return Err(denied("it asks another model, which costs", "")),
            Effect::Human(_) => return Err(denied("it decides who is asked", "")),
            _ if check.command_line().is_some() && !options.allows_commands => {
                let hint = ", or to start the server with --allow-commands";
                return Err(denied("it runs a command line as the operator", hint));
            }
            _ => {}
        }
        if !check.may_change().is_empty() {
            return Err(ToolFault::CheckWeakens { check: check.default_id().to_string() });
        }
    }
    Ok(())
}

/// The operator's request with bounds that are lower, or the same.
///
/// # Errors
/// [`ToolFault::BoundRaised`] for one that is higher.
pub(super) fn lowered(
    operator: &Request,
    asked: Bounds,
    options: &McpOptions,
) -> Result<Request, ToolFault> {
    let attempts = Policy::attempts_for_retries(operator.max_verify_retries)?;
    let attempts = lower("max_attempts", asked.max_attempts.map(u64::from), Some(attempts.into()))?;
    let longest = options.call_timeout.get();
    let longest = operator.timeout.map_or(longest, |timeout| timeout.get().min(longest));
    Ok(Request {
        max_verify_retries: attempts
            .map(|attempts| i64::try_from(attempts).unwrap_or(i64::MAX).saturating_sub(1)),
        timeout: lower("timeout_ms", asked.timeout_ms, Some(longest))?.map(Millis::new),
        max_tokens: lower("max_tokens", asked.max_tokens, operator.max_tokens)?,
        max_tool_calls: lower("max_tool_calls", asked.max_tool_calls, operator.max_tool_calls)?,
        ..operator.clone()
    })
}

fn lower(
    key: &'static str,
    asked: Option<u64>,
    operators: Option<u64>,
) -> Result<Option<u64>, ToolFault> {
    match (asked, operators) {
        (Some(asked), Some(most)) if asked > most => {
            Err(ToolFault::BoundRaised { key, asked, most })
        }
        (asked, operators) => Ok(asked.or(operators)),
    }
}

/// Puts the caller's checks behind the operator's and prepares the whole. Every check of the operator is
/// there under its own name, or nothing is prepared.
///
/// # Errors
/// [`ToolFault::CheckTaken`], or the request cannot be carried out.
pub(super) fn merge(
    operator: Request,
    checks: Vec<CheckSpec>,
    run: &RunId,
    prepare: impl Fn(&Request, RunId) -> Result<Prepared, PrepareError>,
) -> Result<Merged, ToolFault> {
    let (place, added) = (operator.expect.len(), checks.len());
    if added == 0 {
        let prepared = prepare(&operator, run.clone())?;
        return Ok(Merged { prepared, callers: BTreeSet::new() });
    }
    let required = names(&prepare(&operator, run.clone())?);
    let mut whole = operator;
    whole.expect.extend(checks);
    let prepared = prepare(&whole, run.clone())?;
    // Declared checks come first, in their order, and one that lost its name has a number in it.
    let mut kept = names(&prepared);
    let callers = kept.drain(place..(place + added).min(kept.len())).collect();
    let mut pairs = required.iter().zip(&kept);
    match pairs.find(|(required, kept)| required != kept) {
        Some((id, _)) => Err(ToolFault::CheckTaken { id: id.to_string() }),
        None if kept.len() == required.len() => Ok(Merged { prepared, callers }),
        None => Err(ToolFault::Internal),
    }
}

fn names(prepared: &Prepared) -> Vec<Code> {
    prepared.plan.checks.iter().map(|check| check.decl.id.clone()).collect()
}
