//! The page that lists the rules lists all of them, with their weight, their invariant and their words.

use std::fs;
use std::path::PathBuf;

use probity_report::{Class, Rule, Severity};
use probity_trace::{CHECKS, compat, rules};

const HEAD: &str = "| Code | Weight | Invariant | Finds |\n|---|---|---|---|\n";

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn weight(rule: &Rule) -> &'static str {
    match (rule.severity, rule.class) {
        (Severity::Error, Class::Finding) => "error",
        (Severity::Error, Class::Malformed) => "malformed",
        (Severity::Error, Class::Limit) => "limit",
        (Severity::Error, Class::Withheld) => "withheld",
        (Severity::Warning, _) => "warning",
        (Severity::Note, _) => "note",
    }
}

/// The rows of one check, or of every check where none is named.
fn table(rules: &[&Rule], check: &str) -> String {
    let row = |rule: &&Rule| {
        let invariant = rule.invariant_id.unwrap_or("–");
        let weight = weight(rule);
        format!("| [`{0}`](codes/{0}.md) | {weight} | {invariant} | {1} |\n", rule.code, rule.finds)
    };
    rules.iter().filter(|rule| rule.check == check).map(row).collect()
}

/// Puts a table behind each `<!-- rules: CHECK -->`, in the place of the one that is there.
fn with_tables(page: &str, rules: &[&Rule]) -> String {
    let mut lines = page.lines().peekable();
    let mut text = String::new();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let check = line.strip_prefix("<!-- rules: ").and_then(|line| line.strip_suffix(" -->"));
        let Some(check) = check else { continue };
        text += &format!("\n{HEAD}{}\n", table(rules, check));
        while lines.next_if(|line| line.is_empty() || line.starts_with('|')).is_some() {}
    }
    text
}

#[test]
fn the_page_lists_every_rule_under_its_check() {
    let path = docs().join("traces.md");
    let page = fs::read_to_string(&path).expect("the page");
    let strict = rules();
    let all: Vec<&Rule> = strict.iter().copied().chain(compat::rules()).collect();
    let mut checks: Vec<&str> = CHECKS.to_vec();
    checks.push("read");
    checks.extend(compat::CHECKS);
    let listed: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("<!-- rules: ")?.strip_suffix(" -->"))
        .collect();
    assert_eq!(listed, checks);
    for rule in &all {
        assert!(checks.contains(&rule.check), "{}", rule.code);
        let own = docs().join("codes").join(format!("{}.md", rule.code));
        assert!(own.is_file(), "{}", own.display());
    }
    let right = with_tables(&page, &all);
    if std::env::var_os("PROBITY_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, right).expect("the page");
        return;
    }
    for (at, (stands, right)) in page.lines().zip(right.lines()).enumerate() {
        assert_eq!(stands, right, "line {}; PROBITY_BLESS=1 writes it anew", at + 1);
    }
    assert_eq!(page, right, "PROBITY_BLESS=1 writes it anew");
}

#[test]
fn pages_say_how_many_rules_there_are() {
    let readme = fs::read_to_string(docs().join("../README.md")).expect("the page");
    assert!(readme.contains(&format!("by {} rules", rules().len())), "{}", rules().len());
    let page = fs::read_to_string(docs().join("traces.md")).expect("the page");
    for number in [rules().len(), compat::rules().len()] {
        assert!(page.contains(&format!("{number} rules")), "{number}");
    }
}
