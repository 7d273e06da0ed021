//! The state of a run as a fold over its events. Nothing else changes it.

use crate::accounting::{Accounting, WorkMarker};
use crate::delegation::stage::Stage;
use crate::{
    Answer, CheckDecl, CheckIndex, Code, Digest, Discrimination, Event, Finding, Judgement,
    Outcome, Phase, Policy, RedFirst, RunId, Subject, SubmissionId, Turn,
};

/// What is known of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) run: RunId,
    pub(crate) request: Digest,
    pub(crate) policy: Policy,
    pub(crate) checks: Vec<CheckDecl>,
    pub(crate) opened_at_ms: u64,
    /// Start of the wall time: the opening, or a human's answer that lets the run go on.
    pub(crate) wall_from_ms: u64,
    pub(crate) stage: Stage,
    pub(crate) baseline: Option<World>,
    pub(crate) red: Vec<Option<Discrimination>>,
    pub(crate) turn: Turn,
    pub(crate) current: Option<Submission>,
    pub(crate) judged: Vec<JudgedTurn>,
    pub(crate) accounting: Accounting,
    pub(crate) interruptions: u32,
    /// The last event was a resumption: what is pending is asked for a second time.
    pub(crate) is_replay: bool,
    pub(crate) failure: Option<(Outcome, Code)>,
    pub(crate) refusal: Option<Code>,
    pub(crate) ended: Option<Ending>,
    pub(crate) entries: u64,
}

/// One reading of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    /// Digest of the workspace's manifest.
    pub manifest: Digest,
    /// Digest of the judge's manifest.
    pub judge: Digest,
}

/// The claim at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Submission {
    pub(crate) turn: Turn,
    pub(crate) id: SubmissionId,
    pub(crate) candidate: Digest,
    pub(crate) claim: Digest,
    pub(crate) steps: u64,
    pub(crate) world: Option<World>,
    pub(crate) tampered: bool,
    pub(crate) progress: Vec<Progress>,
}

/// How far one check of a submission is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) tries: u32,
    /// Start of the first try, or of the resumption that found it unsettled.
    pub(crate) since_ms: u64,
    /// Start of the try in flight, or of the resumption that found it unsettled.
    pub(crate) started_ms: u64,
    pub(crate) finished_ms: u64,
    pub(crate) elapsed_ms: u64,
    pub(crate) finding: Option<Finding>,
}

/// A turn with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedTurn {
    /// The turn.
    pub turn: Turn,
    /// The submission.
    pub submission: SubmissionId,
    /// Hash of the claim's canonical form.
    pub candidate: Digest,
    /// Blob of the claim.
    pub claim: Digest,
    /// The merged verdict.
    pub judgement: Judgement,
    /// Why, in one word.
    pub code: Code,
    /// Whether it was charged as an attempt.
    pub counted: bool,
    /// The workspace that the verdict is about.
    pub world: Option<World>,
    /// The findings by check, in order; `None` for a check that was not run.
    pub findings: Vec<Option<Finding>>,
    /// Wall time by check, in milliseconds, in order; of the last try.
    pub elapsed_ms: Vec<u64>,
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

impl Submission {
    pub(crate) fn work(&self) -> WorkMarker {
        let workspace = self.world.map_or(self.candidate, |world| world.manifest);
        WorkMarker { steps: self.steps, workspace }
    }
}

impl Fold {
    pub(crate) fn open(
        at_ms: u64,
        run: RunId,
        request: Digest,
        policy: Policy,
        checks: Vec<CheckDecl>,
    ) -> Self {
        let red = vec![None; checks.len()];
        Self {
            run,
            request,
            policy,
            checks,
            opened_at_ms: at_ms,
            wall_from_ms: at_ms,
            stage: Stage::Opened,
            baseline: None,
            red,
            turn: Turn::FIRST,
            current: None,
            judged: Vec::new(),
            accounting: Accounting::default(),
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

    /// The time at which the run's own budget ends.
    pub(crate) fn deadline_ms(&self) -> Option<u64> {
        self.policy.wall_ms.map(|wall_ms| self.wall_from_ms.saturating_add(wall_ms))
    }

    /// Whether the run's own budget has ended.
    pub(crate) fn is_out_of_time(&self, now_ms: u64) -> bool {
        self.deadline_ms().is_some_and(|deadline_ms| deadline_ms <= now_ms)
    }

    /// How long the try in flight has run, in milliseconds.
    pub(crate) fn in_flight_ms(&self, check: CheckIndex, now_ms: u64) -> u64 {
        let progress = self.current.as_ref().and_then(|it| it.progress.get(check.as_usize()));
        progress.map_or(0, |progress| now_ms.saturating_sub(progress.started_ms))
    }

    /// Folds one event in. Whether it may happen was decided before.
    pub(crate) fn apply(&mut self, at_ms: u64, event: &Event) {
        self.entries = self.entries.saturating_add(1);
        self.is_replay = matches!(event, Event::RunResumed { .. });
        match event {
            Event::RunOpened { .. } => {}
            Event::WorldObserved { phase, manifest, judge } => {
                self.observed(*phase, World { manifest: *manifest, judge: *judge });
            }
            Event::WorldUnreadable { phase, code, .. } => {
                let outcome = match phase {
                    Phase::Before => Outcome::Faulted,
                    Phase::After => Outcome::Inconclusive,
                };
                self.failure = Some((outcome, code.clone()));
                self.stage = Stage::Failed;
            }
            Event::CheckStarted { phase, check, tries } => {
                self.check_started(at_ms, *phase, *check, *tries);
            }
            Event::CheckRed { check, discrimination, .. } => {
                if let Some(red) = self.red.get_mut(check.as_usize()) {
                    *red = Some(*discrimination);
                }
                let is_last = self.next_red().is_none();
                self.stage = if is_last { Stage::RedDone } else { Stage::RedReady };
            }
            Event::DelegateDispatched { turn, .. } => {
                self.turn = *turn;
                self.stage = Stage::Delegated { turn: *turn };
            }
            Event::ClaimReceived { turn, submission, candidate, claim, work, usage } => {
                self.accounting.usage = self.accounting.usage.plus(*usage);
                self.current = Some(Submission {
                    turn: *turn,
                    id: submission.clone(),
                    candidate: *candidate,
                    claim: *claim,
                    steps: *work,
                    world: None,
                    tampered: false,
                    progress: vec![Progress::default(); self.checks.len()],
                });
                self.stage = Stage::Claimed;
            }
            Event::DelegateFailed { code, .. } => {
                self.failure = Some((Outcome::DelegateFailed, code.clone()));
                self.stage = Stage::Failed;
            }
            Event::CheckFinished { check, finding, judge, elapsed_ms } => {
                self.check_finished(at_ms, *check, finding, *judge, *elapsed_ms);
            }
            Event::VerdictMerged { judgement, code, counted, reused, .. } => {
                self.verdict_merged(*judgement, code, *counted, *reused);
            }
            Event::RunResumed { interruptions } => self.resumed(at_ms, *interruptions),
            Event::Escalated { instead_of, code } => {
                self.refusal = Some(code.clone());
                self.stage = Stage::Escalated { instead_of: *instead_of };
            }
            Event::Answered { answer, .. } => self.answered(at_ms, *answer),
            Event::OutcomeDecided { outcome, code, waived } => {
                let code = code.clone();
                self.ended = Some(Ending { outcome: *outcome, code, waived: *waived, at_ms });
                self.stage = Stage::Decided { outcome: *outcome };
            }
            Event::Sealed { outcome } => self.stage = Stage::Sealed { outcome: *outcome },
        }
    }

    fn observed(&mut self, phase: Phase, world: World) {
        match phase {
            Phase::Before => {
                self.baseline = Some(world);
                self.stage = Stage::RedReady;
            }
            Phase::After => {
                let sealed = self.baseline.map(|baseline| baseline.judge);
                if let Some(current) = &mut self.current {
                    current.world = Some(world);
                    current.tampered |= sealed != Some(world.judge);
                }
                self.stage = Stage::Settled;
            }
        }
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
    ) {
        if let Some(progress) = self.progress_mut(check) {
            progress.finished_ms = at_ms;
            progress.elapsed_ms = elapsed_ms;
            progress.finding = Some(finding.clone());
        }
        let sealed = self.baseline.map(|baseline| baseline.judge);
        if let Some(current) = &mut self.current {
            current.tampered |= judge.is_some() && judge != sealed;
        }
        self.stage = Stage::Settled;
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
            judgement,
            code: code.clone(),
            counted,
            world: current.world,
            findings,
            elapsed_ms,
        });
    }

    /// A check that was in flight gets its whole time again: the crash was not its fault.
    fn resumed(&mut self, at_ms: u64, interruptions: u32) {
        self.interruptions = interruptions;
        for progress in self.current.iter_mut().flat_map(|current| &mut current.progress) {
            progress.since_ms = at_ms;
            progress.started_ms = at_ms;
        }
    }

    fn answered(&mut self, at_ms: u64, answer: Answer) {
        if let Answer::Continue { attempts } = answer {
            self.accounting.grant(attempts);
            self.wall_from_ms = at_ms;
            self.stage = Stage::Ready;
        }
    }

    fn progress_mut(&mut self, check: CheckIndex) -> Option<&mut Progress> {
        self.current.as_mut()?.progress.get_mut(check.as_usize())
    }

    /// The record of a turn that has its verdict.
    pub(crate) fn judged_turn(&self, turn: Turn) -> Option<&JudgedTurn> {
        self.judged.iter().find(|judged| judged.turn == turn)
    }
}
