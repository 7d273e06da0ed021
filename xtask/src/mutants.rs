//! Mutation testing: is there a change of the product that no test notices?

use std::path::Path;

use crate::XtaskError;
use crate::command::{cargo, is_installed};

/// The crates that decide: what they say must not change unnoticed. `bench/mutants.md` has their figures.
const CRATES: [&str; 4] = ["core", "record", "audit", "workflow"];

/// How serde_json keeps numbers in the program.
const NUMBERS: &str = "serde_json/arbitrary_precision";

/// Changes one crate, or each of those that decide, in one place after another, and runs its tests on
/// every change. A name without a dash is the crate, without `probity-`; the rest goes to cargo-mutants:
/// `--shard 1/40`, `--file PATH`, `--in-diff PATH`. What no test noticed is listed in
/// `target/mutants.out/missed.txt`.
///
/// # Errors
/// [`XtaskError`] when cargo-mutants is missing, or a change was not noticed.
pub fn mutants(root: &Path, words: &[&str]) -> Result<(), XtaskError> {
    if !is_installed(root, "mutants") {
        return Err(XtaskError::Missing { subcommand: "mutants" });
    }
    let args = arguments(words);
    cargo(root, &args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What cargo is called with: unit and integration tests, because these crates have no documentation
/// tests, and numbers kept as text, as in the program, where the script language asks for it.
fn arguments(words: &[&str]) -> Vec<String> {
    let (named, options) = match words {
        [name, options @ ..] if !name.starts_with('-') => (std::slice::from_ref(name), options),
        options => (CRATES.as_slice(), options),
    };
    let packages = named.iter().map(|name| format!("--package=probity-{name}"));
    let first =
        ["mutants", "--output=target", "--jobs=1", "--features", NUMBERS].map(str::to_owned);
    let last = ["--", "--lib", "--tests"].map(str::to_owned);
    let options = options.iter().map(|option| (*option).to_owned());
    first.into_iter().chain(packages).chain(options).chain(last).collect()
}
