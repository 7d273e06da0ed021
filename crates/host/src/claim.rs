//! One run of a scope at a time, where the caller asks for that. Who has a scope stands in a list of the
//! store, so that it holds for every host on it.

use std::sync::Arc;

use probity_conductor::{Roll, RollError};
use probity_core::RunId;
use probity_store::WorkStore;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::error::{Failure, Reason};
use crate::host::Host;

/// The header that asks for it.
const HEADER: &str = "x-dedup";
/// How often somebody who was overtaken decides again.
const MAX_RACES: u32 = 32;
/// How long a scope is had by a run that has not begun: whoever claimed it may have ended before.
const UNBEGUN_MS: u64 = 60_000;
/// When to come again, in seconds.
const AGAIN_S: u64 = 5;

/// An entry of the list.
#[derive(Serialize, Deserialize)]
struct Claim {
    r#type: String,
    run: RunId,
    host: String,
    /// 0 once it is given back.
    at_ms: u64,
}

/// Whether the caller wants to be the only one.
pub(crate) fn is_asked(call: &Call) -> Result<bool, Failure> {
    match call.header(HEADER) {
        None => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("enforce") => Ok(true),
        Some(_) => Err(Failure::invalid("X-Dedup", "must be `enforce`")),
    }
}

/// A scope of a tenant.
#[derive(Clone, Copy)]
pub(crate) struct Scoped<'a> {
    pub(crate) host: &'a Host,
    pub(crate) tenant: &'a str,
    pub(crate) scope: &'a str,
}

/// Takes a scope for a run that is about to begin.
pub(crate) async fn claim(scoped: Scoped<'_>, run: &RunId) -> Result<(), Failure> {
    let Scoped { host, .. } = scoped;
    put(scoped, run, host.now_ms()).await
}

/// Gives a scope back: the run that was about to begin did not.
pub(crate) async fn release(scoped: Scoped<'_>, run: &RunId) -> Result<(), Failure> {
    put(scoped, run, 0).await
}

async fn put(scoped: Scoped<'_>, run: &RunId, at_ms: u64) -> Result<(), Failure> {
    let Scoped { host, tenant, scope } = scoped;
    let store = host.runs.store().ok_or_else(|| {
        Failure::new(Reason::CapabilityNotProvided, "this host cannot tell whose a scope is")
    })?;
    let owner = format!("{}:{tenant}{scope}", tenant.len());
    let mut roll = Roll::new(Arc::clone(&store), "claims", &owner)?;
    let mut last: Option<Claim> = None;
    for _ in 0..MAX_RACES {
        let heard = roll.read().await?.entries;
        last = heard.last().and_then(|entry| Claim::deserialize(entry).ok()).or(last);
        if let Some(there) = last.as_ref().filter(|there| there.run != *run)
            && is_had(&*store, there, host.now_ms()).await?
        {
            let message = format!("`{}` of this scope has not ended", there.run);
            return Err(Failure::new(Reason::RunAlreadyActive, message)
                .detail("activeRunId", there.run.as_str())
                .detail("activeHost", there.host.as_str())
                .detail("retryAfter", AGAIN_S));
        }
        let claim = Claim {
            r#type: "scope.claimed".to_owned(),
            run: run.clone(),
            host: host.config.host_id.clone(),
            at_ms,
        };
        let entry = serde_json::to_value(&claim)
            .map_err(|_| Failure::new(Reason::Internal, "the claim cannot be written"))?;
        // Of those before it nothing counts any more.
        match roll.append(host.now_ms(), Vec::new, entry).await {
            Ok(()) => return Ok(()),
            Err(RollError::Overtaken) => {}
            Err(RollError::Conduct(error)) => return Err(error.into()),
        }
    }
    Err(Failure::new(Reason::Unavailable, "others ask for this scope faster: come again later"))
}

async fn is_had(store: &dyn WorkStore, claim: &Claim, now_ms: u64) -> Result<bool, Failure> {
    Ok(match store.state(&claim.run).await? {
        Some(state) => !state.sealed,
        None => now_ms.saturating_sub(claim.at_ms) < UNBEGUN_MS,
    })
}
