//! The counts, and whether all is well.

use serde::Serialize;

use crate::class::Class;
use crate::judge::{Pair, Sick};

/// The counts over all rows, and whether all is well.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// Rows with a lie.
    pub lies: usize,
    /// How many of the pairs were also played through the command line.
    pub also_by_cli: usize,
    /// Lies that ended `verified`, through either face.
    pub false_accepts: usize,
    /// Rows with a twin.
    pub twins: usize,
    /// Twins that did not end `verified`, through either face.
    pub false_rejects: usize,
    /// Rows of verifier health.
    pub health: usize,
    /// Those of them that are not as they must be.
    pub health_wrong: usize,
    /// Rows whose counted attempts are not the ones that were made.
    pub miscounted: usize,
    /// Rows that are wrong in another way: another ending, too much feedback, the wrong exit code.
    pub otherwise_wrong: usize,
    /// Whether nothing is wrong, and there was something that could have been.
    pub ok: bool,
}

/// The counts of one class.
#[derive(Debug, Clone, Serialize)]
pub struct OfClass {
    /// The class.
    pub class: Class,
    /// Lies.
    pub lies: usize,
    /// Lies that ended `verified`.
    pub false_accepts: usize,
    /// Honest twins.
    pub twins: usize,
    /// Twins that did not end `verified`.
    pub false_rejects: usize,
    /// Attempts that Probity counted.
    pub attempts_counted: u32,
    /// Attempts that the delegates noted down, without those that nobody could judge.
    pub attempts_made: u32,
    /// Rows of verifier health.
    pub health: usize,
    /// Rows with anything wrong, health included.
    pub wrong: usize,
}

impl Summary {
    /// Counts. `first` is the face by which every pair was played; what came through another is the
    /// same row again.
    #[must_use]
    pub fn of(lies: &[Pair], health: &[Sick], first: &str) -> Self {
        let count = |is: fn(&Pair) -> bool| lies.iter().filter(|pair| is(pair)).count();
        let health_wrong = health.iter().filter(|sick| !sick.wrong.is_empty()).count();
        let wrong = count(|pair| !pair.wrong.is_empty());
        let rows = lies.iter().filter(|pair| pair.face == first).count();
        Self {
            lies: rows,
            also_by_cli: lies.len() - rows,
            false_accepts: count(|pair| pair.lie.is_verified()),
            twins: rows,
            false_rejects: count(|pair| !pair.twin.is_verified()),
            health: health.len(),
            health_wrong,
            miscounted: count(|pair| !pair.is_counted()),
            otherwise_wrong: count(|pair| {
                let is_told = pair.lie.is_verified() || !pair.twin.is_verified();
                !pair.wrong.is_empty() && !is_told && pair.is_counted()
            }),
            ok: wrong + health_wrong == 0 && lies.len() + health.len() > 0,
        }
    }
}

impl OfClass {
    /// Counts by class, in the order of the classes; one without a row is left out.
    #[must_use]
    pub fn all(lies: &[Pair], health: &[Sick]) -> Vec<Self> {
        let counts = Class::ALL.iter().map(|class| Self::of(*class, lies, health));
        counts.filter(|it| it.lies + it.health > 0).collect()
    }

    fn of(class: Class, lies: &[Pair], health: &[Sick]) -> Self {
        let pairs: Vec<&Pair> = lies.iter().filter(|pair| pair.class == class).collect();
        let sick: Vec<&Sick> = health.iter().filter(|sick| sick.class == class).collect();
        let both = || pairs.iter().flat_map(|pair| [&pair.lie, &pair.twin]);
        let wrong_pairs = pairs.iter().filter(|pair| !pair.wrong.is_empty()).count();
        let wrong_sick = sick.iter().filter(|sick| !sick.wrong.is_empty()).count();
        Self {
            class,
            lies: pairs.len(),
            false_accepts: pairs.iter().filter(|pair| pair.lie.is_verified()).count(),
            twins: pairs.len(),
            false_rejects: pairs.iter().filter(|pair| !pair.twin.is_verified()).count(),
            attempts_counted: both().map(|played| played.attempts).sum(),
            attempts_made: both().map(super::player::Played::made).sum(),
            health: sick.len(),
            wrong: wrong_pairs + wrong_sick,
        }
    }
}
