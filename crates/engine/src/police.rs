//! A verification hook as a check: every event it listens to, one finding.

use std::time::{Duration, Instant};

use probity_core::{Claim, Fault, MAX_CHECK_MS, Verdict};
use probity_verifier::CheckContext;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::hook::{Handler, Reply, VerifyEvent, VerifyHook};
use crate::payload;

/// The most tool calls, or results, of one claim that hooks are shown.
const MAX_CALLS: usize = 1_000;
/// The most bytes of them.
const MAX_CALL_BYTES: usize = 8 * 1024 * 1024;
/// Tool calls of one claim that a hook may take its whole time for.
const WHOLE_CALLS: u32 = 100;
/// What one call gets on top of its time before it is given up.
const OVERRUN: Duration = Duration::from_millis(500);

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
    let bytes: usize = seen.iter().map(length).sum();
    if seen.len() > MAX_CALLS || bytes > MAX_CALL_BYTES {
        return Ok(too_many(format!(
            "the claim has {} tool calls or results of {bytes} bytes together, and at most \
             {MAX_CALLS} of {MAX_CALL_BYTES} bytes are looked at; do less in one attempt",
            seen.len()
        )));
    }
    let (started, whole) = (Instant::now(), whole_time(hook, ctx));
    let mut reasons = Vec::new();
    let mut open = None;
    for call in seen {
        if started.elapsed() > whole {
            return Ok(too_many("the time to look at the tool calls ended; make fewer".to_owned()));
        }
        let mut shown = about.clone();
        shown.extend(call);
        let reply = hook.handler.handle(ctx, event, Value::Object(shown));
        match timeout(ctx.timeout.saturating_add(OVERRUN), reply).await.map_err(|_| late(ctx))?? {
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

/// How long a hook may take for a claim, the last call not included: its own time for each call that
/// it listens to, up to a bound.
fn whole_time(hook: &VerifyHook, ctx: &CheckContext) -> Duration {
    let calls = match hook.event {
        VerifyEvent::PostVerify => 1,
        VerifyEvent::ToolPre => ctx.claim.tool_calls.len(),
        VerifyEvent::ToolPost => ctx.claim.tool_results.len(),
    };
    let calls = u32::try_from(calls).unwrap_or(WHOLE_CALLS).clamp(1, WHOLE_CALLS);
    ctx.timeout.saturating_mul(calls).min(Duration::from_millis(MAX_CHECK_MS))
}

/// When a hook is given up that does not answer.
pub(crate) fn belt(hook: &VerifyHook, ctx: &CheckContext) -> Duration {
    match hook.event {
        VerifyEvent::PostVerify => ctx.timeout,
        VerifyEvent::ToolPre | VerifyEvent::ToolPost => {
            whole_time(hook, ctx).saturating_add(ctx.timeout)
        }
    }
}

/// That is the delegate's doing, not the hook's.
fn too_many(reason: String) -> Answer {
    Answer::Verdict(Verdict::revise("tool_calls_too_many", reason))
}

fn late(ctx: &CheckContext) -> Fault {
    let ms = ctx.timeout.as_millis();
    let message = format!("the hook did not answer within its {ms} ms and was given up");
    Fault::new("verifier_overrun", message)
}

/// As JSON text, in bytes.
fn length(call: &Map<String, Value>) -> usize {
    serde_json::to_string(call).map_or(usize::MAX, |text| text.len())
}

fn members(calls: &[impl serde::Serialize]) -> Vec<Map<String, Value>> {
    let object = |call| match serde_json::to_value(call) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    };
    calls.iter().filter_map(object).collect()
}
