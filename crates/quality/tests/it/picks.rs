//! Few mutants are of many kinds, and the same ones for the same seed.

use std::collections::BTreeSet;

use probity_quality::{Draw, Mutant, Operator, Role, changes, pick};

fn many(seed: u64) -> Vec<Mutant> {
    let scratch = tempfile::tempdir().unwrap();
    let mut draw = Draw::new(seed, "check");
    let code =
        b"def f(a):\n    if a == 1 and a < 2:\n        return a + 3\n    return True\n".repeat(9);
    ["a.py", "b.py", "c.py"]
        .iter()
        .flat_map(|path| changes(path, Role::Work, Some(&code), scratch.path(), &mut draw))
        .collect()
}

#[test]
fn each_operator_comes_before_any_comes_twice() {
    let all = many(7);
    let kinds: BTreeSet<Operator> = all.iter().map(|it| it.operator).collect();
    assert!(all.len() > 3 * kinds.len() && kinds.len() > 6, "{} of {}", kinds.len(), all.len());
    let picked = pick(all.clone(), kinds.len(), &mut Draw::new(7, "pick"));
    let of: BTreeSet<Operator> = picked.iter().map(|it| it.operator).collect();
    assert_eq!(of, kinds);
    assert_eq!(pick(all.clone(), 10_000, &mut Draw::new(7, "pick")).len(), all.len());
}

#[test]
fn seeds_decide() {
    let picked = |seed| pick(many(seed), 12, &mut Draw::new(seed, "pick"));
    assert_eq!(picked(1), picked(1));
    assert_ne!(picked(1), picked(2));
    let drawn =
        |seed, about: &str| (0..8).map(|_| Draw::new(seed, about).below(1000)).collect::<Vec<_>>();
    assert_ne!(drawn(1, "one"), drawn(1, "other"));
    assert_eq!(Draw::new(1, "").below(0), 0);
}
