//! The documentation as a book: the pages of `docs/`, the README before them, the error codes behind.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Tree, XtaskError};

/// Where what is not in the book is read.
const REPOSITORY: &str = "https://github.com/probity-dev/probity/blob/main";

/// Puts the book together in `target/book` and builds it into `target/site`, where mdbook is installed.
///
/// # Errors
/// A page cannot be read or written, or mdbook refuses one.
pub fn book(root: &Path) -> Result<(), XtaskError> {
    let tree = Tree::read(root).map_err(|error| XtaskError::Read { error })?;
    let folder = root.join("target/book");
    write_pages(root, &tree, &folder).map_err(|error| XtaskError::Read { error })?;
    let command = "mdbook build".to_owned();
    match Command::new("mdbook").arg("build").current_dir(root).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(XtaskError::Failed { command }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!(
                "xtask: mdbook is not installed (cargo install mdbook); the pages are in target/book"
            );
            Ok(())
        }
        Err(error) => Err(XtaskError::Start { command, error }),
    }
}

fn write_pages(root: &Path, tree: &Tree, folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    copy_pictures(&root.join("docs"), folder)?;
    for (page, text) in pages(tree) {
        let path = folder.join(page);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Files beside the pages, which are shown as they are.
fn copy_pictures(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_pictures(&path, &target)?;
        } else if path.extension().is_none_or(|ending| ending != "md") {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// Every page of the book by its path, with links that lead to a page or to the repository.
#[must_use]
pub fn pages(tree: &Tree) -> Vec<(String, String)> {
    let mut pages = Vec::new();
    let mut codes = String::from("\n# Error codes\n\n");
    for (path, text) in tree.files() {
        let page = match path.strip_prefix("docs/") {
            Some(page) if is_page(page) => page,
            _ if path == "README.md" => "introduction.md",
            _ => continue,
        };
        if let Some(name) = page.strip_prefix("codes/").and_then(|page| page.strip_suffix(".md")) {
            let _ = writeln!(codes, "- [{name}]({page})");
        }
        if page != "SUMMARY.md" {
            pages.push((page.to_owned(), linked(path, page, text)));
        }
    }
    let summary = tree.text("docs/SUMMARY.md").unwrap_or_default();
    pages.push(("SUMMARY.md".to_owned(), format!("{summary}{codes}")));
    pages
}

/// The text of a page, each relative link as it leads from the book.
fn linked(path: &str, page: &str, text: &str) -> String {
    let mut parts = text.split("](");
    let mut linked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        linked.push_str("](");
        let end = part.find([')', ' ', '#']).unwrap_or(part.len());
        let (target, rest) = part.split_at(end);
        let is_absolute = target.contains("://") || target.starts_with("mailto:");
        match (is_absolute || target.is_empty()).then_some(target) {
            Some(target) => linked.push_str(target),
            None => linked.push_str(&leads(path, page, target)),
        }
        linked.push_str(rest);
    }
    linked
}

fn leads(path: &str, page: &str, target: &str) -> String {
    let from = PathBuf::from(path);
    let mut at: Vec<&str> =
        from.parent().and_then(Path::to_str).unwrap_or_default().split('/').collect();
    at.retain(|part| !part.is_empty());
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(at.pop()),
            part => at.push(part),
        }
    }
    let target = at.join("/");
    let up = "../".repeat(page.matches('/').count());
    match target.strip_prefix("docs/") {
        // Folders are no pages.
        Some(inside) if Path::new(inside).extension().is_some() => format!("{up}{inside}"),
        _ if target == "README.md" => format!("{up}introduction.md"),
        _ => format!("{REPOSITORY}/{target}"),
    }
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "md")
}
