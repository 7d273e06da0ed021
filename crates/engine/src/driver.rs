//! The loop: effects out of the machine, what they came to back in. It appends before it acts.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use probity_core::{
    Answer, CheckIndex, Claim, Code, Delegation, Effect, Entry, Fault, Input, Outcome, Phase,
    RunId, Stage, SubmissionId, Turn, Verdict,
};
use probity_delegate::{Answered, DelegateError, Prompt, Request};
use probity_record::{Chain, claim_candidate, read_records, submission_id};
use probity_store::{Store, read_run};
use probity_verifier::{CheckContext, Manifest};
use tokio_util::sync::CancellationToken;

use crate::content::{self, MAX_KEPT_BYTES, StoredAnswer, StoredClaim, StoredFault};
use crate::correction::correction;
use crate::journal::Journal;
use crate::work::{Done, Observed, Sealed, Unreadable, Wake, Work};
use crate::{Clock, EngineError, Plan};

/// Drives runs on one store.
#[derive(Clone)]
pub struct Engine {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

/// Told of every entry once it is durable. For progress on a screen; it cannot change the run.
pub trait Watch: Send + Sync {
    /// An entry is in the log.
    fn entry(&self, entry: &Entry);
}

/// A run that was driven to its end, or to the point where it waits for a human.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The run.
    pub run: RunId,
    /// How it ended; [`Outcome::Escalated`] if it waits.
    pub outcome: Outcome,
    /// Why, in one word.
    pub code: Code,
    /// The claim that is handed on: after a pass, or unchecked and labelled so.
    pub delivered: Option<Claim>,
}

impl Engine {
    /// An engine on a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Opens a run and drives it to its end.
    ///
    /// # Errors
    /// [`EngineError`] if the run could not be opened or driven on; what the log holds stays valid,
    /// and [`Engine::resume`] goes on from there. Everything that can go wrong with the work or
    /// with a check is not an error but an outcome.
    pub async fn run(
        &self,
        plan: Plan,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Ended, EngineError> {
        let mut journal = Journal::create(Arc::clone(&self.store), plan.run.clone());
        let mut blobs = Vec::new();
        let request = content::keep(&mut blobs, plan.request.clone());
        journal.stage(blobs);
        let now_ms = self.clock.now_ms();
        let (run, policy) = (plan.run.clone(), plan.policy.clone());
        let machine = Delegation::open(now_ms, run, request, policy, plan.decls())?;
        self.driver(plan, machine, journal, watch, cancel).drive().await
    }

    /// Takes up a run that was interrupted. A run that has ended is read, not driven.
    ///
    /// # Errors
    /// As [`Engine::run`]; [`EngineError::PlanDiffers`] if the plan is not that of the run.
    pub async fn resume(
        &self,
        plan: Plan,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Ended, EngineError> {
        let mut driver = self.take_up(plan, watch, cancel).await?;
        if !matches!(driver.machine.stage(), Stage::Sealed { .. }) {
            driver.machine.handle(self.clock.now_ms(), Input::Resume)?;
        }
        driver.drive().await
    }

    /// From the log to a driver that knows what the interrupted one knew.
    async fn take_up<'a>(
        &'a self,
        plan: Plan,
        watch: &'a dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Driver<'a>, EngineError> {
        let records = read_run(self.store.as_ref(), &plan.run).await?;
        let Some(last) = records.last() else { return Err(EngineError::Missing { run: plan.run }) };
        let log = read_records(&records)?;
        let machine = Delegation::replay(&log.entries)?;
        plan.check(&machine)?;
        let chain = Chain::resume(last)?;
        let journal = Journal::behind(Arc::clone(&self.store), chain);
        let mut driver = self.driver(plan, machine, journal, watch, cancel);
        driver.restore().await?;
        Ok(driver)
    }

    /// Answers a run that waits for a human, and drives it on.
    ///
    /// # Errors
    /// As [`Engine::resume`]; [`EngineError::Answer`] if the run does not wait, or the answer is out
    /// of its bounds.
    pub async fn answer(
        &self,
        plan: Plan,
        by: &str,
        answer: Answer,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Ended, EngineError> {
        let mut driver = self.take_up(plan, watch, cancel).await?;
        let mut blobs = Vec::new();
        let by = content::keep_json(&mut blobs, &StoredAnswer { by: by.to_owned() })?;
        driver.journal.stage(blobs);
        let input = Input::Answered { by, answer };
        driver.machine.handle(self.clock.now_ms(), input).map_err(EngineError::Answer)?;
        driver.drive().await
    }

    fn driver<'a>(
        &'a self,
        plan: Plan,
        machine: Delegation,
        journal: Journal,
        watch: &'a dyn Watch,
        cancel: CancellationToken,
    ) -> Driver<'a> {
        Driver {
            engine: self,
            plan,
            machine,
            journal,
            watch,
            cancel,
            work: None,
            before: Arc::default(),
            after: Arc::default(),
            claim: Arc::default(),
            session: None,
            delivered: None,
        }
    }
}

struct Driver<'a> {
    engine: &'a Engine,
    plan: Plan,
    machine: Delegation,
    journal: Journal,
    watch: &'a dyn Watch,
    cancel: CancellationToken,
    work: Option<Work>,
    before: Arc<Manifest>,
    after: Arc<Manifest>,
    claim: Arc<Claim>,
    session: Option<String>,
    delivered: Option<Claim>,
}

impl Driver<'_> {
    async fn drive(&mut self) -> Result<Ended, EngineError> {
        let result = self.turn_over().await;
        self.stop_work().await;
        result
    }

    async fn turn_over(&mut self) -> Result<Ended, EngineError> {
        loop {
            while let Some(effect) = self.machine.poll_effect() {
                self.perform(effect).await?;
            }
            if let Some(ended) = self.ended() {
                return Ok(ended);
            }
            let wake = self.wait().await?;
            self.take(wake).await?;
        }
    }

    /// What an interrupted driver knew beside its log.
    async fn restore(&mut self) -> Result<(), EngineError> {
        if let Some(world) = self.machine.baseline() {
            let sealed = self.journal.judge(world.judge).await?;
            self.plan.judge = Arc::new(self.plan.judge.as_sealed(&sealed));
            self.before = Arc::new(self.journal.manifest(world.manifest).await?);
        }
        if let Some(world) = self.machine.observed() {
            self.after = Arc::new(self.journal.manifest(world.manifest).await?);
        }
        if let Some(digest) = self.machine.claim() {
            let stored = self.journal.claim(digest).await?;
            self.claim = Arc::new(stored.claim);
            self.session = stored.session;
        }
        if self.machine.ending().is_some_and(|ending| ending.outcome.delivers()) {
            self.delivered = Some(self.claim.as_ref().clone());
        }
        Ok(())
    }

    async fn perform(&mut self, effect: Effect) -> Result<(), EngineError> {
        match effect {
            Effect::Append(entries) => {
                self.stop_work().await;
                self.append(&entries).await
            }
            Effect::Snapshot { phase } => {
                self.start(Work::observe(phase, &self.plan)).await;
                Ok(())
            }
            Effect::RunCheck {
                phase, check, submission, attempt, is_replay, timeout_ms, ..
            } => self.run_check(phase, check, submission, attempt, is_replay, timeout_ms).await,
            Effect::Dispatch { turn, attempt, max_attempts, correction, .. } => {
                self.dispatch(turn, attempt, max_attempts, correction).await
            }
            Effect::Commit { claim, .. } => {
                self.delivered = Some(self.journal.claim(claim).await?.claim);
                Ok(())
            }
            Effect::Reject { .. } | Effect::Escalate { .. } => {
                self.stop_work().await;
                Ok(())
            }
            Effect::Seal(entry) => {
                self.append(std::slice::from_ref(&entry)).await?;
                self.machine.handle(entry.at_ms, Input::Sealed)?;
                Ok(())
            }
        }
    }

    async fn append(&mut self, entries: &[Entry]) -> Result<(), EngineError> {
        self.journal.append(entries).await?;
        entries.iter().for_each(|entry| self.watch.entry(entry));
        Ok(())
    }

    async fn run_check(
        &mut self,
        phase: Phase,
        check: CheckIndex,
        submission: Option<SubmissionId>,
        attempt: u32,
        is_replay: bool,
        timeout_ms: u64,
    ) -> Result<(), EngineError> {
        let planned = self.plan.checks.get(check.as_usize()).ok_or(EngineError::Stuck)?;
        let (workspace, before) = (Arc::clone(&self.plan.workspace), Arc::clone(&self.before));
        let mut ctx = CheckContext::new(planned.decl.id.clone(), workspace, before);
        ctx.phase = phase;
        ctx.submission = submission;
        ctx.is_replay = is_replay;
        ctx.attempt = attempt;
        ctx.task = Arc::clone(&self.plan.task);
        ctx.rules = Arc::new(self.plan.snapshot.clone());
        ctx.run_started =
            SystemTime::UNIX_EPOCH + Duration::from_millis(self.machine.opened_at_ms());
        ctx.timeout = Duration::from_millis(timeout_ms);
        if phase == Phase::After {
            ctx.claim = Arc::clone(&self.claim);
            ctx.after = Arc::clone(&self.after);
        }
        let verifier = Arc::clone(&planned.verifier);
        if phase == Phase::Before {
            ctx.timeout = verifier.red_timeout(ctx.timeout);
        }
        self.start(Work::check(check, verifier, ctx, Arc::clone(&self.plan.judge))).await;
        Ok(())
    }

    async fn dispatch(
        &mut self,
        turn: Turn,
        attempt: u32,
        max_attempts: u32,
        rejected: Option<Turn>,
    ) -> Result<(), EngineError> {
        let mut prompt =
            Prompt { task: Arc::clone(&self.plan.task), correction: None, last_response: None };
        if let Some(turn) = rejected {
            let text = correction(&self.machine, &self.journal, turn).await?;
            prompt.correction = Some(text.into());
            prompt.last_response = Some(self.claim.response.as_str().into());
        }
        let request = Request {
            run: self.plan.run.clone(),
            turn,
            attempt,
            max_attempts,
            prompt,
            session: self.session.clone(),
            // The end of the run's own time is the machine's business: it stops the delegate and
            // says that the budget was the reason.
            timeout: self.plan.attempt_timeout,
            cancel: CancellationToken::new(),
        };
        self.start(Work::dispatch(Arc::clone(&self.plan.delegate), request)).await;
        Ok(())
    }

    async fn wait(&mut self) -> Result<Wake, EngineError> {
        let due_ms = self.machine.poll_timeout();
        if self.work.is_none() && due_ms.is_none() {
            return Err(EngineError::Stuck);
        }
        let now_ms = self.engine.clock.now_ms().max(self.machine.now_ms());
        let wait_ms = due_ms.map(|due_ms| due_ms.saturating_sub(now_ms));
        let timer = async {
            match wait_ms {
                Some(wait_ms) => tokio::time::sleep(Duration::from_millis(wait_ms)).await,
                None => std::future::pending().await,
            }
        };
        let work = async {
            match &mut self.work {
                Some(work) => work.done().await,
                None => std::future::pending().await,
            }
        };
        let done = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Ok(Wake::Cancel),
            done = work => done,
            () = self.journal.overtaken() => {
                return Err(EngineError::Fenced { run: self.plan.run.clone() });
            }
            () = timer => return Ok(Wake::Timer),
        };
        match (done, self.work.take()) {
            (Some(done), _) => Ok(Wake::Done(Box::new(done))),
            (None, Some(lost)) => Ok(Wake::Done(Box::new(lost.lost()))),
            (None, None) => Err(EngineError::Stuck),
        }
    }

    async fn take(&mut self, wake: Wake) -> Result<(), EngineError> {
        let input = match wake {
            Wake::Timer => Input::Timer,
            Wake::Cancel => {
                self.cancel = CancellationToken::new();
                Input::Cancel { code: Code::slug("cancelled") }
            }
            Wake::Done(done) => match *done {
                Done::Observed { phase, world } => self.observed(phase, world)?,
                Done::Checked { check, answer, judge, elapsed_ms } => {
                    self.checked(check, answer, judge, elapsed_ms)?
                }
                Done::Answered { turn, answer } => self.answered(turn, answer)?,
            },
        };
        self.machine.handle(self.engine.clock.now_ms(), input)?;
        Ok(())
    }

    fn checked(
        &mut self,
        check: CheckIndex,
        answer: Result<Verdict, Fault>,
        judge: Option<Sealed>,
        elapsed_ms: u64,
    ) -> Result<Input, EngineError> {
        let (finding, mut blobs) = content::finding(answer)?;
        let sealed = self.machine.baseline().map(|baseline| baseline.judge);
        let judge = judge.map(|judge| {
            if sealed != Some(judge.digest) {
                content::keep(&mut blobs, judge.bytes);
            }
            judge.digest
        });
        self.journal.stage(blobs);
        Ok(Input::CheckFinished { check, finding, judge, elapsed_ms })
    }

    fn observed(
        &mut self,
        phase: Phase,
        world: Result<Observed, Unreadable>,
    ) -> Result<Input, EngineError> {
        let mut blobs = Vec::new();
        let input = match world {
            Ok(observed) => {
                let manifest = content::keep(&mut blobs, observed.bytes);
                let judge = content::keep(&mut blobs, observed.judge.bytes);
                match phase {
                    Phase::Before => {
                        self.before = Arc::clone(&observed.manifest);
                        self.after = observed.manifest;
                    }
                    Phase::After => self.after = observed.manifest,
                }
                Input::Observed { phase, manifest, judge }
            }
            Err(Unreadable { code, fault }) => {
                let detail = content::keep_json(&mut blobs, &fault)?;
                Input::Unreadable { phase, code, detail }
            }
        };
        self.journal.stage(blobs);
        Ok(input)
    }

    fn answered(
        &mut self,
        turn: Turn,
        answer: Result<Answered, DelegateError>,
    ) -> Result<Input, EngineError> {
        let mut blobs = Vec::new();
        let input = match answer {
            Ok(Answered { claim, usage, session }) => {
                let session = session.or(self.session.take());
                let stored = StoredClaim { claim, session };
                let bytes = serde_json::to_vec(&stored)?;
                if bytes.len() > MAX_KEPT_BYTES {
                    let stored = StoredFault::too_large("claim", bytes.len());
                    let detail = content::keep_json(&mut blobs, &stored)?;
                    Input::DelegateFailed { turn, code: Code::slug("claim_too_large"), detail }
                } else {
                    let candidate = claim_candidate(&stored.claim);
                    self.session = stored.session;
                    self.claim = Arc::new(stored.claim);
                    Input::Claimed {
                        turn,
                        submission: submission_id(&self.plan.run, turn, &candidate),
                        candidate,
                        claim: content::keep(&mut blobs, bytes),
                        work: self.machine.usage().plus(usage).tool_calls,
                        usage,
                    }
                }
            }
            Err(error) => {
                let stored = StoredFault::new(&error.to_string(), None);
                let detail = content::keep_json(&mut blobs, &stored)?;
                Input::DelegateFailed { turn, code: Code::slug(error.code()), detail }
            }
        };
        self.journal.stage(blobs);
        Ok(input)
    }

    async fn start(&mut self, work: Work) {
        self.stop_work().await;
        self.work = Some(work);
    }

    async fn stop_work(&mut self) {
        if let Some(work) = self.work.take() {
            work.stop().await;
        }
    }

    fn ended(&self) -> Option<Ended> {
        let (outcome, code) = match self.machine.stage() {
            Stage::Sealed { outcome } => {
                let code = self.machine.ending().map(|ending| ending.code.clone());
                (outcome, code.unwrap_or_else(|| Code::slug(outcome.as_str())))
            }
            Stage::Escalated { instead_of } => {
                (Outcome::Escalated, Code::slug(instead_of.as_str()))
            }
            _ => return None,
        };
        let delivered = self.delivered.clone();
        Some(Ended { run: self.plan.run.clone(), outcome, code, delivered })
    }
}
