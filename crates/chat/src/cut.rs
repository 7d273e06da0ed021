//! Text that must stay within a length.

use std::borrow::Cow;

/// The first `max_bytes` of `text`, with dots where there is more.
pub(crate) fn at_the_end(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(max_bytes.saturating_sub(3));
    Cow::Owned(format!("{}...", text.get(..end).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_stays_in_its_bound_and_between_characters() {
        assert_eq!(at_the_end("aäöü", 6), "aä...");
        assert_eq!(at_the_end("aäöü", 7), "aäöü");
    }
}
