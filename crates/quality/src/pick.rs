//! Which mutants are tried, where there are more than wanted.

use crate::change::Mutant;
use crate::draw::Draw;

/// At most `max` of the mutants: one of each operator, then another one of each, so that few mutants still are of
/// many kinds. The order of operators is theirs, which file and which place comes first is the draw's.
#[must_use]
pub fn pick(mut mutants: Vec<Mutant>, max: usize, draw: &mut Draw) -> Vec<Mutant> {
    draw.shuffle(&mut mutants);
    let mut ranked: Vec<(usize, Mutant)> = Vec::with_capacity(mutants.len());
    for mutant in mutants {
        let before = ranked.iter().filter(|(_, other)| other.operator == mutant.operator).count();
        ranked.push((before, mutant));
    }
    // Stable: what came first of one operator stays first.
    ranked.sort_by_key(|(rank, mutant)| (*rank, mutant.operator));
    ranked.into_iter().map(|(_, mutant)| mutant).take(max).collect()
}
