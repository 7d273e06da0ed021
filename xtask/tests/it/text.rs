//! Names, words, links and what is shown.

use xtask::Tree;
use xtask::rule::{link, name, shown, word};

use crate::places;

#[test]
fn names_that_say_nothing_are_found() {
    for (path, found) in [
        ("crates/a/src/utils.rs", 1),
        ("crates/a/src/types/mod.rs", 1),
        ("crates/common/src/lib.rs", 1),
        ("crates/a/src/lease_manager.rs", 0),
        ("crates/a/src/helper.rs", 0),
        ("docs/common.md", 0),
    ] {
        assert_eq!(name::check(&Tree::of(&[(path, "")])).len(), found, "{path}");
    }
}

#[test]
fn unfinished_work_and_machine_paths_are_found() {
    let todo = concat!("TO", "DO");
    let home = concat!("/wo", "rk/main");
    for (path, text, found) in [
        ("crates/a/src/lib.rs", format!("ok\n// {todo}: later"), 1),
        ("docs/a.md", format!("run it in {home}"), 1),
        ("docs/a.md", format!("see `{home}` and \"{home}\""), 1),
        ("docs/a.md", format!("https://example.com{home}"), 0),
        ("crates/a/src/lib.rs", format!("let {todo}S = 1; let MY_{todo} = 2;"), 1),
        ("testdata/scripts/a.star", format!("# {todo}"), 0),
    ] {
        let findings = word::check(&Tree::of(&[(path, &text)]));
        assert_eq!(findings.len(), found, "{path}: {text}");
    }
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let tree = |text: &str| {
        Tree::of(&[
            ("README.md", text),
            ("docs/a.md", "# A title, with `code`\n\n[up](../README.md)\n"),
            ("docs/codes/x.md", "[out](../../../x.md)"),
        ])
    };
    for (text, found) in [
        ("[a](docs/a.md)", false),
        ("[a](./docs/a.md)", false),
        ("[a](docs/)", false),
        ("[a](docs/a.md#a-title-with-code)", false),
        ("# Here\n[a](#here)", false),
        ("[a](https://example.com/x.md) [b](mailto:a@example.com)", false),
        ("`[a](gone.md)`\n```\n[a](gone.md)\n```", false),
        ("[`a`](gone.md)", true),
        ("[a](docs/gone.md)", true),
        ("[a](docs/a.md#gone)", true),
        ("[a](#gone)", true),
        ("ok\n[a](docs/a.md) [b](gone.md)", true),
    ] {
        let places = places(&link::check(&tree(text)));
        assert_eq!(places.iter().any(|p| p.starts_with("README.md")), found, "{text}");
        assert!(places.contains(&"docs/codes/x.md:1".to_owned()), "{places:?}");
    }
}

#[test]
fn a_defence_names_a_test_that_is_there() {
    let found = |rows: &str| {
        let page =
            format!("| Attack | Defence | Not defended | Shown by |\n|---|---|---|---|\n{rows}\n");
        let tree = Tree::of(&[
            ("docs/threat-model.md", &page),
            ("crates/a/tests/it/b.rs", "#[test]\nfn it_holds() {}\n"),
        ]);
        shown::check(&tree).len()
    };
    for (rows, findings) in [
        ("| a | b | c | `a/tests/it/b.rs`: `it_holds` |", 0),
        ("| a `x \\| y` | b | c | `a/tests/it/b.rs`: `it_holds` |", 0),
        ("| a | nothing: not ours | c | – |", 0),
        ("| a | b | c | – |", 1),
        ("| a | b | c | `a/tests/it/b.rs`: `it_holds`, `it_held` |", 1),
        ("| a | b | c | `a/tests/it/c.rs`: `it_holds` |", 1),
        ("| a | b | c | `a/tests/it/b.rs` |", 1),
        ("| a | b | c |", 1),
    ] {
        assert_eq!(found(rows), findings, "{rows}");
    }
    let bare = "| Attack | Defence |\n|---|---|\n| a | b |\n";
    assert_eq!(shown::check(&Tree::of(&[("docs/threat-model.md", bare)])).len(), 1);
}
