//! Text from the world, made safe for a terminal.

use probity_core::is_hidden;

/// The text on one line, with nothing in it that moves a cursor, colours, or hides.
pub(crate) fn line(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for (index, part) in text.trim_end().lines().enumerate() {
        if index > 0 {
            clean.push(' ');
        }
        push_visible(&mut clean, part);
    }
    clean
}

/// The text as lines, each as [`line`] makes it. Empty lines at the end are dropped.
pub(crate) fn block(text: &str) -> Vec<String> {
    let part = |part: &str| {
        let mut clean = String::with_capacity(part.len());
        push_visible(&mut clean, part);
        clean
    };
    text.trim_end().lines().map(part).collect()
}

/// Whether the text has more in it than is seen, or would have its reader's terminal obey.
pub(crate) fn hides(text: &str) -> bool {
    text.chars().any(is_hidden)
}

/// So many of something, in words.
pub(crate) fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

fn push_visible(clean: &mut String, text: &str) {
    for char in text.chars() {
        match char {
            '\t' => clean.push_str("    "),
            char if is_hidden(char) => clean.extend(char.escape_default()),
            char => clean.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_shown_instead() {
        let hostile = "a\u{1b}[2Jb\u{9b}31mc\u{7}\r\u{8}d\u{202e}e\u{200b}";
        let shown = line(hostile);
        assert_eq!(shown, r"a\u{1b}[2Jb\u{9b}31mc\u{7}\r\u{8}d\u{202e}e\u{200b}");
        assert!(!shown.chars().any(is_hidden));
    }

    #[test]
    fn a_line_is_one_line_and_a_block_keeps_them() {
        assert_eq!(line("a\r\nb\n\n"), "a b");
        assert_eq!(block("a\r\n\n\tb\n\n"), ["a", "", "    b"]);
        assert_eq!(line("größe 測 ✓"), "größe 測 ✓");
    }
}
