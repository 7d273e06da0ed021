//! The book: its contents are complete, and its links lead somewhere.

use std::collections::BTreeSet;
use std::path::Path;

use xtask::rule::book;
use xtask::{Tree, pages};

#[test]
fn a_page_that_the_contents_forget_or_repeat_or_invent_is_found() {
    let tree = Tree::of(&[
        ("docs/SUMMARY.md", "[A](a.md)\n- [A](a.md)\n- [C](c.md)\n[I](introduction.md)\n"),
        ("docs/a.md", ""),
        ("docs/b.md", ""),
        ("docs/codes/x.md", ""),
    ]);
    let found: Vec<String> = book::check(&tree).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[0].contains("`a.md` is listed twice"), "{found:#?}");
    assert!(found[1].contains("`c.md` is no page"), "{found:#?}");
    assert!(found[2].contains("docs/b.md") && found[2].contains("not in"), "{found:#?}");
    let without = Tree::of(&[("docs/b.md", "")]);
    assert!(book::check(&without).is_empty());
}

#[test]
fn links_lead_to_a_page_of_the_book_or_to_the_repository() {
    let tree = Tree::of(&[
        ("README.md", "[a](docs/a.md#x) [l](LICENSE-MIT) [w](https://example.com)"),
        ("docs/SUMMARY.md", "- [A](a.md)\n"),
        ("docs/a.md", "[r](../README.md) [c](codes/x.md) [h](#here)"),
        ("docs/codes/x.md", "[a](../a.md) [s](../../crates/core/src/lib.rs)"),
    ]);
    let pages = pages(&tree);
    let text = |name: &str| pages.iter().find(|(page, _)| page == name).unwrap().1.as_str();
    assert_eq!(
        text("introduction.md"),
        "[a](a.md#x) [l](https://github.com/probity-dev/probity/blob/main/LICENSE-MIT) \
         [w](https://example.com)"
    );
    assert_eq!(text("a.md"), "[r](introduction.md) [c](codes/x.md) [h](#here)");
    assert!(text("codes/x.md").starts_with("[a](../a.md) [s](https://github.com/"));
    assert_eq!(text("SUMMARY.md"), "- [A](a.md)\n\n# Error codes\n\n- [x](codes/x.md)\n");
}

#[test]
fn every_page_of_this_repository_is_in_the_book() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages = pages(&Tree::read(root).unwrap());
    let names: BTreeSet<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    let summary = pages.iter().find(|(name, _)| name == "SUMMARY.md").unwrap();
    let listed = summary.1.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    let mut listed: BTreeSet<&str> = listed.collect();
    listed.insert("SUMMARY.md");
    assert_eq!(listed, names);
}
