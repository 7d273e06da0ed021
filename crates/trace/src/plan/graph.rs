//! The steps of a plan and what each waits for: a graph without a cycle.

use probity_report::Failures;

use super::rule::{CYCLE, DEPENDENCY_MISSING, DEPENDENCY_SELF, EDGES, NODE_TWICE};
use super::{Plan, place};

/// Holds the graph against its rules. Linear in nodes and dependencies.
pub(super) fn check(plan: &Plan, edges: &[[String; 2]], failures: &mut Failures) {
    let mut waits_for: Vec<Vec<usize>> = Vec::with_capacity(plan.nodes.len());
    for (at, node) in plan.nodes.iter().enumerate() {
        let is_first = plan.index.get(&node.id) == Some(&at);
        if !is_first {
            failures.add(&NODE_TWICE, place(format!("/nodes/{at}/id")), NODE_TWICE.finds);
        }
        let mut known = Vec::with_capacity(node.dependencies.len());
        for (number, dependency) in node.dependencies.iter().enumerate() {
            let pointer = || place(format!("/nodes/{at}/dependencies/{number}"));
            match plan.index.get(dependency) {
                None => failures.add(&DEPENDENCY_MISSING, pointer(), DEPENDENCY_MISSING.finds),
                Some(_) if *dependency == node.id => {
                    failures.add(&DEPENDENCY_SELF, pointer(), DEPENDENCY_SELF.finds);
                }
                Some(other) => known.push(*other),
            }
        }
        waits_for.push(known);
    }
    if let Some(at) = find_cycle(&waits_for) {
        failures.add(&CYCLE, place(format!("/nodes/{at}/dependencies")), CYCLE.finds);
    }
    if !edges.is_empty() && !are_dependencies(plan, edges) {
        failures.add(&EDGES, place("/edges"), EDGES.finds);
    }
}

/// A node on a cycle. Takes away, again and again, what waits for nothing; what stays has a cycle.
fn find_cycle(waits_for: &[Vec<usize>]) -> Option<usize> {
    let mut open: Vec<usize> = waits_for.iter().map(Vec::len).collect();
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); waits_for.len()];
    for (at, others) in waits_for.iter().enumerate() {
        for other in others {
            if let Some(behind) = waiting.get_mut(*other) {
                behind.push(at);
            }
        }
    }
    let mut ready: Vec<usize> = (0..open.len()).filter(|at| open.get(*at) == Some(&0)).collect();
    while let Some(done) = ready.pop() {
        for at in waiting.get(done).into_iter().flatten() {
            if let Some(count) = open.get_mut(*at) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    ready.push(*at);
                }
            }
        }
    }
    let is_left = |at: &usize| open.get(*at).is_some_and(|count| *count > 0);
    let mut at = (0..open.len()).find(is_left)?;
    // Each that is left waits for one that is left: after as many steps as there are nodes, the walk
    // is on the cycle.
    for _ in 0..open.len() {
        at = waits_for.get(at)?.iter().copied().find(is_left)?;
    }
    Some(at)
}

/// Whether the edges are the dependencies, in any order: all from what is waited for to what waits,
/// or all the other way.
fn are_dependencies(plan: &Plan, edges: &[[String; 2]]) -> bool {
    let pairs = plan.nodes.iter().flat_map(|node| {
        node.dependencies.iter().map(|dependency| (dependency.as_str(), node.id.as_str()))
    });
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    let is_all_of = |mut found: Vec<(&str, &str)>| {
        found.sort_unstable();
        found == pairs
    };
    let forward = edges.iter().map(|[from, to]| (from.as_str(), to.as_str())).collect();
    let backward = edges.iter().map(|[from, to]| (to.as_str(), from.as_str())).collect();
    is_all_of(forward) || is_all_of(backward)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_told_by_a_node_on_it() {
        assert_eq!(find_cycle(&[vec![], vec![0], vec![0, 1], vec![2]]), None);
        // 0 waits for the cycle 1 → 2 → 3 → 1 without being on it.
        let at = find_cycle(&[vec![1], vec![2], vec![3], vec![1], vec![]]);
        assert!(matches!(at, Some(1..=3)), "{at:?}");
        assert_eq!(find_cycle(&[]), None);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let chain: Vec<Vec<usize>> =
            (0..400_000_usize).map(|at| at.checked_sub(1).into_iter().collect()).collect();
        assert_eq!(find_cycle(&chain), None);
    }
}
