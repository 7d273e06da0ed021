//! `probity serve`.

mod board;
mod definitions;
mod handover;
mod secret;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use probity_conductor::{Conductor, ConductorOptions, FleetDelegations};
use probity_egress::PrivateRule;
use probity_engine::SystemClock;
use probity_host::{
    Board, Conducted, Courier, Delegated, FleetDelegated, Host, HostConfig, Keys, Runs, SystemIds,
};
use probity_store::{Pool, Store, WorkStore};
use probity_worker::{Fleet, Planner, Tally, Worker, WorkerOptions, WorkerWatch};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::handover::Secrets;
use super::CliError;
use super::args::{ServeArgs, StoreArgs};
use super::export::signing_key;
use super::present::{self, count, line, warn};
use super::run::store_url;
use super::signals::Signals;
use super::telemetry::Telling;
use super::worker::{Told, draw_name, listen, planner};
use crate::location::{Programs, StoreUrl};
use crate::{BundleExporter, JobPlanner, WireSubmitter, WorkspaceRoots};

/// How often runs that were let go of are taken up again: those of a store that failed for a while.
const RECOVER_EVERY: Duration = Duration::from_secs(60);
/// How long runs may take to come to rest between two of their steps.
const REST_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves workflow runs and drives them, until it is told to stop.
///
/// # Errors
/// [`CliError`] if there is no key, a definition is none, the store cannot be opened, or the address
/// cannot be listened to.
pub(super) async fn serve(args: &ServeArgs, programs: Programs) -> Result<u8, CliError> {
    let secrets = Secrets::taken(secret::variables(args.keys.as_deref())?)?;
    let store = args.store.store.clone().or_else(|| secrets.store());
    let url = store_url(&StoreArgs { store })?;
    let keys = secret::keys(args.keys.as_deref(), &secrets)?;
    let definitions = definitions::read(args.workflows.as_deref())?;
    let token_secret = secret::of_tokens(&url, &SystemIds, &secrets)?;
    let store = url.open_shared().await?;
    let signals =
        Signals::new().map_err(|source| CliError::Io { what: "listen to signals", source })?;
    let planner = planner(&store, programs.clone(), url.clone(), args.conformance_seams);
    let conductor = conductor(&store, &planner);
    definitions::register(&conductor, definitions)?;
    let delegated = delegated(args, &url, programs, &store, &planner)?;
    let board = board::board(&url, &store)?;
    let logs: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
    let telling = Telling::begin_here(&logs)?;
    let config = config(args, keys, token_secret, &telling)?;
    let host = host(config, &conductor, &store, (delegated, board))?;
    let failed = |source| CliError::Listen { address: args.addr, source };
    let listener = TcpListener::bind(args.addr).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
    listen(signals, drain.clone(), stop.clone());
    announce(args, &url, address)?;
    let watch = telling.beside_worker(Arc::new(Told::new(args.json)));
    let recovering = tokio::spawn(recover(conductor.clone(), args.json));
    let working = tokio::spawn(work(worker(args, &store, planner)?, watch, drain.clone(), stop));
    let served = probity_host::serve(host, listener, drain.clone()).await;
    // Without a listener there is nothing to serve.
    drain.cancel();
    let tally = working.await.unwrap_or_default();
    recovering.abort();
    if !conductor.drain(REST_TIMEOUT).await {
        warn("a run was between two records; it goes on when a host is started again");
    }
    telling.end().await;
    ended(&tally, args.json)?;
    served.map_err(failed).map(|()| 0)
}

fn conductor(store: &Arc<dyn WorkStore>, planner: &Arc<JobPlanner>) -> Conductor {
    let clock = Arc::new(SystemClock);
    let fleet = Fleet::new(Arc::clone(store), clock.clone());
    let planner = Arc::clone(planner);
    let delegations = Arc::new(FleetDelegations::new(fleet, planner, Pool::default()));
    Conductor::new(Arc::clone(store), clock, delegations, ConductorOptions::default())
}

/// Who takes the delegations of callers, and tells of them.
fn delegated(
    args: &ServeArgs,
    url: &StoreUrl,
    programs: Programs,
    store: &Arc<dyn WorkStore>,
    planner: &Arc<JobPlanner>,
) -> Result<Arc<dyn Delegated>, CliError> {
    let clock = Arc::new(SystemClock);
    let logs: Arc<dyn Store> = Arc::clone(store) as Arc<dyn Store>;
    let roots = WorkspaceRoots::parse(&args.workspace_root)
        .map_err(|(path, source)| CliError::File { path, source })?;
    let key = args.sign.as_deref().map(signing_key).transpose()?;
    let submitter = WireSubmitter::new(Arc::clone(&logs), url.clone(), programs, roots);
    Ok(Arc::new(FleetDelegated::new(
        Fleet::new(Arc::clone(store), clock.clone()),
        clock,
        Arc::clone(planner) as Arc<dyn Planner>,
        Arc::new(submitter),
        Arc::new(BundleExporter::new(logs, key)),
    )))
}

fn config(
    args: &ServeArgs,
    keys: Keys,
    token_secret: [u8; 32],
    telling: &Telling,
) -> Result<HostConfig, CliError> {
    let mut config = HostConfig::new(keys, token_secret);
    config.metrics = telling.metrics();
    config.terms.is_gating = !args.no_gating;
    config.has_conformance_seams = args.conformance_seams;
    let mut private = Vec::new();
    for text in &args.allow_private {
        let rule = text.parse::<PrivateRule>();
        private.push(rule.map_err(|error| CliError::Usage(format!("--allow-private: {error}")))?);
    }
    config.courier = Courier::new(private);
    if let Some(id) = &args.host_id {
        if id.trim().is_empty() || id.chars().any(char::is_control) {
            return Err(CliError::Usage("--host-id must be a name".to_owned()));
        }
        config.host_id.clone_from(id);
    }
    Ok(config)
}

fn host(
    config: HostConfig,
    conductor: &Conductor,
    store: &Arc<dyn WorkStore>,
    (delegated, board): (Arc<dyn Delegated>, Arc<dyn Board>),
) -> Result<Arc<Host>, CliError> {
    let runs: Arc<dyn Runs> = Arc::new(Conducted::new(conductor.clone(), Arc::clone(store)));
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(SystemIds));
    Host::with_board(config, runs, delegated, board, clock, ids).map_err(|failure| {
        CliError::Usage(format!("a name of the conformance fixtures is taken: {failure}"))
    })
}

/// Who does the delegations here, if anybody.
fn worker(
    args: &ServeArgs,
    store: &Arc<dyn WorkStore>,
    planner: Arc<JobPlanner>,
) -> Result<Option<Worker>, CliError> {
    if args.workers == 0 {
        return Ok(None);
    }
    let options = WorkerOptions {
        concurrency: usize::from(args.workers),
        seed: Uuid::now_v7().as_u64_pair().1,
        ..WorkerOptions::new(draw_name()?)
    };
    Ok(Some(Worker::new(Arc::clone(store), Arc::new(SystemClock), planner, options)))
}

async fn work(
    worker: Option<Worker>,
    watch: Arc<dyn WorkerWatch>,
    drain: CancellationToken,
    stop: CancellationToken,
) -> Tally {
    let Some(worker) = worker else { return Tally::default() };
    worker.work(watch, drain, stop).await
}

/// Takes up what has not ended, now and from time to time.
async fn recover(conductor: Conductor, json: bool) {
    let mut is_first = true;
    let mut known = Vec::new();
    loop {
        match conductor.recover().await {
            Ok(recovered) => {
                for (run, code) in recovered.damaged {
                    if !known.contains(&run) {
                        warn(&format!("workflow run {run} cannot be driven on  [{code}]"));
                        known.push(run);
                    }
                }
                if recovered.has_more {
                    warn("more runs have not ended than are driven at a time; the rest follows");
                }
                if is_first {
                    taken_up(recovered.driven, json);
                }
                is_first = false;
            }
            Err(error) => {
                warn(&format!("runs cannot be taken up now  [{}]: {error}", error.code()));
            }
        }
        tokio::time::sleep(RECOVER_EVERY).await;
    }
}

fn taken_up(driven: usize, json: bool) {
    if json {
        let told = serde_json::json!({"event": "recovered", "driven": driven});
        // Nobody who reads is needed for it.
        let _ = present::json(&told);
    } else if driven > 0 {
        let driven = u64::try_from(driven).unwrap_or(u64::MAX);
        present::note(&format!("{} taken up", count(driven, "run")));
    }
}

/// Says where it listens. The first line on standard output, whichever way it is read.
fn announce(args: &ServeArgs, url: &StoreUrl, address: SocketAddr) -> Result<(), CliError> {
    let (store, version) = (url.absolute().label(), env!("CARGO_PKG_VERSION"));
    let here = format!("http://{address}");
    if args.json {
        present::json(&serde_json::json!({
            "event": "listening", "url": here, "dashboard": format!("{here}/dashboard"), "store": store,
            "workers": args.workers,
            "gating": !args.no_gating, "conformance_seams": args.conformance_seams,
            "version": version,
        }))?;
    } else {
        present::print(format!("{here}\n").as_bytes())?;
        present::note(&format!(
            "store {}, at most {} at once, probity {version}",
            line(&store),
            count(args.workers.into(), "delegation")
        ));
    }
    if !args.json {
        present::note(&format!("dashboard {here}/dashboard"));
    }
    if !address.ip().is_loopback() {
        warn(&format!(
            "{address} is reached from other machines, and keys cross the network in the clear: put a \
             proxy with TLS in front, and listen on 127.0.0.1"
        ));
    }
    if args.conformance_seams {
        warn("the seams of the conformance suites are open: for tests only");
    }
    if *url == StoreUrl::Memory {
        warn("the store is memory: every run ends with this process");
    }
    Ok(())
}

fn ended(tally: &Tally, json: bool) -> Result<(), CliError> {
    if json {
        return present::json(&serde_json::json!({"event": "ended", "tally": tally}));
    }
    present::note("ended; runs that have not ended go on when a host is started again");
    Ok(())
}
