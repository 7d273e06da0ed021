//! Everything a run needs that is not in its log.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Charter, CheckDecl, Delegation, HookDecl, Policy, RunId, Step, Subject, Terms};
use probity_delegate::Delegate;
use probity_record::blob_digest;
use probity_verifier::{Facts, JudgeFiles, SnapshotRules, Verifier, Workspace};
use serde_json::Value;

use crate::hook::{Hook, VerifyHook};
use crate::{EngineError, Human};

/// The request of a plan that has none.
const NO_REQUEST: &[u8] = b"{}";

/// One run, ready to be driven. The same plan is needed to take an interrupted run up again.
#[derive(Clone)]
pub struct Plan {
    /// The run's name, unique in its store.
    pub run: RunId,
    /// The request as bytes. Kept as a blob; its digest is in the first event, so that a run cannot
    /// be taken up with another request. A plan with hooks, humans, rungs or terms must state one: their
    /// code and names stand nowhere else in the log.
    pub request: Vec<u8>,
    /// The task as the delegate is given it.
    pub task: Arc<str>,
    /// What the delegate is to be, from its profile; said before the task.
    pub system_prompt: Option<Arc<str>>,
    /// The profile's name, for hooks and people; empty where there is none.
    pub agent: Arc<str>,
    /// The run that waits for this one, if one does: it is told when this one ends.
    pub parent: Option<RunId>,
    /// The bounds.
    pub policy: Policy,
    /// The checks, in order of evaluation.
    pub checks: Vec<Check>,
    /// The hooks that are called by themselves, in order.
    pub hooks: Vec<Hook>,
    /// The terms of the decision, where the run is one under an envelope.
    pub terms: Option<Terms>,
    /// What those terms were compiled from, as their digest names it.
    pub envelope: Vec<u8>,
    /// The decision as checks and hooks see it; null where there is none.
    pub decision: Arc<Value>,
    /// Who must let a decision act that needs approval; `None` lets anyone. Names are taken on trust:
    /// whoever may write to the store may answer.
    pub approver: Option<String>,
    /// Who does the work.
    pub delegate: Arc<dyn Delegate>,
    /// Who does it instead, by step of the degrade ladder.
    pub rungs: Vec<(Step, Arc<dyn Delegate>)>,
    /// Where the work is done and looked at.
    pub workspace: Arc<Workspace>,
    /// What of it is read, and how much at most.
    pub snapshot: SnapshotRules,
    /// What else is read with it.
    pub facts: Arc<dyn Facts>,
    /// The files that must stay as they are: what the checks are made of.
    pub judge: Arc<JudgeFiles>,
    /// Wall time of one attempt; `None` leaves it to the run's own bound.
    pub attempt_timeout: Option<Duration>,
    /// How the delegate is told that its claim was not accepted.
    pub correction: Correction,
}

/// How a delegate is told that its claim was not accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Correction {
    /// In sentences, with every finding quoted: [`probity_core::feedback`].
    #[default]
    Findings,
    /// As elements of data, for the answer to a tool call: [`probity_core::rejections`].
    Rejections,
}

/// A check: what the machine knows of it, and the code that does it.
#[derive(Clone)]
pub struct Check {
    /// Name, subject, time.
    pub decl: CheckDecl,
    /// Who decides it.
    pub by: Decider,
}

/// Who decides a check. It goes with the check's subject: a hook with [`probity_core::Subject::Hook`],
/// a human with [`probity_core::Subject::Human`].
#[derive(Clone)]
pub enum Decider {
    /// Code that reads ground truth.
    Verifier(Arc<dyn Verifier>),
    /// A verification hook.
    Hook(VerifyHook),
    /// A named human.
    Human(Human),
}

impl Check {
    /// A check that a verifier decides.
    #[must_use]
    pub fn verifier(decl: CheckDecl, verifier: Arc<dyn Verifier>) -> Self {
        Self { decl, by: Decider::Verifier(verifier) }
    }
}

impl Plan {
    /// A plan with the default bounds, nothing that checks or hooks, and nothing sealed.
    #[must_use]
    pub fn new(
        run: RunId,
        task: impl Into<Arc<str>>,
        delegate: Arc<dyn Delegate>,
        workspace: Arc<Workspace>,
        facts: Arc<dyn Facts>,
    ) -> Self {
        Self {
            run,
            request: NO_REQUEST.to_vec(),
            task: task.into(),
            system_prompt: None,
            agent: "".into(),
            parent: None,
            policy: Policy::default(),
            checks: Vec::new(),
            hooks: Vec::new(),
            terms: None,
            envelope: Vec::new(),
            decision: Arc::new(Value::Null),
            approver: None,
            delegate,
            rungs: Vec::new(),
            judge: Arc::new(JudgeFiles::new(Arc::clone(&workspace))),
            workspace,
            snapshot: SnapshotRules::default(),
            facts,
            attempt_timeout: None,
            correction: Correction::default(),
        }
    }

    /// Whether a run that was opened earlier was opened with this plan.
    pub(crate) fn check(&self, machine: &Delegation) -> Result<(), EngineError> {
        let differs = |what| EngineError::PlanDiffers { run: self.run.clone(), what };
        if blob_digest(&self.request) != machine.request() {
            return Err(differs("a request"));
        }
        let Charter { checks, hooks, terms, .. } = self.charter();
        if checks != machine.checks() {
            return Err(differs("checks"));
        }
        if hooks != machine.hooks() {
            return Err(differs("hooks"));
        }
        let (mine, recorded) = (terms.map(|it| it.envelope), machine.terms().map(|it| it.envelope));
        if mine != recorded {
            return Err(differs("an envelope"));
        }
        self.complete(machine.terms())
    }

    /// Whether everything that the run may ask for is there.
    ///
    /// # Errors
    /// [`EngineError::PlanIncomplete`] naming the first thing that is not.
    pub(crate) fn complete(&self, terms: Option<&Terms>) -> Result<(), EngineError> {
        let incomplete = |what| Err(EngineError::PlanIncomplete { what });
        if self.request == NO_REQUEST && self.needs_request(terms) {
            let what = "hooks, humans, rungs and terms are told apart by `request`; fill it";
            return incomplete(what.to_owned());
        }
        let fits = |check: &&Check| match check.by {
            Decider::Verifier(_) => {
                matches!(check.decl.subject, Subject::World | Subject::Claim)
            }
            Decider::Hook(_) => check.decl.subject == Subject::Hook,
            Decider::Human(_) => check.decl.subject == Subject::Human,
        };
        if let Some(check) = self.checks.iter().find(|check| !fits(check)) {
            let (id, subject) = (&check.decl.id, check.decl.subject);
            return incomplete(format!("check `{id}` is a {subject:?} that another kind decides"));
        }
        if terms.is_some_and(|terms| terms.envelope != blob_digest(&self.envelope)) {
            return incomplete("the envelope is not the one that the terms name".to_owned());
        }
        let ladder = terms.map(|terms| terms.ladder.as_slice()).unwrap_or_default();
        let lacks = |step: Step| {
            !step.is_safe() && step != Step::Bypass && self.rungs.iter().all(|(of, _)| *of != step)
        };
        match ladder.iter().find(|rung| rung.is_ready && lacks(rung.step)) {
            Some(rung) => {
                incomplete(format!("`{}` is ready and has no delegate", rung.step.as_str()))
            }
            None => Ok(()),
        }
    }

    /// Whether the plan has parts that the machine's own record of it does not tell apart from others
    /// of the same name.
    fn needs_request(&self, terms: Option<&Terms>) -> bool {
        let is_plain = |check: &Check| matches!(check.by, Decider::Verifier(_));
        terms.is_some()
            || !self.hooks.is_empty()
            || !self.rungs.is_empty()
            || !self.checks.iter().all(is_plain)
    }

    /// What the machine is opened with.
    pub(crate) fn charter(&self) -> Charter {
        let hooks: Vec<HookDecl> = self.hooks.iter().map(|hook| hook.decl.clone()).collect();
        let (policy, terms) = (self.policy.clone(), self.terms.clone());
        Charter { policy, checks: self.decls(), hooks, terms, parent: self.parent.clone() }
    }

    fn decls(&self) -> Vec<CheckDecl> {
        self.checks.iter().map(|check| check.decl.clone()).collect()
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("run", &self.run)
            .field("task", &self.task)
            .field("policy", &self.policy)
            .field("checks", &self.decls())
            .field("delegate", &self.delegate.describe())
            .finish_non_exhaustive()
    }
}
