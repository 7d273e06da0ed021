//! The state of a run as a fold over its events. Nothing else changes it.

use crate::accounting::Accounting;
use crate::delegation::degrade::Degraded;
use crate::delegation::hooks::Hooks;
use crate::delegation::stage::Stage;
use crate::delegation::submission::{JudgedTurn, Presented, Progress, Submission, World};
use crate::{
    Answer, Charter, CheckDecl, CheckIndex, Code, Digest, Discrimination, Event, Finding,
    HookDecision, HookIndex, HookPoint, Judgement, Noted, Outcome, Parking, Phase, Policy,
    RedFirst, Rewrite, RunId, Steered, Step, Subject, Terms, Trigger, Turn, Usage, Woken,
};

/// What is known of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) run: RunId,
    pub(crate) request: Digest,
    pub(crate) policy: Policy,
    pub(crate) checks: Vec<CheckDecl>,
    pub(crate) hooks: Hooks,
    pub(crate) terms: Option<Terms>,
    pub(crate) parent: Option<RunId>,
    /// The epoch of the last lease.
    pub(crate) epoch: u64,
    /// Since when nobody drives the run, by the word of whoever did last.
    pub(crate) released_ms: Option<u64>,
    pub(crate) cancel_requested: Option<Digest>,
    pub(crate) steers: Vec<Steered>,
    pub(crate) opened_at_ms: u64,
    /// Start of the wall time: the opening, or a human's answer that lets the run go on.
    pub(crate) wall_from_ms: u64,
    pub(crate) stage: Stage,
    pub(crate) baseline: Option<World>,
    pub(crate) red: Vec<Option<Discrimination>>,
    /// The round at work, or the last one.
    pub(crate) turn: Turn,
    /// The round that is dispatched next.
    pub(crate) upcoming: Turn,
    /// When the round at work was dispatched, or the resumption that found it unanswered.
    pub(crate) dispatched_ms: u64,
    pub(crate) degraded: Vec<Degraded>,
    pub(crate) is_approved: bool,
    pub(crate) current: Option<Submission>,
    pub(crate) judged: Vec<JudgedTurn>,
    pub(crate) accounting: Accounting,
    /// What the delegates of this run wrote down, oldest first.
    pub(crate) notes: Vec<Noted>,
    pub(crate) parking: Option<Parking>,
    /// How often its delegates waited.
    pub(crate) waits: usize,
    pub(crate) woken: Option<Woken>,
    pub(crate) interruptions: u32,
    /// The last event was a resumption: what is pending is asked for a second time.
    pub(crate) is_replay: bool,
    pub(crate) failure: Option<(Outcome, Code)>,
    pub(crate) refusal: Option<Code>,
    pub(crate) ended: Option<Ending>,
    pub(crate) entries: u64,
}

/// How the run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The outcome.
    pub outcome: Outcome,
    /// Why, in one word.
    pub code: Code,
    /// A named human overrode the refusal.
    pub waived: bool,
    /// When it was decided, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

impl Fold {
    pub(crate) fn open(at_ms: u64, run: RunId, request: Digest, charter: Charter) -> Self {
        let Charter { policy, checks, hooks, terms, parent } = charter;
        let red = vec![None; checks.len()];
        Self {
            run,
            request,
            policy,
            checks,
            hooks: Hooks::new(hooks),
            terms,
            parent,
            epoch: 0,
            released_ms: None,
            cancel_requested: None,
            steers: Vec::new(),
            opened_at_ms: at_ms,
            wall_from_ms: at_ms,
            stage: Stage::Opened,
            baseline: None,
            red,
            turn: Turn::FIRST,
            upcoming: Turn::FIRST,
            dispatched_ms: at_ms,
            degraded: Vec::new(),
            is_approved: false,
            current: None,
            judged: Vec::new(),
            accounting: Accounting::default(),
            notes: Vec::new(),
            parking: None,
            waits: 0,
            woken: None,
            interruptions: 0,
            is_replay: false,
            failure: None,
            refusal: None,
            ended: None,
            entries: 1,
        }
    }

    /// The next check of the red run.
    pub(crate) fn next_red(&self) -> Option<usize> {
        if self.policy.red_first == RedFirst::Off {
            return None;
        }
        let mut checks = self.checks.iter().zip(&self.red);
        checks.position(|(decl, red)| decl.subject == Subject::World && red.is_none())
    }

    /// How a check stands after the red run.
    pub(crate) fn discrimination(&self, check: usize) -> Discrimination {
        let exempt = self.policy.red_first == RedFirst::Off
            || self.checks.get(check).is_none_or(|decl| decl.subject != Subject::World);
        if exempt {
            return Discrimination::Exempt;
        }
        self.red.get(check).copied().flatten().unwrap_or(Discrimination::NotAssessed)
    }

    /// The step that a round fell back to for a reason.
    pub(crate) fn degraded(&self, turn: Turn, trigger: Trigger) -> Option<Step> {
        let mut degraded = self.degraded.iter();
        degraded.find(|it| it.turn == turn && it.trigger == trigger).map(|it| it.step)
    }

    /// The step whose delegate acts.
    pub(crate) fn acting_step(&self) -> Option<Step> {
        let mut steps = self.degraded.iter().map(|degraded| degraded.step);
        steps.rfind(|step| !step.is_safe())
    }

    /// Folds one event in. Whether it may happen was decided before.
    pub(crate) fn apply(&mut self, at_ms: u64, event: &Event) {
        self.entries = self.entries.saturating_add(1);
        let was_attended = self.is_attended();
        let released_ms = match event.is_beside() {
            true => self.released_ms,
            false => self.released_ms.take(),
        };
        if !event.is_aside() {
            self.is_replay = matches!(event, Event::RunResumed { .. });
        }
        match event {
            Event::RunOpened { .. } => {}
            Event::WorldObserved { phase, manifest, judge } => {
                self.observed(at_ms, *phase, World { manifest: *manifest, judge: *judge });
            }
            Event::WorldUnreadable { phase: Phase::Before, code, .. } => {
                self.failed(Outcome::Faulted, code);
            }
            Event::WorldUnreadable { phase: Phase::After, code, .. } => {
                self.failed(Outcome::Inconclusive, code);
            }
            Event::CheckStarted { phase, check, tries } => {
                self.check_started(at_ms, *phase, *check, *tries);
            }
            Event::CheckRed { check, discrimination, .. } => {
                self.check_red(*check, *discrimination);
            }
            Event::HookCalled { hook, turn } => self.hook_called(at_ms, *hook, *turn),
            Event::HookAnswered { hook, decision, .. } => self.hook_answered(*hook, decision),
            Event::DegradeChosen { turn, trigger, step } => self.fell_back(*turn, *trigger, *step),
            Event::DelegateDispatched { .. }
            | Event::ClaimReceived { .. }
            | Event::DelegateNoted { .. }
            | Event::DelegateParked { .. }
            | Event::DelegateWoken { .. }
            | Event::DelegateFailed { .. } => self.of_delegate(at_ms, event),
            Event::CheckFinished { check, finding, judge, elapsed_ms, rewrite } => {
                self.check_finished(at_ms, *check, finding, *judge, *elapsed_ms, *rewrite);
            }
            Event::CheckAwaits { check, until_ms, .. } => {
                self.check_awaits(at_ms, *check, *until_ms)
            }
            Event::CheckAnswered { check, finding, judge, .. } => {
                self.check_answered(at_ms, *check, finding, *judge);
            }
            Event::VerdictMerged { judgement, code, counted, reused, .. } => {
                self.verdict_merged(*judgement, code, *counted, *reused);
            }
            Event::RunResumed { interruptions } => self.resumed(at_ms, *interruptions),
            Event::LeaseTaken { epoch, interruptions, .. } => {
                self.leased(at_ms, *epoch, *interruptions, was_attended, released_ms);
            }
            Event::RunReleased => self.released_ms = Some(at_ms),
            Event::CancelRequested { by } => self.cancel_requested = Some(*by),
            Event::Steered { content } => {
                self.steers.push(Steered { turn: self.turn, content: *content });
            }
            Event::Escalated { instead_of, code } => {
                self.refusal = Some(code.clone());
                self.stage = Stage::Escalated { instead_of: *instead_of };
            }
            Event::Answered { answer, .. } => self.answered(at_ms, *answer),
            Event::OutcomeDecided { outcome, code, waived } => {
                self.decided(at_ms, *outcome, code, *waived);
            }
            Event::Sealed { outcome } => self.stage = Stage::Sealed { outcome: *outcome },
        }
    }

    fn of_delegate(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::DelegateDispatched { turn, .. } => self.dispatched(at_ms, *turn),
            Event::ClaimReceived { turn, submission, candidate, claim, work, usage } => {
                let (id, checks) = (submission.clone(), self.checks.len());
                let seen = Presented { candidate: *candidate, claim: *claim };
                let claimed = Submission::new(*turn, id, seen, *work, at_ms, checks);
                self.claimed(claimed, *usage);
            }
            Event::DelegateNoted { turn, kind, content, usage } => {
                self.accounting.usage = self.accounting.usage.plus(*usage);
                self.notes.push(Noted { turn: *turn, kind: *kind, content: *content });
            }
            Event::DelegateParked { turn, until_ms, detail } => {
                self.parked(at_ms, *turn, *until_ms, *detail);
            }
            Event::DelegateWoken { turn, answer } => self.woken(at_ms, *turn, *answer),
            Event::DelegateFailed { code, .. } if is_budget(code) => {
                self.failed(Outcome::Exhausted, code);
            }
            Event::DelegateFailed { code, .. } => self.failed(Outcome::DelegateFailed, code),
            _ => {}
        }
    }

    fn fell_back(&mut self, turn: Turn, trigger: Trigger, step: Step) {
        self.degraded.push(Degraded { turn, trigger, step });
        if !step.is_safe() {
            self.hooks.another_acts(turn);
        }
    }

    fn failed(&mut self, outcome: Outcome, code: &Code) {
        self.failure = Some((outcome, code.clone()));
        self.stage = Stage::Failed;
    }

    fn observed(&mut self, at_ms: u64, phase: Phase, world: World) {
        match phase {
            Phase::Before => {
                self.baseline = Some(world);
                self.stage = Stage::RedReady;
            }
            Phase::After => {
                let sealed = self.baseline.map(|baseline| baseline.judge);
                if let Some(current) = &mut self.current {
                    current.world = Some(world);
                    current.observed_ms = at_ms;
                    current.tampered |= sealed != Some(world.judge);
                }
                self.stage = Stage::Settled;
            }
        }
    }

    fn claimed(&mut self, claimed: Submission, usage: Usage) {
        self.accounting.usage = self.accounting.usage.plus(usage);
        self.current = Some(claimed);
        self.stage = Stage::Claimed;
    }

    fn parked(&mut self, at_ms: u64, turn: Turn, until_ms: Option<u64>, detail: Digest) {
        self.parking = Some(Parking { turn, until_ms, detail, since_ms: at_ms });
        self.waits = self.waits.saturating_add(1);
        self.stage = Stage::Parked { turn, until_ms };
    }

    /// The time of a wait is neither the run's nor the round's.
    fn woken(&mut self, at_ms: u64, turn: Turn, answer: Option<Digest>) {
        if let Some(Parking { detail, since_ms, .. }) = self.parking.take() {
            let waited_ms = at_ms.saturating_sub(since_ms);
            self.wall_from_ms = self.wall_from_ms.saturating_add(waited_ms);
            self.dispatched_ms = self.dispatched_ms.saturating_add(waited_ms);
            self.woken = Some(Woken { turn, detail, answer });
        }
        self.stage = Stage::Delegated { turn };
    }

    fn dispatched(&mut self, at_ms: u64, turn: Turn) {
        self.turn = turn;
        self.upcoming = turn.next();
        self.dispatched_ms = at_ms;
        self.stage = Stage::Delegated { turn };
    }

    fn check_red(&mut self, check: CheckIndex, discrimination: Discrimination) {
        if let Some(red) = self.red.get_mut(check.as_usize()) {
            *red = Some(discrimination);
        }
        let is_last = self.next_red().is_none();
        self.stage = if is_last { Stage::RedDone } else { Stage::RedReady };
    }

    fn check_awaits(&mut self, at_ms: u64, check: CheckIndex, until_ms: u64) {
        if let Some(progress) = self.progress_mut(check) {
            (progress.tries, progress.since_ms) = (1, at_ms);
        }
        self.stage = Stage::Awaiting { check, until_ms };
    }

    fn check_started(&mut self, at_ms: u64, phase: Phase, check: CheckIndex, tries: u32) {
        if phase == Phase::Before {
            self.stage = Stage::RedChecking { check, tries };
            return;
        }
        if let Some(progress) = self.progress_mut(check) {
            progress.tries = tries;
            progress.started_ms = at_ms;
            if tries == 1 {
                progress.since_ms = at_ms;
            }
        }
        self.stage = Stage::Checking { check, tries };
    }

    fn check_finished(
        &mut self,
        at_ms: u64,
        check: CheckIndex,
        finding: &Finding,
        judge: Option<Digest>,
        elapsed_ms: u64,
        rewrite: Option<Rewrite>,
    ) {
        self.forget_behind(check, finding, rewrite);
        if let Some(progress) = self.progress_mut(check) {
            progress.finished_ms = at_ms;
            progress.elapsed_ms = elapsed_ms;
            progress.finding = Some(finding.clone());
            progress.rewrite = rewrite;
        }
        let was_awaited = matches!(self.stage, Stage::Awaiting { .. });
        if was_awaited {
            self.waited(at_ms, check);
        }
        judge.into_iter().for_each(|judge| self.judge_seen(judge));
        self.stage = Stage::Settled;
    }

    /// The judge's files were looked at again.
    fn judge_seen(&mut self, judge: Digest) {
        let sealed = self.baseline.map(|baseline| baseline.judge);
        if let Some(current) = &mut self.current {
            current.tampered |= Some(judge) != sealed;
        }
    }

    /// Hooks and humans behind a check saw the claim and the verdict as they were.
    fn forget_behind(&mut self, check: CheckIndex, finding: &Finding, rewrite: Option<Rewrite>) {
        let Some(current) = &mut self.current else {
            return;
        };
        let before = current.progress.get(check.as_usize());
        let is_same = before.is_some_and(|it| it.finding.as_ref() == Some(finding));
        if is_same && rewrite.is_none() {
            return;
        }
        let behind = check.as_usize().saturating_add(1);
        let progress = current.progress.iter_mut().zip(&self.checks).skip(behind);
        progress
            .filter(|(_, decl)| matches!(decl.subject, Subject::Hook | Subject::Human))
            .for_each(|(progress, _)| *progress = Progress::default());
    }

    fn check_answered(&mut self, at_ms: u64, check: CheckIndex, finding: &Finding, judge: Digest) {
        self.waited(at_ms, check);
        self.judge_seen(judge);
        if let Some(progress) = self.progress_mut(check) {
            progress.finished_ms = at_ms;
            progress.elapsed_ms = at_ms.saturating_sub(progress.since_ms);
            progress.finding = Some(finding.clone());
        }
        self.stage = Stage::Settled;
    }

    /// The time that a human took is not the run's.
    fn waited(&mut self, at_ms: u64, check: CheckIndex) {
        let since_ms = self.progress_mut(check).map_or(at_ms, |progress| progress.since_ms);
        let waited_ms = at_ms.saturating_sub(since_ms);
        self.wall_from_ms = self.wall_from_ms.saturating_add(waited_ms);
    }

    fn hook_called(&mut self, at_ms: u64, hook: HookIndex, turn: Turn) {
        self.hooks.called(at_ms, self.stage);
        self.stage = Stage::Hooking { hook, turn };
    }

    fn hook_answered(&mut self, hook: HookIndex, decision: &HookDecision) {
        let Stage::Hooking { turn, .. } = self.stage else {
            return;
        };
        let ending = self.hooks.answered(hook, turn, decision);
        self.failure = ending.filter(|(outcome, _)| !self.is_milder(hook, *outcome));
        self.stage = if self.failure.is_some() { Stage::Failed } else { self.hooks.behind };
    }

    /// Whether a hook behind a verdict would end the run as less than the verdict is: a broken
    /// verifier stays one, and a refusal is not softened by a hook that could not tell.
    fn is_milder(&self, hook: HookIndex, outcome: Outcome) -> bool {
        let is_behind = self.hooks.point(hook) == Some(HookPoint::AttemptEnd);
        let last = self.judged.last().filter(|_| is_behind);
        match last.map(|last| last.judgement) {
            Some(Judgement::Fault) => true,
            Some(Judgement::Fail) => outcome == Outcome::Inconclusive,
            _ => false,
        }
    }

    fn verdict_merged(
        &mut self,
        judgement: Judgement,
        code: &Code,
        counted: bool,
        reused: Option<Turn>,
    ) {
        self.stage = Stage::Judged;
        let Some(current) = self.current.take() else {
            return;
        };
        let work = current.work();
        let verified = current.presented();
        let (mut findings, mut elapsed_ms): (Vec<_>, Vec<_>) = current
            .progress
            .into_iter()
            .map(|progress| (progress.finding, progress.elapsed_ms))
            .unzip();
        if let Some(earlier) = reused.and_then(|turn| self.judged_turn(turn)) {
            findings.clone_from(&earlier.findings);
            elapsed_ms = vec![0; earlier.elapsed_ms.len()];
        }
        self.accounting.judged(current.turn, judgement, counted, current.candidate, work);
        self.judged.push(JudgedTurn {
            turn: current.turn,
            submission: current.id,
            candidate: current.candidate,
            claim: current.claim,
            verified,
            judgement,
            code: code.clone(),
            counted,
            world: current.world,
            findings,
            elapsed_ms,
        });
    }

    fn answered(&mut self, at_ms: u64, answer: Answer) {
        if let Answer::Continue { attempts } = answer {
            self.accounting.grant(attempts);
            self.wall_from_ms = at_ms;
            self.is_approved = true;
            self.stage = Stage::Ready;
        }
    }

    fn decided(&mut self, at_ms: u64, outcome: Outcome, code: &Code, waived: bool) {
        self.parking = None;
        self.ended = Some(Ending { outcome, code: code.clone(), waived, at_ms });
        self.stage = Stage::Decided { outcome };
    }

    fn progress_mut(&mut self, check: CheckIndex) -> Option<&mut Progress> {
        self.current.as_mut()?.progress.get_mut(check.as_usize())
    }

    /// The record of a turn that has its verdict.
    pub(crate) fn judged_turn(&self, turn: Turn) -> Option<&JudgedTurn> {
        self.judged.iter().find(|judged| judged.turn == turn)
    }
}

/// Whether a delegate failed because a budget that it kept was used up.
fn is_budget(code: &Code) -> bool {
    matches!(code.as_str(), "budget_tokens" | "budget_tool_calls" | "budget_model_calls")
}
