//! Requests that come over the wire.

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::RunId;
use probity_host::{Failure, Reason, Submission, Submitter};
use probity_store::Store;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::freshness::{State, freshness};
use crate::location::{Programs, StoreUrl};
use crate::own_store::leave_out;
use crate::prepare::{Keys, prepare_keyed};
use crate::project::applied;
use crate::recorded::RecordedBytes;
use crate::{PrepareError, Prepared, ProjectError, Request, RootError, WorkspaceRoots};

/// Keys of a request that are not a caller's to say: whoever takes the request sets them.
const NOT_THE_CALLERS: [&str; 2] = ["project", "callers_hooks"];

/// Workspaces that are looked at at a time.
const MAX_LOOKS: usize = 4;

/// Makes plans of requests that callers of a host send.
///
/// Nothing of a caller's is taken that a request file may not say, and less of it: its workspace and every
/// file are below a folder that the operator allowed, and the project in the workspace must be one that the
/// operator trusts. The same document under the same name gives the same plan, as long as the folders and
/// the project stay as they are.
pub struct WireSubmitter {
    store: Arc<dyn Store>,
    looks: Semaphore,
    shared: Arc<Shared>,
}

struct Shared {
    url: StoreUrl,
    programs: Programs,
    roots: WorkspaceRoots,
}

impl WireSubmitter {
    /// For the runs of a store, in these folders.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        url: StoreUrl,
        programs: Programs,
        roots: WorkspaceRoots,
    ) -> Self {
        Self {
            store,
            looks: Semaphore::new(MAX_LOOKS),
            shared: Arc::new(Shared { url, programs, roots }),
        }
    }
}

#[async_trait]
impl Submitter for WireSubmitter {
    async fn submission(&self, run: &RunId, request: Value) -> Result<Submission, Failure> {
        let (run, shared) = (run.clone(), Arc::clone(&self.shared));
        // Files are read and scripts compiled.
        let work = tokio::task::spawn_blocking(move || shared.submission(run, request));
        work.await.map_err(|_| Failure::new(Reason::Internal, "the request cannot be read"))?
    }

    async fn is_stale(&self, run: &RunId) -> Result<Option<bool>, Failure> {
        let unseen = || Failure::new(Reason::Unavailable, "the workspace cannot be looked at now");
        let recorded = RecordedBytes::read(self.store.as_ref(), run).await?;
        let Some(recorded) = recorded.into_delegation() else { return Ok(None) };
        let Some(workspace) = recorded.request.workspace.clone() else { return Ok(None) };
        if !workspace.exists() {
            // A folder of this host that is gone is a change; one that was never here says nothing.
            return Ok(self.shared.roots.holds(run, &workspace).then_some(true));
        }
        let _place = self.looks.acquire().await.map_err(|_| unseen())?;
        let fresh = freshness(self.store.as_ref(), recorded, &self.shared.programs).await;
        let fresh = fresh.map_err(|error| unseen().detail("code", error.code()))?;
        Ok(match fresh.state {
            State::Fresh => Some(false),
            State::Stale => Some(true),
            State::NotVerified => None,
        })
    }
}

impl Shared {
    fn submission(&self, run: RunId, document: Value) -> Result<Submission, Failure> {
        let request = self.read(&run, document)?;
        let pool = request.pool.clone();
        let (request, project) = applied(request).map_err(|error| of_project(&error))?;
        let mut request = Request { id: Some(run.clone()), project, ..request };
        leave_out(&mut request, &self.url)
            .map_err(|error| refused("workspace_open", &error).detail("path", "workspace"))?;
        // Keys are the worker's business: they need not be here.
        let prepared = prepare_keyed(&request, run, &self.programs, Keys::Left);
        let Prepared { plan, warnings } = prepared.map_err(|error| of_prepare(&error))?;
        Ok(Submission { plan, pool, warnings })
    }

    /// The caller's document as a request, every path below a folder that is allowed.
    fn read(&self, run: &RunId, document: Value) -> Result<Request, Failure> {
        for key in NOT_THE_CALLERS {
            if document.get(key).is_some() {
                return Err(Failure::invalid(key, "must be left out: the host sets it"));
            }
        }
        let mut request = Request::read(document, "the body").map_err(|error| {
            let message = error.to_string();
            let failure = refused(error.code(), &message);
            match unknown_key(&message) {
                Some(key) => failure.detail("path", key),
                None => failure,
            }
        })?;
        if self.roots.is_empty() {
            return Err(Failure::new(Reason::CapabilityNotProvided, RootError::None.to_string()));
        }
        let Some(named) = &request.workspace else {
            return Err(Failure::invalid(
                "workspace",
                "must name the folder that the work is done in",
            ));
        };
        let workspace =
            self.roots.workspace(run, named).map_err(|error| outside("workspace", &error))?;
        for path in request.files_mut() {
            let found = self.roots.file(run, &workspace, path);
            *path = found.map_err(|error| outside("file", &error))?;
        }
        if let Some(path) = request.sealed.iter().find(|path| path.is_absolute()) {
            let message =
                format!("names `{}`, which must be a path in the workspace", path.display());
            return Err(Failure::invalid("sealed", message));
        }
        request.workspace = Some(workspace);
        Ok(request)
    }
}

/// The key that a message says is unknown.
fn unknown_key(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("unknown field `")?;
    rest.split_once('`').map(|(key, _)| key)
}

fn outside(path: &str, error: &RootError) -> Failure {
    match error {
        RootError::None => Failure::new(Reason::CapabilityNotProvided, error.to_string()),
        error => refused("workspace_root", error).detail("path", path),
    }
}

fn of_prepare(error: &PrepareError) -> Failure {
    refused(error.code(), error)
}

fn of_project(error: &ProjectError) -> Failure {
    match error {
        // The operator's list is none of the caller's business.
        ProjectError::Trust(_) | ProjectError::NoHome => {
            let message = "this host cannot read what its operator trusts";
            Failure::new(Reason::Internal, message).detail("code", error.code())
        }
        error => refused(error.code(), error),
    }
}

fn refused(code: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Reason::Validation, error.to_string()).detail("code", code)
}
