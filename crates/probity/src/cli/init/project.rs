//! What kind of project a folder holds, by the files in it.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

/// A project with a test command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Detected {
    /// The file that gave it away.
    pub(super) evidence: &'static str,
    /// What runs its tests.
    pub(super) command: &'static str,
}

/// Bytes of a project file that are looked at.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Whether a file of the project says that the command works.
type Says = fn(&str) -> bool;

/// File, command, and what the file must say. The first row that fits wins.
const TABLE: [(&str, &str, Says); 21] = [
    ("Cargo.toml", "cargo test", always),
    ("pnpm-lock.yaml", "pnpm test", always),
    ("yarn.lock", "yarn test", always),
    ("package.json", "npm test", has_test_script),
    ("deno.json", "deno test", always),
    ("tox.ini", "tox", |text| text.contains("[tox]") || text.contains("[testenv")),
    ("pytest.ini", "pytest", always),
    ("pyproject.toml", "pytest", always),
    ("setup.cfg", "pytest", always),
    ("conftest.py", "pytest", always),
    ("go.mod", "go test ./...", always),
    ("mvnw", "./mvnw test", always),
    ("pom.xml", "mvn test", always),
    ("gradlew", "./gradlew test", always),
    ("build.gradle", "gradle test", always),
    ("build.gradle.kts", "gradle test", always),
    ("mix.exs", "mix test", always),
    ("Package.swift", "swift test", always),
    ("Makefile", "make test", has_test_target),
    ("makefile", "make test", has_test_target),
    ("justfile", "just test", has_test_target),
];

/// Finds the project's test command.
pub(super) fn detect(root: &Path) -> Option<Detected> {
    let fits = |(file, _, says): &&(&'static str, &'static str, Says)| {
        let path = root.join(file);
        let is_small =
            fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= MAX_FILE_BYTES);
        is_small && fs::read(&path).is_ok_and(|bytes| says(&String::from_utf8_lossy(&bytes)))
    };
    // A lock file names the package manager; whether there are tests stands in package.json.
    let has_scripts =
        fs::read_to_string(root.join("package.json")).is_ok_and(|text| has_test_script(&text));
    let is_node = |file: &str| matches!(file, "pnpm-lock.yaml" | "yarn.lock");
    let row = TABLE.iter().filter(|(file, ..)| !is_node(file) || has_scripts).find(fits);
    row.map(|(evidence, command, _)| Detected { evidence, command })
}

/// Every project that can be found.
#[cfg(test)]
pub(super) fn every() -> impl Iterator<Item = Detected> {
    TABLE.iter().map(|(evidence, command, _)| Detected { evidence, command })
}

fn always(_: &str) -> bool {
    true
}

/// npm writes a script that only fails into every new package.
fn has_test_script(text: &str) -> bool {
    let package: Value = serde_json::from_str(text).unwrap_or_default();
    let script = package.pointer("/scripts/test").and_then(Value::as_str);
    script.is_some_and(|script| !script.contains("no test specified"))
}

fn has_test_target(text: &str) -> bool {
    text.lines().any(|line| {
        let rule = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='));
        rule.is_some_and(|(targets, _)| targets.split_whitespace().any(|word| word == "test"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(files: &[(&str, &str)]) -> Option<&'static str> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        detect(folder.path()).map(|project| project.command)
    }

    #[test]
    fn every_row_of_the_table_is_found_by_its_file() {
        for (file, command, says) in TABLE {
            let text = match file {
                "package.json" => r#"{"scripts": {"test": "jest"}}"#,
                "tox.ini" => "[tox]\n",
                _ => "test: build\n",
            };
            assert!(says(text), "{file}");
            let package = ("package.json", r#"{"scripts": {"test": "jest"}}"#);
            let files = match file {
                "pnpm-lock.yaml" | "yarn.lock" => vec![package, (file, text)],
                _ => vec![(file, text)],
            };
            assert_eq!(detected(&files), Some(command), "{file}");
        }
    }

    #[test]
    fn a_file_that_names_no_tests_is_passed_over() {
        assert_eq!(detected(&[]), None);
        assert_eq!(detected(&[("Makefile", "build: x\n\ttest -f y\n")]), None);
        assert_eq!(detected(&[("Makefile", "test := x\n")]), None);
        assert_eq!(detected(&[("package.json", "{}"), ("yarn.lock", "")]), None);
        let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(detected(&[("package.json", placeholder)]), None);
        assert_eq!(
            detected(&[("package.json", placeholder), ("Makefile", ".PHONY: test\ntest: a\n")]),
            Some("make test")
        );
    }
}
