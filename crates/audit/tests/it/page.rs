//! The pages that list the rules list all of them, with their weight and their words.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use probity_audit::bundle::BUNDLE_RULES;
use probity_audit::log::LOG_RULES;
use probity_audit::{RULES, Severity};
use probity_report::{self as report, Class, Rule};

const HEAD: &str = "| Code | Weight | Finds |\n|---|---|---|\n";

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn assert_code_page(code: &str) {
    let own = docs().join("codes").join(format!("{code}.md"));
    assert!(own.is_file(), "{}", own.display());
}

#[test]
fn the_page_lists_every_rule_in_order() {
    let page = fs::read_to_string(docs().join("episodes.md")).unwrap();
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
    RULES.iter().for_each(|rule| assert_code_page(rule.code));
}

#[test]
fn the_page_of_logs_lists_every_rule_under_its_check() {
    assert_tables("log-rules.md", LOG_RULES);
}

#[test]
fn the_page_of_bundles_lists_every_rule_under_its_check() {
    assert_tables("bundle-format.md", BUNDLE_RULES);
}

/// Holds the tables of a page against the rules; with `PROBITY_BLESS=1` it writes them anew.
fn assert_tables(name: &str, rules: &[&Rule]) {
    let path = docs().join(name);
    let page = fs::read_to_string(&path).unwrap();
    let listed: Vec<&str> = page.lines().filter_map(marked_check).collect();
    let checks: BTreeSet<&str> = rules.iter().map(|rule| rule.check).collect();
    assert_eq!(listed.len(), checks.len(), "one table for each of {checks:?}");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), checks);
    rules.iter().for_each(|rule| assert_code_page(rule.code));
    let right = with_tables(&page, rules);
    if std::env::var_os("PROBITY_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, right).unwrap();
        return;
    }
    for (at, (stands, right)) in page.lines().zip(right.lines()).enumerate() {
        assert_eq!(stands, right, "{name}, line {}; PROBITY_BLESS=1 writes it anew", at + 1);
    }
    assert_eq!(page, right, "PROBITY_BLESS=1 writes it anew");
}

/// The check of a line `<!-- rules: CHECK -->`.
fn marked_check(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- rules: ")?.strip_suffix(" -->")
}

/// Puts a table behind each mark, in the place of the one that is there.
fn with_tables(page: &str, rules: &[&Rule]) -> String {
    let mut lines = page.lines().peekable();
    let mut text = String::new();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let Some(check) = marked_check(line) else { continue };
        text += &format!("\n{HEAD}{}", table(rules, check));
        while lines.next_if(|line| line.is_empty() || line.starts_with('|')).is_some() {}
        if lines.peek().is_some() {
            text.push('\n');
        }
    }
    text
}

fn table(rules: &[&Rule], check: &str) -> String {
    let row = |rule: &&Rule| {
        let weight = weight(rule);
        format!("| [`{0}`](codes/{0}.md) | {weight} | {1} |\n", rule.code, rule.finds)
    };
    rules.iter().filter(|rule| rule.check == check).map(row).collect()
}

fn weight(rule: &Rule) -> &'static str {
    match (rule.severity, rule.class) {
        (report::Severity::Error, Class::Finding) => "error",
        (report::Severity::Error, Class::Malformed) => "malformed",
        (report::Severity::Error, Class::Limit) => "limit",
        (report::Severity::Error, Class::Withheld) => "withheld",
        (report::Severity::Warning, _) => "warning",
        (report::Severity::Note, _) => "note",
    }
}
