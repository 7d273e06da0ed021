//! The shapes of what a host says, as JSON Schemas of our own.

use std::collections::BTreeMap;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

use crate::error::KitError;

/// Findings of one document that are told.
const MAX_FINDINGS: usize = 3;

/// A JSON Schema (2020-12). None refers to another document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Schema {
    /// What a host says of itself.
    Capabilities,
    /// One event, without its payload.
    Event,
    /// The answer to the creation of a run.
    RunCreated,
    /// Where a run is.
    RunSnapshot,
    /// The events of a run, read as JSON.
    Events,
    /// A page of them.
    Poll,
    /// Every answer that is an error.
    Error,
    /// What a run asks somebody.
    Interrupt,
    /// What a supervisor may decide.
    OrchestratorDecision,
    /// How a dispatch hands work to workers.
    DispatchConfig,
    /// A definition.
    Workflow,
    /// Where a run comes from.
    Ancestry,
    /// The answer of the verifier's seam.
    VerifyRun,
}

impl Schema {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Capabilities,
        Self::Event,
        Self::RunCreated,
        Self::RunSnapshot,
        Self::Events,
        Self::Poll,
        Self::Error,
        Self::Interrupt,
        Self::OrchestratorDecision,
        Self::DispatchConfig,
        Self::Workflow,
        Self::Ancestry,
        Self::VerifyRun,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capabilities => "capabilities",
            Self::Event => "event",
            Self::RunCreated => "run-created",
            Self::RunSnapshot => "run-snapshot",
            Self::Events => "events",
            Self::Poll => "poll",
            Self::Error => "error",
            Self::Interrupt => "interrupt",
            Self::OrchestratorDecision => "orchestrator-decision",
            Self::DispatchConfig => "dispatch-config",
            Self::Workflow => "workflow",
            Self::Ancestry => "ancestry",
            Self::VerifyRun => "verify-run",
        }
    }

    /// Its text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Capabilities => include_str!("../schemas/capabilities.schema.json"),
            Self::Event => include_str!("../schemas/event.schema.json"),
            Self::RunCreated => include_str!("../schemas/run-created.schema.json"),
            Self::RunSnapshot => include_str!("../schemas/run-snapshot.schema.json"),
            Self::Events => include_str!("../schemas/events.schema.json"),
            Self::Poll => include_str!("../schemas/poll.schema.json"),
            Self::Error => include_str!("../schemas/error.schema.json"),
            Self::Interrupt => include_str!("../schemas/interrupt.schema.json"),
            Self::OrchestratorDecision => {
                include_str!("../schemas/orchestrator-decision.schema.json")
            }
            Self::DispatchConfig => include_str!("../schemas/dispatch-config.schema.json"),
            Self::Workflow => include_str!("../schemas/workflow.schema.json"),
            Self::Ancestry => include_str!("../schemas/ancestry.schema.json"),
            Self::VerifyRun => include_str!("../schemas/verify-run.schema.json"),
        }
    }

    /// The schema of the payloads of events: one definition for each type, by its name.
    #[must_use]
    pub const fn payloads() -> &'static str {
        include_str!("../schemas/event-payloads.schema.json")
    }
}

/// All schemas, ready to be used.
pub(crate) struct Schemas {
    documents: BTreeMap<Schema, Validator>,
    payloads: BTreeMap<String, Validator>,
}

impl Schemas {
    /// Compiles them.
    pub(crate) fn load() -> Result<Self, KitError> {
        let mut documents = BTreeMap::new();
        for schema in Schema::ALL {
            let document = read(schema.name(), schema.text())?;
            documents.insert(schema, compile(schema.name(), &document)?);
        }
        let document = read("event-payloads", Schema::payloads())?;
        let types = document.get("$defs").and_then(Value::as_object);
        let mut payloads = BTreeMap::new();
        for name in types.into_iter().flat_map(|types| types.keys()) {
            let one = json!({"$ref": format!("#/$defs/{name}"), "$defs": document.get("$defs")});
            payloads.insert(name.clone(), compile("event-payloads", &one)?);
        }
        Ok(Self { documents, payloads })
    }

    /// What keeps a document from fulfilling a schema.
    pub(crate) fn fault(&self, schema: Schema, document: &Value) -> Option<String> {
        fault(self.documents.get(&schema)?, document)
    }

    /// What keeps an event from being one: its envelope, then the payload of its type. A type that is
    /// not known is none of ours to judge.
    pub(crate) fn event_fault(&self, event: &Value) -> Option<String> {
        if let Some(fault) = self.fault(Schema::Event, event) {
            return Some(fault);
        }
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let found = fault(self.payloads.get(kind)?, event.get("payload")?)?;
        Some(format!("payload of {kind}: {found}"))
    }
}

fn read(name: &'static str, text: &str) -> Result<Value, KitError> {
    serde_json::from_str(text).map_err(|error| KitError::Schema { name, why: error.to_string() })
}

fn compile(name: &'static str, document: &Value) -> Result<Validator, KitError> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .should_validate_formats(true)
        .build(document)
        .map_err(|error| KitError::Schema { name, why: error.to_string() })
}

fn fault(validator: &Validator, document: &Value) -> Option<String> {
    let errors: Vec<String> = validator
        .iter_errors(document)
        .take(MAX_FINDINGS)
        .map(|error| format!("`{}`: {}", error.instance_path(), error.masked_with("the value")))
        .collect();
    (!errors.is_empty()).then(|| errors.join("; "))
}
