//! What a text may hide from its reader.

/// Whether a terminal obeys this character or a reader does not see it: controls, separators of lines,
/// bidirectional overrides, characters without width, tags.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
