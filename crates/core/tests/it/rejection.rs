//! What a typed agent is told of a refusal, at the edges of its room.

use probity_core::{Code, MAX_REJECTIONS_BYTES, Rejected, rejections};
use serde_json::{Value, json};

use crate::rig::code;

/// An element begins only where as much as this is left.
const LEAST_ROOM_BYTES: usize = 1024;

fn refused<'a>(code: &'a Code, message: &'a str, metadata: Option<&'a Value>) -> Rejected<'a> {
    let (attempt, max_attempts) = (1, 5);
    Rejected { code, message, metadata, attempt, max_attempts, repeat_of: None, identical: 0 }
}

fn one(message: &str, metadata: Option<&Value>) -> String {
    rejections(&[refused(&code("c"), message, metadata)])
}

#[test]
fn each_refusal_begins_on_a_line_of_its_own() {
    let code = code("c");
    let (first, second) = (refused(&code, "one", None), refused(&code, "two", None));
    let alone = [rejections(&[first]), rejections(&[second])];
    assert_eq!(rejections(&[first, second]), alone.join("\n"));
}

#[test]
fn a_refusal_is_left_out_only_where_the_room_for_one_is_gone() {
    let code = code("c");
    let mut left_out = 0;
    for length in 2_900..3_100 {
        let long = "x".repeat(length);
        let (first, second) = (refused(&code, &long, None), refused(&code, "two", None));
        let used = rejections(&[first]).len();
        let both = rejections(&[first, second]);
        let is_told = both.contains("Summary: two\n");
        assert_eq!(is_told, used + LEAST_ROOM_BYTES <= MAX_REJECTIONS_BYTES, "{used} bytes");
        assert_eq!(is_told, !both.contains("\n(1 more rejections do not fit here.)"));
        left_out += usize::from(!is_told);
    }
    assert!((1..200).contains(&left_out), "{left_out}");
}

/// The body of the one element that a text is.
fn kept(text: &str) -> &str {
    let (_, body) = text.split_once(">\nSummary: ").unwrap();
    body.strip_suffix("\n</verification_rejected>").unwrap()
}

#[test]
fn a_cut_falls_before_an_escape_and_nowhere_else() {
    let plain = kept(&one(&"x".repeat(5_000), None)).len();
    for back in 0..=4 {
        // The escape stands across the cut, or just before it.
        let before = "x".repeat(plain - back);
        let text = one(&format!("{before}<{}", "y".repeat(5_000)), None);
        let whole = if back == 4 { "&lt;" } else { "" };
        assert_eq!(kept(&text), format!("{before}{whole}"), "{back} bytes before the cut");
    }
    // An escape far before the cut, with text and with another one behind it.
    for start in ["<", "<>", "x;<y"] {
        let text = one(&format!("{start}{}", "x".repeat(5_000)), None);
        assert_eq!(kept(&text).len(), plain, "{start}");
    }
}

#[test]
fn only_a_list_of_texts_and_numbers_is_made_bullets() {
    for list in [json!([{"a": 1}]), json!(["x", ["y"]]), json!([])] {
        let text = one("no", Some(&list));
        assert!(!text.contains("Top failures:") && text.contains("\nMetadata: ["), "{text}");
        let text = one("no", Some(&json!({ "failed": list })));
        assert!(!text.contains("Top failures:") && text.contains("\nMetadata: {"), "{text}");
    }
    let text = one("no", Some(&json!(["x", 1])));
    assert!(text.contains("\nTop failures:\n- x\n- 1\n</"), "{text}");
}

#[test]
fn ten_bullets_are_all_there_is_to_say() {
    let ten: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
    assert!(one("no", Some(&json!(ten))).ends_with("\n- t9\n</verification_rejected>"));
}
