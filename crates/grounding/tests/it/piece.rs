//! What is a marker, what is none, and what only looks like one.

use probity_grounding::{MAX_ID_BYTES, Malformation, Marker, PieceKind, pieces};
use proptest::prelude::*;

const HASH: &str = "5d5d0e90681dff4c6d2c1a9ee1b9ec7e253ced790b324357b10c9c58524869bd";

fn kinds(text: &str) -> Vec<PieceKind<'_>> {
    pieces(text).map(|piece| piece.kind).collect()
}

fn malformations(text: &str) -> Vec<Malformation> {
    let malformation = |kind| match kind {
        PieceKind::Malformed(malformation) => Some(malformation),
        PieceKind::Marker(marker) => panic!("{marker} was taken for a marker in {text:?}"),
        PieceKind::Text => None,
    };
    kinds(text).into_iter().filter_map(malformation).collect()
}

#[test]
fn a_marker_is_found_between_texts() {
    let text = format!("It rains. [evidence:ev_1:44-75:{HASH}] It pours.");
    let found: Vec<_> = pieces(&text).collect();
    let marker = Marker { id: "ev_1", start: 44, end: 75, sha256: HASH };
    let expected = [PieceKind::Text, PieceKind::Marker(marker), PieceKind::Text];
    assert_eq!(found.iter().map(|piece| piece.kind).collect::<Vec<_>>(), expected);
    assert_eq!(found[0].text, "It rains. ");
    assert_eq!(found[1].text, marker.to_string());
    assert_eq!(&text[found[2].at.clone()], " It pours.");
}

#[test]
fn everything_that_looks_like_a_marker_and_is_none_is_told() {
    let upper = HASH.to_uppercase();
    let long_offset = "9".repeat(5000);
    let long_id = "i".repeat(MAX_ID_BYTES + 1);
    let cases = [
        ("[evidence:ev_1]".to_owned(), Malformation::Parts),
        ("[evidence]".to_owned(), Malformation::Opening),
        (format!("[evidence:ev:0-5:{HASH}:x]"), Malformation::Parts),
        (format!("[evidence::0-5:{HASH}]"), Malformation::Id),
        (format!("[evidence:a b:0-5:{HASH}]"), Malformation::Id),
        (format!("[evidence:{long_id}:0-5:{HASH}]"), Malformation::Id),
        (format!("[evidence:ev:05:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:00-5:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:0-05:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:+0-5:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:0 -5:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:-5:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:\u{660}-\u{665}:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:0-{long_offset}:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:0-9007199254740992:{HASH}]"), Malformation::Offset),
        (format!("[evidence:ev:5-5:{HASH}]"), Malformation::Span),
        (format!("[evidence:ev:6-5:{HASH}]"), Malformation::Span),
        (format!("[evidence:ev:0-5:{upper}]"), Malformation::Hash),
        (format!("[evidence:ev:0-5:{}]", &HASH[1..]), Malformation::Hash),
        (format!("[evidence:ev:0-5:{HASH} ]"), Malformation::Hash),
        ("[evidence:ev:0-5:xyz]".to_owned(), Malformation::Hash),
        (format!("[evidence:ev:0-5:{HASH}"), Malformation::Unclosed),
        (format!("[evidence:ev:0-5:\n{HASH}]"), Malformation::Unclosed),
        (format!("[Evidence:ev:0-5:{HASH}]"), Malformation::Opening),
        (format!("[ evidence:ev:0-5:{HASH}]"), Malformation::Opening),
        (format!("[evi\u{200b}dence:ev:0-5:{HASH}]"), Malformation::Opening),
        (format!("[evidence :ev:0-5:{HASH}]"), Malformation::Opening),
        (format!("[\u{435}vidence:ev:0-5:{HASH}]"), Malformation::Opening),
        (format!("[ｅｖｉｄｅｎｃｅ:ev:0-5:{HASH}]"), Malformation::Opening),
        (format!("【evidence:ev:0-5:{HASH}】"), Malformation::Opening),
        (format!("［evidence:ev:0-5:{HASH}］"), Malformation::Opening),
    ];
    for (text, expected) in cases {
        assert_eq!(malformations(&text), [expected], "{text}");
        assert_eq!(malformations(&format!("Before {text} behind.")), [expected], "{text}");
    }
}

#[test]
fn the_largest_offset_and_the_longest_id_are_read() {
    let id = "é".repeat(MAX_ID_BYTES / 2);
    let text = format!("[evidence:{id}:0-9007199254740991:{HASH}]");
    let marker = Marker { id: &id, start: 0, end: 9_007_199_254_740_991, sha256: HASH };
    assert_eq!(kinds(&text), [PieceKind::Marker(marker)]);
}

#[test]
fn ordinary_text_is_text() {
    let texts = [
        "see [1] and [Evans 1999]",
        "evidence:ev:0-5",
        "[ev idea]",
        "a[i] = b[e]",
        "[évidence]",
        "[\\evidence:ev:0-5:x]",
        "[\\\\\\evidence]",
        "[",
        "富士山【注】",
    ];
    for text in texts {
        assert_eq!(kinds(text), [PieceKind::Text], "{text}");
    }
    assert_eq!(kinds(""), []);
}

#[test]
fn a_marker_behind_a_broken_one_is_still_found() {
    let text = format!("[evidence[evidence:ev:0-5:{HASH}][evidence:ev]");
    let [broken, marker, legacy] = pieces(&text).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(broken.kind, PieceKind::Malformed(Malformation::Opening));
    assert!(matches!(marker.kind, PieceKind::Marker(_)));
    assert_eq!(legacy.kind, PieceKind::Malformed(Malformation::Parts));
}

/// Text rich in what markers are made of.
pub(crate) fn marker_like() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("[".to_owned()),
        Just("[evidence".to_owned()),
        Just("[evidence:ev_1:0-5:".to_owned()),
        Just("[Ev\u{200b}idence".to_owned()),
        Just("\\".to_owned()),
        Just("]".to_owned()),
        Just(":".to_owned()),
        Just("\n".to_owned()),
        Just(HASH.to_owned()),
        Just(format!("[evidence:ev_1:0-5:{HASH}]")),
        Just("【evidence".to_owned()),
        Just("INSUFFICIENT EVIDENCE".to_owned()),
        "[a-z .]{0,6}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn the_pieces_are_the_text(text in marker_like()) {
        let found: Vec<_> = pieces(&text).collect();
        let joined: String = found.iter().map(|piece| piece.text).collect();
        prop_assert_eq!(&joined, &text);
        let mut at = 0;
        for piece in found {
            prop_assert_eq!(piece.at.start, at);
            prop_assert!(piece.at.end > at);
            prop_assert_eq!(&text[piece.at.clone()], piece.text);
            if let PieceKind::Marker(marker) = piece.kind {
                prop_assert_eq!(marker.to_string(), piece.text);
            }
            at = piece.at.end;
        }
    }
}

/// A reader that goes over the rest of the text at each bracket would take minutes.
#[test]
fn a_text_full_of_beginnings_is_read_in_linear_time() {
    for beginning in ["[", "[evidence", "[evidence:", "[ ", "[\\", "[evidence:a:0-5:", "[e v i"] {
        let text = beginning.repeat((4 << 20) / beginning.len());
        assert_eq!(pieces(&text).map(|piece| piece.text.len()).sum::<usize>(), text.len());
    }
}

#[test]
fn openings_without_an_end_are_told_in_linear_time() {
    // Brackets that do not end the search for an end: the square of these takes hours.
    let text = "［evidence".repeat(400_000);
    let kinds = kinds(&text);
    assert_eq!(kinds.len(), 400_000);
    let none = PieceKind::Malformed(Malformation::Opening);
    assert!(kinds.iter().all(|kind| *kind == none));
    // An end that is behind several openings ends the last one that it can.
    let text = "［evidence【evidence x] y［evidence z]";
    let found: Vec<&str> = pieces(text).map(|piece| piece.text).collect();
    assert_eq!(found, ["［evidence【evidence x]", " y", "［evidence z]"]);
}
