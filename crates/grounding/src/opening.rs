//! Text that looks like the beginning of a marker.
//!
//! An opening is a bracket, then any number of backslashes, then the word `evidence`. Case does not
//! count, nor do blanks and invisible characters before and in the word, nor whether a letter is
//! ASCII or a letter of another alphabet that looks the same. With at least one backslash it is
//! escaped: text, and no marker.

use std::ops::Range;

/// The word behind the bracket.
const WORD: &str = "evidence";

/// The beginning of something that looks like a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opening {
    /// From the bracket to the last letter of the word.
    pub(crate) at: Range<usize>,
    /// The backslashes behind the bracket.
    pub(crate) backslashes: Range<usize>,
}

/// The openings of a text, from left to right. Linear: the search goes on where it stopped.
#[derive(Debug, Clone)]
pub(crate) struct Openings<'a> {
    text: &'a str,
    at: usize,
}

/// The openings of a text from a byte on.
pub(crate) const fn openings(text: &str, from: usize) -> Openings<'_> {
    Openings { text, at: from }
}

impl Iterator for Openings<'_> {
    type Item = Opening;

    fn next(&mut self) -> Option<Opening> {
        loop {
            let start = bracket(self.text, self.at)?;
            let (end, opening) = self.opening(start);
            self.at = end;
            if opening.is_some() {
                return opening;
            }
        }
    }
}

impl Openings<'_> {
    /// What begins at a bracket, and the byte at which the search goes on.
    fn opening(&self, start: usize) -> (usize, Option<Opening>) {
        let mut rest = self.text.get(start..).unwrap_or_default().chars();
        let at = |rest: &std::str::Chars| self.text.len().saturating_sub(rest.as_str().len());
        rest.next();
        let inside = at(&rest);
        while rest.as_str().starts_with('\\') {
            rest.next();
        }
        let backslashes = inside..at(&rest);
        let mut letters = WORD.chars();
        let mut wanted = letters.next();
        while let Some(letter) = wanted {
            let before = at(&rest);
            match rest.next() {
                Some(c) if folded(c) == Some(letter) => wanted = letters.next(),
                Some(c) if is_passed_over(c) => {}
                _ => return (before, None),
            }
        }
        let end = at(&rest);
        (end, Some(Opening { at: start..end, backslashes }))
    }
}

/// The first bracket from a byte on.
fn bracket(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        // The first bytes of the brackets in UTF-8.
        let is_one = |byte: u8| matches!(byte, b'[' | 0xe2 | 0xe3 | 0xef);
        let found = at.saturating_add(rest.bytes().position(is_one)?);
        let c = text.get(found..)?.chars().next()?;
        if matches!(c, '[' | '［' | '【' | '〔' | '〖' | '⟦') {
            return Some(found);
        }
        at = found.saturating_add(c.len_utf8());
    }
}

/// The ASCII letter that a character passes for, of those in [`WORD`].
fn folded(c: char) -> Option<char> {
    Some(match c {
        'a'..='z' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        // Full width.
        '\u{ff45}' | '\u{ff25}' => 'e',
        '\u{ff56}' | '\u{ff36}' => 'v',
        '\u{ff49}' | '\u{ff29}' => 'i',
        '\u{ff44}' | '\u{ff24}' => 'd',
        '\u{ff4e}' | '\u{ff2e}' => 'n',
        '\u{ff43}' | '\u{ff23}' => 'c',
        // Cyrillic, Greek, Armenian, and the dotless i.
        '\u{435}' | '\u{415}' | '\u{395}' => 'e',
        '\u{475}' | '\u{474}' | '\u{3bd}' => 'v',
        '\u{456}' | '\u{406}' | '\u{399}' | '\u{3b9}' | '\u{131}' => 'i',
        '\u{501}' => 'd',
        '\u{39d}' | '\u{578}' => 'n',
        '\u{441}' | '\u{421}' | '\u{3f2}' | '\u{3f9}' => 'c',
        _ => return None,
    })
}

/// Blanks, and what cannot be seen.
fn is_passed_over(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
