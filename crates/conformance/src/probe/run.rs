//! Runs, as scenarios begin, follow and read them.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Probe, Stop};
use crate::http::{Answer, Ask};
use crate::log::Log;
use crate::scenario::Need;
use crate::schema::Schema;

/// Between two looks at a run: first and last.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LAST_WAIT: Duration = Duration::from_millis(200);
/// States that a run does not leave.
const ENDED: [&str; 3] = ["completed", "failed", "cancelled"];
/// States that it leaves only if somebody does something.
const STILL: [&str; 4] = ["waiting-approval", "waiting-input", "waiting-external", "paused"];

impl Probe {
    /// Begins a run. `extra` is whatever its creation holds beside the workflow. A scenario names what it
    /// runs: otherwise it would hold or not by which other scenario had the host take the workflow in.
    pub(crate) async fn create(
        &mut self,
        workflow: &'static str,
        extra: Value,
    ) -> Result<String, Stop> {
        if !self.needs(&Need::Fixture(workflow)) {
            return Err(self.failed(
                format!("the scenario to say that it needs {workflow}"),
                "it does not: a fault of the kit, not of the host",
            ));
        }
        let mut body = Map::from_iter([("workflowId".to_owned(), json!(workflow))]);
        body.extend(extra.as_object().cloned().unwrap_or_default());
        let ask = Ask::post("/v1/runs", &Value::Object(body));
        let answer = self.ask(&ask).await?;
        self.created(&ask, &answer)
    }

    /// The run that an answer says was created.
    pub(crate) fn created(&mut self, ask: &Ask, answer: &Answer) -> Result<String, Stop> {
        self.is_status(ask, answer, &[201])?;
        let created = self.json(answer)?;
        self.fits(Schema::RunCreated, &created)?;
        Ok(created.get("runId").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    /// Where a run is.
    pub(crate) async fn snapshot(&mut self, run: &str) -> Result<Value, Stop> {
        let snapshot = self.get(&Ask::get(format!("/v1/runs/{run}")), &[200]).await?;
        self.fits(Schema::RunSnapshot, &snapshot)?;
        Ok(snapshot)
    }

    /// Waits until a run has that status.
    pub(crate) async fn reach(&mut self, run: &str, status: &str) -> Result<Value, Stop> {
        self.wait(run, &format!("run {run} to be `{status}`"), |now| now == status).await
    }

    /// Waits until a run has ended.
    pub(crate) async fn ended(&mut self, run: &str) -> Result<Value, Stop> {
        self.wait(run, &format!("run {run} to end"), |now| ENDED.contains(&now)).await
    }

    /// Waits until a run has ended or waits for somebody.
    pub(crate) async fn settled(&mut self, run: &str) -> Result<Value, Stop> {
        let is_still = |now: &str| ENDED.contains(&now) || STILL.contains(&now);
        self.wait(run, &format!("run {run} to end or to wait"), is_still).await
    }

    /// Begins a run, waits for that status and reads its log.
    pub(crate) async fn run(
        &mut self,
        workflow: &'static str,
        extra: Value,
        status: &str,
    ) -> Result<(Value, Log), Stop> {
        self.step(format!("run {workflow}"));
        let run = self.create(workflow, extra).await?;
        let snapshot = self.reach(&run, status).await?;
        let log = self.log(&run).await?;
        self.step(format!("what {workflow} left"));
        Ok((snapshot, log))
    }

    /// The log of a run. Every event of it is held to its schema, to its run and to its place.
    pub(crate) async fn log(&mut self, run: &str) -> Result<Log, Stop> {
        let ask = Ask::get(format!("/v1/runs/{run}/events"));
        let read = self.get(&ask, &[200]).await?;
        self.fits(Schema::Events, &read)?;
        let events = read.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
        self.checked(run, events)
    }

    /// Events that were read of a run, each held to its schema, to its run and to its place.
    pub(crate) fn checked(&mut self, run: &str, events: Vec<Value>) -> Result<Log, Stop> {
        let mut last = None;
        for event in &events {
            self.is_event(event)?;
            let sequence = event.get("sequence").and_then(Value::as_u64);
            if sequence <= last {
                return Err(self.failed("`sequence` to grow with every event", event));
            }
            if event.get("runId").and_then(Value::as_str) != Some(run) {
                return Err(self.failed(format!("events of run {run} only"), event));
            }
            last = sequence;
        }
        Ok(Log::new(events))
    }

    /// Answers a node that waits.
    pub(crate) async fn resolve(
        &mut self,
        run: &str,
        node: &str,
        value: Value,
    ) -> Result<Answer, Stop> {
        let ask = resolving(run, node, value);
        let answer = self.ask(&ask).await?;
        self.is_status(&ask, &answer, &[200])?;
        Ok(answer)
    }

    /// Stops a run, whatever it is at.
    pub(crate) async fn cancel(&mut self, run: &str) -> Result<Value, Stop> {
        let ask =
            Ask::post(format!("/v1/runs/{run}/cancel"), &json!({"reason": "the scenario is over"}));
        self.get(&ask, &[200]).await
    }

    /// A value of a run's variables.
    pub(crate) fn variable<'a>(&self, snapshot: &'a Value, name: &str) -> Option<&'a Value> {
        snapshot.get("variables").and_then(|variables| variables.get(name))
    }

    /// The node that a run waits at.
    pub(crate) fn waiting_node(&mut self, snapshot: &Value) -> Result<String, Stop> {
        let node = snapshot.get("currentNodeId").and_then(Value::as_str).unwrap_or_default();
        self.holds(!node.is_empty(), "`currentNodeId` to name the node that waits", snapshot)?;
        Ok(node.to_owned())
    }

    async fn wait(
        &mut self,
        run: &str,
        expected: &str,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<Value, Stop> {
        let limit = Duration::from_millis(self.shared().options().settle_timeout_ms);
        let deadline = Instant::now() + limit;
        let mut pause = FIRST_WAIT;
        loop {
            let snapshot = self.snapshot(run).await?;
            let status = snapshot.get("status").and_then(Value::as_str).unwrap_or_default();
            if is_there(status) {
                return Ok(snapshot);
            }
            if ENDED.contains(&status) || Instant::now() >= deadline {
                let error = snapshot.get("error").map(Value::to_string).unwrap_or_default();
                return Err(self.failed(expected, format!("`{status}` {error}")));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_WAIT);
        }
    }
}

/// A request that answers a node.
pub(crate) fn resolving(run: &str, node: &str, value: Value) -> Ask {
    Ask::post(format!("/v1/runs/{run}/interrupts/{node}"), &json!({"resumeValue": value}))
}

/// What a child left under a name, for each child of a log in order.
pub(crate) async fn child_values(p: &mut Probe, log: &Log, name: &str) -> Result<Vec<Value>, Stop> {
    let mut values = Vec::new();
    for child in log.children() {
        let snapshot = p.snapshot(child).await?;
        values.push(p.variable(&snapshot, name).cloned().unwrap_or_default());
    }
    Ok(values)
}
