//! What may stand behind the question mark of a path.

use probity_core::Outcome;
use serde_json::{Value, json};

/// 64 lower-case hex digits.
pub(crate) const DIGEST: &str = "^[0-9a-f]{64}$";

/// Outcomes of delegations, and `open` for what has none.
pub(crate) const OUTCOMES: [&str; 10] = {
    let [a, b, c, d, e, f, g, h, i] = Outcome::ALL;
    [
        "open",
        a.as_str(),
        b.as_str(),
        c.as_str(),
        d.as_str(),
        e.as_str(),
        f.as_str(),
        g.as_str(),
        h.as_str(),
        i.as_str(),
    ]
};
/// Asked of every list of delegations.
pub(crate) const OUTCOME: Question = Question::word(
    "outcome",
    &OUTCOMES,
    "only those that ended so; `open` for those that have not",
);
/// The same.
pub(crate) const DELEGATE: Question =
    Question::text("delegate", "only those of that kind of delegate");
/// The same.
pub(crate) const SINCE: Question = Question::whole(
    "since",
    0,
    u64::MAX,
    "only those opened since, in milliseconds since the Unix epoch",
);

/// One name, with what it means and what it takes.
#[derive(Clone, Copy)]
pub(crate) struct Question {
    name: &'static str,
    what: &'static str,
    takes: Takes,
    is_required: bool,
}

#[derive(Clone, Copy)]
enum Takes {
    Text,
    Whole { least: u64, most: u64 },
    Word(&'static [&'static str]),
    Like(&'static str),
}

impl Question {
    /// Any text. Where it is required, it is not empty.
    pub(crate) const fn text(name: &'static str, what: &'static str) -> Self {
        Self { name, what, takes: Takes::Text, is_required: false }
    }

    /// A whole number.
    pub(crate) const fn whole(
        name: &'static str,
        least: u64,
        most: u64,
        what: &'static str,
    ) -> Self {
        Self { name, what, takes: Takes::Whole { least, most }, is_required: false }
    }

    /// One of these.
    pub(crate) const fn word(
        name: &'static str,
        words: &'static [&'static str],
        what: &'static str,
    ) -> Self {
        Self { name, what, takes: Takes::Word(words), is_required: false }
    }

    /// Text of that pattern (ECMA 262).
    pub(crate) const fn like(
        name: &'static str,
        pattern: &'static str,
        what: &'static str,
    ) -> Self {
        Self { name, what, takes: Takes::Like(pattern), is_required: false }
    }

    /// The same, never left out.
    pub(crate) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// As a parameter of OpenAPI.
    pub(crate) fn parameter(&self) -> Value {
        let schema = match self.takes {
            Takes::Text if self.is_required => json!({"type": "string", "minLength": 1}),
            Takes::Text => json!({"type": "string"}),
            Takes::Whole { least, most } => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Takes::Word(words) => json!({"type": "string", "enum": words}),
            Takes::Like(pattern) => json!({"type": "string", "pattern": pattern}),
        };
        json!({
            "name": self.name,
            "in": "query",
            "description": self.what,
            "required": self.is_required,
            "schema": schema,
        })
    }
}
