//! What the driver starts: checks, hooks, the delegate. Each is announced in the log by then.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use probity_core::{
    CheckIndex, Claim, Code, Digest, Finding, HookIndex, HookPoint, JudgedTurn, Phase, Step,
    SubmissionId, Turn,
};
use probity_delegate::{Conversation, Delegate, Prompt, Request, Steering};
use probity_verifier::CheckContext;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Driver;
use crate::correction::{correction, reason};
use crate::hook::VerifyEvent;
use crate::plan::Decider;
use crate::work::Work;
use crate::{EngineError, payload};

/// One run of one check, as the machine asks for it.
pub(super) struct CheckRun {
    pub(super) phase: Phase,
    pub(super) check: CheckIndex,
    pub(super) submission: Option<SubmissionId>,
    pub(super) attempt: u32,
    pub(super) is_replay: bool,
    pub(super) timeout_ms: u64,
}

/// One dispatch, as the machine asks for it.
pub(super) struct Dispatch {
    pub(super) turn: Turn,
    pub(super) attempt: u32,
    pub(super) max_attempts: u32,
    pub(super) step: Option<Step>,
    pub(super) correction: Option<Turn>,
    pub(super) is_replay: bool,
}

impl Driver<'_> {
    pub(super) async fn run_check(&mut self, run: CheckRun) -> Result<(), EngineError> {
        let CheckRun { phase, check, submission, attempt, is_replay, timeout_ms } = run;
        let planned = self.plan.checks.get(check.as_usize()).ok_or(EngineError::Stuck)?.clone();
        let mut ctx = self.context(planned.decl.id.clone(), phase, timeout_ms);
        ctx.submission = submission;
        ctx.is_replay = is_replay;
        ctx.attempt = attempt;
        if phase == Phase::After {
            ctx.claim = match &planned.by {
                // Calls are facts of what the delegate did; no rewrite takes them back.
                Decider::Hook(hook) if hook.event != VerifyEvent::PostVerify => {
                    Arc::clone(&self.claim)
                }
                _ => self.claim_seen_by(check).await?,
            };
        }
        let judge = Arc::clone(&self.plan.judge);
        let work = match planned.by {
            Decider::Verifier(verifier) => {
                if phase == Phase::Before {
                    ctx.timeout = verifier.red_timeout(ctx.timeout);
                }
                Work::check(check, verifier, ctx, judge)
            }
            Decider::Hook(hook) => {
                let mut about = match hook.event {
                    VerifyEvent::PostVerify => self.about(&ctx),
                    // Once a call, a list of files would be most of what is said.
                    VerifyEvent::ToolPre | VerifyEvent::ToolPost => self.about_run(&ctx),
                };
                about.insert("verdict".to_owned(), self.so_far().await?);
                Work::police(check, hook, ctx, about, judge)
            }
            // The machine asks humans by another effect.
            Decider::Human(_) => return Err(EngineError::Stuck),
        };
        self.start(work).await;
        Ok(())
    }

    pub(super) async fn call_hook(
        &mut self,
        hook: HookIndex,
        turn: Turn,
        is_replay: bool,
        timeout_ms: u64,
    ) -> Result<(), EngineError> {
        let planned = self.plan.hooks.get(hook.as_usize()).ok_or(EngineError::Stuck)?.clone();
        let point = planned.decl.point;
        let judged = self.machine.judged().last().cloned();
        let phase = if judged.is_some() { Phase::After } else { Phase::Before };
        let mut ctx = self.context(planned.decl.id.clone(), phase, timeout_ms);
        ctx.is_replay = is_replay;
        ctx.attempt = self.attempt_at(point, judged.as_ref());
        let mut shown = self.about(&ctx);
        match (point, judged) {
            (HookPoint::DelegationPre, _) => {
                let ids = self.machine.checks().iter().map(|decl| decl.id.as_str());
                shown.insert("checks".to_owned(), ids.collect());
            }
            (HookPoint::AttemptStart, judged) => {
                let step = self.machine.acting_step();
                let rejected = judged.map(|judged| judged.turn);
                let prompt = self.prompt(turn, step, rejected).await?;
                let text = prompt.render(self.delegate(step).conversation());
                shown.insert("prompt".to_owned(), text.into());
            }
            (HookPoint::AttemptEnd | HookPoint::DelegationPost, Some(judged)) => {
                ctx.claim = self.claim_behind(&judged).await?;
                payload::with_claim(&mut shown, &ctx.claim);
                shown.insert("verdict".to_owned(), self.verdict(&judged).await?);
            }
            (HookPoint::AttemptEnd | HookPoint::DelegationPost, None) => {
                return Err(EngineError::Stuck);
            }
        }
        self.start(Work::hook(hook, planned, ctx, shown)).await;
        Ok(())
    }

    /// The attempt that a hook is called for: the next one, or the one that was just judged, whether
    /// or not it was charged. 0 before the first.
    fn attempt_at(&self, point: HookPoint, judged: Option<&JudgedTurn>) -> u32 {
        let charged = self.machine.attempts();
        let is_uncharged = match point {
            HookPoint::DelegationPre => false,
            HookPoint::AttemptStart => true,
            HookPoint::AttemptEnd | HookPoint::DelegationPost => {
                judged.is_some_and(|judged| !judged.counted)
            }
        };
        charged.saturating_add(is_uncharged.into())
    }

    pub(super) async fn dispatch(&mut self, dispatch: Dispatch) -> Result<(), EngineError> {
        let Dispatch { turn, attempt, max_attempts, step, correction, is_replay } = dispatch;
        let prompt = self.prompt(turn, step, correction).await?;
        if step != self.session_step {
            self.session = None;
            self.session_step = step;
        }
        let answer = self.woken(turn).await?;
        // What is in flight is stopped first: it takes the notebook of its dispatch along.
        self.stop_work().await;
        let request = Request {
            run: self.plan.run.clone(),
            turn,
            attempt,
            max_attempts,
            prompt,
            session: self.session.clone(),
            is_replay,
            notes: self.open_notes(),
            budget: self.budget(),
            answer,
            steering: Steering::new(self.said.subscribe()),
            // The end of the run's own time is the machine's business: it stops the delegate and
            // says that the budget was the reason.
            timeout: self.plan.attempt_timeout,
            cancel: CancellationToken::new(),
        };
        self.work = Some(Work::dispatch(self.delegate(step), request));
        Ok(())
    }

    /// What every check and hook is given.
    fn context(&self, id: Code, phase: Phase, timeout_ms: u64) -> CheckContext {
        let (workspace, before) = (Arc::clone(&self.plan.workspace), Arc::clone(&self.before));
        let mut ctx = CheckContext::new(id, workspace, before);
        ctx.phase = phase;
        ctx.task = Arc::clone(&self.task);
        ctx.decision = Arc::clone(&self.plan.decision);
        ctx.rules = Arc::new(self.plan.snapshot.clone());
        ctx.run_started =
            SystemTime::UNIX_EPOCH + Duration::from_millis(self.machine.opened_at_ms());
        ctx.timeout = Duration::from_millis(timeout_ms);
        if phase == Phase::After {
            ctx.after = Arc::clone(&self.after);
        }
        ctx
    }

    /// The members of a payload that is about the work as a whole.
    fn about(&self, ctx: &CheckContext) -> Map<String, Value> {
        let mut about = self.about_run(ctx);
        about.insert("changes".to_owned(), json!(&*ctx.changes()));
        about
    }

    /// The members that every payload has.
    fn about_run(&self, ctx: &CheckContext) -> Map<String, Value> {
        let about = json!({
            "run": self.plan.run.as_str(),
            "task": &*self.task,
            "agent": &*self.plan.agent,
            "attempt": ctx.attempt,
            "max_attempts": self.machine.max_attempts(),
            "decision": &*ctx.decision,
        });
        match about {
            Value::Object(about) => about,
            _ => Map::new(),
        }
    }

    /// What the delegate is told in a round, as the hooks so far left it.
    async fn prompt(
        &self,
        turn: Turn,
        step: Option<Step>,
        rejected: Option<Turn>,
    ) -> Result<Prompt, EngineError> {
        // Another delegate knows nothing of that conversation, whatever it remembers of its own.
        let is_handed_over = rejected.is_some() && step != self.session_step;
        let mut prompt = Prompt {
            system: self.plan.system_prompt.clone(),
            task: Arc::clone(&self.task),
            is_handed_over,
            ..Prompt::default()
        };
        if let Some(turn) = rejected {
            let text = correction(&self.machine, &self.journal, turn, self.plan.correction).await?;
            prompt.correction = Some(text.into());
            prompt.last_response = Some(self.claim.response.as_str().into());
        }
        if let Some(rewritten) = self.machine.rewritten_prompt(turn) {
            prompt.rewritten = Some(self.journal.text(rewritten).await?.into());
        } else if is_handed_over {
            prompt.rewritten = Some(prompt.render(Conversation::Fresh).into());
        }
        Ok(prompt)
    }

    /// The delegate of a step of the ladder; the usual one where there is none for it.
    pub(super) fn delegate(&self, step: Option<Step>) -> Arc<dyn Delegate> {
        let rung = self.plan.rungs.iter().find(|(of, _)| Some(*of) == step);
        Arc::clone(rung.map_or(&self.plan.delegate, |(_, delegate)| delegate))
    }

    async fn claim_seen_by(&self, check: CheckIndex) -> Result<Arc<Claim>, EngineError> {
        match self.machine.seen_by(check) {
            Some(seen) => self.claim_in(seen.claim).await,
            None => Ok(Arc::clone(&self.claim)),
        }
    }

    /// The claim behind a verdict, as the hooks so far left it.
    async fn claim_behind(&self, judged: &JudgedTurn) -> Result<Arc<Claim>, EngineError> {
        self.claim_in(self.machine.edited_claim().unwrap_or(judged.verified.claim)).await
    }

    /// The claim in a blob: the delegate's own is at hand, what hooks made of it is in the store.
    async fn claim_in(&self, blob: Digest) -> Result<Arc<Claim>, EngineError> {
        if Some(blob) == self.machine.claim() {
            return Ok(Arc::clone(&self.claim));
        }
        Ok(Arc::new(self.journal.claim(blob).await?.claim))
    }

    /// What the checks before a verification hook gave.
    async fn so_far(&self) -> Result<Value, EngineError> {
        let judgement = self.machine.judgement().ok_or(EngineError::Stuck)?;
        self.verdict_of(judgement.as_str(), &self.machine.findings()).await
    }

    async fn verdict(&self, judged: &JudgedTurn) -> Result<Value, EngineError> {
        let mut verdict = self.verdict_of(judged.judgement.as_str(), &judged.findings).await?;
        if let Value::Object(members) = &mut verdict {
            members.insert("code".to_owned(), judged.code.as_str().into());
            members.insert("counted".to_owned(), judged.counted.into());
        }
        Ok(verdict)
    }

    async fn verdict_of(
        &self,
        judgement: &str,
        findings: &[Option<Finding>],
    ) -> Result<Value, EngineError> {
        let mut checks = Vec::new();
        for (decl, finding) in self.machine.checks().iter().zip(findings) {
            let Some(finding) = finding else { continue };
            let (verdict, code, reason) = match finding {
                Finding::Verdict { verdict, code, .. } => {
                    let reason = reason(&self.journal, finding).await?;
                    (serde_json::to_value(verdict)?, code.as_str(), reason)
                }
                Finding::Fault { code, .. } => ("fault".into(), code.as_str(), String::new()),
                Finding::NotApplicable => {
                    ("not_applicable".into(), "not_applicable", String::new())
                }
            };
            checks.push(json!({
                "id": decl.id.as_str(), "verdict": verdict, "code": code, "reason": reason,
            }));
        }
        Ok(json!({ "verified": judgement == "pass", "judgement": judgement, "checks": checks }))
    }
}
