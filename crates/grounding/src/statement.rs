//! An answer, taken apart into its statements.
//!
//! Where the text before a marker must be a quote, a claim is text and markers in turn, up to a line
//! break that follows a marker: a quote may hold line breaks itself. Where it may be any text, a claim
//! is a line. A line that begins with [`INSUFFICIENT`] where a claim could begin claims nothing.

use std::ops::Range;

use crate::{Piece, PieceKind, Quotes, pieces};

/// What an answer says that has none: alone, or followed by `:` and a reason up to the line's end.
pub const INSUFFICIENT: &str = "INSUFFICIENT EVIDENCE";

/// The reason that a line gives for insufficient evidence, blanks around it taken off; `None` where
/// it says something else. Case counts.
#[must_use]
pub fn insufficiency(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix(INSUFFICIENT)?;
    match rest.strip_prefix(':') {
        Some(reason) => Some(reason.trim()),
        None => rest.is_empty().then_some(rest),
    }
}

/// A statement of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Statement<'a> {
    /// Whether it says that the evidence is insufficient.
    pub(crate) is_insufficient: bool,
    /// Texts and markers in turn.
    pub(crate) parts: Vec<Piece<'a>>,
}

/// The statements of an answer. Linear in its length.
pub(crate) fn statements(text: &str, quotes: Quotes) -> Vec<Statement<'_>> {
    let mut reader = Reader { text, quotes, current: Statement::default(), done: Vec::new() };
    for piece in pieces(text) {
        match piece.kind {
            PieceKind::Text => reader.text(piece.at),
            _ => reader.current.parts.push(piece),
        }
    }
    reader.end();
    reader.done
}

/// Whether a text says anything: rules, bullets and full stops do not.
pub(crate) fn states_something(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

struct Reader<'a> {
    text: &'a str,
    quotes: Quotes,
    current: Statement<'a>,
    done: Vec<Statement<'a>>,
}

impl<'a> Reader<'a> {
    /// Takes a text between two markers, line by line where lines count.
    fn text(&mut self, at: Range<usize>) {
        let mut rest = at;
        while !rest.is_empty() {
            if self.current.parts.is_empty() {
                rest.start = rest.end.saturating_sub(self.slice(&rest).trim_start().len());
                let line = self.slice(&rest).lines().next().unwrap_or_default();
                self.current.is_insufficient = insufficiency(line).is_some();
            }
            let stop = self.line_end(&rest);
            let end = stop.unwrap_or(rest.end);
            if rest.start < end {
                let text = self.slice(&(rest.start..end));
                let at = rest.start..end;
                self.current.parts.push(Piece { at, text, kind: PieceKind::Text });
            }
            if stop.is_some() {
                self.end();
            }
            rest.start = end;
        }
    }

    /// Where in this text the statement ends, if it does: behind a line break.
    fn line_end(&self, at: &Range<usize>) -> Option<usize> {
        let text = self.slice(at);
        let line_break = text.find('\n')?;
        let is_after_marker =
            self.current.parts.last().is_some_and(|part| part.kind != PieceKind::Text);
        let ends = self.current.is_insufficient
            || self.quotes == Quotes::Any
            || is_after_marker && text.get(..line_break).is_some_and(|t| t.trim().is_empty());
        ends.then(|| at.start.saturating_add(line_break).saturating_add(1))
    }

    fn end(&mut self) {
        let statement = std::mem::take(&mut self.current);
        if !statement.parts.is_empty() {
            self.done.push(statement);
        }
    }

    fn slice(&self, at: &Range<usize>) -> &'a str {
        self.text.get(at.clone()).unwrap_or_default()
    }
}
