//! A workspace, a pool and a verifier in one line each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Claim, Code, Fault, Verdict};
use probity_script::{
    Execution, GateError, Host, HttpGate, HttpRequest, HttpResponse, Limits, PoolConfig, Script,
    ScriptVerifier, WorkerPool, WorkerProgram,
};
use probity_verifier::{CheckContext, Manifest, Verifier as _, Workspace};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

pub(crate) fn config() -> PoolConfig {
    PoolConfig::new(WorkerProgram {
        program: env!("CARGO_BIN_EXE_probity-script-worker").into(),
        args: Vec::new(),
    })
}

pub(crate) fn pool() -> Arc<WorkerPool> {
    Arc::new(WorkerPool::new(config()).unwrap())
}

pub(crate) fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/scripts").join(path)
}

/// A file of this crate's own test data.
pub(crate) fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// A temporary workspace and the context of a check in it.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) ctx: CheckContext,
}

impl World {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let workspace = Arc::new(Workspace::open(dir.path()).unwrap());
        let mut ctx =
            CheckContext::new(Code::slug("script"), workspace, Arc::new(Manifest::default()));
        ctx.attempt = 1;
        ctx.claim = Arc::new(Claim::text("I created out.txt"));
        Self { dir, ctx }
    }

    pub(crate) fn claiming(mut self, response: &str) -> Self {
        self.ctx.claim = Arc::new(Claim::text(response));
        self
    }

    pub(crate) fn within(mut self, timeout: Duration) -> Self {
        self.ctx.timeout = timeout;
        self
    }
}

/// Everything a verifier is built from.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) args: Json,
    pub(crate) host: Host,
    pub(crate) limits: Limits,
    pub(crate) execution: Execution,
}

impl Setup {
    pub(crate) fn worker() -> Self {
        Self {
            args: json!({}),
            host: Host::default(),
            limits: Limits::default(),
            execution: Execution::Worker(pool()),
        }
    }

    pub(crate) fn in_process() -> Self {
        Self { execution: Execution::InProcess, ..Self::worker() }
    }

    /// Both ways to run a script: they must agree.
    pub(crate) fn both() -> [Self; 2] {
        [Self::worker(), Self::in_process()]
    }

    pub(crate) fn verifier(&self, source: &str) -> ScriptVerifier {
        self.of(Script::new("check.star", source).unwrap())
    }

    pub(crate) fn of(&self, script: Script) -> ScriptVerifier {
        ScriptVerifier::new(
            script,
            self.args.clone(),
            self.host.clone(),
            self.limits,
            self.execution.clone(),
        )
        .unwrap()
    }

    pub(crate) async fn run(&self, source: &str, world: &World) -> Result<Verdict, Fault> {
        self.verifier(source).verify(&world.ctx).await
    }
}

/// Answers from a table; what is not in it is denied, and `hang` never answers.
pub(crate) struct TableGate(pub(crate) BTreeMap<String, Result<HttpResponse, GateError>>);

#[async_trait]
impl HttpGate for TableGate {
    async fn fetch(&self, request: &HttpRequest) -> Result<HttpResponse, GateError> {
        if request.url.contains("hang") {
            std::future::pending::<()>().await;
        }
        self.0
            .get(&request.url)
            .cloned()
            .unwrap_or_else(|| Err(GateError::Denied(format!("`{}` is not allowed", request.url))))
    }
}

pub(crate) fn table(
    rows: impl IntoIterator<Item = (&'static str, Result<HttpResponse, GateError>)>,
) -> Host {
    let rows = rows.into_iter().map(|(url, answer)| (url.to_owned(), answer)).collect();
    Host { http: Some(Arc::new(TableGate(rows))), ..Host::default() }
}

pub(crate) fn page(status: u16, body: &str) -> Result<HttpResponse, GateError> {
    Ok(HttpResponse {
        status,
        url: "https://example.test/".to_owned(),
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body: body.to_owned(),
        truncated: false,
    })
}
