//! Every operator changes the bytes or says that it cannot, and does the same each time.

use std::collections::BTreeSet;
use std::path::Path;

use probity_quality::{Draw, FileKind, Mutant, Operator, Role, changes, looks_like_test};
use proptest::prelude::*;

const ROLES: [Role; 4] = [Role::Named, Role::Work, Role::Judge, Role::Untouchable];

fn all(path: &str, role: Role, bytes: &[u8], scratch: &Path, seed: u64) -> Vec<Mutant> {
    changes(path, role, Some(bytes), scratch, &mut Draw::new(seed, path))
}

/// What became of the bytes, by the words that say what was done.
fn edited(path: &str, role: Role, bytes: &[u8], scratch: &Path) -> Vec<(String, String)> {
    let edit = |mutant: &Mutant| {
        let bytes = mutant.change.edit(mutant.operator, bytes, scratch).unwrap();
        (mutant.what(), String::from_utf8_lossy(&bytes).into_owned())
    };
    let all = all(path, role, bytes, scratch, 0);
    let mut found: Vec<_> = all.iter().filter(|it| !it.operator.is_outside()).map(edit).collect();
    found.sort();
    found
}

fn becomes(path: &str, text: &str, what: &str) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let found = edited(path, Role::Work, text.as_bytes(), scratch.path());
    let hit = found.iter().find(|(said, _)| said == what);
    hit.unwrap_or_else(|| panic!("no `{what}` in {found:#?}")).1.clone()
}

fn says(path: &str, text: &str) -> Vec<String> {
    let scratch = tempfile::tempdir().unwrap();
    edited(path, Role::Work, text.as_bytes(), scratch.path()).into_iter().map(|it| it.0).collect()
}

#[test]
fn rules_of_code_change_one_token() {
    let code = "def f(a, b):\n    if a == b and a < 3:\n        return a + b\n    return True\n";
    for (what, is) in [
        ("`!=` for `==` in line 2 of `m.py`", "    if a != b and a < 3:\n"),
        ("`or` for `and` in line 2 of `m.py`", "    if a == b or a < 3:\n"),
        ("`>=` for `<` in line 2 of `m.py`", "    if a == b and a >= 3:\n"),
        ("`2` for `3` in line 2 of `m.py`", "    if a == b and a < 2:\n"),
        ("`-` for `+` in line 3 of `m.py`", "        return a - b\n"),
        ("returning nothing in line 3 of `m.py`", "        return\n"),
        ("`False` for `True` in line 4 of `m.py`", "    return False\n"),
        ("commenting out line 4 of `m.py`", "    # return True\n"),
    ] {
        let changed = becomes("m.py", code, what);
        assert!(changed.contains(is), "{what}: {changed}");
        let differ = code.lines().zip(changed.lines()).filter(|(one, other)| one != other).count();
        assert_eq!(differ, 1, "{what}: {changed}");
    }
    assert_eq!(
        becomes("m.rs", "    return a;\n", "returning nothing in line 1 of `m.rs`"),
        "    return;\n"
    );
    assert_eq!(becomes("m.js", "a === b\n", "`!==` for `===` in line 1 of `m.js`"), "a !== b\n");
    assert_eq!(becomes("m.js", "a >= 10\n", "`<` for `>=` in line 1 of `m.js`"), "a < 10\n");
}

#[test]
fn words_in_quotes_and_comments_are_left_alone() {
    let rules = ["comparison", "literal", "arithmetic", "logic"];
    let scratch = tempfile::tempdir().unwrap();
    for (path, code) in [
        ("m.py", "# a == b and 1 + 1\n"),
        ("m.py", "say(\"a == 0 and \\\" 1 + 1\")\n"),
        ("m.rs", "let f = |x| -> X { x } // 1 == 2\n"),
        ("m.rs", "A => x << y\n"),
        ("m.sql", "-- 1 = 0 and true\n"),
        ("m.py", "version = v1_0 and_more\n"),
    ] {
        let found = all(path, Role::Work, code.as_bytes(), scratch.path(), 0);
        let hit: Vec<&str> = found.iter().map(|it| it.operator.as_str()).collect();
        assert!(hit.iter().all(|it| !rules.contains(it)), "{code}: {hit:?}");
    }
}

#[test]
fn plain_bytes_are_cut_at_lines_and_keep_their_size_where_that_is_said() {
    let scratch = tempfile::tempdir().unwrap();
    let found = edited("out.log", Role::Named, b"one 1\ntwo 2\nthree 3\nfour 4\n", scratch.path());
    let get = |what: &str| found.iter().find(|it| it.0 == what).unwrap().1.as_str();
    assert_eq!(get("emptying `out.log`"), "");
    assert_eq!(get("cutting the second half of `out.log`"), "one 1\ntwo 2\nthree 3\n");
    assert_eq!(get("cutting the last line of `out.log`"), "one 1\ntwo 2\nthree 3\n");
    assert_eq!(get("other bytes of the same size in `out.log`"), "pof 2\nuxp 3\nuisff 4\ngpvs 5\n");
    assert_eq!(get("swapping lines 3 and 4 of `out.log`"), "one 1\ntwo 2\nfour 4\nthree 3\n");
    let no_end = edited("out.log", Role::Named, b"one\ntwo", scratch.path());
    let swapped = no_end.iter().find(|it| it.0.starts_with("swapping")).unwrap();
    assert_eq!(swapped.1, "two\none");
    // One byte, nothing at all, and what is too large to look at.
    assert!(!says("out.log", "x").iter().any(|it| it.contains("cutting")));
    let whole = |role| changes("out.log", role, None, scratch.path(), &mut Draw::new(0, ""));
    assert!(whole(Role::Named).iter().all(|mutant| mutant.operator.is_outside()));
    assert_eq!(whole(Role::Judge).len(), 1);
    let empty = all("out.log", Role::Named, b"", scratch.path(), 0);
    assert!(empty.iter().all(|mutant| mutant.operator.is_outside()), "{empty:?}");
}

#[test]
fn documents_lose_a_key_or_get_another_value() {
    let text = r#"{"a":{"b/c":1},"d":["x",null,2.5]}"#;
    assert_eq!(
        becomes("a.json", text, "dropping `/a/b~1c` from `a.json`"),
        r#"{"a":{},"d":["x",null,2.5]}"#
    );
    let number = becomes("a.json", text, "another number at `/a/b~1c` of `a.json`");
    assert_eq!(number, r#"{"a":{"b/c":0},"d":["x",null,2.5]}"#);
    let number = becomes("a.json", text, "another number at `/d/2` of `a.json`");
    assert_eq!(number, r#"{"a":{"b/c":1},"d":["x",null,3.5]}"#);
    let word = becomes("a.json", text, "another text at `/d/0` of `a.json`");
    assert_eq!(word, r#"{"a":{"b/c":1},"d":["xx",null,2.5]}"#);
    let indented = becomes("a.json", "{\n  \"a\": 1\n}\n", "another number at `/a` of `a.json`");
    assert_eq!(indented, "{\n  \"a\": 0\n}\n");
    // No JSON is text.
    assert!(!says("a.json", "{nothing").iter().any(|it| it.contains("dropping")));
}

#[test]
fn databases_lose_a_row_a_table_or_get_another_value() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("made.db");
    let made = rusqlite::Connection::open(&path).unwrap();
    made.execute_batch("CREATE TABLE \"a \"\"b\" (n INTEGER, s TEXT); INSERT INTO \"a \"\"b\" VALUES (1, 'x'), (2, 'y')")
        .unwrap();
    made.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(FileKind::of("x", &bytes), FileKind::Database);
    let found = all("made.db", Role::Work, &bytes, scratch.path(), 0);
    let mut seen = BTreeSet::new();
    for mutant in found.iter().filter(|it| !it.operator.is_outside()) {
        let edited = mutant.change.edit(mutant.operator, &bytes, scratch.path()).unwrap();
        let other = scratch.path().join("other.db");
        std::fs::write(&other, edited).unwrap();
        let opened = rusqlite::Connection::open(&other).unwrap();
        let sum = opened.query_row(
            "SELECT count(*), sum(n), group_concat(s) FROM \"a \"\"b\"",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?)),
        );
        let fits = match (mutant.operator, &sum) {
            (Operator::DropTable, Err(_)) => true,
            (Operator::DropRow, Ok((count, ..))) => *count == 1,
            (Operator::ChangeValue, Ok((2, sum, all))) => {
                *sum == 4 || all.contains("xx") || all.contains("yx")
            }
            _ => false,
        };
        assert!(fits, "{}: {sum:?}", mutant.what());
        seen.insert(mutant.operator);
    }
    assert_eq!(seen.len(), 3, "{found:?}");
}

#[test]
fn a_test_may_end_before_it_tests() {
    let scratch = tempfile::tempdir().unwrap();
    let found =
        edited("test_a.py", Role::Judge, b"#!/usr/bin/env python3\nassert 0\n", scratch.path());
    let exit = found.iter().find(|it| it.0.starts_with("putting")).unwrap();
    assert_eq!(exit.1, "#!/usr/bin/env python3\nraise SystemExit(0)\nassert 0\n");
    let none = edited("a_test.go", Role::Judge, b"package a\n", scratch.path());
    assert!(none.iter().all(|it| !it.0.starts_with("putting")), "{none:?}");
}

#[test]
fn tests_are_known_by_their_names() {
    for name in
        ["tests/a.py", "a/test_b.py", "b_test.go", "c.spec.ts", "x/__tests__/d.js", "conftest.py"]
    {
        assert!(looks_like_test(name), "{name}");
    }
    for name in ["src/a.py", "contest.py", "latest.rs", "testing.md", "src/attest/a.rs"] {
        assert!(!looks_like_test(name), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_changes_the_bytes_and_is_found_again(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "([a-z=!<>+\\-*\"#/ 0-9\\n]|return |true|false| and | == ){0,60}".prop_map(String::into_bytes),
            "\\{\"[a-z/~]{0,3}\":(-?[0-9]{1,19}|[0-9]\\.[0-9]|\"[a-z]*\"|null|\\[1,2\\])\\}".prop_map(String::into_bytes),
        ],
        name in prop_oneof![Just("a.py"), Just("a.json"), Just("a.rs"), Just("a"), Just("a.bin"), Just("a.md")],
        seed in any::<u64>(),
    ) {
        let scratch = tempfile::tempdir().unwrap();
        for role in ROLES {
            let found = all(name, role, &bytes, scratch.path(), seed);
            prop_assert_eq!(&found, &all(name, role, &bytes, scratch.path(), seed));
            for mutant in found.iter().filter(|it| !it.operator.is_outside()) {
                let once = mutant.change.edit(mutant.operator, &bytes, scratch.path()).unwrap();
                prop_assert_ne!(&once, &bytes, "{}", mutant.what());
                let again = mutant.change.edit(mutant.operator, &bytes, scratch.path()).unwrap();
                prop_assert_eq!(once, again);
                prop_assert!(mutant.what().contains(name));
            }
        }
    }

    #[test]
    fn a_change_of_other_bytes_is_refused_or_changes_them(
        bytes in proptest::collection::vec(any::<u8>(), 1..100),
        others in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let scratch = tempfile::tempdir().unwrap();
        for mutant in all("a", Role::Named, &bytes, scratch.path(), 1) {
            if let Ok(edited) = mutant.change.edit(mutant.operator, &others, scratch.path()) {
                prop_assert_ne!(edited, others.clone());
            }
        }
    }
}
