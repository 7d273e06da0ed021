//! A request under the project of its workspace.

use probity_core::Digest;
use probity_policy::{Place, distinct_names};

use super::{Project, ProjectError};
use crate::Request;

/// A request with what the project in its workspace says, and what that project was trusted as. A request
/// whose workspace has none stays as it is.
///
/// # Errors
/// [`ProjectError`]: the project is not trusted, the workspace lies inside another one, or the request does
/// not fit.
pub(crate) fn applied(request: Request) -> Result<(Request, Option<Digest>), ProjectError> {
    let root = request.workspace.clone().unwrap_or_else(|| ".".into());
    if let Some(project) = Project::find(&root)? {
        project.require_trust()?;
        return Ok((project.apply(request)?, Some(project.digest)));
    }
    match Project::above(&root)? {
        Some(root) => Err(ProjectError::Above { root }),
        None => Ok((unapplied(request)?, None)),
    }
}

/// A request that no project is applied to.
///
/// # Errors
/// [`ProjectError`] if it names a profile, or two of its hooks share a name.
pub(crate) fn unapplied(request: Request) -> Result<Request, ProjectError> {
    if let Some(name) = request.agent {
        let hint = "; there is no `.probity` folder, or --no-project leaves it out".to_owned();
        return Err(ProjectError::NoProfile { name, hint });
    }
    distinct_names(&request.hooks, &Place::file("the request"))?;
    Ok(request)
}
