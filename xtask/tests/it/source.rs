//! Budgets and panics.

use xtask::rule::{budget, panic, purity};
use xtask::{Source, Tree};

use crate::{places, sources};

fn function(name: &str, lines: usize) -> String {
    format!("fn {name}() {{\n{}}}\n", "    step();\n".repeat(lines.saturating_sub(2)))
}

#[test]
fn a_function_over_its_budget_is_found_where_it_starts() {
    let at = |lines: usize| {
        let text = format!("/// Doc.\n#[inline]\n{}", function("long", lines));
        places(&budget::check(&sources(&[("crates/a/src/lib.rs", &text)])))
    };
    assert_eq!(at(70), [""; 0]);
    assert_eq!(at(71), ["crates/a/src/lib.rs:3"]);
}

#[test]
fn methods_and_trait_defaults_are_measured_and_tests_are_not() {
    let long = function("long", 80);
    for (text, found) in [
        (format!("impl A {{\n{long}}}"), 1),
        (format!("trait A {{\n{long}}}"), 1),
        (format!("mod inner {{\n{long}}}"), 1),
        (format!("#[cfg(test)]\nmod tests {{\n{long}}}"), 0),
        (format!("#[cfg(test)]\n{long}"), 0),
        (format!("#[cfg(not(test))]\n{long}"), 1),
    ] {
        let sources = sources(&[("crates/a/src/lib.rs", &text)]);
        assert_eq!(budget::check(&sources).len(), found, "{text}");
    }
}

#[test]
fn the_file_budget_counts_product_lines_only() {
    let lines = |n: usize| "const A: u8 = 0;\n".repeat(n);
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", lines(300));
    let found = |text: &str| budget::check(&sources(&[("crates/a/src/lib.rs", text)])).len();
    assert_eq!(found(&lines(500)), 0);
    assert_eq!(found(&lines(501)), 1);
    assert_eq!(found(&format!("{}{tests}", lines(500))), 0);
    assert_eq!(found(&format!("{}{tests}", lines(501))), 1);
}

#[test]
fn files_that_are_only_compiled_for_tests_are_left_out() {
    let files = [
        ("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod tests;\n"),
        ("crates/a/src/tests.rs", "fn f() { x.unwrap() }"),
        ("crates/a/src/tests/deep.rs", "fn f() { x.unwrap() }"),
        ("crates/a/src/b.rs", "#[cfg(test)]\nmod b_tests;"),
        ("crates/a/src/b/b_tests.rs", "fn f() { x.unwrap() }"),
        ("crates/a/tests/it/main.rs", "fn f() { x.unwrap() }"),
    ];
    let paths: Vec<String> = sources(&files).into_iter().map(|source| source.path).collect();
    assert_eq!(paths, ["crates/a/src/b.rs", "crates/a/src/lib.rs"]);
}

#[test]
fn a_file_that_does_not_parse_is_a_finding() {
    let (sources, findings) = Source::all(&Tree::of(&[("crates/a/src/lib.rs", "\nfn (")]));
    assert!(sources.is_empty());
    assert_eq!(places(&findings), ["crates/a/src/lib.rs:2"]);
}

#[test]
fn panics_are_found_in_shipped_code() {
    for (text, found) in [
        ("fn f() { x.unwrap(); }", 1),
        ("fn f() { x\n.expect(\"y\"); }", 1),
        ("fn f() { format!(\"{}\", x.unwrap()); }", 1),
        ("macro_rules! m { () => { x.unwrap() } }", 1),
        ("fn f() { x.unwrap_or(1); x.unwrap_or_default(); }", 0),
        ("fn f() { parser.expect(b'x')?; parser.expect(TOKEN)?; }", 0),
        ("/// Never `x.unwrap()`.\nfn f() { let s = \"x.unwrap()\"; }", 0),
        ("#[cfg(test)]\nmod tests {\n    fn f() { x.unwrap() }\n}", 0),
        ("#[expect(clippy::unwrap_used, reason = \"x\")]\nfn f() {}", 0),
    ] {
        let sources = sources(&[("crates/a/src/lib.rs", text)]);
        assert_eq!(panic::check(&sources).len(), found, "{text}");
    }
    let dev = sources(&[("sim/src/lib.rs", "fn f() { x.unwrap(); }")]);
    assert_eq!(panic::check(&dev), []);
}

#[test]
fn support_for_tests_of_other_crates_may_panic() {
    let files = [
        ("crates/a/src/lib.rs", "#[cfg(feature = \"conformance\")]\npub mod suite;\n"),
        ("crates/a/src/suite.rs", "fn f() { x.unwrap() }"),
        ("crates/a/src/suite/appends.rs", "fn f() { x.unwrap() }"),
        ("crates/a/src/suited.rs", "fn f() { x.unwrap() }"),
    ];
    assert_eq!(places(&panic::check(&sources(&files))), ["crates/a/src/suited.rs:1"]);
}

#[test]
fn a_bare_allow_is_found_everywhere() {
    for (text, found) in [
        ("#[allow(dead_code)]\nfn f() {}", 1),
        ("#![allow(dead_code)]", 1),
        ("#[cfg_attr(x, allow(dead_code))]\nfn f() {}", 1),
        ("#[cfg(test)]\nmod tests {\n    #[allow(dead_code)]\n    fn f() {}\n}", 1),
        ("#[expect(dead_code, reason = \"x\")]\nfn f() {}", 0),
        ("fn f() { allow(x); }", 0),
    ] {
        assert_eq!(panic::check(&sources(&[("sim/src/lib.rs", text)])).len(), found, "{text}");
    }
}

#[test]
fn pure_crates_reach_for_nothing() {
    for (text, found) in [
        ("use std::time::SystemTime;", 1),
        ("fn f() { std::fs::read(x); }", 1),
        ("use std::env;", 1),
        ("async fn f() { g().await; }", 2),
        ("use std::collections::{BTreeMap, HashMap};", 1),
        ("use std::time::Duration;\nuse std::collections::BTreeMap;", 0),
        ("fn f(process: u8, env: u8) -> &'static str { \"std::fs SystemTime\" }", 0),
        ("#[cfg(test)]\nmod tests { fn f() { std::fs::read(x); } }", 0),
    ] {
        let pure = sources(&[("crates/core/src/a.rs", text)]);
        assert_eq!(purity::check(&pure).len(), found, "{text}");
        let other = sources(&[("crates/engine/src/a.rs", text)]);
        assert_eq!(purity::check(&other), [], "{text}");
    }
}
