//! The definitions of tenants, which the store keeps. Each tenant has names of its own; what is everybody's
//! goes before them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Lock, PoisonError};

use probity_engine::Clock;
use probity_store::WorkStore;
use probity_workflow::Definition;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::journal::text;
use crate::roll::{Heard, Roll, RollError};
use crate::{ConductError, DefinitionDiffers, Definitions};

/// Definitions of one tenant, every version counted.
const MAX_PER_TENANT: usize = 1_000;
/// Bytes of all of them together, as JSON.
const MAX_BYTES_PER_TENANT: usize = 16 * 1024 * 1024;
/// How often somebody who was overtaken decides again.
const MAX_RACES: u32 = 32;
/// Definitions in which verdicts may be stated beforehand: nothing that outlives those who try them.
const CONFORMANCE: &str = "conformance-";
/// What an entry says that it is.
const REGISTERED: &str = "definition.registered";

/// A definition was not registered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DefineError {
    /// Everybody has a definition of that name.
    #[error("`{id}` is the name of a definition that everybody has; choose another one")]
    Taken {
        /// The name.
        id: String,
    },
    /// The tenant has another one of that name and version.
    #[error(transparent)]
    Differs(#[from] DefinitionDiffers),
    /// The tenant has as many as may be.
    #[error("as many definitions are registered as may be: {max} of {max_bytes} bytes together")]
    Full {
        /// How many.
        max: usize,
        /// Of how many bytes.
        max_bytes: usize,
    },
    /// The store fails, or the definition cannot be recorded.
    #[error(transparent)]
    Conduct(#[from] ConductError),
}

/// The shelves of all tenants.
pub(crate) struct Shelves {
    store: Arc<dyn WorkStore>,
    clock: Arc<dyn Clock>,
    by_tenant: Lock<HashMap<String, Arc<Mutex<Shelf>>>>,
}

/// What one tenant registered.
struct Shelf {
    kept: Roll,
    definitions: Definitions,
    count: usize,
    bytes: usize,
}

impl DefineError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Taken { .. } => "definition_taken",
            Self::Differs(error) => error.code(),
            Self::Full { .. } => "definitions_full",
            Self::Conduct(error) => error.code(),
        }
    }
}

impl Shelves {
    pub(crate) fn new(store: Arc<dyn WorkStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, by_tenant: Lock::default() }
    }

    /// The definition of that name: everybody's, else the tenant's, as whoever registered it last on
    /// this store left it.
    pub(crate) async fn get(
        &self,
        shared: &Definitions,
        tenant: &str,
        id: &str,
    ) -> Result<Option<Arc<Definition>>, ConductError> {
        if let Some(definition) = shared.get(id) {
            return Ok(Some(definition));
        }
        let shelf = self.of(tenant)?;
        let mut shelf = shelf.lock().await;
        shelf.read_on().await?;
        Ok(shelf.definitions.get(id))
    }

    /// Registers a definition for a tenant. The same one again changes nothing.
    pub(crate) async fn add(
        &self,
        shared: &Definitions,
        tenant: &str,
        definition: Definition,
    ) -> Result<Arc<Definition>, DefineError> {
        let id = definition.id().to_owned();
        let shelf = self.of(tenant)?;
        let mut shelf = shelf.lock().await;
        for _ in 0..MAX_RACES {
            shelf.read_on().await?;
            if let Some(there) = shared.get(&id) {
                return match is_same(&there, &definition)? {
                    true => Ok(there),
                    false => Err(DefineError::Taken { id }),
                };
            }
            if let Some(there) = shelf.definitions.version_of(&definition) {
                return match is_same(&there, &definition)? {
                    true => Ok(there),
                    false => Err(DefinitionDiffers::of(&definition).into()),
                };
            }
            let bytes = text(definition.as_json())?.len();
            shelf.check_room(bytes)?;
            if !id.starts_with(CONFORMANCE) {
                let entry = json!({"type": REGISTERED, "definition": definition.as_json()});
                match shelf.kept.append(self.clock.now_ms(), Vec::new, entry).await {
                    Ok(()) => {}
                    Err(RollError::Overtaken) => continue,
                    Err(RollError::Conduct(error)) => return Err(error.into()),
                }
            }
            return Ok(shelf.take(definition, bytes)?);
        }
        Err(ConductError::Overtaken { run: shelf.kept.run().clone() }.into())
    }

    fn of(&self, tenant: &str) -> Result<Arc<Mutex<Shelf>>, ConductError> {
        let mut by_tenant = self.by_tenant.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shelf) = by_tenant.get(tenant) {
            return Ok(Arc::clone(shelf));
        }
        let kept = Roll::new(Arc::clone(&self.store), "definitions", tenant)?;
        let shelf = Shelf { kept, definitions: Definitions::default(), count: 0, bytes: 0 };
        let shelf = Arc::new(Mutex::new(shelf));
        by_tenant.insert(tenant.to_owned(), Arc::clone(&shelf));
        Ok(shelf)
    }
}

impl Shelf {
    async fn read_on(&mut self) -> Result<(), ConductError> {
        let Heard { entries, .. } = self.kept.read().await?;
        for entry in entries {
            if entry.get("type").is_none_or(|word| word != REGISTERED) {
                continue;
            }
            let json = entry.get("definition").unwrap_or(&Value::Null);
            // One that this build does not understand is not there.
            let Ok(definition) = Definition::parse(json) else { continue };
            if definition.id().starts_with(CONFORMANCE) {
                continue;
            }
            let bytes = text(definition.as_json())?.len();
            let _ = self.take(definition, bytes);
        }
        Ok(())
    }

    fn check_room(&self, bytes: usize) -> Result<(), DefineError> {
        let (max, max_bytes) = (MAX_PER_TENANT, MAX_BYTES_PER_TENANT);
        match self.count < max && bytes <= max_bytes.saturating_sub(self.bytes) {
            true => Ok(()),
            false => Err(DefineError::Full { max, max_bytes }),
        }
    }

    fn take(
        &mut self,
        definition: Definition,
        bytes: usize,
    ) -> Result<Arc<Definition>, DefinitionDiffers> {
        let taken = self.definitions.add(definition)?;
        self.count = self.count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(taken)
    }
}

/// By their canonical texts: what was kept is spelled so.
fn is_same(one: &Definition, other: &Definition) -> Result<bool, ConductError> {
    Ok(text(one.as_json())? == text(other.as_json())?)
}
