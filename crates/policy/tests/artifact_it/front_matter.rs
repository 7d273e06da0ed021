use std::fmt::Write as _;

use probity_policy::{ArtifactError, FrontMatter, MAX_ARTIFACT_BYTES};
use serde_json::json;

fn refused(text: &str) -> ArtifactError {
    FrontMatter::parse("dir/a.md", text).unwrap_err()
}

#[test]
fn keys_lines_and_body_are_split() {
    let text =
        "---\na: 1\n# a comment\nb:\n  - x\n  - y: z\nc: |\n  ---\n  end\n---\n\n# Body\n---\n";
    let artifact = FrontMatter::parse("a.md", text).unwrap();
    assert_eq!(artifact.file(), "a.md");
    assert_eq!(artifact.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(artifact.get("a"), Some(&json!(1)));
    assert_eq!(artifact.get("b"), Some(&json!(["x", {"y": "z"}])));
    assert_eq!(artifact.get("c"), Some(&json!("---\nend\n")));
    assert_eq!(artifact.get("d"), None);
    assert_eq!([artifact.line("a"), artifact.line("b")], [Some(2), Some(4)]);
    assert_eq!([artifact.line("c"), artifact.line("d")], [Some(7), None]);
    assert_eq!(artifact.body(), "\n# Body\n---\n");
}

#[test]
fn a_byte_order_mark_and_line_ends_of_other_systems_change_nothing() {
    let plain = "---\na: |\n  one\n  two\nb: 2\n---\nfirst\nsecond\n";
    let expected = FrontMatter::parse("a.md", plain).unwrap();
    for text in [
        format!("\u{feff}{plain}"),
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{}", plain.replace('\n', "\r\n")),
        plain.replacen("---", "---  ", 2),
    ] {
        assert_eq!(FrontMatter::parse("a.md", &text).unwrap(), expected, "{text:?}");
    }
    assert_eq!(expected.line("b"), Some(5));
}

#[test]
fn the_end_of_the_file_ends_the_last_line() {
    let artifact = FrontMatter::parse("a.md", "---\na: 1\n---").unwrap();
    assert_eq!(artifact.body(), "");
}

#[test]
fn words_stay_words() {
    let text =
        "---\na: off\nb: no\nc: true\nd: ~\ne: '1'\nf: 16\ng: -5\nh: 1.5\ni: 2026-01-01\n---";
    let artifact = FrontMatter::parse("a.md", text).unwrap();
    let values: Vec<_> = artifact.keys().map(|key| artifact.get(key).unwrap().clone()).collect();
    let expected =
        [json!("off"), json!("no"), json!(true), json!(null), json!("1"), json!(16), json!(-5)];
    assert_eq!(values[..7], expected);
    assert_eq!(values[7..], [json!(1.5), json!("2026-01-01")]);
}

#[test]
fn what_has_no_front_matter_is_refused() {
    for text in ["", "\n---\na: 1\n---\n", "# Title\n", "a: 1\n", "----\na: 1\n----\n", " ---\n"] {
        let error = refused(text);
        assert_eq!(error.code(), "artifact_no_front_matter", "{text:?}");
        assert_eq!(error.place().line, Some(1));
        assert!(error.to_string().contains("`dir/a.md` line 1"), "{error}");
    }
    for text in ["---", "---\n", "---\na: 1\n", "---\na: 1\n ---\n", "---\na: 1\n----\n"] {
        assert_eq!(refused(text).code(), "artifact_unterminated", "{text:?}");
    }
}

#[test]
fn what_is_no_map_is_refused() {
    let scalars = ["", "# nothing\n", "~\n", "text\n", "1\n", "1.5\n", "true\n", "'a'\n"];
    for yaml in scalars.into_iter().chain(["- a\n- b\n", "[a, b]\n"]) {
        let error = refused(&format!("---\n{yaml}---\n"));
        assert_eq!(error.code(), "artifact_not_mapping", "{yaml:?}: {error}");
    }
}

#[test]
fn what_is_no_yaml_is_refused_with_its_line() {
    let table = [
        ("a: [1, 2\n", 2..=4),
        ("a: 1\nb: \"open\n", 3..=4),
        ("a: 1\n\tb: 2\n", 2..=3),
        ("a: 1\nb: 2: 3\n", 3..=3),
        ("a: 1\n...\nb: 2\n", 3..=4),
        ("a: 1\n--- x\n", 3..=3),
        ("a: .inf\n", 2..=2),
        ("a: !custom x\n", 2..=2),
        ("[a, b]: 1\n", 2..=2),
        ("a: @x\n", 2..=2),
    ];
    for (yaml, lines) in table {
        let error = refused(&format!("---\n{yaml}---\n"));
        assert_eq!(error.code(), "artifact_yaml", "{yaml:?}: {error}");
        let line = error.place().line.expect("a line");
        assert!(lines.contains(&line), "{yaml:?}: {error}");
        assert!(error.to_string().len() < 400, "{error}");
    }
}

#[test]
fn a_key_stands_once_on_every_level() {
    let table = [
        ("a: 1\nb: 2\na: 3\n", "a", 4),
        ("a:\n  x: 1\n  x: 2\n", "x", 4),
        ("a:\n  - {x: 1, y: 2, x: 3}\n", "x", 3),
        ("a: 1\n'a': 2\n", "a", 3),
        ("1: a\n'1': b\n", "1", 3),
        ("a:\n  1: a\n  '1': b\n", "1", 4),
    ];
    for (yaml, key, line) in table {
        let error = refused(&format!("---\n{yaml}---\n"));
        assert_eq!(error.code(), "artifact_duplicate_key", "{yaml:?}: {error}");
        assert!(error.to_string().contains(&format!("`{key}`")), "{yaml:?}: {error}");
        assert_eq!(error.place().line, Some(line), "{yaml:?}: {error}");
    }
}

#[test]
fn anchors_aliases_and_merge_keys_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for n in 1..30 {
        writeln!(bomb, "a{n}: &a{n} [*a{m}, *a{m}, *a{m}]", m = n - 1).unwrap();
    }
    let table = ["a: &x 1\n", "a: &x 1\nb: *x\n", "a: *x\n", "a: {<<: {b: 1}}\n", "<<: {b: 1}\n"];
    for yaml in table.into_iter().chain([bomb.as_str()]) {
        let error = refused(&format!("---\n{yaml}---\n"));
        assert_eq!(error.code(), "artifact_alias", "{yaml:?}: {error}");
        assert!(error.place().line.is_some_and(|line| (2..=3).contains(&line)), "{error}");
    }
    // As text they mean nothing.
    assert!(FrontMatter::parse("a.md", "---\na: '*x'\nb: \"&x\"\n---\n").is_ok());
}

#[test]
fn depth_and_number_of_values_are_bounded() {
    let flow = |depth: usize| format!("---\na: {}{}\n---\n", "[".repeat(depth), "]".repeat(depth));
    assert!(FrontMatter::parse("a.md", &flow(30)).is_ok());
    for depth in [33, 300, 50_000] {
        let error = refused(&flow(depth));
        assert!(["artifact_budget", "artifact_yaml"].contains(&error.code()), "{depth}: {error}");
    }
    let mut nested = String::from("---\n");
    for n in 0..40 {
        writeln!(nested, "{}a:", " ".repeat(n)).unwrap();
    }
    assert_eq!(refused(&(nested + "---\n")).code(), "artifact_budget");
    let list = |items: usize| format!("---\na:\n{}---\n", "- x\n".repeat(items));
    assert!(FrontMatter::parse("a.md", &list(19_000)).is_ok());
    assert_eq!(refused(&list(20_001)).code(), "artifact_budget");
}

#[test]
fn the_bound_of_256_kib_is_exact() {
    let head = "---\na: 1\n---\n";
    let text = |bytes: usize| format!("{head}{}", "x".repeat(bytes - head.len()));
    assert!(FrontMatter::parse("a.md", &text(MAX_ARTIFACT_BYTES)).is_ok());
    assert_eq!(MAX_ARTIFACT_BYTES, 262_144);
    let error = refused(&text(MAX_ARTIFACT_BYTES + 1));
    assert_eq!(error.code(), "artifact_too_large");
    let bytes = vec![b'x'; MAX_ARTIFACT_BYTES + 1];
    assert_eq!(FrontMatter::decode("a.md", &bytes).unwrap_err().code(), "artifact_too_large");
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_line() {
    assert_eq!(FrontMatter::decode("a.md", b"---\n").unwrap(), "---\n");
    let error = FrontMatter::decode("a.md", b"---\na: 1\nb: \xff\n---\n").unwrap_err();
    assert_eq!((error.code(), error.place().line), ("artifact_not_text", Some(3)));
}

#[test]
fn a_body_that_no_request_could_hold_is_refused_with_its_line() {
    let error = FrontMatter::parse("a.md", "---\na: 1\n---\nb\nc\0\n").unwrap_err();
    assert_eq!((error.code(), error.place().line), ("artifact_not_text", Some(5)));
}

#[test]
fn what_repeats_to_the_bound_is_answered() {
    let parts = [
        "- ",
        "? ",
        "[",
        "{",
        "{a: ",
        "[[],",
        "a: ",
        "!x ",
        "&a ",
        "*a ",
        "'",
        "\"",
        "\\",
        "%",
        "|",
        ">",
        "#",
        "\t",
        " ",
        ": ",
        ", ",
        "\u{85}",
        "\r",
        "-\n",
        "?\n",
        "a:\n",
        "- a\n",
        "#\n",
        "...\n",
        "--- a\n",
        "? a\n: b\n",
        "<<: a\n",
    ];
    for part in parts {
        let text = part.repeat((MAX_ARTIFACT_BYTES - 100) / part.len());
        for head in ["", "a: ", "a: |\n  "] {
            if let Err(error) = FrontMatter::parse("a.md", &format!("---\n{head}{text}\n---\n")) {
                assert!(error.to_string().len() < 500, "{part:?}: {error}");
            }
        }
    }
}
