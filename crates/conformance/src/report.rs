//! What came of a run of the kit.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::scenario::Level;

/// What came of every scenario, in the order of the table.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of the kit.
    pub kit: &'static str,
    /// Whether what is not advertised counts as failed.
    pub is_strict: bool,
    /// Whom it is about.
    pub host: Host,
    /// How many of which.
    pub totals: Totals,
    /// One by one.
    pub outcomes: Vec<Outcome>,
}

/// A host, as it says of itself.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    /// Where it was asked.
    pub url: String,
    /// Its name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Value>,
    /// The protocol that it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// SHA-256 of its discovery document in canonical JSON (RFC 8785), 64 hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery_sha256: Option<String>,
}

/// How many of which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Scenarios that held.
    pub passed: usize,
    /// Scenarios that did not.
    pub failed: usize,
    /// Scenarios that were not run.
    pub skipped: usize,
    /// What was asserted in all of them.
    pub assertions: u64,
    /// Events that were read and held to their schemas.
    pub events: u64,
}

/// What came of one scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// Which.
    pub id: &'static str,
    /// What must hold.
    pub title: &'static str,
    /// Where the specification says so.
    pub spec: &'static str,
    /// What it is about.
    pub level: Level,
    /// What came of it.
    #[serde(flatten)]
    pub disposition: Disposition,
    /// How much it asserted.
    pub assertions: u64,
    /// Events that it read and held to their schemas.
    pub events: u64,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

/// What came of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Disposition {
    /// Everything held.
    Passed,
    /// Something did not.
    Failed {
        /// Where in the scenario.
        step: String,
        /// What should have been.
        expected: String,
        /// What was.
        got: String,
    },
    /// The host does not say that it does this.
    Skipped {
        /// What it does not advertise.
        reason: String,
    },
}

impl Report {
    pub(crate) fn new(host: Host, is_strict: bool, outcomes: Vec<Outcome>) -> Self {
        let mut totals = Totals::default();
        for outcome in &outcomes {
            match outcome.disposition {
                Disposition::Passed => totals.passed += 1,
                Disposition::Failed { .. } => totals.failed += 1,
                Disposition::Skipped { .. } => totals.skipped += 1,
            }
            totals.assertions += outcome.assertions;
            totals.events += outcome.events;
        }
        Self { kit: env!("CARGO_PKG_VERSION"), is_strict, host, totals, outcomes }
    }

    /// 0 if everything held, 1 if something did not, 3 if something was not run and that is not allowed.
    #[must_use]
    pub const fn exit_code(&self, allows_skips: bool) -> u8 {
        if self.totals.failed > 0 {
            1
        } else if self.totals.skipped > 0 && !allows_skips {
            3
        } else {
            0
        }
    }

    /// What came of the scenario of that name.
    #[must_use]
    pub fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.id == id)
    }

    /// The names of the scenarios that did not hold.
    #[must_use]
    pub fn failed(&self) -> Vec<&'static str> {
        let is_failed =
            |outcome: &&Outcome| matches!(outcome.disposition, Disposition::Failed { .. });
        self.outcomes.iter().filter(is_failed).map(|outcome| outcome.id).collect()
    }

    /// The report for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.headline());
        let mut level = None;
        for outcome in &self.outcomes {
            if level != Some(outcome.level) {
                level = Some(outcome.level);
                let _ = writeln!(text, "\n{}", outcome.level.as_str());
            }
            outcome.write(&mut text);
        }
        let totals = self.totals;
        let _ = writeln!(
            text,
            "\n{} passed, {} failed, {} skipped; {} assertions, {} events checked",
            totals.passed, totals.failed, totals.skipped, totals.assertions, totals.events
        );
        text
    }

    fn headline(&self) -> String {
        let word = |name: &str| {
            let found = self.host.implementation.as_ref().and_then(|own| own.get(name));
            found.and_then(Value::as_str).map(|word| format!(" {word}")).unwrap_or_default()
        };
        let strict = if self.is_strict { ", strict" } else { "" };
        format!(
            "openwop v1 conformance of {}{}{}{strict}",
            self.host.url,
            word("name"),
            word("version")
        )
    }
}

impl Outcome {
    fn write(&self, text: &mut String) {
        let (id, assertions) = (self.id, self.assertions);
        let _ = match &self.disposition {
            Disposition::Passed => writeln!(text, "  passed   {id} ({assertions})"),
            Disposition::Skipped { reason } => writeln!(text, "  skipped  {id}: {reason}"),
            Disposition::Failed { step, expected, got } => writeln!(
                text,
                "  FAILED   {id}: {}\n           at:       {step}\n           expected: {expected}\n           got:      {got}\n           see:      {}",
                self.title, self.spec
            ),
        };
    }
}
