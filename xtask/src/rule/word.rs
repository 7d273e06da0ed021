//! Words that have no place in the text of a repository.

use crate::{Finding, Tree};

/// Marks of unfinished work, and folders of one machine. Written apart, so that this file does not
/// find itself.
const WORDS: [(&str, &str); 8] = [
    (concat!("TO", "DO"), "unfinished work: do it, or leave it out"),
    (concat!("FIX", "ME"), "unfinished work: do it, or leave it out"),
    (concat!("XX", "X:"), "unfinished work: do it, or leave it out"),
    (concat!("todo", "!("), "unfinished work: do it, or leave it out"),
    (concat!("unimplemented", "!("), "unfinished work: do it, or leave it out"),
    (concat!("/wo", "rk/"), "the path of one machine"),
    (concat!("/ro", "ot/"), "the path of one machine"),
    (concat!("/Us", "ers/"), "the path of one machine"),
];

/// Lines that hold one of the words. Sample data is exempt: it is quoted, not written.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        if path.starts_with("testdata/") || path.contains("/testdata/") || path == "Cargo.lock" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for (word, why) in WORDS {
                if stands_alone(line, word) {
                    findings.push(Finding::new(path, number + 1, format!("`{word}`: {why}")));
                }
            }
        }
    }
    findings
}

/// Whether `word` occurs and is not the tail of a longer word or path.
fn stands_alone(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | '*'))
    })
}
