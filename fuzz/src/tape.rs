//! Bytes read as choices.

/// What is left of an input. A tape that is used up gives nought for ever.
#[derive(Debug, Clone)]
pub(crate) struct Tape<'a>(&'a [u8]);

impl<'a> Tape<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below the bound; 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: u8) -> u8 {
        self.byte().checked_rem(bound).unwrap_or(0)
    }

    /// True once in `n` bytes; a tape that is used up says no.
    pub(crate) fn one_in(&mut self, n: u8) -> bool {
        !self.is_empty() && self.below(n) == 0
    }

    /// A number of two bytes.
    pub(crate) fn number(&mut self) -> u64 {
        u64::from(u16::from_be_bytes([self.byte(), self.byte()]))
    }

    pub(crate) fn pick<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        let index = usize::from(self.byte()).checked_rem(items.len())?;
        items.get(index)
    }

    /// The next piece, up to a line's end or the end of all.
    pub(crate) fn line(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == b'\n').unwrap_or(self.0.len());
        let (line, rest) = self.0.split_at_checked(end).unwrap_or((self.0, &[]));
        self.0 = rest.get(1..).unwrap_or_default();
        line
    }

    /// As many bytes as there are, and no more than that.
    pub(crate) fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at_checked(most).unwrap_or((self.0, &[]));
        self.0 = rest;
        taken
    }

    pub(crate) const fn rest(self) -> &'a [u8] {
        self.0
    }
}
