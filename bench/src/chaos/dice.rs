//! Chance that comes out the same for the same seed.

/// A linear congruential generator: enough to pick whom to kill.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below the bound; 0 for a bound of 0.
    pub(super) const fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match (self.0 >> 33).checked_rem(bound) {
            Some(number) => number,
            None => 0,
        }
    }
}
