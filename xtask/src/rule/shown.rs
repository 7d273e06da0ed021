//! Defences and the tests that show them.

use crate::{Finding, Tree};

const PAGE: &str = "docs/threat-model.md";
const COLUMN: &str = "Shown by";

/// Rows of the threat model's tables of attacks that name no test, or one that is not there. A row
/// whose defence is `nothing` has none to name.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(text) = tree.text(PAGE) else { return findings };
    let mut columns: Option<(Option<usize>, Option<usize>)> = None;
    for (number, line) in text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            columns = None;
            continue;
        };
        let mut tell = |why: String| findings.push(Finding::new(PAGE, number + 1, why));
        let Some((shown, defence)) = columns else {
            let place = |name: &str| cells.iter().position(|cell| *cell == name);
            if place("Attack").is_some() && place(COLUMN).is_none() {
                tell(format!("a table of attacks without a column `{COLUMN}`"));
            }
            columns = Some((place(COLUMN), place("Defence")));
            continue;
        };
        let Some(shown) = shown else { continue };
        if cells.iter().all(|cell| cell.chars().all(|c| c == '-')) {
            continue;
        }
        let is_open =
            defence.and_then(|at| cells.get(at)).is_some_and(|cell| cell.starts_with("nothing"));
        let named = tests(cells.get(shown).copied().unwrap_or_default());
        if named.is_empty() && !is_open {
            tell("a defence that no test shows".to_owned());
        }
        for (file, test) in named {
            let path = format!("crates/{file}");
            let is_there =
                tree.text(&path).is_some_and(|text| text.contains(&format!("fn {test}(")));
            if !is_there {
                tell(format!("no test `{test}` in `{path}`"));
            }
        }
    }
    findings
}

/// The cells of a row; `None` for a line that is none. A bar within code stands as `\|`.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix("| ").or_else(|| line.strip_prefix('|'))?.strip_suffix('|')?;
    let mut cells = Vec::new();
    let mut from = 0;
    for (at, _) in inner.match_indices('|') {
        if !inner.get(..at).is_some_and(|before| before.ends_with('\\')) {
            cells.push(inner.get(from..at).unwrap_or_default().trim());
            from = at + 1;
        }
    }
    cells.push(inner.get(from..).unwrap_or_default().trim());
    Some(cells)
}

/// The tests of a cell like `` `file.rs`: `test`, `test`; `file.rs`: `test` ``, each with its file.
fn tests(cell: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut file = "";
    for code in cell.split('`').skip(1).step_by(2) {
        if code.ends_with(".rs") {
            file = code;
        } else {
            found.push((file, code));
        }
    }
    found
}
