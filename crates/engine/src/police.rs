//! A verification hook as a check: every event it listens to, one finding.

use probity_core::{Claim, Fault, Verdict};
use probity_verifier::CheckContext;
use serde_json::{Map, Value};

use crate::hook::{Handler, Reply, VerifyEvent, VerifyHook};
use crate::payload;

/// The most tool calls of one claim that hooks are shown.
const MAX_CALLS: usize = 10_000;

/// What a check came to.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It decided.
    Verdict(Verdict),
    /// Its condition did not match, or there was nothing to look at.
    NotApplicable,
    /// It passed, and put this in the place of the claim.
    Rewritten {
        /// The claim.
        claim: Box<Claim>,
        /// Who changed what.
        delta: Value,
    },
}

/// Shows a hook the claim, or each of its tool calls.
///
/// # Errors
/// The hook's [`Fault`], or one that says what it modified and may not.
pub(crate) async fn police(
    hook: VerifyHook,
    ctx: CheckContext,
    about: Map<String, Value>,
) -> Result<Answer, Fault> {
    match hook.event {
        VerifyEvent::PostVerify => post_verify(hook.handler.as_ref(), &ctx, about).await,
        VerifyEvent::ToolPre | VerifyEvent::ToolPost => tools(&hook, &ctx, &about).await,
    }
}

async fn post_verify(
    handler: &dyn Handler,
    ctx: &CheckContext,
    mut shown: Map<String, Value>,
) -> Result<Answer, Fault> {
    let event = VerifyEvent::PostVerify.as_str();
    payload::with_claim(&mut shown, &ctx.claim);
    Ok(match handler.handle(ctx, event, Value::Object(shown.clone())).await? {
        Reply::Allow => Answer::Verdict(Verdict::pass()),
        Reply::NotApplicable => Answer::NotApplicable,
        Reply::Block { reason } => Answer::Verdict(Verdict::revise("hook_blocked", reason)),
        Reply::Inconclusive { code, reason } => {
            Answer::Verdict(Verdict::inconclusive(code.as_str(), reason))
        }
        Reply::Modify { payload: modified } => {
            let claim = payload::claim(event, &shown, &modified)?;
            if claim == *ctx.claim {
                return Ok(Answer::Verdict(Verdict::pass()));
            }
            let delta = payload::delta(&ctx.check, event, &shown, &modified);
            Answer::Rewritten { claim: Box::new(claim), delta }
        }
    })
}

/// Every call is shown; every block is a reason. What could not be decided weighs less than a block,
/// as it does between checks. Calls that nobody objects to say nothing about the task, so that they
/// never verify it.
async fn tools(
    hook: &VerifyHook,
    ctx: &CheckContext,
    about: &Map<String, Value>,
) -> Result<Answer, Fault> {
    let event = hook.event.as_str();
    let seen = match hook.event {
        VerifyEvent::ToolPost => members(&ctx.claim.tool_results),
        VerifyEvent::ToolPre | VerifyEvent::PostVerify => members(&ctx.claim.tool_calls),
    };
    if seen.len() > MAX_CALLS {
        let message = format!("the claim has {} tool calls, more than {MAX_CALLS}", seen.len());
        return Err(Fault::new("hook_too_many_calls", message));
    }
    let mut reasons = Vec::new();
    let mut open = None;
    for call in seen {
        let mut shown = about.clone();
        shown.extend(call);
        match hook.handler.handle(ctx, event, Value::Object(shown)).await? {
            Reply::Allow | Reply::NotApplicable => {}
            Reply::Block { reason } => reasons.push(reason),
            Reply::Inconclusive { code, reason } => {
                open.get_or_insert_with(|| Verdict::inconclusive(code.as_str(), reason));
            }
            Reply::Modify { .. } => {
                return Err(Fault::new(
                    "hook_modify_field",
                    format!(
                        "a hook at `{event}` sees calls that were made; it may not modify them"
                    ),
                ));
            }
        }
    }
    if !reasons.is_empty() {
        return Ok(Answer::Verdict(Verdict::revise("hook_blocked", reasons.join("; "))));
    }
    Ok(open.map_or(Answer::NotApplicable, Answer::Verdict))
}

fn members(calls: &[impl serde::Serialize]) -> Vec<Map<String, Value>> {
    let object = |call| match serde_json::to_value(call) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    };
    calls.iter().filter_map(object).collect()
}
