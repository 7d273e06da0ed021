//! A generator that gives the same numbers for the same seed on every machine and in every version.

/// SplitMix64, or what a tape says until it is used up.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
    /// Back to front.
    tape: Vec<u8>,
}

impl Rng {
    /// A generator for a seed; equal seeds give equal numbers.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed, tape: Vec::new() }
    }

    /// A generator that gives what the bytes say, as few of them for a number as its bound needs, and
    /// behind them the numbers of seed 0. A changed byte changes one choice, which is what a fuzzer
    /// wants.
    #[must_use]
    pub fn of_tape(bytes: &[u8]) -> Self {
        Self { state: 0, tape: bytes.iter().rev().copied().collect() }
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias is below 2^-32 for the bounds that schedules use.
        if bound == 0 { 0 } else { self.draw(bound) % bound }
    }

    /// A number to take the rest of: from the tape while there is one.
    fn draw(&mut self, bound: u64) -> u64 {
        if self.tape.is_empty() {
            return self.next_u64();
        }
        let bytes = if bound <= 256 { 1 } else { 4 };
        let from = self.tape.len().saturating_sub(bytes);
        self.tape.drain(from..).fold(0, |number, byte| number << 8 | u64::from(byte))
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of the items; `None` of none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.below(items.len() as u64);
        items.get(usize::try_from(index).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_first_numbers() {
        let mut rng = Rng::new(1_234_567);
        let numbers: Vec<_> = (0..5).map(|_| rng.next_u64()).collect();
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn a_tape_is_read_and_then_the_numbers_go_on() {
        let mut rng = Rng::of_tape(&[7, 1, 2, 3, 4]);
        assert_eq!(rng.below(10), 7);
        // Four bytes, the last of them the highest.
        assert_eq!(rng.below(1 << 40), 0x0403_0201);
        assert_eq!(rng.next_u64(), Rng::new(0).next_u64());
    }

    #[test]
    fn bounds_hold() {
        let mut rng = Rng::new(1);
        for _ in 0..1_000 {
            assert!(rng.below(7) < 7);
            assert!((3..=5).contains(&rng.between(3, 5)));
        }
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.pick::<u8>(&[]), None);
    }
}
