//! What a delegate is told, at the edges of its room.

use probity_core::{Code, MAX_FEEDBACK_BYTES, MAX_REASON_BYTES, Told, VerdictKind, feedback};

use crate::rig::code;

/// What is kept free for the line that counts the findings left out.
const OMITTED_BYTES: usize = 64;
/// The longest line that names passed checks, its end not counted.
const MAX_PASSED_BYTES: usize = 512;

fn revised<'a>(word: &'a Code, reason: &'a str) -> Told<'a> {
    Told { check: word, verdict: VerdictKind::Revise, code: word, reason }
}

fn quoted(reason: &str) -> String {
    let text = feedback(1, 1, &[revised(&code("c"), reason)]);
    let (_, rest) = text.split_once("code=\"c\">\n").unwrap();
    rest.split_once("\n</finding>").unwrap().0.to_owned()
}

#[test]
fn a_finding_is_left_out_only_where_it_does_not_fit() {
    let word = code("c");
    let full = "x".repeat(MAX_REASON_BYTES);
    let three = [revised(&word, &full); 3];
    let length_of = |told: &[Told<'_>]| feedback(1, 1, told).len();
    let mut told_whole = 0;
    for length in 1..=MAX_REASON_BYTES {
        let last = "x".repeat(length);
        let last = revised(&word, &last);
        let whole = length_of(&three) + length_of(&[last]) - length_of(&[]);
        let text = feedback(1, 1, &[&three[..], &[last]].concat());
        assert!(text.len() <= MAX_FEEDBACK_BYTES, "{} bytes", text.len());
        if whole + OMITTED_BYTES <= MAX_FEEDBACK_BYTES {
            assert_eq!(text.len(), whole);
            told_whole += 1;
        } else {
            assert!(text.contains("(1 more findings do not fit here.)"), "{whole} bytes");
        }
    }
    assert!((1..MAX_REASON_BYTES).contains(&told_whole), "{told_whole}");
}

#[test]
fn a_reason_is_quoted_whole_up_to_its_bound() {
    let full = "x".repeat(MAX_REASON_BYTES);
    assert_eq!(quoted(&full), full);
    assert_eq!(quoted(&format!("{full}y")), format!("{full} [1 bytes cut]"));
    // A character that would stand across the bound.
    let almost = &full[1..];
    assert_eq!(quoted(&format!("{almost}é")), format!("{almost} [2 bytes cut]"));
    assert_eq!(quoted(&format!("{almost}<")), format!("{almost} [1 bytes cut]"));
}

/// The names of the line that says what passed.
fn passed(names: &[Code]) -> String {
    let told: Vec<_> =
        names.iter().map(|name| Told { verdict: VerdictKind::Pass, ..revised(name, "") }).collect();
    let text = feedback(1, 1, &told);
    let at = text.find("Passed:").unwrap();
    text[at..].split_once(".\n\n").unwrap().0.to_owned()
}

#[test]
fn checks_that_passed_are_named_as_far_as_the_line_goes() {
    let mut longest = 0;
    for length in 1..=64 {
        let mut names = vec![code(&"a".repeat(61)); 8];
        names[7] = code(&"b".repeat(length));
        let line = passed(&names);
        if line.ends_with(" and 1 more") {
            assert!(!line.contains('b'), "{line}");
            assert_eq!(line.matches(&"a".repeat(61)).count(), 7);
        } else {
            assert_eq!(line, format!("Passed: {}", names_of(&names)));
            longest = longest.max(line.len());
        }
    }
    assert_eq!(longest, MAX_PASSED_BYTES);
}

fn names_of(names: &[Code]) -> String {
    names.iter().map(Code::as_str).collect::<Vec<_>>().join(", ")
}
