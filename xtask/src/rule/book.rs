//! Every page of the documentation stands in the book, once.

use std::collections::BTreeMap;

use crate::source::has_extension;
use crate::{Finding, Tree};

/// The contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Written when the book is put together: the README.
const INTRODUCTION: &str = "introduction.md";

/// Pages that the summary does not list, or lists twice, and lines that list no page. Error codes are added
/// when the book is put together.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(summary) = tree.text(SUMMARY) else { return Vec::new() };
    let mut listed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut findings = Vec::new();
    for (number, line) in summary.lines().enumerate() {
        let Some(page) = page_of(line).filter(|page| *page != INTRODUCTION) else { continue };
        if listed.insert(page, number + 1).is_some() {
            findings.push(Finding::new(SUMMARY, number + 1, format!("`{page}` is listed twice")));
        }
        if tree.text(&format!("docs/{page}")).is_none() {
            findings.push(Finding::new(SUMMARY, number + 1, format!("`{page}` is no page")));
        }
    }
    let pages = tree.files().filter_map(|(path, _)| path.strip_prefix("docs/"));
    for page in pages.filter(|page| has_extension(page, "md")) {
        let is_listed = page.starts_with("codes/") || page == "SUMMARY.md";
        if !is_listed && !listed.contains_key(page) {
            findings.push(Finding::new(
                &format!("docs/{page}"),
                0,
                format!("the page is not in {SUMMARY}: add it where a reader needs it"),
            ));
        }
    }
    findings
}

fn page_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("](")?;
    rest.split_once(')').map(|(page, _)| page)
}
