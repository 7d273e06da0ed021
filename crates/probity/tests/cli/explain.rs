//! `probity explain`.

use crate::world::World;

#[test]
fn a_code_an_outcome_and_an_exit_code_are_explained() {
    let world = World::new();
    for (asked, first) in [
        ("file_missing", "# file_missing"),
        ("[file_missing]", "# file_missing"),
        ("exhausted", "# exhausted"),
        ("4", "exit code 4, faulted: a verifier broke, so nobody knows"),
        ("1", "exit code 1, exhausted or rejected: the claim was checked and did not hold"),
    ] {
        let ran = world.probity(["explain", asked]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.stdout.lines().next(), Some(first));
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn an_unknown_code_gets_suggestions() {
    let world = World::new();
    let ran = world.probity(["explain", "file-misssing"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (64, ""));
    assert!(ran.stderr.contains("did you mean one of `file_missing`"), "{ran:?}");
    let strange = world.probity(["explain", "a\u{1b}[2J"]);
    assert_eq!(strange.code, 64);
    assert!(!strange.stderr.contains('\u{1b}') && strange.stderr.contains("lists all codes"));
}

#[test]
fn all_codes_are_listed_with_what_they_mean() {
    let world = World::new();
    let ran = world.probity(["explain"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.lines().count() > 100);
    for line in ran.stdout.lines() {
        let (code, meaning) = line.split_once(' ').unwrap();
        assert!(!code.is_empty() && !meaning.trim().is_empty(), "{line}");
    }
}
