//! What a supervisor will decide. In definitions named `conformance-*` its `mock…` keys say it, in all
//! others `plan`.

use serde::Deserialize as _;
use serde_json::Value;

use super::problem::Problems;
use super::read::list;
use crate::decision::{Criterion, Decision};

/// Decisions of one plan.
const MAX_DECISIONS: usize = 1_000;
/// Criteria of one plan, workers of one decision.
const MAX_ENTRIES: usize = 100;

/// A supervisor's plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SupervisorConfig {
    /// What it decides, turn by turn. After the last it ends the run.
    pub(crate) plan: Vec<Decision>,
    /// The keys of what is met once the plan is through.
    pub(crate) success_criteria: Vec<String>,
    /// A decision that it would make first, and how sure it is of it.
    pub(crate) pending: Option<(Decision, f64)>,
}

impl SupervisorConfig {
    /// Whether it ever hands work to anybody.
    pub(super) fn is_dispatching(&self) -> bool {
        let is_dispatch = |decision: &Decision| matches!(decision, Decision::NextWorker { .. });
        self.plan.iter().chain(self.pending.iter().map(|(decision, _)| decision)).any(is_dispatch)
    }
}

pub(super) fn read(
    problems: &mut Problems,
    config: Option<&Value>,
    path: &str,
    is_conformance: bool,
) -> SupervisorConfig {
    let given = |key: &str| config.and_then(|config| config.get(key));
    let mut supervisor = SupervisorConfig::default();
    let keys: &[&str] =
        if is_conformance { &["mockDispatchPlan", "mockDecisions", "plan"] } else { &["plan"] };
    if let Some((key, plan)) = keys.iter().find_map(|key| Some((key, given(key)?))) {
        supervisor.plan = decisions(problems, plan, &format!("{path}/{key}"));
    }
    let criteria =
        list(problems, given("successCriteria"), &format!("{path}/successCriteria"), MAX_ENTRIES);
    for (at, key) in criteria.iter().enumerate() {
        match key.as_str().filter(|key| !key.is_empty()) {
            Some(key) => supervisor.success_criteria.push(key.to_owned()),
            None => {
                problems.add(format!("{path}/successCriteria/{at}"), "give the key of a criterion")
            }
        }
    }
    if !is_conformance {
        if given("plan").is_none() {
            problems.add(format!("{path}/plan"), "give what the supervisor decides, turn by turn");
        }
        return supervisor;
    }
    let confidence = given("mockConfidence").and_then(Value::as_f64);
    if let Some(pending) = given("mockPendingDecision") {
        let at = format!("{path}/mockPendingDecision");
        let decision = decision(problems, pending, &at);
        supervisor.pending = decision.zip(confidence.filter(|sure| is_share(*sure)));
        if supervisor.pending.is_none() {
            problems.add(at, "give a decision, and `mockConfidence` from 0 to 1 beside it");
        }
    }
    if config.and_then(Value::as_object).is_none_or(serde_json::Map::is_empty) {
        supervisor.plan = stock_plan();
    }
    supervisor
}

/// What a supervisor of a conformance definition decides that says nothing about it.
fn stock_plan() -> Vec<Decision> {
    let next_worker_ids = vec!["conformance-noop".to_owned()];
    vec![
        Decision::NextWorker { next_worker_ids, confidence: None },
        Decision::Terminate { reason: None, confidence: None, success_criteria: None },
    ]
}

fn decisions(problems: &mut Problems, plan: &Value, path: &str) -> Vec<Decision> {
    let entries = list(problems, Some(plan), path, MAX_DECISIONS).iter().enumerate();
    let mut read = |(at, entry)| decision(problems, entry, &format!("{path}/{at}"));
    entries.filter_map(&mut read).collect()
}

fn decision(problems: &mut Problems, value: &Value, path: &str) -> Option<Decision> {
    let decision = Decision::deserialize(value)
        .map_err(|error| error.to_string())
        .and_then(|decision| fault(&decision).map_or(Ok(decision), |what| Err(what.to_owned())));
    decision.map_err(|what| problems.add(path, what)).ok()
}

fn fault(decision: &Decision) -> Option<&'static str> {
    match decision {
        Decision::NextWorker { next_worker_ids, confidence } => {
            let is_name = |id: &String| (1..=256).contains(&id.chars().count());
            if !(1..=MAX_ENTRIES).contains(&next_worker_ids.len())
                || !next_worker_ids.iter().all(is_name)
            {
                return Some("`nextWorkerIds` must name 1 to 100 workers");
            }
            unsure(*confidence)
        }
        Decision::AskUser { prompt } => prompt.is_empty().then_some("`prompt` must say something"),
        Decision::Terminate { reason, confidence, success_criteria } => {
            if reason.as_ref().is_some_and(String::is_empty) {
                return Some("`reason` must say something, or be left out");
            }
            let is_named = |criterion: &Criterion| !criterion.key.is_empty();
            let criteria = success_criteria.as_deref().unwrap_or_default();
            if criteria.len() > MAX_ENTRIES || !criteria.iter().all(is_named) {
                return Some("`successCriteria` must be no more than 100, each with a key");
            }
            unsure(*confidence)
        }
    }
}

fn unsure(confidence: Option<f64>) -> Option<&'static str> {
    confidence.is_some_and(|sure| !is_share(sure)).then_some("`confidence` must be from 0 to 1")
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}
