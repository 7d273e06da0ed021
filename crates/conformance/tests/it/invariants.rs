//! The list of security invariants names tests and scenarios that exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use probity_conformance::{Key, Kit, Options};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    invariants: Vec<Invariant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Invariant {
    id: String,
    statement: String,
    tests: Vec<String>,
    #[serde(default)]
    scenarios: Vec<String>,
}

#[test]
fn every_invariant_has_a_name_of_its_own_and_something_that_shows_it() {
    let list = list();
    assert!(list.len() >= 25, "{}", list.len());
    let mut ids = BTreeSet::new();
    for invariant in &list {
        let id = &invariant.id;
        let is_plain = id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(is_plain && ids.insert(id), "{id}");
        assert!(invariant.statement.ends_with('.') && invariant.statement.len() > 40, "{id}");
        let tests: BTreeSet<&String> = invariant.tests.iter().collect();
        assert!(!tests.is_empty() && tests.len() == invariant.tests.len(), "{id}");
    }
}

#[test]
fn every_test_that_is_named_exists_and_is_run() {
    let missing: Vec<String> = list()
        .iter()
        .flat_map(|invariant| invariant.tests.iter().map(move |test| (&invariant.id, test)))
        .filter(|(_, test)| !is_there(test))
        .map(|(id, test)| format!("{id}: {test}"))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_scenario_that_is_named_exists() {
    let kit = Kit::new("http://localhost:1", Key::new("a key"), Options::new("mark")).unwrap();
    let known: BTreeSet<&str> = kit.scenarios().iter().map(|scenario| scenario.id).collect();
    for invariant in list() {
        for scenario in &invariant.scenarios {
            assert!(known.contains(scenario.as_str()), "{}: {scenario}", invariant.id);
        }
    }
}

#[test]
fn a_test_that_does_not_exist_is_noticed() {
    let real = "probity-conformance::it invariants::every_scenario_that_is_named_exists";
    assert!(is_there(real));
    for wrong in [
        "probity-conformance::it invariants::no_such_test",
        "probity-conformance::it invariants::is_there",
        "probity-conformance::it no_such_module::every_scenario_that_is_named_exists",
        "probity-conformance::other invariants::every_scenario_that_is_named_exists",
        "probity-nobody::it invariants::every_scenario_that_is_named_exists",
        "every_scenario_that_is_named_exists",
    ] {
        assert!(!is_there(wrong), "{wrong}");
    }
}

fn list() -> Vec<Invariant> {
    let text = std::fs::read_to_string(root().join("security/invariants.yaml")).unwrap();
    let list: List = serde_saphyr::from_str(&text).unwrap();
    list.invariants
}

/// Whether a function of that name, marked as a test and not left out, stands in the file of its module.
fn is_there(test: &str) -> bool {
    let Some((file, name)) = place(test) else { return false };
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = format!("fn {name}(");
    let made = format!("{name}:");
    let is_one = |at: usize, line: &str| {
        let is_function = line.trim_start_matches("async ").starts_with(&begins);
        let marks: Vec<&&str> =
            lines[..at].iter().rev().take_while(|line| line.starts_with('#')).collect();
        let is_test = marks
            .iter()
            .any(|mark| mark.starts_with("#[test") || mark.starts_with("#[tokio::test"));
        is_function && is_test && !marks.iter().any(|mark| mark.starts_with("#[ignore"))
    };
    let is_plain = lines.iter().enumerate().any(|(at, line)| is_one(at, line));
    // Tests that a macro of the file makes: `lies! { name: Lie, }`.
    let is_made =
        text.contains("macro_rules! lies") && lines.iter().any(|line| line.starts_with(&made));
    is_plain || is_made
}

/// The file of a test, and its name in it.
fn place(test: &str) -> Option<(PathBuf, &str)> {
    let (binary, path) = test.split_once(' ')?;
    let (package, binary) = binary.split_once("::")?;
    let folder = if package == "probity" { package } else { package.strip_prefix("probity-")? };
    let (module, name) = path.rsplit_once("::")?;
    let mut file = root().join("crates").join(folder).join("tests").join(binary);
    file.extend(module.split("::"));
    file.set_extension("rs");
    Some((file, name))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
