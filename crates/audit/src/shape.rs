//! The published shapes as tables, and one walk that holds a document against them.
//!
//! The JSON Schemas in `schemas/` say the same; a test prints the tables as JSON Schema and compares,
//! and another holds both against mutated documents. The tables are what runs: a generic validator
//! takes several times as long as everything else in an audit.

mod drift;
mod episode;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::document::{Node, pointer};
use crate::finding::Findings;
use crate::rule::{self, Rule};

pub(crate) use drift::DRIFT;
pub(crate) use episode::EPISODE;

/// JSON Schema (2020-12) of an episode: seed 001's published contract with the strict action
/// contract in it. Dates are asserted (RFC 3339).
pub const EPISODE_SCHEMA: &str = include_str!("../schemas/episode.schema.json");

/// JSON Schema (2020-12) of a drift signal: seed 001's published contract.
pub const DRIFT_SCHEMA: &str = include_str!("../schemas/drift.schema.json");

/// What a value must be.
#[derive(Debug)]
pub(crate) enum Shape {
    Bool,
    Text,
    /// A text that is not empty.
    Name,
    /// One of a closed list of words, and the rule that other words break.
    Word(&'static [&'static str], &'static Rule),
    /// RFC 3339.
    Time,
    /// An integer of at least this much.
    Integer(u64),
    /// Any object.
    Object,
    Record(&'static Record),
    /// A list of at least so many.
    List(&'static Self, usize),
}

/// An object with known members.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) fields: &'static [Field],
    /// Whether other members may stand beside them.
    pub(crate) is_open: bool,
}

/// One member of a record.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) is_required: bool,
    pub(crate) shape: Shape,
}

const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, is_required: true, shape }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, is_required: false, shape }
}

/// A time as RFC 3339 writes it.
pub(crate) fn time(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

/// Where in a document: built only when something is found there.
#[derive(Clone, Copy)]
struct At<'p> {
    above: Option<&'p Self>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl At<'_> {
    fn pointer(&self) -> String {
        let mut text = self.above.map(At::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Key(key) => text.push_str(&pointer(key)),
            Step::Index(index) => text.push_str(&format!("/{index}")),
        }
        text
    }
}

/// Holds a value against a shape.
pub(crate) fn check(node: &Node, shape: &'static Record, findings: &mut Findings) {
    record(node, shape, At { above: None, step: Step::Root }, findings);
}

fn value(node: &Node, shape: &'static Shape, at: At, findings: &mut Findings) {
    match (shape, node) {
        (Shape::Bool, Node::Bool(_))
        | (Shape::Text, Node::Text(_))
        | (Shape::Object, Node::Object(_)) => {}
        (Shape::Name, Node::Text(text)) => {
            if text.is_empty() {
                findings.add(&rule::SHAPE_VALUE, at.pointer(), "must not be empty");
            }
        }
        (Shape::Word(words, other), Node::Text(text)) => {
            if !words.iter().any(|word| word == text) {
                let words = words.join("`, `");
                let message = format!("`{text}` is none of `{words}`");
                findings.add(other, at.pointer(), message);
            }
        }
        (Shape::Time, Node::Text(text)) => {
            if time(text).is_none() {
                let message =
                    format!("`{text}` is no time of RFC 3339, such as `2026-02-11T06:34:13Z`");
                findings.add(&rule::SHAPE_TIME, at.pointer(), message);
            }
        }
        (Shape::Integer(least), Node::Number(spelled)) => {
            integer(node, spelled, *least, at, findings);
        }
        (Shape::Record(shape), Node::Object(_)) => record(node, shape, at, findings),
        (Shape::List(shape, least), Node::List(items)) => {
            if items.len() < *least {
                let message = format!("must have at least {least}");
                findings.add(&rule::SHAPE_VALUE, at.pointer(), message);
            }
            for (index, item) in items.iter().enumerate() {
                let at = At { above: Some(&at), step: Step::Index(index) };
                value(item, shape, at, findings);
            }
        }
        (shape, node) => wrong(shape.kind(), node, at, findings),
    }
}

fn wrong(kind: &str, node: &Node, at: At, findings: &mut Findings) {
    let message = format!("must be {kind}, not {}", node.kind());
    findings.add(&rule::SHAPE_TYPE, at.pointer(), message);
}

fn integer(node: &Node, spelled: &str, least: u64, at: At, findings: &mut Findings) {
    if !node.is_integer() {
        let message = format!("must be an integer, not {spelled}");
        findings.add(&rule::SHAPE_TYPE, at.pointer(), message);
    } else if node.natural().is_none_or(|number| number < least) {
        let message = format!("must be at least {least}, not {spelled}");
        findings.add(&rule::SHAPE_VALUE, at.pointer(), message);
    }
}

fn record(node: &Node, shape: &'static Record, at: At, findings: &mut Findings) {
    if !matches!(node, Node::Object(_)) {
        return wrong("an object", node, at, findings);
    }
    for field in shape.fields {
        match node.get(field.name) {
            Some(member) => {
                let at = At { above: Some(&at), step: Step::Key(field.name) };
                value(member, &field.shape, at, findings);
            }
            None if field.is_required => {
                let message = format!("`{}` is missing", field.name);
                findings.add(&rule::SHAPE_MISSING, at.pointer(), message);
            }
            None => {}
        }
    }
    if shape.is_open {
        return;
    }
    for member in node.members() {
        if !shape.fields.iter().any(|field| field.name == member.key) {
            let at = At { above: Some(&at), step: Step::Key(&member.key) };
            let message = format!("`{}` may not be there", member.key);
            findings.add(&rule::SHAPE_UNKNOWN, at.pointer(), message);
        }
    }
}

impl Shape {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Bool => "a boolean",
            Self::Text | Self::Name | Self::Word(..) | Self::Time => "a string",
            Self::Integer(_) => "an integer",
            Self::Object | Self::Record(_) => "an object",
            Self::List(..) => "an array",
        }
    }
}
