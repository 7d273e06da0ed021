//! The page that lists the rules lists all of them, with their weight and their words.

use std::path::PathBuf;

use probity_audit::{RULES, Severity};

#[test]
fn the_page_lists_every_rule_in_order() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("episodes.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| [`")).collect();
    let expected: Vec<String> = RULES
        .iter()
        .map(|rule| {
            let weight = match rule.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            format!("| [`{0}`](codes/{0}.md) | {weight} | {1} |", rule.code, rule.finds)
        })
        .collect();
    assert_eq!(rows, expected);
    for rule in RULES {
        let own = docs.join("codes").join(format!("{}.md", rule.code));
        assert!(own.is_file(), "{}", own.display());
    }
}
