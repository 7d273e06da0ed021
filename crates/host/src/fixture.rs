//! Definitions that conformance suites run: those of the kit, from the same files. Only with the seams.

use probity_workflow::{Definition, DefinitionError};

/// Every fixture, sorted: its name and its definition.
const FIXTURES: [(&str, &str); 42] = include!("../../../testdata/openwop/fixtures.rs");

/// Every fixture.
pub(crate) fn definitions() -> impl Iterator<Item = Result<Definition, DefinitionError>> {
    FIXTURES
        .iter()
        .map(|(_, text)| Definition::parse(&serde_json::from_str(text).unwrap_or_default()))
}

/// The names of all fixtures, sorted.
pub(crate) fn names() -> Vec<&'static str> {
    FIXTURES.iter().map(|(id, _)| *id).collect()
}
