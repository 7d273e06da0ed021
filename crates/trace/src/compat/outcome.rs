//! What the original's checks come to: failures in its order, and its report.

use probity_report::{Place, Rule};
use serde_json::json;

use super::canonical::{fingerprint, object, string};
use super::json::Value;
use super::text::Text;
use super::{CHECKS, CompatError};

/// The most bytes of messages that one report may come to.
pub const MAX_MESSAGE_BYTES: usize = 1 << 28;

/// Checks that repeat their messages in the report.
const TELLING: [&str; 3] = ["core_invariants", "tool_linkage", "required_steps"];

/// Takes failures in the original's order.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    failures: Vec<CompatFailure>,
    message_bytes: usize,
}

/// One failure.
#[derive(Debug, Clone)]
pub(super) struct CompatFailure {
    pub(super) rule: &'static Rule,
    pub(super) place: Place,
    pub(super) message: Text,
}

impl Outcome {
    /// Adds a failure.
    ///
    /// # Errors
    /// [`CompatError::Limit`] beyond [`MAX_MESSAGE_BYTES`].
    pub(super) fn add(
        &mut self,
        rule: &'static Rule,
        place: Place,
        message: Text,
    ) -> Result<(), CompatError> {
        self.message_bytes = self.message_bytes.saturating_add(message.bytes().len());
        if self.message_bytes > MAX_MESSAGE_BYTES {
            let max = MAX_MESSAGE_BYTES as u64;
            return Err(CompatError::Limit { what: "bytes of messages", max });
        }
        self.failures.push(CompatFailure { rule, place, message });
        Ok(())
    }

    /// The failures.
    pub(super) fn failures(&self) -> &[CompatFailure] {
        &self.failures
    }

    /// The original's id of its report.
    ///
    /// # Errors
    /// [`CompatError::Raised`] if a message holds a lone surrogate: the original does not get here.
    pub(super) fn id(&self) -> Result<String, CompatError> {
        let check = |name: &&str| {
            object([
                ("details", self.details(name).map_or(Value::Null, Value::Text)),
                ("metrics", object([])),
                ("name", string(name)),
                ("passed", Value::Bool(!self.has_failed(name))),
            ])
        };
        let failure = |failure: &CompatFailure| {
            object([
                ("invariant_id", failure.rule.invariant_id.map_or(Value::Null, string)),
                ("message", Value::Text(failure.message.clone())),
                ("severity", string("error")),
            ])
        };
        let report = object([
            ("checks", Value::List(CHECKS.iter().map(check).collect())),
            ("failures", Value::List(self.failures.iter().map(failure).collect())),
        ]);
        fingerprint(&report).ok_or(CompatError::Raised { exception: "UnicodeEncodeError" })
    }

    /// The original's report, under its id.
    pub(super) fn report(&self, id: &str) -> serde_json::Value {
        let check = |name: &&str| {
            json!({
                "name": name,
                "passed": !self.has_failed(name),
                "details": self.details(name).map(|text| text.lossy().into_owned()),
                "metrics": {},
            })
        };
        let failure = |failure: &CompatFailure| {
            json!({
                "severity": "error",
                "message": failure.message.lossy(),
                "invariant_id": failure.rule.invariant_id,
            })
        };
        let failed = CHECKS.iter().filter(|name| self.has_failed(name)).count();
        let count = |count: usize| count.to_string().parse::<f64>().unwrap_or(f64::MAX);
        json!({
            "id": id,
            "checks": CHECKS.iter().map(check).collect::<Vec<_>>(),
            "failures": self.failures.iter().map(failure).collect::<Vec<_>>(),
            "summary_metrics": {
                "failures": count(self.failures.len()),
                "checks_failed": count(failed),
                "checks_total": count(CHECKS.len()),
            },
            "trace_id": null,
        })
    }

    fn has_failed(&self, check: &str) -> bool {
        self.of(check).next().is_some()
    }

    fn details(&self, check: &str) -> Option<Text> {
        let is_told = TELLING.contains(&check) && self.has_failed(check);
        is_told.then(|| {
            let mut details = Text::new();
            for (at, failure) in self.of(check).enumerate() {
                details.push_str(if at == 0 { "" } else { "\n" });
                details.push(&failure.message);
            }
            details
        })
    }

    fn of(&self, check: &str) -> impl Iterator<Item = &CompatFailure> {
        self.failures.iter().filter(move |failure| failure.rule.check == check)
    }
}
