//! Text that is kept, of text that comes in pieces and may have no end.

/// The beginning and the end of a text that comes in pieces.
#[derive(Debug, Clone)]
pub(crate) struct Excerpt {
    max_bytes: usize,
    head: String,
    tail: String,
    /// Bytes dropped between the two.
    dropped: usize,
    /// The head takes no more: what comes next would not be next to it.
    full: bool,
}

impl Excerpt {
    pub(crate) const fn new(max_bytes: usize) -> Self {
        Self { max_bytes, head: String::new(), tail: String::new(), dropped: 0, full: false }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    pub(crate) fn push(&mut self, piece: &str) {
        let mut rest = piece;
        if !self.full {
            let room = (self.max_bytes / 2).saturating_sub(self.head.len());
            let (fits, over) = piece.split_at(piece.floor_char_boundary(room));
            self.head.push_str(fits);
            self.full = !over.is_empty();
            rest = over;
        }
        self.tail.push_str(rest);
        // Cut only once it is twice too long, so that many small pieces cost no more than few.
        if self.tail.len() > self.max_bytes.saturating_mul(2) {
            self.trim();
        }
    }

    pub(crate) fn into_text(mut self) -> String {
        self.trim();
        if self.dropped == 0 {
            return self.head + &self.tail;
        }
        format!("{}\n[... {} bytes left out ...]\n{}", self.head, self.dropped, self.tail)
    }

    fn trim(&mut self) {
        let room = self.max_bytes - self.max_bytes / 2;
        let over = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(room));
        self.tail.drain(..over);
        self.dropped += over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_beginning_and_its_end_however_it_comes() {
        let text: String = ('a'..='z').cycle().take(1_000).chain("äöü".chars()).collect();
        for max_bytes in [0, 1, 7, 100, 999, 1_006, 5_000] {
            let mut at_once = Excerpt::new(max_bytes);
            at_once.push(&text);
            let whole = at_once.into_text();
            for size in [1, 13, 400] {
                let mut pieces = Excerpt::new(max_bytes);
                let chars: Vec<char> = text.chars().collect();
                for piece in chars.chunks(size) {
                    pieces.push(&piece.iter().collect::<String>());
                }
                assert_eq!(pieces.into_text(), whole, "{max_bytes} {size}");
            }
            assert_eq!(whole == text, max_bytes >= 1_006, "{max_bytes}");
            assert!(whole.len() <= max_bytes + 40, "{max_bytes}");
        }
        let mut short = Excerpt::new(4);
        short.push("abcdefgh");
        assert_eq!(short.into_text(), "ab\n[... 4 bytes left out ...]\ngh");
    }
}
