//! What the documentation says of scenarios and tests is there.

use std::collections::BTreeSet;
use std::path::Path;

use probity_conformance::{Key, Kit, Level, Options};

#[test]
fn every_scenario_that_the_page_names_exists_and_every_level_is_named() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/interop.md");
    let page = std::fs::read_to_string(page).unwrap();
    let kit = Kit::new("http://localhost:1", Key::new("a key"), Options::new("mark")).unwrap();
    let known: BTreeSet<&str> = kit.scenarios().iter().map(|scenario| scenario.id).collect();
    let mut levels = BTreeSet::new();
    for named in page.split('`').skip(1).step_by(2) {
        let Some((level, rest)) = named.split_once('/') else { continue };
        let Some(level) = Level::ALL.into_iter().find(|known| known.as_str() == level) else {
            continue;
        };
        let is_there = match rest.strip_suffix('*') {
            Some(begin) => known.iter().any(|id| {
                id.strip_prefix(level.as_str()).is_some_and(|id| id[1..].starts_with(begin))
            }),
            None => rest.is_empty() || known.contains(named),
        };
        assert!(is_there, "{named}");
        levels.insert(level);
    }
    assert!(levels.len() >= 7, "{levels:?}");
}
