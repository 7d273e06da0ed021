//! Whose a definition is. Those that the host was started with are everybody's; one that was registered
//! is its tenant's alone, and nobody else may take its name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use probity_workflow::Definition;

use crate::error::{Failure, Reason};
use crate::runs::Runs;

/// Names that one tenant may register.
const MAX_PER_TENANT: usize = 1_000;
/// Versions that one tenant may register.
const MAX_VERSIONS: usize = 10_000;

/// Tenants by the names of what they registered.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<Registered>);

#[derive(Default)]
struct Registered {
    owners: HashMap<String, String>,
    versions: HashMap<String, usize>,
}

impl Shelf {
    /// The definition of that name, if that tenant may see it.
    pub(crate) fn get(
        &self,
        runs: &dyn Runs,
        tenant: &str,
        id: &str,
    ) -> Result<Arc<Definition>, Failure> {
        let is_anothers = {
            let registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            registered.owners.get(id).is_some_and(|owner| owner != tenant)
        };
        let found = if is_anothers { None } else { runs.definition(id) };
        found.ok_or_else(|| Failure::missing("workflow", id))
    }

    /// Takes a definition in for a tenant.
    pub(crate) fn register(
        &self,
        runs: &dyn Runs,
        tenant: &str,
        definition: Definition,
    ) -> Result<(), Failure> {
        let id = definition.id().to_owned();
        let taken = || {
            let message = format!("the name `{id}` is taken by another definition: choose another");
            Failure::new(Reason::RunAlreadyActive, message)
        };
        // Held over the look and the registration, so that nobody comes between them.
        let mut registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = runs.definition(&id);
        let is_theirs = registered.owners.get(&id).is_some_and(|owner| owner == tenant);
        if !is_theirs && there.is_some() {
            return Err(taken());
        }
        if there.is_some_and(|there| there.as_json() == definition.as_json()) {
            return Ok(());
        }
        let names = registered.owners.values().filter(|owner| *owner == tenant).count();
        let versions = registered.versions.get(tenant).copied().unwrap_or(0);
        if (!is_theirs && names >= MAX_PER_TENANT) || versions >= MAX_VERSIONS {
            let message = "as many workflows are registered as may be";
            return Err(Failure::new(Reason::RateLimited, message));
        }
        runs.define(definition)
            .map_err(|error| Failure::new(Reason::RunAlreadyActive, error.to_string()))?;
        registered.owners.insert(id, tenant.to_owned());
        *registered.versions.entry(tenant.to_owned()).or_default() += 1;
        Ok(())
    }
}
