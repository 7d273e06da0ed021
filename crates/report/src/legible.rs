//! Text of a stranger, as a report may show it.

/// The text, cut off after `max` characters, and without characters that steer a terminal or turn
/// the direction of what is read.
#[must_use]
pub fn legible(text: &str, max: usize) -> String {
    if text.len() <= max && text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
        return text.to_owned();
    }
    let mut shown: String =
        text.chars().take(max).map(|c| if steers(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        shown.push('…');
    }
    shown
}

/// Controls, and the marks that reorder or hide text.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
