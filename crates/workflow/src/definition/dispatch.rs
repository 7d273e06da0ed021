//! How a dispatch hands work to children (`dispatch-config.schema.json` of openwop v1).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::problem::Problems;
use super::read::typed;

/// Entries of one mapping.
const MAX_ENTRIES: usize = 1_000;

/// What is carried over, by the name that it gets.
pub(crate) type Mapping = BTreeMap<String, String>;

/// The rules of a dispatch: a closed object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct DispatchConfig {
    ask_user_routing: Option<AskUserRouting>,
    worker_dispatch_model: Option<WorkerDispatchModel>,
    pub(crate) fan_out_policy: FanOutPolicy,
    /// Turns of its supervisor, below the bound of the run.
    pub(crate) iteration_cap: Option<u64>,
    input_mapping: Mapping,
    output_mapping: Mapping,
    per_worker_input_mappings: BTreeMap<String, Mapping>,
    per_worker_output_mappings: BTreeMap<String, Mapping>,
}

/// How somebody is asked: there is one way here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AskUserRouting {
    Auto,
    Clarification,
}

/// What a worker is: a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WorkerDispatchModel {
    ChildRun,
}

/// What becomes of a decision that names several workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FanOutPolicy {
    /// One after the other.
    #[default]
    Sequential,
    /// It is refused.
    Reject,
}

impl DispatchConfig {
    /// Child variable to parent variable. The worker's own mapping replaces the one for all.
    pub(crate) fn input_mapping(&self, worker: &str) -> &Mapping {
        self.per_worker_input_mappings.get(worker).unwrap_or(&self.input_mapping)
    }

    /// Parent variable to child variable.
    pub(crate) fn output_mapping(&self, worker: &str) -> &Mapping {
        self.per_worker_output_mappings.get(worker).unwrap_or(&self.output_mapping)
    }
}

pub(super) fn read(problems: &mut Problems, config: Option<&Value>, path: &str) -> DispatchConfig {
    let config: DispatchConfig = typed(problems, config, path);
    if config.iteration_cap == Some(0) {
        problems.add(format!("{path}/iterationCap"), "at least one turn");
    }
    let own =
        config.per_worker_input_mappings.values().chain(config.per_worker_output_mappings.values());
    for mapping in own.chain([&config.input_mapping, &config.output_mapping]) {
        check(problems, mapping, path);
    }
    config
}

/// What a child begins with: what its parent has of what is mapped. What is not set is not given.
pub(crate) fn seeded(mapping: &Mapping, variables: &Map<String, Value>) -> Map<String, Value> {
    let value = |name: &String| variables.get(name).cloned();
    mapping.iter().filter_map(|(child, parent)| Some((child.clone(), value(parent)?))).collect()
}

pub(super) fn check(problems: &mut Problems, mapping: &Mapping, path: &str) {
    if mapping.len() > MAX_ENTRIES
        || mapping.iter().any(|(to, from)| to.is_empty() || from.is_empty())
    {
        problems.add(path, format!("a mapping has no more than {MAX_ENTRIES} entries, with names"));
    }
}
