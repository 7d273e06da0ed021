//! The envelope of a decision, as the bounds, terms and checks of its run.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use probity_core::{CheckDecl, Code, Policy, RedFirst, Step, Subject, Terms, Tier};
use probity_engine::{Check, Decider};
use probity_policy::{
    Compiled, Decision, Envelope, Format, Pack, PackRules, PolicyFinding, PolicyFindings, compile,
};
use probity_script::Script;
use probity_verifier::{Method as Timed, Verifier};
use serde_json::{Value, json};

use super::PrepareError;
use super::builder::{Builder, human, method_ids, script_error};
use crate::request::{Method, Request};

/// What an envelope comes to for a run.
pub(super) struct Governed {
    pub(super) terms: Terms,
    /// The decision as checks and hooks see it.
    pub(super) shown: Value,
    /// Who alone may approve it, where an action says so.
    pub(super) approver: Option<String>,
    /// The envelope and the pack's rules, as the terms name them.
    pub(super) envelope: Vec<u8>,
    deadline_ms: u64,
    max_tool_calls: u64,
}

impl Governed {
    /// Tightens the bounds of the run.
    pub(super) fn bound(&self, policy: &mut Policy, request: &Request) {
        let wall_ms = policy.wall_ms.unwrap_or(u64::MAX).min(self.deadline_ms);
        let tool_calls = policy.max_tool_calls.unwrap_or(u64::MAX).min(self.max_tool_calls);
        policy.wall_ms = Some(wall_ms);
        policy.max_tool_calls = Some(tool_calls);
        // The deadline runs from the opening, so checks before the act must be asked for.
        policy.red_first = request.red_first.unwrap_or(RedFirst::Off);
    }
}

impl Builder<'_> {
    /// Compiles the envelope of the request's decision, if it is one, and adds its methods as checks
    /// where the decision must be verified.
    pub(super) fn govern(&mut self) -> Result<Option<Governed>, PrepareError> {
        let request = self.request;
        let Some(class) = request.decision_class() else {
            return if request.decision.is_some() { Err(PrepareError::NoClass) } else { Ok(None) };
        };
        let envelope = request.envelope.as_ref();
        let envelope = envelope.ok_or_else(|| PrepareError::NoEnvelope { class: class.clone() })?;
        let decision = decision(request, &class)?;
        let ready = ready_steps(request);
        let registered = |name: &str| request.methods.contains_key(name);
        let pack = issued_pack(request)?;
        let compiled = compile(envelope, pack.as_ref(), &decision, now_ms(), &ready, registered)?;
        if decision.actions.is_empty() && asks_for_verification(envelope, pack.as_ref()) {
            return Err(PrepareError::NoAction);
        }
        self.say(&compiled);
        if compiled.terms.is_required {
            let names = compiled.methods.iter().map(|method| method.name.as_str());
            for (method, id) in compiled.methods.iter().zip(method_ids(names)) {
                self.add_method(id, &method.name, method.timeout_ms.max(1))?;
            }
        }
        let shown = shown(&decision);
        let approver = approver(&decision)?;
        let Compiled { terms, bytes, deadline_ms, max_tool_calls, tools, .. } = compiled;
        self.add_tool_rules(tools);
        Ok(Some(Governed { terms, shown, approver, envelope: bytes, deadline_ms, max_tool_calls }))
    }

    fn say(&mut self, compiled: &Compiled) {
        let text = |finding: &PolicyFinding| {
            format!("{} [{}] {}", finding.pointer, finding.code, finding.message)
        };
        self.warnings.extend(compiled.blocks.iter().map(text));
        self.warnings.extend(compiled.warnings.iter().map(text));
    }

    /// A method under its envelope: out of its time it is inconclusive.
    fn add_method(&mut self, id: Code, name: &str, timeout_ms: u64) -> Result<(), PrepareError> {
        let mut subject = Subject::World;
        let method = self.request.methods.get(name);
        let verifier: Arc<dyn Verifier> = match method {
            None => return Err(PrepareError::NoMethod { name: name.to_owned() }),
            Some(Method::File { file }) if file.extension().is_some_and(|it| it == "py") => {
                self.python_verifier(file)?
            }
            Some(Method::File { file }) => {
                let script = Script::from_file(file).map_err(script_error)?;
                self.script_verifier(script, timeout_ms)?
            }
            Some(Method::Check(spec)) => {
                if let Some(human) = human(spec) {
                    self.checks.push(Check { decl: spec.declare(id), by: Decider::Human(human) });
                    return Ok(());
                }
                subject = spec.subject();
                self.stock_verifier(spec, &id)?
            }
        };
        let decl = CheckDecl { id: id.clone(), subject, timeout_ms };
        let timed = Timed::new(name, verifier, timeout_ms);
        self.checks.push(Check::verifier(decl, Arc::new(timed)));
        Ok(())
    }
}

/// Whether some action of the class would have to be verified. A delegate that is let loose without
/// saying on what could be doing just that.
fn asks_for_verification(envelope: &Envelope, pack: Option<&Pack>) -> bool {
    let threshold = envelope.verification.required_above_blast_radius;
    let rules = pack.and_then(|pack| pack.rules.get(&envelope.decision_type));
    Tier::Large.is_above(threshold) || rules.is_some_and(PackRules::requires_verification)
}

/// The steps that the request has a delegate for.
pub(crate) fn ready_steps(request: &Request) -> Vec<Step> {
    request.rungs.keys().map(|step| Step::from(*step)).collect()
}

/// The policy pack as it was issued, its hash checked.
///
/// # Errors
/// [`PolicyFindings`] with everything that is wrong with it.
pub(crate) fn issued_pack(request: &Request) -> Result<Option<Pack>, PolicyFindings> {
    let issued = request.policy_pack.as_ref();
    issued.map(|issued| Pack::parse(&issued.to_string(), Format::Json)).transpose()
}

/// What the request says of its decision, with its class filled in.
///
/// # Errors
/// [`PrepareError::Decision`] with everything that is wrong with it.
pub(crate) fn decision(request: &Request, class: &str) -> Result<Decision, PrepareError> {
    let mut value = request.decision.clone().unwrap_or_else(|| json!({}));
    if let Value::Object(members) = &mut value {
        members.entry("decisionType").or_insert_with(|| class.into());
        let plan = members.entry("plan").or_insert_with(|| json!({}));
        if let Value::Object(plan) = plan {
            let words = || request.task.chars().take(200).collect::<String>().into();
            plan.entry("summary").or_insert_with(words);
        }
    }
    Ok(Decision::parse(&value)?)
}

/// The one human whom the actions name.
///
/// # Errors
/// [`PrepareError::Approvers`] if they name several: one answer cannot be that of both.
fn approver(decision: &Decision) -> Result<Option<String>, PrepareError> {
    let named = decision.actions.iter().filter_map(|it| it.authorization.approver.as_deref());
    let named: std::collections::BTreeSet<&str> = named.filter(|name| !name.is_empty()).collect();
    if named.len() > 1 {
        let names = named.into_iter().collect::<Vec<_>>().join(", ");
        return Err(PrepareError::Approvers { names });
    }
    Ok(named.first().map(|name| (*name).to_owned()))
}

/// The decision, with its first action once more under a name of its own, as seed 001's verifiers
/// read it.
fn shown(decision: &Decision) -> Value {
    let mut shown = serde_json::to_value(decision).unwrap_or(Value::Null);
    if let Value::Object(members) = &mut shown {
        let actions = members.entry("actions").or_insert_with(|| json!([]));
        let first = actions.get(0).cloned().unwrap_or(Value::Null);
        members.insert("action".to_owned(), first);
    }
    shown
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
