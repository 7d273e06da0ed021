//! The workflows that scenarios run. They are the kit's own; a host may seed them from here. The files stand
//! outside of the crate, since our own host seeds the same ones and neither crate may use the other.

/// Every fixture: its id, and its definition as JSON.
#[must_use]
pub const fn fixtures() -> &'static [(&'static str, &'static str)] {
    &FIXTURES
}

/// The definition of a fixture.
pub(crate) fn definition(id: &str) -> Option<&'static str> {
    FIXTURES.iter().find(|(name, _)| *name == id).map(|(_, json)| *json)
}

/// Every fixture: its id, and its definition as JSON.
pub const FIXTURES: [(&str, &str); 42] = include!("../../../testdata/openwop/fixtures.rs");
