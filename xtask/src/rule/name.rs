//! Names that say nothing.

use std::path::Path;

use crate::source::has_extension;
use crate::{Finding, Tree};

const EMPTY_NAMES: [&str; 7] = ["utils", "util", "common", "types", "helpers", "manager", "misc"];

/// Rust files and folders whose name does not tell what is in them.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|(path, _)| has_extension(path, "rs"))
        .filter_map(|(path, _)| {
            let stem = Path::new(path).with_extension("");
            let empty = stem
                .iter()
                .find_map(|part| EMPTY_NAMES.iter().find(|name| part.to_str() == Some(**name)))?;
            Some(Finding::new(path, 0, format!("`{empty}` says nothing: name the noun inside")))
        })
        .collect()
}
