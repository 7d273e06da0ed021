//! Whom a run asks, and what.

use std::collections::BTreeMap;

use probity_core::Code;
use probity_engine::{Decider, Human, Plan, Report};
use serde::Serialize;

/// The human checks of a plan.
#[derive(Debug, Default)]
pub(crate) struct Asked(BTreeMap<Code, Asks>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Asks {
    /// Who is asked.
    pub(crate) who: String,
    /// The question; empty asks whether the task is done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) question: String,
}

impl Asked {
    /// Those of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let humans = plan.checks.iter().filter_map(|check| match &check.by {
            Decider::Human(Human { who, question }) => {
                let asks = Asks { who: who.clone(), question: question.clone() };
                Some((check.decl.id.clone(), asks))
            }
            Decider::Verifier(_) | Decider::Hook(_) => None,
        });
        Self(humans.collect())
    }

    /// The one that a run waits for.
    pub(crate) fn by(&self, report: &Report) -> Option<&Asks> {
        self.0.get(report.waits_for.as_ref()?)
    }
}

impl Asks {
    /// The question, whether or not one was written down.
    pub(crate) fn question(&self) -> &str {
        match self.question.trim() {
            "" => "is the task done?",
            question => question,
        }
    }
}
