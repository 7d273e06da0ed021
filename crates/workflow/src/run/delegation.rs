//! A node that hands its work to the delegation engine, which checks it itself.

use probity_core::Code;
use serde_json::{Map, Value};

use super::Run;
use super::act::MAX_CRITERIA;
use super::content::{may_give, too_large};
use super::state::Work;
use crate::child::child_id;
use crate::definition::{DelegationConfig, Kind};
use crate::effect::Kin;
use crate::event::{Event, Failure};
use crate::input::DelegationEnd;
use crate::verification::{Judgement, Verification};

/// Who gave the verdict, where the node names nobody.
const GATE: &str = "probity.gate";

impl Run {
    pub(super) fn begin_delegation(&mut self, at: usize, config: &DelegationConfig) {
        let mut named = Vec::new();
        names(&config.request, &mut named);
        if !may_give(named.into_iter().filter_map(|name| self.variables.get(name))) {
            return self.fail_node(at, too_large());
        }
        let request = match filled(&Value::Object(config.request.clone()), &self.variables) {
            Ok(request) => request,
            Err(name) => {
                let why = format!("the request names variable `{name}`, which has no value");
                return self.fail_node(at, Failure::new("validation_error", why));
            }
        };
        let n = self.count(at, |place| &mut place.children);
        let delegation = child_id(&self.id, &self.node_id(at), Kin::Delegation, n);
        self.work = Work::Delegation { at, delegation, request };
        self.effects.extend(self.outstanding());
    }

    pub(super) fn end_delegation(&mut self, end: &DelegationEnd) {
        let Work::Delegation { at, delegation, .. } = std::mem::take(&mut self.work) else {
            return;
        };
        let start = self.start();
        let Some(Kind::Delegation(config)) = start.definition.node(at).map(|node| &node.kind)
        else {
            return;
        };
        let told = verdict(end);
        if let Some((verdict, candidate)) = told.clone() {
            self.emit(
                Some(at),
                None,
                Event::AgentVerified(Verification {
                    agent: config.agent_id.clone().unwrap_or_else(|| GATE.to_owned()),
                    target: delegation.clone(),
                    candidate,
                    verdict,
                    criteria: sorted(&end.criteria),
                    confidence: None,
                }),
            );
        }
        if let Some(failure) = refusal(end, told.as_ref(), start.terms.is_gating) {
            return self.fail_node(at, failure);
        }
        let mut outputs = Map::new();
        outputs.insert("delegationRunId".to_owned(), Value::from(delegation.as_str()));
        outputs.insert("outcome".to_owned(), Value::from(end.outcome.as_str()));
        outputs.insert("attempts".to_owned(), Value::from(end.attempts));
        if end.is_edited {
            outputs.insert("edited".to_owned(), Value::from(true));
        }
        if let (Some(name), Some(delivered)) = (&config.output_variable, &end.delivered) {
            if !self.may_take([delivered]) {
                return self.fail_node(at, too_large());
            }
            self.set_variable(at, None, name, delivered.clone());
        }
        self.complete_node(at, outputs);
    }
}

/// The verdict that is told, and on what. What is not decided is told as `fail`; a broken verifier, and
/// nothing that was checked, say nothing. Nobody but a delegation that was verified has a pass.
fn verdict(end: &DelegationEnd) -> Option<(Judgement, String)> {
    let verdict = match end.outcome.as_str() {
        "verified" => end.verdict.unwrap_or(Judgement::Pass),
        "faulted" => return None,
        "inconclusive" => Judgement::Fail,
        _ => end.verdict.filter(|verdict| *verdict != Judgement::Pass)?,
    };
    let candidate = end.candidate.clone().filter(|digest| is_digest(digest));
    // What was edited afterwards is not what was checked.
    let delivered = || delivered_digest(end).filter(|_| !end.is_edited);
    candidate.or_else(delivered).map(|candidate| (verdict, candidate))
}

/// What names a candidate is a digest, and nothing of it.
fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Why what was delivered is not taken over.
fn refusal(
    end: &DelegationEnd,
    told: Option<&(Judgement, String)>,
    is_gating: bool,
) -> Option<Failure> {
    if is_gating {
        match end.outcome.as_str() {
            // Nothing was checked; or a verdict says that something was, and did not pass.
            "unverified" if end.verdict.is_none_or(|verdict| verdict == Judgement::Pass) => {}
            "faulted" => {
                return Some(failed(end, "verifier_faulted", "a verifier of the delegation broke"));
            }
            "verified" => {
                if told.is_none_or(|(verdict, _)| *verdict != Judgement::Pass) {
                    return Some(failed(
                        end,
                        "not_verified",
                        "the delegation ended without a pass",
                    ));
                }
                let is_same = delivered_digest(end) == end.candidate;
                if end.delivered.is_some() && !is_same && !end.is_edited {
                    return Some(failed(
                        end,
                        "candidate_differs",
                        "what was delivered is not what was verified",
                    ));
                }
            }
            _ => return Some(failed(end, "not_verified", "the delegation was not verified")),
        }
    }
    if end.delivered.is_none() {
        return Some(failed(end, "delivery_missing", "the delegation let nothing through"));
    }
    None
}

fn failed(end: &DelegationEnd, code: &str, message: &str) -> Failure {
    let mut details = Map::new();
    details.insert("outcome".to_owned(), Value::from(end.outcome.as_str()));
    details.insert("code".to_owned(), Value::from(end.code.as_str()));
    details.insert("attempts".to_owned(), Value::from(end.attempts));
    Failure { details: Some(details), ..Failure::new(code, message) }
}

fn delivered_digest(end: &DelegationEnd) -> Option<String> {
    end.delivered.as_ref().and_then(super::verdict::digest)
}

fn sorted(criteria: &[Code]) -> Vec<Code> {
    let keys: std::collections::BTreeSet<&Code> = criteria.iter().collect();
    keys.into_iter().take(MAX_CRITERIA).cloned().collect()
}

/// The variables that a request names, each as often as it does.
fn names<'a>(fields: &'a Map<String, Value>, found: &mut Vec<&'a str>) {
    if let (1, Some(Value::String(name))) = (fields.len(), fields.get("$var")) {
        return found.push(name);
    }
    fields.values().for_each(|value| names_in(value, found));
}

fn names_in<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => names(fields, found),
        Value::Array(entries) => entries.iter().for_each(|entry| names_in(entry, found)),
        _ => {}
    }
}

/// A request with the variables in the places of `{"$var": "name"}`; the name of one that is not set.
fn filled(request: &Value, variables: &Map<String, Value>) -> Result<Value, String> {
    match request {
        Value::Object(fields) => {
            if let (1, Some(Value::String(name))) = (fields.len(), fields.get("$var")) {
                return variables.get(name).cloned().ok_or_else(|| name.clone());
            }
            let fill =
                |(key, value): (&String, &Value)| Ok((key.clone(), filled(value, variables)?));
            fields.iter().map(fill).collect::<Result<Map<_, _>, String>>().map(Value::Object)
        }
        Value::Array(entries) => entries
            .iter()
            .map(|entry| filled(entry, variables))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        plain => Ok(plain.clone()),
    }
}
