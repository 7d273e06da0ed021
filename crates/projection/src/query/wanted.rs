//! Which delegations are meant.

use probity_core::Outcome;
use rusqlite::types::Value;

use super::{WAIVED, signed};

/// Which delegations are meant. What is not said does not matter; logs of other things are never meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only runs whose names carry one of these marks ([`crate::mark_of`]); the empty mark stands for names
    /// without one. Nothing is meant where the list is empty.
    pub marks: Vec<String>,
    /// How they ended.
    pub ended: Option<Ended>,
    /// Only those of this kind of delegate.
    pub delegate: Option<String>,
    /// Only those that are at this stage.
    pub stage: Option<String>,
    /// Only those that ended with this code, or of which a verdict carries it.
    pub code: Option<String>,
    /// Only those that were opened at this time or later, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
    /// Only those that were opened before.
    pub until_ms: Option<u64>,
    /// Only those that a named human answers for.
    pub is_waived: bool,
    /// Part of the name, or the whole delegate, code or pool; or a digest of the task.
    pub text: Option<String>,
    /// Digests of tasks that the text means besides.
    pub tasks: Vec<String>,
}

/// How a run ended, or that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Nobody has decided yet.
    Open,
    /// It came to this, or waits as `escalated`.
    As(Outcome),
    /// It came to anything but a pass, or waits for somebody.
    NotVerified,
}

/// The condition on the table `run`, and what its marks stand for.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

impl Condition {
    /// Adds a condition in which `?` stands for a value.
    pub(crate) fn and(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.values.extend(values);
    }
}

impl Wanted {
    pub(crate) fn condition(&self) -> Condition {
        let sql = "run.kind IN ('delegation', 'damaged')".to_owned();
        let mut condition = Condition { sql, values: Vec::new() };
        condition.and(&one_of("run.mark", self.marks.len()), self.marks.iter().map(text));
        match self.ended {
            None => {}
            Some(Ended::Open) => condition.and("run.outcome IS NULL", []),
            Some(Ended::NotVerified) => condition.and("run.outcome <> 'verified'", []),
            Some(Ended::As(outcome)) => {
                condition.and("run.outcome = ?", [Value::Text(outcome.as_str().to_owned())]);
            }
        }
        if let Some(delegate) = &self.delegate {
            condition.and("run.delegate = ?", [text(delegate)]);
        }
        if let Some(stage) = &self.stage {
            condition.and("run.stage = ?", [text(stage)]);
        }
        if let Some(code) = &self.code {
            let sql = "(run.code = ? OR EXISTS (SELECT 1 FROM verdict
                WHERE verdict.run = run.id AND verdict.code = ?))";
            condition.and(sql, [text(code), text(code)]);
        }
        if let Some(since_ms) = self.since_ms {
            condition.and("run.opened_at_ms >= ?", [Value::Integer(signed(since_ms))]);
        }
        if let Some(until_ms) = self.until_ms {
            condition.and("run.opened_at_ms < ?", [Value::Integer(signed(until_ms))]);
        }
        if self.is_waived {
            condition.and(WAIVED, []);
        }
        if let Some(words) = &self.text {
            let tasks = one_of("run.task", self.tasks.len());
            let sql = format!(
                "(instr(run.id, ?) > 0 OR run.delegate = ? OR run.code = ? OR run.pool = ?
                  OR run.task = ? OR {tasks})"
            );
            let values = std::iter::repeat_n(words, 5).chain(&self.tasks);
            condition.and(&sql, values.map(text));
        }
        condition
    }
}

fn one_of(column: &str, count: usize) -> String {
    match count {
        0 => "FALSE".to_owned(),
        _ => format!("{column} IN ({})", vec!["?"; count].join(", ")),
    }
}

fn text(text: impl AsRef<str>) -> Value {
    Value::Text(text.as_ref().to_owned())
}
