//! The kit: a host, a key and the table of scenarios.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use probity_record::canonical;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::error::KitError;
use crate::filter::Filter;
use crate::http::{Ask, Http, HttpError, Who};
use crate::options::{Key, Options};
use crate::probe::{Probe, Shared};
use crate::progress::Progress;
use crate::report::{Disposition, Host, Outcome, Report};
use crate::scenario::Scenario;
use crate::scenarios;
use crate::schema::Schemas;

/// A host and everything that it can be held to.
pub struct Kit {
    http: Http,
    options: Options,
    scenarios: Vec<Scenario>,
}

impl Kit {
    /// A kit for the host at `url`, which knows `key`.
    ///
    /// # Errors
    /// [`KitError::Url`] if that is no address of a host.
    pub fn new(url: &str, key: Key, options: Options) -> Result<Self, KitError> {
        let http = Http::new(url, key, &options)?;
        Ok(Self { http, options, scenarios: scenarios::all() })
    }

    /// Every scenario, in order.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Runs the scenarios that the filter takes.
    ///
    /// # Errors
    /// [`KitError::Unreachable`] if nobody answers, [`KitError::NoScenario`] if there is nothing to run.
    /// That something does not hold is no error: the report says so.
    pub async fn run(&self, filter: &Filter, progress: &dyn Progress) -> Result<Report, KitError> {
        let chosen: Vec<Scenario> =
            self.scenarios.iter().filter(|s| filter.takes(s)).cloned().collect();
        if chosen.is_empty() {
            return Err(KitError::NoScenario { filter: filter.to_string() });
        }
        let discovery = self.discovery().await?;
        let host = self.host(&discovery);
        let shared =
            Shared::new(self.http.clone(), self.options.clone(), Schemas::load()?, discovery);
        let outcomes = self.run_all(&chosen, &Arc::new(shared), progress).await;
        Ok(Report::new(host, self.options.is_strict, outcomes))
    }

    async fn run_all(
        &self,
        chosen: &[Scenario],
        shared: &Arc<Shared>,
        progress: &dyn Progress,
    ) -> Vec<Outcome> {
        let mut waiting: VecDeque<(usize, Scenario)> = chosen.iter().cloned().enumerate().collect();
        let mut tasks = JoinSet::new();
        let mut at_work = BTreeMap::new();
        let mut outcomes: Vec<Option<Outcome>> = vec![None; chosen.len()];
        loop {
            while tasks.len() < self.options.parallel.max(1)
                && let Some((place, scenario)) = waiting.pop_front()
            {
                progress.began(&scenario);
                let task = tasks.spawn(run_one(scenario, Arc::clone(shared)));
                at_work.insert(task.id(), place);
            }
            let Some(joined) = tasks.join_next_with_id().await else { break };
            let (task, outcome) = match joined {
                Ok((task, outcome)) => (task, Some(outcome)),
                Err(error) => (error.id(), None),
            };
            let Some(place) = at_work.remove(&task) else { continue };
            let outcome = outcome.or_else(|| Some(broken(chosen.get(place)?)));
            if let (Some(slot), Some(outcome)) = (outcomes.get_mut(place), outcome) {
                progress.ended(&outcome);
                *slot = Some(outcome);
            }
        }
        outcomes.into_iter().flatten().collect()
    }

    /// What the host says of itself. An answer that is no JSON is nothing said: the scenario about it
    /// fails, and so does what needs it.
    async fn discovery(&self) -> Result<Value, KitError> {
        let ask = Ask::get("/.well-known/openwop").by(Who::Nobody);
        match self.http.send(&ask).await {
            Ok(answer) => Ok(serde_json::from_slice(&answer.body).unwrap_or_default()),
            Err(error @ HttpError::TooLarge { .. }) => {
                Err(KitError::Unreachable { why: format!("its discovery document is {error}") })
            }
            Err(error) => Err(KitError::Unreachable { why: error.to_string() }),
        }
    }

    fn host(&self, discovery: &Value) -> Host {
        let canonical = canonical::jcs(discovery).ok().filter(|_| discovery.is_object());
        Host {
            url: self.http.base().to_owned(),
            implementation: discovery.get("implementation").cloned(),
            protocol_version: discovery
                .get("protocolVersion")
                .and_then(Value::as_str)
                .map(str::to_owned),
            discovery_sha256: canonical.map(|text| hex::encode(Sha256::digest(&text))),
        }
    }
}

async fn run_one(scenario: Scenario, shared: Arc<Shared>) -> Outcome {
    let started = Instant::now();
    let options = shared.options();
    let (limit_ms, is_strict) = (options.scenario_timeout_ms, options.is_strict);
    let mut probe = Probe::new(Arc::clone(&shared), &scenario);
    let missing = shared.missing(&scenario).await;
    let disposition = if let Some(reason) = missing {
        crate::probe::Stop::Skipped { reason }.into_disposition(is_strict)
    } else {
        let limit = Duration::from_millis(limit_ms);
        match tokio::time::timeout(limit, (scenario.body)(&mut probe)).await {
            Ok(Ok(())) => held(&probe),
            Ok(Err(stop)) => stop.into_disposition(is_strict),
            Err(_) => Disposition::Failed {
                step: probe.at().to_owned(),
                expected: format!("the scenario to end within {limit_ms} ms"),
                got: "it had not ended".to_owned(),
            },
        }
    };
    let (assertions, events) = probe.counted();
    let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Outcome { disposition, assertions, events, elapsed_ms, ..blank(&scenario) }
}

/// Whatever asserts nothing has shown nothing.
fn held(probe: &Probe) -> Disposition {
    if probe.counted().0 > 0 {
        return Disposition::Passed;
    }
    Disposition::Failed {
        step: "the scenario itself".to_owned(),
        expected: "at least one assertion".to_owned(),
        got: "none: a fault of the kit, not of the host".to_owned(),
    }
}

fn broken(scenario: &Scenario) -> Outcome {
    Outcome {
        disposition: Disposition::Failed {
            step: "the scenario itself".to_owned(),
            expected: "the kit to hold".to_owned(),
            got: "it broke: a fault of the kit, not of the host".to_owned(),
        },
        ..blank(scenario)
    }
}

const fn blank(scenario: &Scenario) -> Outcome {
    Outcome {
        id: scenario.id,
        title: scenario.title,
        spec: scenario.spec,
        level: scenario.level,
        disposition: Disposition::Passed,
        assertions: 0,
        events: 0,
        elapsed_ms: 0,
    }
}
