//! Hooks in a list: written out, or named.

use std::collections::BTreeSet;

use probity_core::Code;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::error::{ArtifactError, Place};
use super::hook::HookArtifact;
use super::keys::Item;

/// The most hooks of one list.
pub const MAX_HOOKS: usize = 64;

/// One item of `hooks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum HookRef {
    /// The hook in the project's file of that name.
    Named(Code),
    /// The hook itself.
    Inline(HookArtifact),
}

impl HookRef {
    /// The hook's name.
    #[must_use]
    pub const fn name(&self) -> &Code {
        match self {
            Self::Named(name) => name,
            Self::Inline(hook) => &hook.name,
        }
    }

    /// Reads the `hooks` of a request or a profile: a list of names and maps. A map without a name
    /// is called after `owner` and its 1-based place in the list.
    ///
    /// # Errors
    /// [`ArtifactError`] as of [`HookArtifact::from_value`]; `artifact_value` if it is no list or
    /// has more than [`MAX_HOOKS`]; `hook_name_taken` for two of one name.
    pub fn list(value: &Value, owner: &Code, at: &Place) -> Result<Vec<Self>, ArtifactError> {
        let mut hooks: Vec<Self> = Vec::new();
        for (n, item) in Item::new("hooks", at, value).list(MAX_HOOKS)?.into_iter().enumerate() {
            let hook = match item.value {
                Value::String(_) => Self::Named(item.name()?),
                Value::Object(_) => {
                    // Cut so that the number is never lost: a code has at most 64 characters.
                    let owner: String = owner.as_str().chars().take(48).collect();
                    let default = Code::slug(&format!("{owner}.hook-{}", n.saturating_add(1)));
                    Self::Inline(HookArtifact::from_value(item.value, &default, item.at())?)
                }
                _ => {
                    return Err(
                        item.wrong("the name of a hook file, or a map with `event` and `script`")
                    );
                }
            };
            hooks.push(hook);
        }
        distinct(hooks.iter().map(Self::name), at)?;
        Ok(hooks)
    }
}

impl<'de> Deserialize<'de> for HookRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        match Value::deserialize(deserializer)? {
            Value::String(name) => name.parse().map(Self::Named).map_err(D::Error::custom),
            value => serde_json::from_value(value).map(Self::Inline).map_err(D::Error::custom),
        }
    }
}

/// The hooks as they are called: by ascending priority, those of one priority as declared.
#[must_use]
pub fn in_order(mut hooks: Vec<HookArtifact>) -> Vec<HookArtifact> {
    hooks.sort_by_key(|hook| hook.priority);
    hooks
}

/// Refuses two hooks of one name: a record could not tell them apart. `at` says in the message
/// what they belong to.
///
/// # Errors
/// [`ArtifactError`] `hook_name_taken`.
pub fn distinct_names(hooks: &[HookArtifact], at: &Place) -> Result<(), ArtifactError> {
    distinct(hooks.iter().map(|hook| &hook.name), at)
}

fn distinct<'a>(names: impl Iterator<Item = &'a Code>, at: &Place) -> Result<(), ArtifactError> {
    let mut taken = BTreeSet::new();
    for name in names {
        if !taken.insert(name) {
            return Err(ArtifactError::NameTaken { at: at.clone(), name: name.to_string() });
        }
    }
    Ok(())
}
