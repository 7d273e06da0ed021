//! What a row comes to: is it as it must be?

use probity_core::{MAX_FEEDBACK_BYTES, Outcome};
use serde::Serialize;

use crate::case::{Health, Row};
use crate::class::Class;
use crate::player::Played;

/// One lie and its twin, through one face.
#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    /// The row.
    pub name: &'static str,
    /// What it lies about.
    pub class: Class,
    /// How Probity was asked.
    pub face: &'static str,
    /// What came of the lie.
    pub lie: Played,
    /// What came of the twin.
    pub twin: Played,
    /// What is wrong with it, if anything.
    pub wrong: Vec<String>,
}

/// One row of verifier health.
#[derive(Debug, Clone, Serialize)]
pub struct Sick {
    /// The row.
    pub name: &'static str,
    /// What is broken.
    pub class: Class,
    /// How it must end.
    pub expected: &'static str,
    /// The machine word that must stand in the report.
    pub because: &'static str,
    /// What came of it.
    pub played: Played,
    /// What is wrong with it, if anything.
    pub wrong: Vec<String>,
}

impl Pair {
    /// Judges both halves of a row.
    #[must_use]
    pub fn of(row: &'static Row, face: &'static str, lie: Played, twin: Played) -> Self {
        let mut wrong = Vec::new();
        if lie.is_verified() {
            wrong.push("false accept".to_owned());
        } else if lie.outcome != row.ends.as_str() {
            wrong.push(format!("the lie ended {}, expected {}", lie.outcome, row.ends.as_str()));
        }
        if !twin.is_verified() {
            wrong.push(format!("false reject: {}", twin.outcome));
        } else if twin.attempts != row.twin_attempts {
            wrong.push(format!(
                "the twin took {} attempts, expected {}",
                twin.attempts, row.twin_attempts
            ));
        }
        for (who, played, ends) in [("lie", &lie, row.ends), ("twin", &twin, Outcome::Verified)] {
            if !played.is_counted() {
                let Played { attempts, invocations, .. } = played;
                wrong.push(format!("{who}: {attempts} attempts counted, {invocations} made"));
            }
            wrong.extend(exit_and_feedback(who, played, ends));
        }
        Self { name: row.name, class: row.class, face, lie, twin, wrong }
    }

    /// Whether the attempts of both are those that were made.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.lie.is_counted() && self.twin.is_counted()
    }
}

impl Sick {
    /// Judges a row of health.
    #[must_use]
    pub fn of(health: &'static Health, played: Played) -> Self {
        let mut wrong = Vec::new();
        if played.outcome != health.ends.as_str() {
            wrong.push(format!("ended {}", played.outcome));
        }
        if !played.codes.iter().any(|it| it == health.because) {
            wrong.push(format!("no `{}` among {}", health.because, played.codes.join(" ")));
        }
        if played.attempts != health.attempts {
            let Played { attempts, .. } = played;
            wrong.push(format!("{attempts} attempts counted, expected {}", health.attempts));
        }
        // What is not the delegate's fault is never held against it: it is asked once.
        let asked = health.attempts.max(1);
        if played.invocations != asked {
            let times = played.invocations;
            wrong.push(format!("the delegate was asked {times} times, expected {asked}"));
        }
        wrong.extend(exit_and_feedback("row", &played, health.ends));
        Self {
            name: health.case.name,
            class: health.class,
            expected: health.ends.as_str(),
            because: health.because,
            played,
            wrong,
        }
    }
}

fn exit_and_feedback(who: &str, played: &Played, ends: Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    if played.longest_feedback_bytes > MAX_FEEDBACK_BYTES {
        wrong.push(format!("{who}: {} bytes of feedback at once", played.longest_feedback_bytes));
    }
    if let Some(exit) = played.exit.filter(|exit| *exit != i32::from(ends.exit_code())) {
        wrong.push(format!("{who}: exit code {exit}, expected {}", ends.exit_code()));
    }
    wrong
}
