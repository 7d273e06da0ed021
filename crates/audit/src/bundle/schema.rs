//! The schemas that go into a bundle, so that whoever opens it can read what is in it.

/// A JSON Schema (draft 2020-12) of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schema {
    /// Its entry in a bundle.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! schemas {
    ($($file:literal),* $(,)?) => {
        &[$(Schema {
            name: concat!("schemas/", $file, ".schema.json"),
            text: include_str!(concat!("../../schemas/", $file, ".schema.json")),
        }),*]
    };
}

/// Every schema of a bundle, sorted by name.
pub static BUNDLE_SCHEMAS: &[Schema] =
    schemas!["bundle-manifest", "episode", "record", "statement", "verification-report"];
