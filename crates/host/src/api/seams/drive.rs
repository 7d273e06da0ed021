//! A run that a door of the suite begins and waits for.

use std::sync::Arc;

use probity_core::RunId;
use probity_workflow::{Bounds, Definition, Entry, Event, Input, Owner, Start, Status};
use serde_json::{Map, Value};

use crate::call::{Call, millis};
use crate::error::{Failure, Reason};
use crate::ids::uuid_v7;
use crate::tenant;

/// How long it may take, in milliseconds.
const SETTLE_MS: u64 = 15_000;
/// Events of it that are looked at.
const MAX_EVENTS: usize = 2_000;

/// A run, begun as every run is.
pub(super) struct Driven {
    pub(super) run: RunId,
}

impl Driven {
    pub(super) async fn begin(
        call: &Call,
        definition: Definition,
        inputs: Map<String, Value>,
        bounds: Bounds,
    ) -> Result<Self, Failure> {
        let caller = call.caller()?;
        let run = tenant::run_id(&caller.tenant, uuid_v7(&*call.host.ids, call.host.now_ms()));
        let start = Start {
            definition,
            inputs,
            owner: Owner {
                tenant: caller.tenant.clone(),
                workspace: None,
                principal: Some(caller.principal.clone()),
            },
            origin: None,
            tags: Vec::new(),
            metadata: Map::new(),
            bounds,
            terms: call.host.config.terms,
        };
        call.host.runs.begin(&run, start).await?;
        Ok(Self { run })
    }

    /// Waits until the run has ended, or somebody is asked behind that many events; where it is then, and
    /// everything that happened.
    pub(super) async fn settled(
        &self,
        call: &Call,
        behind: u64,
    ) -> Result<(Status, Vec<Arc<Entry>>), Failure> {
        let late = |_| Failure::new(Reason::Unavailable, "the run did not settle in time");
        let waiting = tokio::time::timeout(millis(SETTLE_MS), self.wait(call, behind));
        waiting.await.map_err(late)??;
        let missing = || Failure::missing("run", self.run.as_str());
        let snapshot = call.host.runs.snapshot(&self.run).await?.ok_or_else(missing)?;
        let page = call.host.runs.entries(&self.run, 0, MAX_EVENTS).await?.ok_or_else(missing)?;
        Ok((snapshot.status, page.entries))
    }

    /// Answers what the run waits for.
    pub(super) async fn answer(&self, call: &Call, value: Value) -> Result<(), Failure> {
        let snapshot = call.host.runs.snapshot(&self.run).await?;
        let waiting = snapshot.and_then(|snapshot| snapshot.interrupts.into_iter().next());
        let Some((node, _)) = waiting else { return Ok(()) };
        let by = call.caller()?.principal.clone();
        call.host.runs.tell(&self.run, Input::Resolve { node, value, by, interrupt: None }).await?;
        Ok(())
    }

    async fn wait(&self, call: &Call, behind: u64) -> Result<(), Failure> {
        let Some(mut follow) = call.host.runs.follow(&self.run, behind).await? else {
            return Ok(());
        };
        while let Some(entry) = follow.next().await? {
            if entry.event.is_terminal() || matches!(entry.event, Event::InterruptRequested(_)) {
                return Ok(());
            }
        }
        Ok(())
    }
}
