//! How a run begins.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use probity_core::RunId;
use serde_json::{Map, Value};

use super::Run;
use super::state::{Place, Work};
use crate::event::Event;
use crate::input::Start;
use crate::refusal::OpenError;

/// Values that a run begins with.
const MAX_INPUTS: usize = 1_000;

impl Run {
    pub(super) fn new(now_ms: u64, id: RunId, start: &Start) -> Result<Self, OpenError> {
        check(start)?;
        let variables = variables(start)?;
        Ok(Self {
            id,
            started_ms: now_ms,
            now_ms,
            length: 0,
            entries: Vec::new(),
            held_bytes: super::content::held(&variables),
            copied_bytes: 0,
            variables,
            places: vec![Place::default(); start.definition.nodes().len()],
            loops: BTreeMap::new(),
            work: Work::Idle,
            executions: 0,
            iterations: 0,
            interrupts: 0,
            standing: BTreeMap::new(),
            supervisor: None,
            success_criteria: None,
            is_paused: false,
            end: None,
            effects: VecDeque::new(),
            stopped: Vec::new(),
            start: Arc::new(start.clone()),
        })
    }

    pub(super) fn announce(&mut self) {
        let start = Arc::clone(&self.start);
        let event = Event::RunStarted {
            workflow: start.definition.id().to_owned(),
            inputs: start.inputs.clone(),
            owner: start.owner.clone(),
            origin: start.origin.clone(),
            tags: start.tags.clone(),
            metadata: start.metadata.clone(),
        };
        self.emit(None, None, event);
    }
}

fn check(start: &Start) -> Result<(), OpenError> {
    let bounds = start.bounds;
    let named = [
        ("max_node_executions", bounds.max_node_executions),
        ("max_run_duration_ms", bounds.max_run_duration_ms),
        ("max_loop_iterations", bounds.max_loop_iterations),
    ];
    if let Some((name, _)) = named.into_iter().find(|(_, bound)| *bound == 0) {
        return Err(OpenError::BoundZero { name });
    }
    let terms = start.terms;
    if !(0.5..=1.0).contains(&terms.confidence_floor) {
        return Err(OpenError::TermRange { name: "confidence_floor", range: "0.5 to 1" });
    }
    if !(0.0..=1.0).contains(&terms.escalation_threshold) {
        return Err(OpenError::TermRange { name: "escalation_threshold", range: "0 to 1" });
    }
    if start.inputs.len() > MAX_INPUTS {
        return Err(OpenError::InputsTooMany { count: start.inputs.len(), max: MAX_INPUTS });
    }
    Ok(())
}

/// The variables of the definition with what was given, and what was given beside them.
fn variables(start: &Start) -> Result<Map<String, Value>, OpenError> {
    let mut variables = Map::new();
    for variable in start.definition.variables() {
        match start.inputs.get(&variable.name).or(variable.default.as_ref()) {
            Some(value) => drop(variables.insert(variable.name.clone(), value.clone())),
            None if variable.is_required => {
                return Err(OpenError::InputMissing { name: variable.name.clone() });
            }
            None => {}
        }
    }
    for (name, value) in &start.inputs {
        variables.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Ok(variables)
}
