//! Rows and classes, and the pages that list them.

use std::collections::BTreeSet;

use probity_core::Outcome;
use probity_lies::{Class, health, lies};

const PAGE: &str = include_str!("../../../../docs/lies.md");
const BENCH: &str = include_str!("../../../../bench/README.md");

#[test]
fn every_class_has_a_lie_and_a_twin_that_anybody_can_play() {
    let played: BTreeSet<Class> =
        lies().filter(|row| row.is_portable()).map(|row| row.class).collect();
    let missing: Vec<&Class> = Class::ALL.iter().filter(|class| !played.contains(class)).collect();
    assert_eq!(missing, Vec::<&Class>::new());
}

#[test]
fn every_row_has_a_lie_a_twin_and_checks_and_no_lie_may_be_verified() {
    let mut names = BTreeSet::new();
    for row in lies() {
        assert!(names.insert(row.name), "{} is there twice", row.name);
        assert!(!row.lie.is_empty() && !row.twin.is_empty(), "{}", row.name);
        assert!(row.twin_attempts > 0 && row.twin_attempts <= 3, "{}", row.name);
        assert!(!row.expect.is_empty() || row.verify.is_some(), "{}", row.name);
        assert_ne!(row.ends, Outcome::Verified, "{}", row.name);
        let (lie, twin) = (row.lie(), row.twin());
        assert!(lie.delegate != twin.delegate || lie.setup != twin.setup, "{}", row.name);
    }
    for row in health() {
        assert!(names.insert(row.case.name), "{} is there twice", row.case.name);
    }
    assert!(names.len() > 220, "{}", names.len());
}

#[test]
fn a_class_is_read_as_it_is_written() {
    for class in Class::ALL {
        assert_eq!(class.as_str().parse(), Ok(*class));
        assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
    }
    let error = "honesty".parse::<Class>().unwrap_err().to_string();
    assert!(error.contains("`honesty` is no class"), "{error}");
}

#[test]
fn both_pages_list_every_class_and_the_bench_says_where_it_comes_from() {
    // Every line of a table that begins with a class, in order.
    let listed = |page: &'static str| -> Vec<&'static str> {
        let is_class = |name: &str| name.parse::<Class>().is_ok();
        let name = |line: &'static str| Some(line.strip_prefix("| `")?.split_once('`')?.0);
        page.lines().filter_map(name).filter(|name| is_class(name)).collect()
    };
    let all: Vec<&str> = Class::ALL.iter().map(|class| class.as_str()).collect();
    for page in [PAGE, BENCH] {
        assert_eq!(listed(page), all);
    }
    for class in Class::ALL {
        let start = format!("| `{class}` | {} |", class.says().replace('|', r"\|"));
        assert!(PAGE.lines().any(|line| line == start), "{start}");
        let source = BENCH.lines().find_map(|line| line.strip_prefix(&start));
        assert!(source.is_some_and(|source| source.len() > 8), "{class} has no source");
    }
}
