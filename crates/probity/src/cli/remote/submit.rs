//! `probity submit --host`.

use std::time::Duration;

use probity_core::RunId;
use serde_json::Value;
use url::form_urlencoded;
use uuid::Uuid;

use super::watch::watch_run;
use super::{Remote, RemoteError, broken};
use crate::cli::args::SubmitArgs;
use crate::cli::run::{Output, document};
use crate::cli::submit::Submitted;
use crate::cli::watch::Watching;
use crate::cli::{CliError, present};
use crate::request::Millis;

/// Leaves a run at a host.
///
/// # Errors
/// [`CliError`] if the host cannot be asked, or refuses.
pub(in crate::cli) async fn submit(args: &SubmitArgs, address: &str) -> Result<u8, CliError> {
    let remote = Remote::at(address)?;
    let document = document(&args.request)?;
    let drawn = || Uuid::now_v7().to_string();
    let key = args.idempotency_key.clone().unwrap_or_else(drawn);
    let answer = remote.post(&path(args), &document, &key).await?;
    let is_new = !answer.is_replay;
    let told = answer.json()?;
    let run = run_of(&told)?;
    let warnings = warnings_of(&told);
    let pool = told.get("pool").and_then(Value::as_str).unwrap_or_default();
    let checking = &args.request.checking;
    if !args.wait {
        let warnings = warnings.as_slice();
        let submitted = Submitted { run_id: &run, pool, new: is_new, warnings };
        submitted
            .tell(&format!("probity watch --host {} {run}", remote.address()), checking.json)?;
        return Ok(0);
    }
    if !checking.json {
        present::note(&format!("submitted {run} to pool {}", present::line(pool)));
    }
    let watching = Watching {
        timeout: args.wait_timeout.map(Millis::get).map(Duration::from_millis),
        json: checking.json,
        allow_unverified: checking.allow_unverified,
    };
    watch_run(&remote, &run, Output::warning(warnings), &watching).await
}

fn path(args: &SubmitArgs) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(pool) = &args.pool {
        query.append_pair("pool", pool.as_str());
    }
    if let Some(after) = args.after {
        query.append_pair("afterMs", &after.get().to_string());
    }
    match query.finish() {
        query if query.is_empty() => "/api/v1/delegations".to_owned(),
        query => format!("/api/v1/delegations?{query}"),
    }
}

fn run_of(told: &Value) -> Result<RunId, RemoteError> {
    let run = told.get("runId").and_then(Value::as_str).and_then(|run| run.parse().ok());
    run.ok_or_else(|| broken("it names no run"))
}

fn warnings_of(told: &Value) -> Vec<String> {
    let warnings = told.get("warnings").and_then(Value::as_array);
    warnings.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
