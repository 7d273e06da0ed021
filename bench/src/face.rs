//! The two ways in: the library, and the command line.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use probity::core::{Entry, RunId};
use probity::engine::{Engine, SystemClock, Watch};
use probity::location::Programs;
use probity::store::{MemoryStore, Store};
use probity::verifier::expect;
use probity::{Report, Request, prepare};
use probity_lies::{Case, Extras, Played, Site};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::error::BenchError;
use crate::service::Service;

/// Through `prepare` and the engine, in this process.
pub(crate) async fn library(case: &Case, tool: &Path) -> Result<Played, BenchError> {
    let service = Service::start(tool.to_path_buf()).await?;
    let site = site(case, service.extras()).await?;
    let request: Value = serde_json::from_str(case.request).map_err(|error| wrong(case, &error))?;
    let request = Request {
        task: format!("Do what `{}` asks.", case.name),
        command: vec!["sh".into(), site.script().display().to_string()],
        workspace: Some(site.workspace()),
        expect: checks(case, &site)?,
        verify_files: case.verify.iter().map(|(path, _)| site.path(path)).collect(),
        allow_hosts: site.hosts(),
        ..serde_json::from_value(request).map_err(|error| wrong(case, &error))?
    };
    let run: RunId = case.name.parse()?;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let engine = Engine::new(Arc::clone(&store), Arc::new(SystemClock));
    let prepared = prepare(&request, run.clone(), &Programs::of(tool))?;
    let started = Instant::now();
    engine.run(prepared.plan, &Unwatched, CancellationToken::new()).await?;
    let elapsed = started.elapsed();
    let report = Report::read(store.as_ref(), &run).await?;
    let report = serde_json::to_value(&report)
        .map_err(|error| BenchError::Output { program: "probity", detail: error.to_string() })?;
    Ok(Played::of(&report, &site, elapsed, None))
}

/// Through `probity run --json`, in a process of its own.
pub(crate) async fn command_line(
    case: &Case,
    probity: &Path,
    tool: &Path,
) -> Result<Played, BenchError> {
    let service = Service::start(tool.to_path_buf()).await?;
    let (case, probity, extras) = (*case, probity.to_path_buf(), service.extras());
    blocking(move || Ok(probity_lies::command_line(&case, &probity, extras)?)).await
}

/// A fresh site; its setup may ask the service manager, which lives on this runtime.
pub(crate) async fn site(case: &Case, extras: Extras) -> Result<Site, BenchError> {
    let case = *case;
    blocking(move || Ok(Site::build(&case, extras)?)).await
}

/// Work that must not hold up the runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BenchError> + Send + 'static,
) -> Result<T, BenchError> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|error| BenchError::Measure { what: "a row", detail: error.to_string() })?
}

fn checks(case: &Case, site: &Site) -> Result<Vec<probity::verifier::spec::CheckSpec>, BenchError> {
    let parsed = case.expect.iter().map(|text| expect::parse(&site.fill(text)));
    parsed.map(|it| it.map_err(|error| wrong(case, &error))).collect()
}

fn wrong(case: &Case, error: &dyn std::fmt::Display) -> BenchError {
    BenchError::Row { case: case.name.to_owned(), detail: error.to_string() }
}

/// Nobody looks.
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    fn entry(&self, _: &Entry) {}
}
