//! The problem that a run was about.

use probity_report::{Failures, Rule};

use crate::identity::{canonical, differs_from};
use crate::seal::document::{Desk, Form};
use crate::tape::{Kind, Tape, Value};

/// Name of the problem in a run directory.
pub(crate) const SPEC: &str = "spec.json";

static ID: Rule =
    Rule::error("trace_id_spec", "content_ids", "a problem whose id is not that of its content");

/// What is found of problems, besides their shape.
pub(crate) static RULES: &[&Rule] = &[&ID];

/// `spec.json`. Its shape was checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spec {
    pub(crate) id: String,
    pub(crate) description: String,
    /// `constraints.min_supports_per_claim` as the source system reads it: never below 1.
    pub(crate) min_supports: Option<u64>,
    /// The constraints as they stand in the file: canonical text of an object.
    pub(crate) constraints: String,
}

impl Spec {
    /// Reads `spec.json`. What is wrong with it is told; `None` where nothing can be made of it.
    pub(crate) fn read(text: &str, failures: &mut Failures) -> Option<Self> {
        let mut tape = Tape::default();
        let mut desk = Desk::new(SPEC, failures);
        let root = desk.read(&mut tape, text, Form::Line)?;
        let [constraints, description, expected, expected_output_type, id, version] = desk
            .members(
                root,
                format_args!(""),
                ["constraints", "description", "expected", "expected_output_type", "id", "version"],
            )?;
        let is_object = desk.one_of(constraints, format_args!("/constraints"), &[Kind::Object]);
        let text = desk.text(description, format_args!("/description"));
        let kinds = [Kind::Object, Kind::Null];
        let is_expected = desk.one_of(expected, format_args!("/expected"), &kinds);
        let output = desk.text(expected_output_type, format_args!("/expected_output_type"));
        let name = desk.text(id, format_args!("/id"));
        let kinds = [Kind::Integer, Kind::Null];
        let is_version = desk.one_of(version, format_args!("/version"), &kinds);
        let _ = (is_object?, is_expected?, output?, is_version?);
        let spec = Self {
            id: name?,
            description: text?,
            min_supports: constraints.get("min_supports_per_claim").and_then(min_supports),
            constraints: canonical(constraints),
        };
        if let Some(right) = differs_from(&spec.id, "spec", root, &["id"]) {
            desk.differs(&ID, id, format_args!("/id"), right, &spec.id);
        }
        Some(spec)
    }
}

/// A number of supports: what Python's `int` makes of a number, a boolean or a text, and at least 1.
fn min_supports(asked: Value) -> Option<u64> {
    let number = match asked.kind() {
        Kind::Integer => asked.integer()?,
        Kind::Float => format!("{:.0}", asked.number()?.trunc()).parse().unwrap_or(i64::MAX),
        Kind::Bool => 1,
        Kind::Text => asked.text()?.trim().parse().ok()?,
        Kind::Null | Kind::List | Kind::Object => return None,
    };
    Some(u64::try_from(number).unwrap_or(0).max(1))
}
