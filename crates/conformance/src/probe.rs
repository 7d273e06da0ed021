//! What a scenario has in its hands: the host, and a count of what it asserted.

mod run;
mod shared;

use std::fmt::Display;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::http::{Answer, Ask, Stream, excerpt};
use crate::report::Disposition;
use crate::scenario::{Need, Scenario};
use crate::schema::Schema;

pub(crate) use run::{child_values, resolving};
pub(crate) use shared::Shared;

/// Why a scenario ends before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Something does not hold.
    Failed { step: String, expected: String, got: String },
    /// The host does not say that it does this.
    Skipped { reason: String },
}

/// One scenario at work.
pub(crate) struct Probe {
    shared: Arc<Shared>,
    id: &'static str,
    needs: &'static [Need],
    step: String,
    assertions: u64,
    events: u64,
    names: u64,
}

impl Probe {
    pub(crate) fn new(shared: Arc<Shared>, scenario: &Scenario) -> Self {
        let (id, needs) = (scenario.id, scenario.needs);
        Self { shared, id, needs, step: "begin".to_owned(), assertions: 0, events: 0, names: 0 }
    }

    /// Whether the scenario said that it needs this.
    pub(crate) fn needs(&self, need: &Need) -> bool {
        self.needs.contains(need)
    }

    pub(crate) const fn counted(&self) -> (u64, u64) {
        (self.assertions, self.events)
    }

    /// Where the scenario is: named if something does not hold.
    pub(crate) fn step(&mut self, step: impl Into<String>) {
        self.step = step.into();
    }

    pub(crate) fn at(&self) -> &str {
        &self.step
    }

    pub(crate) fn discovery(&self) -> &Value {
        self.shared.discovery()
    }

    /// What the host says at a place of its discovery document.
    pub(crate) fn claimed(&self, pointer: &str) -> Option<&Value> {
        crate::scenario::family(self.discovery(), pointer)
    }

    /// Ends the scenario: something does not hold.
    pub(crate) fn failed(&self, expected: impl Into<String>, got: impl Display) -> Stop {
        let got = excerpt(&got.to_string());
        Stop::Failed { step: self.step.clone(), expected: expected.into(), got }
    }

    /// Asserts that something holds.
    pub(crate) fn holds(
        &mut self,
        is_so: bool,
        expected: &str,
        got: impl Display,
    ) -> Result<(), Stop> {
        self.assertions += 1;
        if is_so { Ok(()) } else { Err(self.failed(expected, got)) }
    }

    /// Asserts that two values are equal.
    pub(crate) fn equal(
        &mut self,
        what: &str,
        expected: &Value,
        got: Option<&Value>,
    ) -> Result<(), Stop> {
        let told = got.map_or_else(|| "nothing".to_owned(), Value::to_string);
        self.holds(got == Some(expected), &format!("{what} to be {expected}"), told)
    }

    /// Asserts that a value fits a schema.
    pub(crate) fn fits(&mut self, schema: Schema, value: &Value) -> Result<(), Stop> {
        let fault = self.shared.schemas().fault(schema, value);
        let expected = format!("what the schema `{}` allows", schema.name());
        self.holds(fault.is_none(), &expected, fault.unwrap_or_default())
    }

    /// Asserts that a value does not fit a schema.
    pub(crate) fn fits_not(&mut self, schema: Schema, value: &Value) -> Result<(), Stop> {
        let fault = self.shared.schemas().fault(schema, value);
        let expected = format!("what the schema `{}` refuses", schema.name());
        self.holds(fault.is_some(), &expected, value)
    }

    /// Asserts that an event is one, payload and all.
    pub(crate) fn is_event(&mut self, event: &Value) -> Result<(), Stop> {
        self.events += 1;
        match self.shared.schemas().event_fault(event) {
            None => Ok(()),
            Some(fault) => {
                let kind = event.get("type").and_then(Value::as_str).unwrap_or("no type");
                Err(self.failed(format!("an event that its schema allows ({kind})"), fault))
            }
        }
    }

    /// The opposite, for the shapes that must be refused.
    pub(crate) fn is_no_event(&mut self, event: &Value) -> Result<(), Stop> {
        let fault = self.shared.schemas().event_fault(event);
        self.holds(fault.is_some(), "an event that its schema refuses", event)
    }

    /// Sends a request. That an answer comes at all, in time and within bounds, is asserted here.
    pub(crate) async fn ask(&mut self, ask: &Ask) -> Result<Answer, Stop> {
        let answer = self.shared.http().send(ask).await;
        let answer =
            answer.map_err(|error| self.failed(format!("an answer to {}", ask.told()), error))?;
        self.watch(&ask.told(), &answer.body)?;
        Ok(answer)
    }

    /// Opens a stream of events.
    pub(crate) async fn open(&mut self, ask: &Ask) -> Result<(Answer, Stream), Stop> {
        let opened = self.shared.http().open(ask).await;
        opened.map_err(|error| self.failed(format!("an answer to {}", ask.told()), error))
    }

    /// Sends a request that must be answered well, with JSON.
    pub(crate) async fn get(&mut self, ask: &Ask, statuses: &[u16]) -> Result<Value, Stop> {
        let answer = self.ask(ask).await?;
        self.is_status(ask, &answer, statuses)?;
        self.json(&answer)
    }

    /// Sends a request that must be refused, with the envelope of errors. No codes: any will do.
    pub(crate) async fn refused(
        &mut self,
        ask: &Ask,
        statuses: &[u16],
        codes: &[&str],
    ) -> Result<Value, Stop> {
        let answer = self.ask(ask).await?;
        self.is_refusal(ask, &answer, statuses, codes)
    }

    /// Asserts that an answer is a refusal in the envelope of errors.
    pub(crate) fn is_refusal(
        &mut self,
        ask: &Ask,
        answer: &Answer,
        statuses: &[u16],
        codes: &[&str],
    ) -> Result<Value, Stop> {
        self.is_status(ask, answer, statuses)?;
        let envelope = self.json(answer)?;
        self.fits(Schema::Error, &envelope)?;
        let code = envelope.get("error").and_then(Value::as_str).unwrap_or_default();
        if !codes.is_empty() {
            self.holds(codes.contains(&code), &format!("error to be one of {codes:?}"), code)?;
        }
        Ok(envelope)
    }

    /// Asserts the status of an answer.
    pub(crate) fn is_status(
        &mut self,
        ask: &Ask,
        answer: &Answer,
        statuses: &[u16],
    ) -> Result<(), Stop> {
        let expected = format!("status {statuses:?} to {}", ask.told());
        let got = format!("{}: {}", answer.status, answer.excerpt());
        self.holds(statuses.contains(&answer.status), &expected, got)
    }

    /// The JSON of an answer.
    pub(crate) fn json(&self, answer: &Answer) -> Result<Value, Stop> {
        serde_json::from_slice(&answer.body)
            .map_err(|error| self.failed("JSON", format!("{error}: {}", answer.excerpt())))
    }

    /// Posts to a test seam or an optional route; a host that does not serve it is skipped.
    pub(crate) async fn optional(&mut self, ask: &Ask, statuses: &[u16]) -> Result<Value, Stop> {
        let answer = self.served(ask).await?;
        self.is_status(ask, &answer, statuses)?;
        self.json(&answer)
    }

    /// The answer of a test seam or an optional route; a host that does not serve it is skipped.
    pub(crate) async fn served(&mut self, ask: &Ask) -> Result<Answer, Stop> {
        let answer = self.ask(ask).await?;
        if matches!(answer.status, 403 | 404 | 405 | 501) {
            let reason = format!("{} is not served (status {})", ask.told(), answer.status);
            return Err(Stop::Skipped { reason });
        }
        Ok(answer)
    }

    /// A text that nobody can know beforehand, another one each time.
    pub(crate) fn name(&mut self) -> String {
        self.names += 1;
        let text = format!("{}\u{0}{}\u{0}{}", self.shared.options().mark, self.id, self.names);
        let digest = hex::encode(Sha256::digest(text.as_bytes()));
        format!("probity-{}", digest.get(..32).unwrap_or(&digest))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whatever the scenario is about: no answer gives the key away.
    fn watch(&self, asked: &str, body: &[u8]) -> Result<(), Stop> {
        if self.shared.http().is_told_in(body) {
            return Err(self.failed(
                "an answer without the caller's key",
                format!("the key, in the answer to {asked}"),
            ));
        }
        Ok(())
    }
}

impl Stop {
    /// What came of the scenario that ended so.
    pub(crate) fn into_disposition(self, is_strict: bool) -> Disposition {
        match self {
            Self::Failed { step, expected, got } => Disposition::Failed { step, expected, got },
            Self::Skipped { reason } if is_strict => Disposition::Failed {
                step: "what the host advertises".to_owned(),
                expected: "everything, since the run is strict".to_owned(),
                got: reason,
            },
            Self::Skipped { reason } => Disposition::Skipped { reason },
        }
    }
}
