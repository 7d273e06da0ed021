//! A text, taken apart into markers and what stands between them.

use std::iter::FusedIterator;
use std::ops::Range;

use crate::marker::PREFIX;
use crate::opening::openings;
use crate::{Malformation, Marker};

/// The pieces of a text, from left to right; together they are the text. Linear in its length.
#[must_use]
pub const fn pieces(text: &str) -> Pieces<'_> {
    Pieces { text, at: 0, next: None, stop: 0 }
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Its bytes in the text.
    pub at: Range<usize>,
    /// These bytes as they stand, escapes included.
    pub text: &'a str,
    /// What it is.
    pub kind: PieceKind<'a>,
}

/// What a piece of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind<'a> {
    /// Text; never empty. [`crate::unescape`] gives what it stands for.
    Text,
    /// A marker.
    Marker(Marker<'a>),
    /// Something that looks like a marker and is none.
    Malformed(Malformation),
}

/// The pieces of a text.
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    text: &'a str,
    at: usize,
    /// The marker behind the text that was given last.
    next: Option<Piece<'a>>,
    /// A byte up to which no marker can end, or does: what is behind an opening is looked through once,
    /// however many openings stand before it.
    stop: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if let Some(marker) = self.next.take() {
            self.at = marker.at.end;
            return Some(marker);
        }
        let start = self.at;
        let mut found = openings(self.text, start);
        let opening = found.find(|opening| opening.backslashes.is_empty());
        let piece = opening.map(|opening| self.marker(opening.at));
        let end = piece.as_ref().map_or(self.text.len(), |piece| piece.at.start);
        if start < end {
            self.at = end;
            self.next = piece;
            let text = self.text.get(start..end)?;
            return Some(Piece { at: start..end, text, kind: PieceKind::Text });
        }
        self.at = piece.as_ref().map_or(end, |piece| piece.at.end);
        piece
    }
}

impl FusedIterator for Pieces<'_> {}

impl<'a> Pieces<'a> {
    /// The piece that begins with an opening. One that is no marker ends with its `]`, or with the
    /// opening where there is none on the line.
    fn marker(&mut self, opening: Range<usize>) -> Piece<'a> {
        let bytes = self.text.as_bytes();
        if self.stop < opening.end {
            let behind = bytes.get(opening.end..).unwrap_or_default();
            let stop = behind.iter().position(|byte| matches!(byte, b'[' | b']' | b'\n'));
            self.stop = opening.end.saturating_add(stop.unwrap_or(behind.len()));
        }
        let is_closed = bytes.get(self.stop) == Some(&b']');
        let end = if is_closed { self.stop.saturating_add(1) } else { opening.end };
        let text = self.text.get(opening.start..end).unwrap_or_default();
        let begins = |prefix| self.text.get(opening.start..).is_some_and(|t| t.starts_with(prefix));
        let kind = match text.strip_prefix(PREFIX).and_then(|inner| inner.strip_suffix(']')) {
            Some(inner) => {
                Marker::parse(inner).map_or_else(PieceKind::Malformed, PieceKind::Marker)
            }
            None if !begins(PREFIX) => PieceKind::Malformed(Malformation::Opening),
            None => PieceKind::Malformed(Malformation::Unclosed),
        };
        Piece { at: opening.start..end, text, kind }
    }
}
