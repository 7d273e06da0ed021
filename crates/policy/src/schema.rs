//! The schemas of the documents, and reading a document by its schema.

mod document;
mod finding;

use std::sync::OnceLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

pub(crate) use document::{Document, read};
pub use document::{Format, MAX_DOCUMENT_BYTES};
pub use finding::{PolicyFinding, PolicyFindings, Severity};

/// The most findings of one schema that are reported.
const MAX_FINDINGS: usize = 100;

/// A JSON Schema (2020-12) of this crate. None refers to another document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Schema {
    /// An envelope.
    Envelope,
    /// A policy pack.
    Pack,
    /// One action, by the strict contract.
    Action,
    /// What a request declares about a decision. Its actions are of the strict contract, but key and
    /// rollback plan may be missing: whether they are needed is the envelope's to say.
    Decision,
}

impl Schema {
    /// All schemas.
    pub const ALL: [Self; 4] = [Self::Envelope, Self::Pack, Self::Action, Self::Decision];

    /// The schema's text. That of [`Schema::Decision`] takes its actions from [`Schema::Action`].
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Envelope => include_str!("../schemas/envelope.schema.json"),
            Self::Pack => include_str!("../schemas/pack.schema.json"),
            Self::Action => include_str!("../schemas/action.schema.json"),
            Self::Decision => include_str!("../schemas/decision.schema.json"),
        }
    }

    /// What keeps a value from fulfilling the schema; empty if it does. At most 100 findings, all of
    /// them errors. Formats are asserted: a `date-time` is a date and a time.
    #[must_use]
    pub fn findings(self, value: &Value) -> Vec<PolicyFinding> {
        let Some(validator) = self.validator() else {
            let message = "a schema of this program does not compile; report it";
            return vec![PolicyFinding::error("internal", "", message)];
        };
        if validator.is_valid(value) {
            return Vec::new();
        }
        let errors = validator.iter_errors(value).take(MAX_FINDINGS);
        let mut findings: Vec<PolicyFinding> = errors.flat_map(|error| self.told(&error)).collect();
        drop_echoes(&mut findings);
        findings
    }

    fn validator(self) -> Option<&'static Validator> {
        static COMPILED: [OnceLock<Option<Validator>>; 4] = [const { OnceLock::new() }; 4];
        let cell = COMPILED.get(self as usize)?;
        cell.get_or_init(|| {
            jsonschema::options()
                .with_pattern_options(PatternOptions::regex())
                .should_validate_formats(true)
                .build(&self.document()?)
                .ok()
        })
        .as_ref()
    }

    fn document(self) -> Option<Value> {
        let mut schema: Value = serde_json::from_str(self.text()).ok()?;
        if self == Self::Decision {
            let mut action: Value = serde_json::from_str(Self::Action.text()).ok()?;
            let members = action.get_mut("required")?.as_array_mut()?;
            members.retain(|member| member != "idempotencyKey" && member != "rollbackPlan");
            // Its own name would make it another document.
            action.as_object_mut()?.remove("$id");
            schema.get_mut("$defs")?.as_object_mut()?.insert("action".to_owned(), action);
        }
        Some(schema)
    }

    fn told(self, error: &ValidationError<'_>) -> Vec<PolicyFinding> {
        let place = error.instance_path().to_string();
        let last = place.rsplit('/').next().unwrap_or_default();
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                unexpected.iter().map(|name| self.unknown(&place, last, name)).collect()
            }
            ValidationErrorKind::Required { property } => {
                vec![missing(&place, property.as_str().unwrap_or_default())]
            }
            _ if last == "blastRadiusTier" => vec![tier_unknown(&place)],
            ValidationErrorKind::Enum { .. } if TIERS.contains(&last) => {
                vec![tier_unknown(&place)]
            }
            _ => {
                let message = format!("{}; change it", error.masked_with("the value"));
                vec![PolicyFinding::error("policy_value", place, message)]
            }
        }
    }

    fn unknown(self, place: &str, last: &str, name: &str) -> PolicyFinding {
        let pointer = under(place, name);
        if last == "blastRadiusRequirements" {
            return tier_unknown(&pointer);
        }
        let camel = camel_case(name);
        if camel != name && self.has_member(&camel) {
            let message = format!("`{name}` is not in camelCase; write `{camel}`");
            return PolicyFinding::error("policy_snake_case", pointer, message);
        }
        let message = format!("`{name}` is no member here; remove it or correct its name");
        PolicyFinding::error("policy_unknown_member", pointer, message)
    }

    fn has_member(self, name: &str) -> bool {
        let quoted = format!("\"{name}\":");
        let is_in = |schema: Self| schema.text().contains(&quoted);
        is_in(self) || (self == Self::Decision && is_in(Self::Action))
    }
}

/// Members that hold a tier or a threshold.
const TIERS: [&str; 3] = ["blastRadiusMax", "requiredAboveBlastRadius", "requireRollbackAbove"];

fn missing(place: &str, name: &str) -> PolicyFinding {
    let pointer = under(place, name);
    if name == "blastRadiusTier" {
        return tier_unknown(&pointer);
    }
    let message = format!("`{name}` is missing; add it");
    PolicyFinding::error("policy_missing_member", pointer, message)
}

fn tier_unknown(pointer: &str) -> PolicyFinding {
    let message = "not a blast radius; write one of `tiny`, `small`, `medium`, `large` \
                   (a threshold may be `none`)";
    PolicyFinding::error("tier_unknown", pointer, message)
}

/// A member that is there in snake_case is not reported as missing too.
fn drop_echoes(findings: &mut Vec<PolicyFinding>) {
    let there: Vec<String> = findings
        .iter()
        .filter(|finding| finding.code == "policy_snake_case")
        .map(|finding| {
            let (place, name) = finding.pointer.rsplit_once('/').unwrap_or(("", &finding.pointer));
            format!("{place}/{}", camel_case(name))
        })
        .collect();
    findings
        .retain(|finding| finding.code == "policy_snake_case" || !there.contains(&finding.pointer));
}

/// A JSON pointer one level down.
pub(crate) fn under(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// `deadline_ms` and `deadline-ms` as `deadlineMs`.
fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut is_raised = false;
    for c in name.chars() {
        match c {
            '_' | '-' => is_raised = !camel.is_empty(),
            c if is_raised => {
                camel.extend(c.to_uppercase());
                is_raised = false;
            }
            c => camel.push(c),
        }
    }
    camel
}
