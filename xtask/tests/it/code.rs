//! How codes are found, and how they meet their pages.

use xtask::Tree;
use xtask::rule::code::{check, codes};

use crate::{places, sources};

const VERDICT: &str = "
impl Verdict { pub fn revise(code: &str, reason: &str) -> Self { x } }
impl Fault { pub fn new(code: &str, message: &str) -> Self { x } }
";

fn found(text: &str) -> Vec<String> {
    let files = [("crates/core/src/verdict.rs", VERDICT), ("crates/a/src/lib.rs", text)];
    codes(&sources(&files)).into_keys().collect()
}

#[test]
fn codes_are_found_where_they_are_given() {
    for (text, expected) in [
        ("fn f() { Verdict::revise(\"file_missing\", \"no file\"); }", &["file_missing"][..]),
        ("fn f() { probity_core::Fault::new(\"a\", \"b\"); }", &["a"]),
        ("fn f() { Fault::new(if x { \"a\" } else { \"b\" }, m); }", &["a", "b"]),
        ("fn f() { Fault::new(match x { \"in\" => \"out\", _ => \"b\" }, m); }", &["b", "out"]),
        ("fn f() { Fault::new(error.code(), m); }", &[]),
        ("const GONE: &str = \"gone\";\nfn f() { Fault::new(GONE, m); }", &["gone"]),
        ("fn f() { Code::slug(\"a\"); Code::slug(&format!(\"b{x}\")); }", &["a"]),
        ("fn f() { let id = Code::slug(\"a\"); X { id: Code::slug(\"b\") }; }", &[]),
        ("fn f() { let code = if x { \"a\" } else { \"b\" }; }", &["a", "b"]),
        ("fn f() { let code = if x == \"no\" { \"a\" } else { \"b\" }; }", &["a", "b"]),
        ("fn f() { X { code: \"a\", other: \"b\" }; }", &["a"]),
        ("impl E { fn code(&self) -> &str { match self { Self::A => \"a\" } } }", &["a"]),
        ("fn late(ms: u64, code: &str) {}\nfn f() { late(1, \"a\"); other(1, \"b\"); }", &["a"]),
        ("impl P { fn bad(&self, code: &str) {} fn f(&self) { self.bad(\"a\"); } }", &["a"]),
        ("impl P { fn bad(code: &str) {} fn f() { Self::bad(\"a\"); Q::bad(\"b\"); } }", &["a"]),
        ("impl Outcome { fn as_str(self) -> &str { \"verified\" } }", &["verified"]),
        ("impl Accounting { fn exhausted(&self) -> Option<&str> { Some(\"a\") } }", &["a"]),
        ("codes! { A = \"a\", \"no\", \"no\"; B = \"b\"; }", &["a", "b"]),
        ("fn f() { let code = if x.contains(\"no\") { \"a\" } else { \"b\" }; }", &["a", "b"]),
        ("fn f() { let code = x.get(\"no\").map_or(\"a\", g); }", &["a"]),
        ("fn f() { let word = if x { \"a\" } else { y }; Fault::new(word, m); }", &["a"]),
        (
            "fn f() { let (w, m) = match x { 1 => (\"a\", \"m\"), _ => (\"b\", \"m\") }; Fault::new(w, m); }",
            &["a", "b"],
        ),
        ("fn f() { select! { x = y => match x { z => Err(Fault::new(\"a\", m)) } } }", &["a"]),
        ("impl Other { fn as_str(self) -> &str { \"verified\" } }", &[]),
        ("fn f() { Verdict::revise(\"Not A Code\", m); Verdict::revise(\"\", m); }", &[]),
        ("#[cfg(test)]\nmod tests { fn f() { Fault::new(\"a\", m); } }", &[]),
        ("fn f() { RuleError::new(\"a\", m); }", &[]),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn only_shipped_crates_give_codes() {
    let files = [
        ("crates/core/src/verdict.rs", VERDICT),
        ("bench/src/lib.rs", "fn f() { Fault::new(\"a\", m); }"),
    ];
    assert!(codes(&sources(&files)).is_empty());
}

#[test]
fn codes_and_pages_must_match() {
    const PAGE: &str =
        "# gone\n\nIt is gone.\n\n## Meaning\n\nx\n\n## Cause\n\nx\n\n## What to do\n";
    let files = [
        ("crates/core/src/verdict.rs", VERDICT),
        ("crates/a/src/lib.rs", "\nfn f() { Fault::new(\"gone\", m); }"),
    ];
    let sources = sources(&files);
    let check = |pages: &[(&str, &str)]| places(&check(&sources, &Tree::of(pages)));
    assert_eq!(check(&[("docs/codes/gone.md", PAGE)]), [""; 0]);
    assert_eq!(check(&[]), ["crates/a/src/lib.rs:2"]);
    let both = [("docs/codes/gone.md", PAGE), ("docs/codes/else.md", PAGE)];
    assert_eq!(check(&both), ["docs/codes/else.md:0"; 2], "no such code, and the wrong title");
    for broken in [
        "",
        "# other\n\nIt is gone.\n\n## Meaning\n\n## Cause\n\n## What to do\n",
        "# gone\n\n## Meaning\n\n## Cause\n\n## What to do\n",
        "# gone\n\nIt is gone.\n\n## Cause\n\n## Meaning\n\n## What to do\n",
        "# gone\n\nIt is gone.\n\n## Meaning\n",
    ] {
        assert_eq!(check(&[("docs/codes/gone.md", broken)]), ["docs/codes/gone.md:0"], "{broken}");
    }
}
