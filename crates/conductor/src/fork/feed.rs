//! Feeds a fork what its source recorded. Both machines go side by side, so that what the one calls its
//! child, its delegation, its verification is known by the name that the other gives it.

use std::collections::HashMap;
use std::mem::discriminant;
use std::sync::Arc;

use probity_core::RunId;
use probity_workflow::{Effect, Entry, Event, Input, Origin, Run, Start, Step};
use serde_json::{Map, Value};

use super::InvalidFork;
use crate::journal::as_recorded;
use crate::{ConductError, Models};

/// A source and its fork, side by side.
pub(super) struct Feed {
    id: RunId,
    source: Run,
    fork: Run,
    /// What the fork calls what the source calls so.
    names: HashMap<RunId, RunId>,
    /// The nodes of delegations, by what the source calls them.
    nodes: HashMap<RunId, String>,
    /// What is asked again in a replay: only models that say what they were told to.
    models: Option<Arc<Models>>,
    /// How many events are shared.
    shared: u64,
    is_replay: bool,
    /// The fork began with other values than its source.
    is_overlaid: bool,
    /// The times of the two openings.
    opened_ms: (u64, u64),
    fed: Vec<Step>,
}

impl Feed {
    /// A fork that has not begun. A replay has the times of its source; a branch lives on from now, so the
    /// times of what it shares are moved along.
    pub(super) fn new(
        now_ms: u64,
        run: RunId,
        start: Start,
        steps: &[Step],
    ) -> Result<Self, ConductError> {
        let opened_ms = steps.first().map_or(0, |step| step.at_ms);
        let at_ms = match &start.origin {
            Some(Origin::Fork { is_replay: false, from_sequence, .. }) => {
                let is_shared = |step: &&Step| {
                    step.entries.first().is_some_and(|entry| entry.sequence < *from_sequence)
                };
                let last = steps.iter().rfind(is_shared);
                let passed_ms = last.map_or(0, |last| last.at_ms.saturating_sub(opened_ms));
                now_ms.saturating_sub(passed_ms)
            }
            _ => opened_ms,
        };
        Self::again(at_ms, run, start, steps)
    }

    /// A fork that began at that time.
    pub(super) fn again(
        at_ms: u64,
        run: RunId,
        start: Start,
        steps: &[Step],
    ) -> Result<Self, ConductError> {
        let Some(Origin::Fork { source, from_sequence, is_replay }) = start.origin.clone() else {
            return Err(ConductError::NotForTelling);
        };
        Self::pair((source, from_sequence, is_replay), at_ms, run, start, steps)
    }

    /// A run that goes the recorded way of another one, as far as that is shared.
    pub(super) fn pair(
        (source, shared, is_replay): (RunId, u64, bool),
        at_ms: u64,
        run: RunId,
        start: Start,
        steps: &[Step],
    ) -> Result<Self, ConductError> {
        let differs =
            |why: String| InvalidFork::Differs { run: source.clone(), at_sequence: 0, why };
        let opening = steps.first().ok_or_else(|| differs("it has no step".to_owned()))?;
        let Input::Start(theirs) = &opening.input else {
            return Err(differs("it does not begin".to_owned()).into());
        };
        let (machine, _) = Run::open(opening.at_ms, source.clone(), theirs.as_ref().clone())?;
        let Input::Start(mine) = as_recorded(&Input::Start(Box::new(start)))? else {
            return Err(ConductError::NotForTelling);
        };
        let is_overlaid = theirs.inputs != mine.inputs;
        let (fork, first) = Run::open(at_ms, run.clone(), *mine)?;
        let mut feed = Self {
            id: source.clone(),
            names: HashMap::from([(source, run)]),
            nodes: HashMap::new(),
            models: None,
            source: machine,
            fork,
            shared,
            is_replay,
            is_overlaid,
            opened_ms: (opening.at_ms, at_ms),
            fed: Vec::new(),
        };
        feed.fed.push(first);
        feed.pair_names();
        Ok(feed)
    }

    /// Has the models asked again that say what they were told to. Nothing else is asked twice.
    pub(super) fn ask(&mut self, models: Arc<Models>) {
        self.models = Some(models);
    }

    /// Feeds everything that is shared, and gives the steps of the fork.
    pub(super) fn run_through(&mut self, steps: &[Step]) -> Result<Vec<Step>, ConductError> {
        let mut place = 0;
        for step in steps.iter().skip(1) {
            place = step.entries.first().map_or(place, |entry| entry.sequence);
            if place >= self.shared || self.fork.is_ended() {
                break;
            }
            if let Some(refusal) = self.refuses(&step.input) {
                self.diverge(step, place, Some(refusal))?;
                break;
            }
            if !self.feed(step, place)? {
                self.diverge(step, place, None)?;
                break;
            }
            place = step.entries.last().map_or(place, |last| last.sequence.saturating_add(1));
        }
        Ok(self.fed.clone())
    }

    /// Children that ended in what was fed, each with what the fork calls it.
    pub(super) fn children(&self, steps: &[Step]) -> Vec<(RunId, RunId)> {
        let fed = steps.iter().take(self.fed.len());
        let ended = fed.filter_map(|step| match &step.input {
            Input::ChildEnded { child, .. } => Some(child),
            _ => None,
        });
        ended.filter_map(|child| Some((child.clone(), self.names.get(child)?.clone()))).collect()
    }

    /// The fork behind what was fed. Nothing is left to be done by it.
    pub(super) fn into_machine(self) -> Run {
        self.fork
    }

    /// False where a replay comes to something else than its source did.
    fn feed(&mut self, step: &Step, at_sequence: u64) -> Result<bool, ConductError> {
        let differs = |why| InvalidFork::Differs { run: self.id.clone(), at_sequence, why };
        if self.is_overlaid && matches!(step.input, Input::Resolve { .. }) {
            // They let something else through than what the fork has.
            let why = "somebody answered it, and saw other values: branch before that".to_owned();
            return Err(differs(why).into());
        }
        let theirs = self.source.handle(step.at_ms, step.input.clone());
        theirs.map_err(|refusal| differs(refusal.to_string()))?;
        let before = self.fork.clone();
        match self.fork.handle(self.moved(step.at_ms), self.renamed(&step.input)) {
            Ok(mine) => {
                self.pair_names();
                let fits = !self.is_replay || self.are_same(&step.entries, &mine.entries);
                match fits {
                    true => self.fed.push(mine),
                    false => self.fork = before,
                }
                Ok(fits)
            }
            Err(_) if self.is_replay => Ok(false),
            Err(refusal) => Err(differs(refusal.to_string()).into()),
        }
    }

    /// Whether the source's model refused and this one does, where they differ.
    fn refuses(&self, input: &Input) -> Option<(bool, bool)> {
        let Input::DelegationEnded { delegation, end } = input else { return None };
        let models = self.models.as_ref().filter(|_| self.is_replay)?;
        models.ask_again(self.nodes.get(delegation)?, end)
    }

    fn diverge(
        &mut self,
        step: &Step,
        at_sequence: u64,
        refusal: Option<(bool, bool)>,
    ) -> Result<(), ConductError> {
        let at_ms = self.moved(step.at_ms);
        let diverged = self.fork.handle(at_ms, Input::Diverged { at_sequence, refusal })?;
        self.fed.push(diverged);
        while self.fork.poll_effect().is_some() {}
        Ok(())
    }

    /// The time in the fork that is that of a time in its source.
    pub(super) const fn moved(&self, at_ms: u64) -> u64 {
        let (theirs, mine) = self.opened_ms;
        at_ms.saturating_sub(theirs).saturating_add(mine)
    }

    /// Both machines want the same done: what they name is the same thing. Where a fork wants it done
    /// otherwise, with other values, the answer that its source had is none to it.
    fn pair_names(&mut self) {
        loop {
            match (self.source.poll_effect(), self.fork.poll_effect()) {
                (Some(theirs), Some(mine)) if self.is_same_errand(&theirs, &mine) => {
                    self.names.insert(name(&theirs).clone(), name(&mine).clone());
                    if let Effect::Delegate { delegation, node, .. } = theirs {
                        self.nodes.insert(delegation, node);
                    }
                }
                (None, None) => return,
                _ => {}
            }
        }
    }

    fn is_same_errand(&self, theirs: &Effect, mine: &Effect) -> bool {
        match (theirs, mine) {
            (
                Effect::StartChild { workflow, inputs, node, .. },
                Effect::StartChild {
                    workflow: my_workflow, inputs: my_inputs, node: my_node, ..
                },
            ) => {
                (workflow, node) == (my_workflow, my_node)
                    && self.are_same_members(inputs, my_inputs)
            }
            (
                Effect::Delegate { node, request, .. },
                Effect::Delegate { node: my_node, request: my_request, .. },
            ) => node == my_node && self.is_same_json(request, my_request),
            // Whether a verdict is on what the fork has, the machine sees by the digest.
            (theirs, mine) => discriminant(theirs) == discriminant(mine),
        }
    }

    fn renamed(&self, input: &Input) -> Input {
        let mut input = input.clone();
        match &mut input {
            Input::ChildStarted { child: id }
            | Input::ChildEnded { child: id, .. }
            | Input::DelegationEnded { delegation: id, .. }
            | Input::Verified { verification: id, .. }
            | Input::VerifierBroke { verification: id, .. } => {
                if let Some(mine) = self.names.get(id) {
                    id.clone_from(mine);
                }
            }
            _ => {}
        }
        input
    }

    fn are_same(&self, theirs: &[Entry], mine: &[Entry]) -> bool {
        let same = |(theirs, mine): (&Entry, &Entry)| {
            let json = |entry: &Entry| serde_json::to_value(without_origin(entry)).ok();
            json(theirs).zip(json(mine)).is_some_and(|(a, b)| self.is_same_json(&a, &b))
        };
        theirs.len() == mine.len() && theirs.iter().zip(mine).all(same)
    }

    fn is_same_json(&self, theirs: &Value, mine: &Value) -> bool {
        match (theirs, mine) {
            (Value::String(theirs), Value::String(mine)) => {
                theirs == mine || {
                    let mut called = theirs.clone();
                    for (their, my) in &self.names {
                        called = called.replace(their.as_str(), my.as_str());
                    }
                    called == *mine
                }
            }
            (Value::Array(theirs), Value::Array(mine)) => {
                theirs.len() == mine.len()
                    && theirs.iter().zip(mine).all(|(a, b)| self.is_same_json(a, b))
            }
            (Value::Object(theirs), Value::Object(mine)) => self.are_same_members(theirs, mine),
            (Value::Number(theirs), Value::Number(mine)) => theirs.as_f64() == mine.as_f64(),
            (theirs, mine) => theirs == mine,
        }
    }

    fn are_same_members(&self, theirs: &Map<String, Value>, mine: &Map<String, Value>) -> bool {
        theirs.len() == mine.len()
            && theirs.iter().all(|(key, value)| {
                mine.get(key).is_some_and(|mine| self.is_same_json(value, mine))
            })
    }
}

/// A fork comes from elsewhere than its source.
fn without_origin(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    if let Event::RunStarted { origin, .. } = &mut entry.event {
        *origin = None;
    }
    entry
}

const fn name(effect: &Effect) -> &RunId {
    match effect {
        Effect::StartChild { child, .. } => child,
        Effect::Delegate { delegation, .. } => delegation,
        Effect::Verify { verification, .. } => verification,
        Effect::Stop { run, .. } => run,
    }
}
