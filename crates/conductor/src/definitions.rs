//! The definitions that runs may be begun of, by name.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use probity_workflow::Definition;
use serde_json::Value;

/// Definitions by name. What a run runs is in its own log: nothing here changes a run that has begun.
#[derive(Debug, Default)]
pub struct Definitions {
    by_id: RwLock<HashMap<String, Versions>>,
}

/// There is another definition of that name and version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("definition `{id}` version {version} is there with other content; give it another version")]
pub struct DefinitionDiffers {
    /// Its name.
    pub id: String,
    /// Its version, as JSON.
    pub version: String,
}

#[derive(Debug, Default)]
struct Versions {
    all: HashMap<String, Arc<Definition>>,
    last: Option<Arc<Definition>>,
}

impl Definitions {
    /// Adds a definition, which is then the one of its name. Adding it again changes nothing.
    ///
    /// # Errors
    /// Another one has its name and version.
    pub fn add(&self, definition: Definition) -> Result<Arc<Definition>, DefinitionDiffers> {
        let id = definition.id().to_owned();
        let version = version(&definition);
        let mut by_id = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        let versions = by_id.entry(id.clone()).or_default();
        if let Some(there) = versions.all.get(&version) {
            return match there.as_json() == definition.as_json() {
                true => Ok(Arc::clone(there)),
                false => Err(DefinitionDiffers { id, version }),
            };
        }
        let definition = Arc::new(definition);
        versions.all.insert(version, Arc::clone(&definition));
        versions.last = Some(Arc::clone(&definition));
        Ok(definition)
    }

    /// The definition of that name that was added last.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<Definition>> {
        let by_id = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        by_id.get(id).and_then(|versions| versions.last.clone())
    }

    /// The definition of the same name and version.
    pub(crate) fn version_of(&self, definition: &Definition) -> Option<Arc<Definition>> {
        let by_id = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        by_id.get(definition.id())?.all.get(&version(definition)).cloned()
    }

    /// The names, sorted.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let by_id = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<String> = by_id.keys().cloned().collect();
        ids.sort_unstable();
        ids
    }
}

impl DefinitionDiffers {
    pub(crate) fn of(definition: &Definition) -> Self {
        Self { id: definition.id().to_owned(), version: version(definition) }
    }

    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "definition_differs"
    }
}

/// As JSON.
fn version(definition: &Definition) -> String {
    definition.as_json().get("version").unwrap_or(&Value::Null).to_string()
}
