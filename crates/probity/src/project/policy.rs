//! What a project's folder says beside its configuration: hooks, profiles, envelopes, verifiers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probity_core::{Code, Digest};
use probity_policy::{Envelope, Format, HookArtifact, Pack, Profile};
use serde_json::Value;

use super::folder::{File, files};
use super::{POLICY_PATH, ProjectError};
use crate::request::{Method, yaml};

/// Everything of `.probity/` that is no configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Policy {
    /// Hooks of every delegation, by file name.
    pub(crate) hooks: Vec<HookArtifact>,
    /// Delegates under a name.
    pub(crate) profiles: BTreeMap<Code, Profile>,
    /// Envelopes by decision type.
    pub(crate) envelopes: BTreeMap<String, Envelope>,
    /// Packs, by file name, with what they were read from.
    pub(crate) packs: Vec<(Pack, Value)>,
    /// Verifiers that envelopes may name, by the name of their file.
    pub(crate) methods: BTreeMap<String, Method>,
    /// The files that all of this was read from.
    pub(crate) files: Vec<PathBuf>,
    /// What they hold, name by name.
    pub(super) digests: Vec<Digest>,
}

impl Policy {
    /// Reads the folders below a project's root.
    ///
    /// # Errors
    /// [`ProjectError`] naming the first file that is wrong.
    pub(crate) fn load(root: &Path) -> Result<Self, ProjectError> {
        let folder = root.join(POLICY_PATH);
        let mut policy = Self::default();
        for file in files(&folder.join("hooks"), &["md"])? {
            policy.hooks.push(HookArtifact::parse(&file.label(), file.text()?)?);
            policy.note(&file, root);
        }
        for file in files(&folder.join("agents"), &["md"])? {
            let profile = Profile::parse(&file.label(), file.text()?)?;
            policy.profiles.insert(profile.name.clone(), profile);
            policy.note(&file, root);
        }
        for file in files(&folder.join("envelopes"), &["json", "yaml", "yml"])? {
            policy.add_document(&file)?;
            policy.note(&file, root);
        }
        for file in files(&folder.join("verifiers"), &["py", "star"])? {
            let method = Method::File { file: file.path.clone() };
            if policy.methods.insert(file.stem(), method).is_some() {
                return Err(ProjectError::Twice { what: "verifier", name: file.stem() });
            }
            policy.note(&file, root);
        }
        Ok(policy)
    }

    /// Whether there is nothing that governs a run. A verifier alone does not: somebody must name it.
    pub(crate) fn is_empty(&self) -> bool {
        self.hooks.is_empty()
            && self.profiles.is_empty()
            && self.envelopes.is_empty()
            && self.packs.is_empty()
    }

    /// The pack with rules for a class of decisions.
    pub(crate) fn pack_for(&self, decision_type: &str) -> Option<&Value> {
        let mut packs = self.packs.iter();
        packs.find(|(pack, _)| pack.rules.contains_key(decision_type)).map(|(_, issued)| issued)
    }

    fn note(&mut self, file: &File, root: &Path) {
        self.files.push(file.path.clone());
        self.digests.push(file.digest(root));
    }

    /// An envelope or a pack: a pack says `policyPackId`.
    fn add_document(&mut self, file: &File) -> Result<(), ProjectError> {
        let format = match file.path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Format::Json,
            _ => Format::Yaml,
        };
        let text = file.text()?;
        let failed = |findings| ProjectError::Policy { path: file.path.clone(), findings };
        if let Some(issued) = pack(text, format) {
            let pack = Pack::parse(text, format).map_err(failed)?;
            let taken = pack.rules.keys().find(|class| self.pack_for(class).is_some()).cloned();
            if let Some(name) = taken {
                return Err(ProjectError::Twice { what: "policy pack for", name });
            }
            self.packs.push((pack, issued));
            return Ok(());
        }
        let envelope = Envelope::parse(text, format).map_err(failed)?;
        let name = envelope.decision_type.clone();
        match self.envelopes.insert(name.clone(), envelope) {
            None => Ok(()),
            Some(_) => Err(ProjectError::Twice { what: "envelope for", name }),
        }
    }
}

/// The document as a value, where it is a pack.
fn pack(text: &str, format: Format) -> Option<Value> {
    let value: Option<Value> = match format {
        Format::Json => serde_json::from_str(text).ok(),
        Format::Yaml => yaml(text).ok(),
    };
    value.filter(|value| value.get("policyPackId").is_some())
}
