//! Colours: on a terminal, unless `NO_COLOR` says otherwise.

use std::io::{self, IsTerminal as _};

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    is_coloured: bool,
}

/// What a colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// All is as it should be.
    Good,
    /// It is not.
    Bad,
    /// Nobody knows, or it proves nothing.
    Warn,
    /// Beside the point.
    Dim,
}

impl Style {
    /// No colours, for tests.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { is_coloured: false };

    /// As standard output can show it.
    pub(crate) fn of_stdout() -> Self {
        Self { is_coloured: io::stdout().is_terminal() && is_wanted() }
    }

    /// As standard error can show it.
    pub(crate) fn of_stderr() -> Self {
        Self { is_coloured: io::stderr().is_terminal() && is_wanted() }
    }

    /// The text in the colour of its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.is_coloured || text.is_empty() {
            return text.to_owned();
        }
        let colour = match tone {
            Tone::Good => "1;32",
            Tone::Bad => "1;31",
            Tone::Warn => "1;33",
            Tone::Dim => "2",
        };
        format!("\u{1b}[{colour}m{text}\u{1b}[0m")
    }
}

/// See <https://no-color.org>: any text but the empty one switches colours off.
fn is_wanted() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_end_where_the_text_ends_and_plain_is_plain() {
        let coloured = Style { is_coloured: true };
        assert_eq!(coloured.paint(Tone::Good, "pass"), "\u{1b}[1;32mpass\u{1b}[0m");
        assert_eq!(coloured.paint(Tone::Bad, ""), "");
        assert_eq!(Style::PLAIN.paint(Tone::Good, "pass"), "pass");
    }
}
