//! What becomes of an event: a claim is given to the run of its agent, a prompt begins one, the end of a
//! session ends one.

use std::path::Path;
use std::sync::Arc;

use probity_core::{Entry, Outcome, Stage};
use probity_engine::{Engine, EngineError, Plan, Post, Report, SystemClock, Watch};
use probity_harness::{Answer, Event, Unchecked, ended_without_claim, overridden, unseen};
use probity_store::Store;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::chain::{Chain, Identity, Link};
use super::outside::{Handed, Outside, Said, key};
use super::project::{self, Unready};
use super::{answering, deadline};
use crate::cli::CliError;
use crate::location::{Programs, StoreUrl};
use crate::{Recorded, Request};

/// How often the last run is looked at again, while an event finds its place.
const MAX_ROUNDS: u32 = 8;
/// The wait before the second try of a check whose ground truth is out of reach, in milliseconds. Short: an
/// agent waits for the answer.
const BACKOFF_MS: u64 = 50;

/// Answers the events of one agent.
pub(super) struct Gate<'a> {
    event: &'a Event,
    programs: &'a Programs,
    store: Arc<dyn Store>,
    engine: Engine,
    url: StoreUrl,
    chain: Chain,
    identity: Identity,
    unchecked: Unchecked,
    /// When checks must have ended.
    by: Instant,
}

/// Nobody watches: standard error belongs to the tool.
struct Unwatched;

impl Watch for Unwatched {
    fn entry(&self, _: &Entry) {}
}

/// What every event has in common.
pub(super) struct Given<'a> {
    pub(super) event: &'a Event,
    pub(super) programs: &'a Programs,
    pub(super) store: Arc<dyn Store>,
    pub(super) url: StoreUrl,
    pub(super) unchecked: Unchecked,
    pub(super) by: Instant,
}

impl<'a> Gate<'a> {
    pub(super) fn new(given: Given<'a>, chain: Chain, identity: Identity) -> Self {
        let Given { event, programs, store, url, unchecked, by } = given;
        let engine = Engine::new(Arc::clone(&store), Arc::new(SystemClock));
        Self { event, programs, store, engine, url, chain, identity, unchecked, by }
    }

    /// Answers a claim. `has_waited`: another event of the agent was being answered meanwhile.
    ///
    /// # Errors
    /// [`CliError`] if the store cannot be used.
    pub(super) async fn claim(&self, has_waited: bool) -> Result<Answer, CliError> {
        let mut is_given = has_waited;
        for _ in 0..MAX_ROUNDS {
            let last = self.last().await?;
            if let Some(link) = last.as_ref().filter(|link| self.is_of(link, is_given)) {
                if !link.is_open() || matches!(link.found.machine().stage(), Stage::Parked { .. }) {
                    return self.answer(link).await;
                }
                self.drive_on(link, None).await?;
                continue;
            }
            let left = last.as_ref().and_then(|link| Some((link, self.why_left(link)?)));
            if let Some((link, why)) = &left {
                self.close(link, why).await?;
            }
            is_given = true;
            let open = last.as_ref().filter(|link| link.is_open() && left.is_none());
            let is_taken = match open {
                Some(link) => self.hand_in(link).await?,
                None => false,
            };
            if !is_taken && let Some(answer) = self.open(last.as_ref()).await? {
                return Ok(answer);
            }
        }
        Err(CliError::Usage(
            "other events of this session took the run over; nothing was checked".to_owned(),
        ))
    }

    /// Begins a run, so that the workspace is seen before the work.
    ///
    /// # Errors
    /// As [`Gate::claim`]; also if the project cannot be used.
    pub(super) async fn begin(&self) -> Result<Answer, CliError> {
        let last = self.last().await?;
        if let Some(link) = last.as_ref().filter(|link| link.is_open()) {
            if link.said.is_empty() && !link.is_unseen() {
                // The user speaks while the agent works: what was seen before the work stays so.
                return Ok(Answer::Allow);
            }
            let (tool, event) = (self.event.tool.as_str(), self.event.name);
            let why = if link.is_unseen() { unseen(tool) } else { overridden(tool, event) };
            self.close(link, &why).await?;
        }
        let Some(root) = project::root(self.event) else { return Ok(Answer::Allow) };
        let Some(mut request) = project::request(self.event, &root, &self.url)? else {
            return Ok(Answer::Allow);
        };
        let run = self.chain.run(last.as_ref().map_or(1, |link| link.number + 1))?;
        request.id = Some(run.clone());
        let outside = Outside::new(self.event.tool, None);
        let plan = project::plan(&request, run, self.programs, outside)?;
        let checks = !plan.checks.is_empty();
        if checks && last.as_ref().is_none_or(|link| holds(link, &plan)) {
            self.drive(plan, Entered::New).await?;
        }
        Ok(Answer::Allow)
    }

    /// Ends the run that is open, if one is.
    ///
    /// # Errors
    /// As [`Gate::claim`].
    pub(super) async fn end(&self) -> Result<Answer, CliError> {
        if let Some(link) = self.last().await?.filter(Link::is_open) {
            let (tool, event) = (self.event.tool.as_str(), self.event.name);
            let why = match link.said.is_empty() {
                true => ended_without_claim(tool, event),
                false => overridden(tool, event),
            };
            self.close(&link, &why).await?;
        }
        Ok(Answer::Allow)
    }

    async fn last(&self) -> Result<Option<Link>, CliError> {
        self.chain.last(&self.store, &self.engine).await
    }

    /// Whether the run's last claim came with this very event: it was given to the run just now, by an event
    /// that looks the same, or before an interruption.
    fn is_of(&self, link: &Link, is_given: bool) -> bool {
        let is_same = link.said.last().is_some_and(|said| said.event == self.identity.digest);
        let is_open =
            link.is_open() && !matches!(link.found.machine().stage(), Stage::Parked { .. });
        is_same && (self.identity.is_unique || is_given || is_open)
    }

    /// Whether the run had refused a claim, and the agent stopped all the same: the tool says that this is
    /// the first stop since the user spoke.
    fn is_stale(&self, link: &Link) -> bool {
        link.is_open() && !link.said.is_empty() && self.event.is_continued == Some(false)
    }

    /// Why an open run takes no more claims.
    fn why_left(&self, link: &Link) -> Option<String> {
        let tool = self.event.tool.as_str();
        if link.is_unseen() {
            return Some(unseen(tool));
        }
        self.is_stale(link).then(|| overridden(tool, self.event.name))
    }

    /// Gives the claim to an open run. False where the run cannot be taken up again.
    async fn hand_in(&self, link: &Link) -> Result<bool, CliError> {
        let before = link.said.last();
        let machine = link.found.machine();
        let handed = self.handed(Said {
            event: self.identity.digest.clone(),
            refused: before.map_or(0, |said| said.refused + 1),
            allowed: before.map_or(machine.max_attempts(), |said| said.allowed),
            judge: before.and_then(|said| said.judge.clone()),
            sealed: before.and_then(|said| said.sealed.clone()),
        });
        let Stage::Parked { turn, .. } = machine.stage() else {
            return self.drive_on(link, Some(handed)).await;
        };
        let Some(plan) = self.recorded(link, None).await? else { return Ok(false) };
        let value = serde_json::to_value(&handed).map_err(EngineError::from)?;
        self.drive(plan, Entered::Parked(key(turn), value)).await?;
        Ok(true)
    }

    /// Takes up a run that was left in the midst.
    async fn drive_on(&self, link: &Link, handed: Option<Handed>) -> Result<bool, CliError> {
        let Some(plan) = self.recorded(link, handed).await? else { return Ok(false) };
        self.drive(plan, Entered::Left).await?;
        Ok(true)
    }

    /// Opens a run with this claim. An answer where there is nothing to check it by.
    async fn open(&self, last: Option<&Link>) -> Result<Option<Answer>, CliError> {
        let said = self.said_after(last);
        let run = self.chain.run(last.map_or(1, |link| link.number + 1))?;
        let root = project::root(self.event);
        let planned = match &root {
            Some(root) => self.plan(root, run.clone(), &said),
            None => Ok(None),
        };
        let unready = match planned {
            Ok(Some(plan)) => {
                self.drive(plan, Entered::New).await?;
                return Ok(None);
            }
            Ok(None) if said.held().is_none() => return Ok(Some(answering::no_project())),
            // There were checks, and whoever took them away is not let go for it.
            Ok(None) => Unready::tampered(),
            Err(unready) => unready,
        };
        let default = probity_core::Policy::default().max_attempts;
        let allowed = if said.allowed == 0 { default } else { said.allowed };
        let judge = match unready.is_tampering() {
            true => said.held().cloned(),
            false => said.judge.clone(),
        };
        let said = Said { allowed, judge, ..said };
        let root = root.unwrap_or_else(|| self.event.cwd.clone());
        let mut request = project::unready_request(self.event, &root);
        request.id = Some(run.clone());
        let outside = Outside::new(self.event.tool, Some(self.handed(said)));
        let plan = project::unready_plan(&request, run, outside, unready)?;
        self.drive(plan, Entered::New).await?;
        Ok(None)
    }

    /// What is kept of this event in a new run. The bounds of a run that could not check a claim go on.
    fn said_after(&self, last: Option<&Link>) -> Said {
        let ended = |link: &Link, is_held: fn(Outcome) -> bool| link.outcome().is_some_and(is_held);
        let goes_on = |link: &&Link| match self.event.is_continued {
            Some(true) => ended(link, |outcome| outcome != Outcome::Verified),
            Some(false) => false,
            None => ended(link, answering::may_go_on),
        };
        // One that is open could not be taken up: what its plan needs is gone.
        let is_stuck = |link: &Link| link.is_open() && !self.is_stale(link);
        let since = last.filter(|link| is_stuck(link) || goes_on(link));
        let before = since.and_then(|link| link.said.last());
        Said {
            event: self.identity.digest.clone(),
            refused: before.map_or(0, |said| said.refused + 1),
            allowed: before.map_or(0, |said| said.allowed),
            judge: last.and_then(Link::held_judge).map(|judge| judge.to_string()),
            sealed: since.and_then(Link::sealed_judge).map(|judge| judge.to_string()),
        }
    }

    fn plan(
        &self,
        root: &Path,
        run: probity_core::RunId,
        said: &Said,
    ) -> Result<Option<Plan>, Unready> {
        let unready = |error: CliError| Unready::from(&error);
        let Some(mut request) = project::request(self.event, root, &self.url).map_err(unready)?
        else {
            return Ok(None);
        };
        if project::compares(&request) {
            return Err(Unready::new("hook_no_baseline", NO_BASELINE));
        }
        request.id = Some(run.clone());
        let mut said = said.clone();
        let policy = request.policy().map_err(|error| unready(error.into()))?;
        if said.allowed == 0 {
            said.allowed = policy.max_attempts;
        }
        let left = said.allowed.saturating_sub(said.refused).max(1);
        request.max_verify_retries = Some(i64::from(left - 1));
        let held = said.held().cloned();
        let outside = Outside::new(self.event.tool, Some(self.handed(said)));
        let plan = project::plan(&request, run, self.programs, outside).map_err(unready)?;
        if held.is_some_and(|held| plan.judge.look().digest().to_string() != held) {
            return Err(Unready::tampered());
        }
        Ok(Some(plan))
    }

    fn handed(&self, said: Said) -> Handed {
        Handed { response: self.event.text.clone(), said }
    }

    /// The plan of a run as it was opened. `None` where what it needs is gone: another one is opened.
    async fn recorded(
        &self,
        link: &Link,
        handed: Option<Handed>,
    ) -> Result<Option<Plan>, CliError> {
        let Recorded { request, bytes, .. } =
            Recorded::read(self.store.as_ref(), &link.run).await?;
        let outside = Outside::new(self.event.tool, handed);
        let plan = self.plan_of(&request, link, outside);
        Ok(plan.map(|plan| Plan { request: bytes, ..plan }))
    }

    fn plan_of(&self, request: &Request, link: &Link, outside: Outside) -> Option<Plan> {
        project::plan(request, link.run.clone(), self.programs, outside).ok()
    }

    /// Drives a run until it waits for the next claim, or has ended. Whoever else drives it is not
    /// disturbed: what it comes to is read again.
    async fn drive(&self, mut plan: Plan, entered: Entered) -> Result<(), CliError> {
        deadline::bound(&mut plan, self.by);
        plan.policy.verify_backoff_ms = plan.policy.verify_backoff_ms.min(BACKOFF_MS);
        let cancel = CancellationToken::new();
        let driven = match entered {
            Entered::New => self.engine.run(plan, &Unwatched, cancel).await,
            Entered::Left => self.engine.resume(plan, &Unwatched, cancel).await,
            Entered::Parked(about, value) => {
                let by = self.event.tool.as_str();
                self.engine.wake(plan, &about, by, value, &Unwatched, cancel).await
            }
        };
        match driven {
            Ok(_)
            | Err(
                EngineError::Fenced { .. }
                | EngineError::Exists { .. }
                | EngineError::NotParked { .. },
            ) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a run as cancelled, with why.
    async fn close(&self, link: &Link, why: &str) -> Result<(), CliError> {
        let post = Post::Cancel { by: self.event.tool.to_string(), text: why.to_owned() };
        match self.engine.post(&link.run, &post).await {
            Ok(_) | Err(EngineError::Answer(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(plan) = self.recorded(link, None).await? else { return Ok(()) };
        let cancel = CancellationToken::new();
        cancel.cancel();
        match self.engine.resume(plan, &Unwatched, cancel).await {
            Ok(_) | Err(EngineError::Fenced { .. } | EngineError::PlanDiffers { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn answer(&self, link: &Link) -> Result<Answer, CliError> {
        let report = Report::read(self.store.as_ref(), &link.run).await?;
        let said = link.said.last().cloned();
        Ok(answering::answer(&report, said.as_ref(), self.unchecked))
    }
}

/// How a run is entered.
enum Entered {
    New,
    Left,
    Parked(String, serde_json::Value),
}

const NO_BASELINE: &str = "a check compares with the workspace as it was before the work, and nobody looked \
    at it then: the hook for prompts is not installed, the claim is of a sub-agent or a task, or the run \
    that had seen it has ended; leave out created, changed, newer_than and changes_only";

/// Whether the judge's files are what they were, where they were seen to change in this session.
fn holds(link: &Link, plan: &Plan) -> bool {
    link.held_judge().is_none_or(|held| plan.judge.look().digest() == held)
}
