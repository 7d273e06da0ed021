//! Links between documents.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::source::has_extension;
use crate::{Finding, Tree};

/// Relative links in Markdown files that lead nowhere: no such file or folder, or no such heading.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| has_extension(path, "md")) {
        // The contents of the book name a page that is made of the README; `book` looks at them.
        if path.starts_with("testdata/") || path == "docs/SUMMARY.md" {
            continue;
        }
        for (line, target) in links(text) {
            if let Some(why) = broken(tree, path, &target) {
                findings.push(Finding::new(path, line, format!("link `{target}`: {why}")));
            }
        }
    }
    findings
}

/// Every relative link target with its line; code is skipped.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for (at, _) in prose.match_indices("](") {
            let rest = prose.get(at + 2..).unwrap_or_default();
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            let absolute = target.contains("://") || target.starts_with("mailto:");
            if !absolute && rest.contains(')') {
                found.push((number + 1, target.to_owned()));
            }
        }
    }
    found
}

fn broken(tree: &Tree, from: &str, target: &str) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = if file.is_empty() { Some(from.to_owned()) } else { join(from, file) };
    let Some(file) = file else { return Some("leaves the repository") };
    let folder = format!("{}/", file.trim_end_matches('/'));
    let Some(text) = tree.text(&file) else {
        let is_folder = tree.files().any(|(path, _)| path.starts_with(&folder));
        return (!is_folder).then_some("no such file");
    };
    let missing =
        !anchor.is_empty() && has_extension(&file, "md") && !anchors(text).contains(anchor);
    missing.then_some("no such heading")
}

fn join(from: &str, target: &str) -> Option<String> {
    let mut joined = PathBuf::from(from);
    joined.pop();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => joined.push(name),
            Component::CurDir => {}
            Component::ParentDir if joined.pop() => {}
            _ => return None,
        }
    }
    joined.to_str().map(str::to_owned)
}

/// Headings as the usual renderers name them.
fn anchors(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}
