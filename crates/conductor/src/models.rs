//! Models that say what they were told to. For conformance: whoever asks such a model asks it as any
//! other, and what it says is recorded as an answer is.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use probity_core::{Code, RunId};
use probity_workflow::{DelegationEnd, Input};
use serde_json::Value;

/// Nodes that may have a model.
const MAX_NODES: usize = 256;
/// What the end of a delegation says where its model refused.
const REFUSED: &str = "model_refused";
/// What it says where it answered.
const ANSWERED: &str = "model_answered";

/// What a model says.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelAnswer {
    /// What was asked for.
    Valid(Value),
    /// That it will not.
    Refusal,
}

/// The models of the nodes that were given one. Empty unless somebody fills it, and then only nodes that
/// ask such a model are told anything of it.
#[derive(Debug, Default)]
pub struct Models(Mutex<BTreeMap<String, Program>>);

#[derive(Debug)]
struct Program {
    answers: Vec<ModelAnswer>,
    /// How often it was asked.
    asked: usize,
}

impl Models {
    /// Has the model of a node say these, one each time it is asked, the last one from then on. False
    /// where there are too many.
    #[must_use]
    pub fn program(&self, node: &str, answers: Vec<ModelAnswer>) -> bool {
        let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.is_empty() || (programs.len() >= MAX_NODES && !programs.contains_key(node)) {
            return false;
        }
        programs.insert(node.to_owned(), Program { answers, asked: 0 });
        true
    }

    /// Asks the model of a node.
    pub(crate) fn ask(&self, node: &str) -> Option<ModelAnswer> {
        let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let program = programs.get_mut(node)?;
        let answer = program.answers.get(program.asked).or(program.answers.last())?.clone();
        program.asked = program.asked.saturating_add(1);
        Some(answer)
    }

    /// Asks it again in a replay: what the source's model did and what it does now, where one of them
    /// refused and the other did not. `true` is a refusal.
    pub(crate) fn ask_again(&self, node: &str, recorded: &DelegationEnd) -> Option<(bool, bool)> {
        let was = match recorded.code.as_str() {
            REFUSED => true,
            ANSWERED => false,
            _ => return None,
        };
        let is = self.ask(node)? == ModelAnswer::Refusal;
        (was != is).then_some((was, is))
    }
}

/// Whether a request is one to such a model.
pub(crate) fn is_asked(request: &Value) -> bool {
    request.get(probity_workflow::MOCK_MODEL) == Some(&Value::Bool(true))
}

/// What a run is told of its answer.
pub(crate) fn ended(delegation: RunId, answer: Option<ModelAnswer>) -> Input {
    let (outcome, code, delivered) = match answer {
        Some(ModelAnswer::Valid(value)) => ("unverified", ANSWERED, Some(value)),
        Some(ModelAnswer::Refusal) => ("delegate_failed", REFUSED, None),
        None => ("delegate_failed", "model_missing", None),
    };
    let end = DelegationEnd {
        outcome: outcome.to_owned(),
        code: Code::slug(code),
        verdict: None,
        criteria: Vec::new(),
        attempts: 1,
        delivered,
        candidate: None,
        is_edited: false,
    };
    Input::DelegationEnded { delegation, end }
}
