//! Findings, while they are collected and when they are told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};

use serde::Serialize;

use crate::{Class, Place, Rule, Severity, legible};

/// The most failures of one report that are kept; what is beyond is counted, and kept only where it is
/// the first of its code.
pub const MAX_FAILURES: usize = 1000;

/// The most characters of a message, a pointer or a value that are kept.
const MAX_TEXT: usize = 800;

/// One thing that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Stable machine word; its page is `docs/codes/<code>.md`.
    pub code: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// The check that found it.
    pub check: &'static str,
    /// The invariant of the source system, where the rule stands for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invariant_id: Option<&'static str>,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What should stand there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// Text for people.
    pub message: String,
}

/// Takes findings in the order in which they are made: keeps [`MAX_FAILURES`] and the first of every
/// code, counts all.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    kept: Vec<Failure>,
    total: u64,
    worst: Option<Class>,
    by_check: BTreeMap<&'static str, u64>,
    codes: BTreeSet<&'static str>,
}

impl Failures {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what a rule found.
    pub fn add(&mut self, rule: &Rule, place: Place, message: impl Into<String>) {
        self.push(rule, place, None, message.into());
    }

    /// Adds a value that should be another one.
    pub fn differs(
        &mut self,
        rule: &Rule,
        place: Place,
        expected: impl Display,
        actual: impl Display,
    ) {
        let values = (front(expected), front(actual));
        self.push(rule, place, Some(values), rule.finds.to_owned());
    }

    /// Counts one more finding of a rule, if it would not be kept anyway; else does nothing, and it is
    /// to be added. Spares a caller that finds millions the work of saying where each is.
    pub fn is_only_counted(&mut self, rule: &Rule) -> bool {
        let is_full = self.kept.len() >= MAX_FAILURES && self.codes.contains(rule.code);
        if is_full {
            self.count(rule);
        }
        is_full
    }

    /// Takes over what another list holds, behind what is here.
    pub fn append(&mut self, other: Self) {
        self.total = self.total.saturating_add(other.total);
        self.worst = self.worst.max(other.worst);
        for (check, count) in other.by_check {
            let sum = self.by_check.entry(check).or_default();
            *sum = sum.saturating_add(count);
        }
        for failure in other.kept {
            if self.has_room_for(failure.code) {
                self.kept.push(failure);
            }
        }
    }

    /// Whether nothing was found that is an error.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.worst.is_none()
    }

    /// The kind of the weightiest error.
    #[must_use]
    pub const fn worst(&self) -> Option<Class> {
        self.worst
    }

    /// How many errors a check has found.
    #[must_use]
    pub fn errors_of(&self, check: &str) -> u64 {
        self.by_check.get(check).copied().unwrap_or(0)
    }

    /// How many findings there are, those not kept included.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Those that are kept, in the order of their places.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Failure> {
        self.kept.sort_by(|a, b| {
            (&a.place, a.check, a.code, &a.message).cmp(&(&b.place, b.check, b.code, &b.message))
        });
        self.kept
    }

    /// The number of codes bounds what is kept beyond the bound.
    fn has_room_for(&mut self, code: &'static str) -> bool {
        self.codes.insert(code) || self.kept.len() < MAX_FAILURES
    }

    fn count(&mut self, rule: &Rule) {
        self.total = self.total.saturating_add(1);
        if rule.severity == Severity::Error {
            self.worst = self.worst.max(Some(rule.class));
            let count = self.by_check.entry(rule.check).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn push(
        &mut self,
        rule: &Rule,
        mut place: Place,
        values: Option<(String, String)>,
        message: String,
    ) {
        self.count(rule);
        if !self.has_room_for(rule.code) {
            return;
        }
        place.pointer = legible(&place.pointer, MAX_TEXT);
        place.file = legible(&place.file, MAX_TEXT);
        let (expected, actual) = values.unzip();
        self.kept.push(Failure {
            code: rule.code,
            severity: rule.severity,
            check: rule.check,
            invariant_id: rule.invariant_id,
            place,
            expected: expected.map(|text| legible(&text, MAX_TEXT)),
            actual: actual.map(|text| legible(&text, MAX_TEXT)),
            message: legible(&message, MAX_TEXT),
        });
    }
}

/// The front of a value as text: at least what is kept of it. A value may be a whole file.
fn front(value: impl Display) -> String {
    let mut front = Front(String::new());
    // It breaks off where there is enough.
    let _ = write!(front, "{value}");
    front.0
}

struct Front(String);

impl Front {
    /// Enough for [`MAX_TEXT`] characters of four bytes, and one more.
    const MAX_BYTES: usize = 4 * (MAX_TEXT + 1);
}

impl fmt::Write for Front {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = Self::MAX_BYTES.saturating_sub(self.0.len());
        self.0.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}
