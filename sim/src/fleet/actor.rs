//! Those who work and those who check, as the script has them; they write down what they really do.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Claim, Event, Fault, Phase, RunId, Verdict};
use probity_delegate::{
    Answered, Conversation, Delegate, DelegateError, Kept, Note, Parked, Request, Spent,
};
use probity_engine::{Check, Clock, Plan};
use probity_store::Pool;
use probity_verifier::{CheckContext, NoFacts, Verifier, Workspace};
use probity_worker::{Fleet, FleetError, PlanError, Planner};
use serde_json::Value;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::faulty::FaultyStore;
use super::invariant::{Defect, Invariant};
use super::job::{FleetJob, wait_key, wait_place};
use super::life::Life;
use super::truth::{Truth, What};
use crate::{Does, Says, Sight, TurnScript};

/// How often a delegate tries to submit a child before it gives up for now.
const MAX_SUBMITS: u32 = 20;

/// A clock that is off.
pub(crate) struct Skewed {
    pub(crate) truth: Arc<Truth>,
    pub(crate) life: Arc<Life>,
}

impl Clock for Skewed {
    fn now_ms(&self) -> u64 {
        self.truth.clock_ms(self.life.skew_ms())
    }
}

/// What one process has at hand: its store, its clock, its plans.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) truth: Arc<Truth>,
    pub(crate) life: Arc<Life>,
}

impl Desk {
    pub(crate) fn store(&self) -> Arc<FaultyStore> {
        Arc::new(FaultyStore { truth: Arc::clone(&self.truth), life: Arc::clone(&self.life) })
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(Skewed { truth: Arc::clone(&self.truth), life: Arc::clone(&self.life) })
    }

    pub(crate) fn fleet(&self) -> Fleet {
        Fleet::new(self.store(), self.clock())
    }

    /// The plan of a run.
    pub(crate) fn plan(&self, job: &Arc<FleetJob>) -> Plan {
        let checks = job.script.checks.iter().enumerate().map(|(index, decl)| {
            let verifier = ScriptedCheck { desk: self.clone(), job: Arc::clone(job), index };
            Check::verifier(decl.clone(), Arc::new(verifier))
        });
        let work = ScriptedWork { desk: self.clone(), job: Arc::clone(job) };
        let workspace = Arc::new(Workspace::none());
        Plan {
            policy: job.script.policy.clone(),
            checks: checks.collect(),
            parent: job.parent.clone(),
            request: format!("{{\"task\":\"{}\"}}", job.run).into_bytes(),
            ..Plan::new(job.run.clone(), "do it", Arc::new(work), workspace, Arc::new(NoFacts))
        }
    }

    /// Time passes for this process. False if it was told to stop first.
    async fn spend(&self, ms: u64, cancel: &CancellationToken) -> bool {
        let is_whole = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            () = sleep(Duration::from_millis(ms)) => true,
        };
        self.life.pass().await;
        is_whole
    }

    /// An act is about to be done: the process may die here.
    async fn acts(&self) {
        if self.life.step() {
            self.truth.trace(&self.life, "dies at work");
            self.life.die();
            self.truth.ends_all_of(&self.life);
        }
        self.life.pass().await;
    }
}

#[async_trait]
impl Planner for Desk {
    async fn plan(&self, run: &RunId, request: Vec<u8>) -> Result<Plan, PlanError> {
        self.life.pass().await;
        let code = || probity_core::Code::slug("no_plan");
        if self.truth.chance(self.truth.faults().plan_failures) {
            self.truth.lock().tally.plan_failures += 1;
            let message = "the schedule says so".to_owned();
            return Err(match self.truth.chance(200) {
                true => PlanError::Never { code: code(), message },
                false => PlanError::Later { code: code(), message },
            });
        }
        let job = self.truth.job(run);
        let job = job.ok_or_else(|| PlanError::Never { code: code(), message: run.to_string() })?;
        let plan = self.plan(&job);
        if plan.request != request {
            self.truth.breach(Invariant::ChainWhole, format!("{run}: another request"));
        }
        Ok(plan)
    }
}

struct ScriptedWork {
    desk: Desk,
    job: Arc<FleetJob>,
}

#[async_trait]
impl Delegate for ScriptedWork {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        self.desk.acts().await;
        let number = request.turn.number;
        let _doing = self.begin(request);
        let Some(happens) = self.job.script.turn(number) else {
            return Err(DelegateError::Failed { message: "no turns".to_owned() });
        };
        let from = self.beats_done(request).await?;
        for (place, beat) in happens.beats.iter().enumerate().skip(from) {
            self.spend(beat.took_ms, request).await?;
            match beat.does {
                Does::Notes(kind, usage) => {
                    self.calls_model(number, place);
                    let content = wait_key(number, place).into_bytes();
                    request.notes.keep(Note { kind, content, usage }).await?;
                    self.desk.life.pass().await;
                }
                Does::Sleeps(for_ms) => {
                    let now_ms = self.desk.truth.clock_ms(self.desk.life.skew_ms());
                    let until_ms = now_ms + self.job.scaled(for_ms);
                    return Err(self.waits(number, place, Some(until_ms), Vec::new()));
                }
                Does::Asks(_) => {
                    let children = self.job.children(number, place);
                    for child in &children {
                        self.submit(child, request).await?;
                    }
                    return Err(self.waits(number, place, None, children));
                }
                Does::Dies => {
                    let died = (self.job.run.clone(), number, place);
                    if self.desk.truth.lock().died.insert(died) {
                        let message = "the script says so".to_owned();
                        return Err(DelegateError::Lost { message });
                    }
                }
            }
        }
        self.spend(happens.took_ms, request).await?;
        self.answers(number, happens)
    }

    fn conversation(&self) -> Conversation {
        Conversation::Same
    }

    fn describe(&self) -> String {
        "scripted".to_owned()
    }

    fn yields(&self) -> bool {
        self.job.yields
    }
}

impl ScriptedWork {
    fn begin(&self, request: &Request) -> super::truth::Doing {
        let (truth, life, run) = (&self.desk.truth, &self.desk.life, &self.job.run);
        let (turn, attempt, number) = (request.turn, request.attempt, request.turn.number);
        let (_, is_stale) = truth.standing(life, run);
        let state = truth.lock();
        let log = state.logs.get(run);
        let asked = Event::DelegateDispatched { turn, attempt, step: None };
        let is_own = |event: &&Event| {
            matches!(
                event,
                Event::DelegateNoted { .. }
                    | Event::DelegateParked { .. }
                    | Event::DelegateWoken { .. }
            )
        };
        let last = log.and_then(|log| log.steps().find(|event| !is_own(event))).cloned();
        let waits = log.map_or(0, |log| log.waits(number));
        let has_claim = log.is_some_and(|log| log.has_claim(number));
        let what = What::Ask { turn: number, waits };
        let again = state.again(run, &what);
        drop(state);
        if !is_stale && has_claim {
            truth
                .breach(Invariant::CallsOnce, format!("{run}: claim of turn {number} asked again"));
        } else if !is_stale && last.as_ref() != Some(&asked) {
            let what = format!("{run}: turn {number} asked behind {last:?}");
            truth.breach(Invariant::Announced, what);
        }
        let is_told = request.is_replay && !truth.has(Defect::HidesReplays);
        if again && !is_told && !is_stale {
            truth.breach(Invariant::ReplaysTold, format!("{run}: {what:?} again"));
        }
        truth.begin(life, run, what)
    }

    /// What nobody has to do again, by the notes and by the answer that it is given.
    async fn beats_done(&self, request: &Request) -> Result<usize, DelegateError> {
        let (truth, life, run) = (&self.desk.truth, &self.desk.life, &self.job.run);
        let number = request.turn.number;
        let kept = match truth.has(Defect::ForgetsNotes) {
            true => Vec::new(),
            false => request.notes.read().await?,
        };
        life.pass().await;
        let places = kept.iter().filter_map(|Kept { content, .. }| {
            wait_place(std::str::from_utf8(content).ok()?).filter(|(turn, _)| *turn == number)
        });
        let waited = request.answer.as_ref().and_then(|answer| wait_place(&answer.key));
        let waited = waited.filter(|(turn, _)| *turn == number);
        let done = places.chain(waited).map(|(_, place)| place + 1).max().unwrap_or(0);
        if let (Some(answer), Some((turn, place))) = (&request.answer, waited) {
            self.hears_children(turn, place, &answer.value);
        }
        let (_, is_stale) = truth.standing(life, run);
        let recorded = truth.lock().logs.get(run).map_or(0, |log| log.notes(number));
        let given = kept.iter().filter(|kept| kept.turn == request.turn).count();
        if !is_stale && given != recorded && !truth.has(Defect::ForgetsNotes) {
            let what = format!("{run}: given {given} of {recorded} notes of turn {number}");
            truth.breach(Invariant::CallsOnce, what);
        }
        Ok(done)
    }

    /// The answer names every child once, with how it ended.
    fn hears_children(&self, turn: u32, place: usize, value: &Value) {
        let beats = self.job.script.turn(turn).map(|turn| turn.beats.as_slice());
        let beat = beats.and_then(|beats| beats.get(place));
        let children = match beat.map(|beat| beat.does) {
            Some(Does::Asks(_)) => self.job.children(turn, place),
            _ => Vec::new(),
        };
        if children.is_empty() {
            return;
        }
        let text = value.to_string();
        let state = self.desk.truth.lock();
        let wrong = children.iter().find(|child| {
            let log = state.logs.get(*child);
            let outcome = log.and_then(|log| match log.entries.last().map(|entry| &entry.event) {
                Some(Event::Sealed { outcome }) => Some(*outcome),
                _ => None,
            });
            let named = text.matches(&format!("\"{child}\"")).count();
            let told = outcome.is_some_and(|outcome| text.contains(outcome.as_str()));
            // A dead letter that was revived may turn out to have no run: its submission was refused.
            let is_dead = state.buried.contains(*child)
                && (text.contains("dead_lettered")
                    || log.is_none() && text.contains("run_missing"));
            named != 1 || !(told || is_dead)
        });
        let wrong = wrong.cloned();
        drop(state);
        if let Some(child) = wrong {
            let what = format!("{}: told {text} of {child}", self.job.run);
            self.desk.truth.breach(Invariant::ChildrenOnce, what);
        }
    }

    /// A call of the model that somebody pays for: never one whose note is in the log.
    fn calls_model(&self, turn: u32, place: usize) {
        let (truth, life, run) = (&self.desk.truth, &self.desk.life, &self.job.run);
        let (_, is_stale) = truth.standing(life, run);
        let notes = |job: &FleetJob| {
            let beats = job.script.turn(turn).map(|turn| turn.beats.as_slice()).unwrap_or_default();
            let notes = beats.iter().take(place);
            notes.filter(|beat| matches!(beat.does, Does::Notes(..))).count()
        };
        let mut state = truth.lock();
        state.tally.model_calls += 1;
        let recorded = state.logs.get(run).map_or(0, |log| log.notes(turn));
        drop(state);
        if !is_stale && recorded > notes(&self.job) {
            let what =
                format!("{run}: call {turn}-{place} again, with {recorded} notes of the turn");
            truth.breach(Invariant::CallsOnce, what);
        }
    }

    fn waits(
        &self,
        turn: u32,
        place: usize,
        until_ms: Option<u64>,
        children: Vec<RunId>,
    ) -> DelegateError {
        self.desk.truth.lock().tally.waits += 1;
        let question = if until_ms.is_none() { "may I?" } else { "" }.to_owned();
        DelegateError::Parked(Parked { key: wait_key(turn, place), until_ms, question, children })
    }

    async fn submit(&self, child: &RunId, request: &Request) -> Result<(), DelegateError> {
        let job = self.desk.truth.job_of(child, Some(&self.job.run));
        let plan = self.desk.plan(&job);
        for tries in 0..MAX_SUBMITS {
            let fleet = self.desk.fleet();
            let pool = Pool::default();
            let submitted = tokio::select! {
                biased;
                () = request.cancel.cancelled() => return Err(DelegateError::Cancelled),
                submitted = fleet.submit(&plan, &pool, Duration::ZERO) => submitted,
            };
            match submitted {
                Ok(_) | Err(FleetError::Buried { .. }) => return Ok(()),
                Err(_) => self.spend(u64::from(tries) * 10 + 10, request).await?,
            }
        }
        Err(DelegateError::Lost { message: "no child could be submitted".to_owned() })
    }

    /// Time passes; an error where the delegate is to stop.
    async fn spend(&self, ms: u64, request: &Request) -> Result<(), DelegateError> {
        match self.desk.spend(self.job.scaled(ms), &request.cancel).await {
            true => Ok(()),
            false => Err(DelegateError::Cancelled),
        }
    }

    fn answers(&self, turn: u32, happens: &TurnScript) -> Result<Answered, DelegateError> {
        let mut candidate = match happens.says {
            Says::Done(candidate) => candidate,
            Says::Nothing => {
                return Err(DelegateError::Failed { message: "the script says so".to_owned() });
            }
            Says::Spent => return Err(DelegateError::Budget(Spent::ModelCalls)),
        };
        if self.desk.truth.has(Defect::MixesClaims) {
            candidate = u8::try_from(turn % 2).unwrap_or(0);
        }
        let claim = Claim::text(format!("done {candidate}"));
        Ok(Answered { usage: happens.usage(), ..Answered::of(claim) })
    }
}

struct ScriptedCheck {
    desk: Desk,
    job: Arc<FleetJob>,
    index: usize,
}

impl ScriptedCheck {
    /// In which turn, which try: by the log.
    fn begin(&self, ctx: &CheckContext) -> (super::truth::Doing, Option<u32>, u32) {
        let (truth, life, run) = (&self.desk.truth, &self.desk.life, &self.job.run);
        let (_, is_stale) = truth.standing(life, run);
        let state = truth.lock();
        let log = state.logs.get(run);
        let turn = ctx.submission.as_ref().and_then(|of| {
            log?.entries.iter().find_map(|entry| match &entry.event {
                Event::ClaimReceived { turn, submission, .. } if submission == of => {
                    Some(turn.number)
                }
                _ => None,
            })
        });
        let last = log.and_then(|log| log.steps().next()).cloned();
        let started = log.into_iter().flat_map(|log| log.steps()).find_map(|event| match event {
            Event::CheckStarted { phase, check, tries }
                if *phase == ctx.phase && check.as_usize() == self.index =>
            {
                Some(*tries)
            }
            _ => None,
        });
        let tries = started.unwrap_or(1);
        let is_announced = matches!(&last, Some(Event::CheckStarted { phase, check, .. })
            if *phase == ctx.phase && check.as_usize() == self.index);
        let is_placed = (ctx.phase == Phase::After) == turn.is_some();
        let what = What::Look { turn, check: self.index, tries };
        let again = state.again(run, &what);
        let is_judged = log.is_some_and(|log| {
            log.entries.iter().any(|entry| matches!(&entry.event, Event::VerdictMerged { submission, .. } if Some(submission) == ctx.submission.as_ref()))
        });
        drop(state);
        if !is_stale && is_judged {
            truth.breach(Invariant::CallsOnce, format!("{run}: {what:?} behind its verdict"));
        } else if !(is_stale || is_announced && is_placed) {
            truth.breach(Invariant::Announced, format!("{run}: {what:?} behind {last:?}"));
        }
        let is_told = ctx.is_replay && !truth.has(Defect::HidesReplays);
        if again && !is_told && !is_stale {
            truth.breach(Invariant::ReplaysTold, format!("{run}: {what:?} again"));
        }
        (truth.begin(life, run, what), turn, tries)
    }
}

#[async_trait]
impl Verifier for ScriptedCheck {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        self.desk.acts().await;
        let (_doing, turn, tries) = self.begin(ctx);
        let saw = match turn {
            None => self.job.script.red.get(self.index).copied(),
            Some(turn) => self.job.script.sight(turn, self.index, tries),
        };
        let saw = saw.ok_or_else(|| Fault::new("script_lost", "no such check"))?;
        if !self.desk.spend(self.job.scaled(saw.took_ms), &ctx.cancel).await {
            return Ok(Verdict::inconclusive("cancelled", "told to stop"));
        }
        let code = saw.sight.code();
        match saw.sight {
            Sight::Good | Sight::Moot => Ok(Verdict::pass()),
            Sight::Bad => Ok(Verdict::revise(code, "the file is not there")),
            Sight::Wrong => Ok(Verdict::fail(code, "no")),
            Sight::Away | Sight::Late | Sight::Cut | Sight::Overrun | Sight::Silent => {
                Ok(Verdict::inconclusive(code, "no answer"))
            }
            Sight::Broken => Err(Fault::new(code, "broken")),
        }
    }

    fn yields(&self) -> bool {
        self.job.yields
    }
}
