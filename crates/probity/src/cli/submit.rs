//! `probity submit`.

use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;
use probity_engine::SystemClock;
use probity_store::{Pool, WorkStore};
use probity_worker::Fleet;
use serde::Serialize;

use super::args::{StoreArgs, SubmitArgs};
use super::present::Kept;
use super::run::{Asked, Output, asked, store_url};
use super::watch::{Watching, watch_run};
use super::{CliError, present, remote};
use crate::location::{Programs, StoreUrl};
use crate::own_store::leave_out;
use crate::prepare::{Keys, prepare_keyed};
use crate::request::Millis;
use crate::{Prepared, Request};

/// What was submitted.
#[derive(Debug, Serialize)]
pub(super) struct Submitted<'a> {
    pub(super) run_id: &'a RunId,
    pub(super) pool: &'a str,
    /// False where the same request was submitted under the same name before.
    pub(super) new: bool,
    pub(super) warnings: &'a [String],
}

/// Leaves a run for a worker.
///
/// # Errors
/// [`CliError`] if the request cannot be carried out, or the store takes no run.
pub(super) async fn submit(args: &SubmitArgs, programs: &Programs) -> Result<u8, CliError> {
    if let Some(host) = &args.host {
        return remote::submit(args, host).await;
    }
    if args.idempotency_key.is_some() {
        let why = "--idempotency-key is for --host; a run of a store is submitted once by its --id";
        return Err(CliError::Usage(why.to_owned()));
    }
    let url = shared_url(&args.store)?;
    let Asked { request, run, project } = asked(&args.request)?;
    let pool = args.pool.clone().or(request.pool).unwrap_or_default();
    let mut request = Request { pool: Some(pool.clone()), project, ..request };
    leave_out(&mut request, &url)?;
    // Keys are the worker's business: they need not be here.
    let Prepared { plan, warnings } = prepare_keyed(&request, run.clone(), programs, Keys::Left)?;
    let store = url.open_shared().await?;
    let fleet = Fleet::new(Arc::clone(&store), Arc::new(SystemClock));
    let delay = args.after.map_or(Duration::ZERO, |after| Duration::from_millis(after.get()));
    let posted = fleet.submit(&plan, &pool, delay).await?;
    let output = Output::of(&plan, warnings).kept(Kept::by(&url));
    let checking = &args.request.checking;
    if !args.wait {
        let submitted = Submitted {
            run_id: &run,
            pool: pool.as_str(),
            new: posted.is_new,
            warnings: output.warnings(),
        };
        let worker = worker_line(&url, pool.as_str());
        let kept = Kept::by(&url);
        submitted.tell(&format!("{worker}; probity watch {run}{}", kept.words()), checking.json)?;
        return Ok(0);
    }
    if !checking.json {
        present::note(&format!("submitted {run} to pool {pool}"));
    }
    let watching = Watching {
        timeout: args.wait_timeout.map(Millis::get).map(Duration::from_millis),
        json: checking.json,
        allow_unverified: checking.allow_unverified,
    };
    watch_run(store, &run, Some(output), &watching).await
}

impl Submitted<'_> {
    /// Prints it, and what to do next.
    ///
    /// # Errors
    /// [`CliError::Io`] if it cannot be printed.
    pub(super) fn tell(&self, next: &str, json: bool) -> Result<(), CliError> {
        if json {
            return present::json(self);
        }
        self.warnings.iter().for_each(|warning| present::warn(warning));
        let Submitted { run_id, new, .. } = self;
        present::print(format!("{run_id}\n").as_bytes())?;
        if !new {
            present::note(&format!("run {run_id} was submitted before, and stays as it is"));
        }
        present::note(&format!("next: {next}"));
        Ok(())
    }
}

/// The store of a fleet: one that several processes see.
///
/// # Errors
/// [`CliError::Usage`] for memory.
pub(super) fn shared_url(args: &StoreArgs) -> Result<StoreUrl, CliError> {
    match store_url(args)? {
        StoreUrl::Memory => Err(CliError::Usage(
            "a memory store ends with its process, and no other process sees it; name one that \
             submitters and workers share: --store sqlite:PATH on one machine, --store nats://HOST \
             on several"
                .to_owned(),
        )),
        url => Ok(url),
    }
}

/// The command that starts a worker which takes such a run.
pub(super) fn worker_line(url: &StoreUrl, pool: &str) -> String {
    let kept = Kept::by(url);
    let store = kept.words();
    match pool == Pool::default().as_str() {
        true => format!("probity worker{store}"),
        false => format!("probity worker{store} --pool {pool}"),
    }
}

/// A store and its control plane, for commands that say something to a run that is there.
///
/// # Errors
/// [`CliError`] if there is no such store.
pub(super) async fn fleet_of(
    args: &StoreArgs,
) -> Result<(Arc<dyn WorkStore>, Fleet, StoreUrl), CliError> {
    let url = shared_url(args)?;
    let store = super::log::open_existing_work(args).await?;
    let fleet = Fleet::new(Arc::clone(&store), Arc::new(SystemClock));
    Ok((store, fleet, url))
}
