//! The two ways in: the library, and the command line.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probity::core::{Entry, Outcome, RunId};
use probity::engine::{Engine, SystemClock, Watch};
use probity::location::Programs;
use probity::store::{MemoryStore, Store};
use probity::verifier::expect;
use probity::{Report, Request, prepare};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::case::Case;
use crate::error::BenchError;
use crate::site::Site;

/// What came of one case.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Played {
    pub(crate) outcome: String,
    /// Machine words of the report: the outcome's and the checks'.
    pub(crate) codes: Vec<String>,
    /// Attempts that Probity counted.
    pub(crate) attempts: u32,
    /// Attempts that the delegate noted down.
    pub(crate) invocations: u32,
    pub(crate) elapsed_ms: f64,
    /// All corrections together.
    pub(crate) feedback_bytes: usize,
    pub(crate) longest_feedback_bytes: usize,
    /// Only the command line has one.
    pub(crate) exit: Option<i32>,
    /// For people who look for the cause of a wrong row.
    pub(crate) reasons: Vec<String>,
}

impl Played {
    pub(crate) fn is_verified(&self) -> bool {
        self.outcome == Outcome::Verified.as_str()
    }

    pub(crate) fn ms_per_attempt(&self) -> f64 {
        self.elapsed_ms / f64::from(self.invocations.max(1))
    }

    fn of(report: &Value, site: &Site, elapsed: Duration, exit: Option<i32>) -> Self {
        let checks = report["checks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let codes = std::iter::once(&report["code"]).chain(checks.iter().map(|it| &it["code"]));
        let failure = std::iter::once(&report["failure"]);
        let reasons = failure.chain(checks.iter().map(|it| &it["reason"]));
        let (feedback_bytes, longest_feedback_bytes) = site.feedback_bytes();
        Self {
            outcome: text(&report["outcome"]).unwrap_or_else(|| "none".into()),
            codes: codes.filter_map(text).collect(),
            attempts: report["attempts"].as_u64().and_then(|n| n.try_into().ok()).unwrap_or(0),
            invocations: site.invocations(),
            elapsed_ms: elapsed.as_secs_f64() * 1e3,
            feedback_bytes,
            longest_feedback_bytes,
            exit,
            reasons: reasons.filter_map(text).filter(|text| !text.is_empty()).collect(),
        }
    }
}

/// Through `prepare` and the engine, in this process.
pub(crate) async fn library(case: &Case, tool: &Path) -> Result<Played, BenchError> {
    let site = Site::build(case, tool).await?;
    let mut request = Request {
        task: format!("Do what `{}` asks.", case.name),
        command: vec!["sh".into(), site.script().display().to_string()],
        workspace: Some(site.workspace()),
        expect: checks(case, &site)?,
        verify_files: case.verify.iter().map(|(path, _)| site.path(path)).collect(),
        allow_hosts: site.hosts(),
        ..Request::default()
    };
    (case.tune)(&mut request);
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
    let site = Site::build(case, tool).await?;
    let mut command = Command::new(probity);
    command
        .args(["run", "Do what the row asks.", "--json", "--no-project", "--store", "memory"])
        .arg("--workspace")
        .arg(site.workspace());
    for text in case.expect {
        command.arg("--expect").arg(site.fill(text));
    }
    if let Some((path, _)) = case.verify {
        command.arg("--verify").arg(site.path(path));
    }
    for host in site.hosts() {
        command.arg("--allow-host").arg(host);
    }
    command.args(["--", "sh"]).arg(site.script()).stdin(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(BenchError::io("start probity"))?;
    let elapsed = started.elapsed();
    let report = serde_json::from_slice(&output.stdout)
        .map_err(|error| BenchError::Output { program: "probity", detail: error.to_string() })?;
    Ok(Played::of(&report, &site, elapsed, output.status.code()))
}

fn checks(case: &Case, site: &Site) -> Result<Vec<probity::verifier::spec::CheckSpec>, BenchError> {
    let parsed = case.expect.iter().map(|text| expect::parse(&site.fill(text)));
    let wrong = |detail: expect::ExpectError| BenchError::Check {
        case: case.name.to_owned(),
        detail: detail.to_string(),
    };
    parsed.map(|it| it.map_err(wrong)).collect()
}

/// Nobody looks.
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    fn entry(&self, _: &Entry) {}
}
