//! What all scenarios of a run have in common.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::sync::Mutex;

use crate::fixture;
use crate::http::{Ask, Http, Who};
use crate::options::Options;
use crate::scenario::{Need, Scenario};
use crate::schema::Schemas;

/// The host and what is known of it.
pub(crate) struct Shared {
    http: Http,
    options: Options,
    schemas: Schemas,
    discovery: Value,
    /// What keeps a fixture from being run, by its id; asked once.
    fixtures: Mutex<BTreeMap<&'static str, Option<String>>>,
}

impl Shared {
    pub(crate) fn new(http: Http, options: Options, schemas: Schemas, discovery: Value) -> Self {
        Self { http, options, schemas, discovery, fixtures: Mutex::default() }
    }

    pub(crate) const fn http(&self) -> &Http {
        &self.http
    }

    pub(crate) const fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) const fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    pub(crate) const fn discovery(&self) -> &Value {
        &self.discovery
    }

    /// What a scenario needs and the host does not have.
    pub(crate) async fn missing(&self, scenario: &Scenario) -> Option<String> {
        for need in scenario.needs {
            let missing = match need {
                Need::Fixture(id) => self.fixture_fault(id).await,
                Need::OtherTenant => self
                    .options
                    .other_tenant
                    .is_none()
                    .then(|| "no key of another tenant was given".to_owned()),
                Need::Receiver => {
                    let reason = || "no address to receive webhooks at was given".to_owned();
                    self.options.receiver.is_none().then(reason)
                }
                other => other.missing_in(&self.discovery),
            };
            if missing.is_some() {
                return missing;
            }
        }
        None
    }

    /// Makes sure that a fixture can be run: the host has it, or takes it.
    async fn fixture_fault(&self, id: &'static str) -> Option<String> {
        let mut known = self.fixtures.lock().await;
        if let Some(fault) = known.get(id) {
            return fault.clone();
        }
        let fault = self.provide(id).await;
        known.insert(id, fault.clone());
        fault
    }

    async fn provide(&self, id: &str) -> Option<String> {
        let listed = self.discovery.get("fixtures").and_then(Value::as_array);
        if listed.is_some_and(|listed| listed.iter().any(|name| name == id)) {
            return None;
        }
        let there = self.http.send(&Ask::get(format!("/v1/workflows/{id}"))).await;
        if there.is_ok_and(|answer| answer.status == 200) {
            return None;
        }
        let Some(definition) = fixture::definition(id) else {
            return Some(format!("workflow {id} is not known"));
        };
        let ask = Ask::post_text("/v1/workflows", definition).by(Who::Owner);
        match self.http.send(&ask).await {
            Ok(answer) if matches!(answer.status, 200 | 201 | 204 | 409) => None,
            Ok(answer) => Some(format!(
                "workflow {id} is not advertised, and cannot be registered (status {})",
                answer.status
            )),
            Err(error) => {
                Some(format!("workflow {id} is not advertised, and cannot be registered ({error})"))
            }
        }
    }
}
