//! Text that must stay within a length.

use std::borrow::Cow;

/// What the words about a gap take at most.
const GAP_BYTES: usize = 64;

/// `text` in at most `max_bytes`: where it is longer, its beginning and its end, with the gap named.
/// A bound below 64 bytes leaves only the words about the gap.
#[must_use]
pub fn cut_middle(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let kept = max_bytes.saturating_sub(GAP_BYTES);
    let head_end = text.floor_char_boundary(kept / 2);
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(kept - kept / 2));
    let head = text.get(..head_end).unwrap_or_default();
    let tail = text.get(tail_start..).unwrap_or_default();
    let gap = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}\n[... {gap} bytes left out ...]\n{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_stays_in_its_bound_and_between_characters() {
        let text = "ä".repeat(1000);
        for max_bytes in [64, 65, 66, 67, 200, 1999] {
            let cut = cut_middle(&text, max_bytes);
            assert!(cut.len() <= max_bytes, "{} of {max_bytes}", cut.len());
            assert!(cut.contains("bytes left out"));
        }
        assert_eq!(cut_middle(&text, 2000), text);
        assert_eq!(cut_middle("abcdefgh", 4), "\n[... 8 bytes left out ...]\n");
    }

    #[test]
    fn the_gap_is_named_to_the_byte() {
        let text = format!("{}{}", "a".repeat(100), "b".repeat(100));
        let cut = cut_middle(&text, 100);
        let expected =
            format!("{}\n[... 164 bytes left out ...]\n{}", "a".repeat(18), "b".repeat(18));
        assert_eq!(cut, expected);
    }
}
