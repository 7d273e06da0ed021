//! Quotes that look like markers, and the writer of citations.

use std::borrow::Cow;

use probity_grounding::{PieceKind, Uncitable, cite, escape, pieces, quoted, unescape};
use proptest::prelude::*;

use crate::piece::marker_like;

#[test]
fn only_what_looks_like_a_marker_is_escaped() {
    let cases = [
        ("plain [1] \\ text", "plain [1] \\ text"),
        ("[evidence:x]", "[\\evidence:x]"),
        ("[\\evidence:x]", "[\\\\evidence:x]"),
        ("a [ Evidence] b", "a [\\ Evidence] b"),
        ("[\\ evidence", "[\\\\ evidence"),
    ];
    for (plain, escaped) in cases {
        assert_eq!(escape(plain), escaped);
        assert_eq!(unescape(escaped), plain);
    }
    assert!(matches!(escape("plain"), Cow::Borrowed(_)));
}

#[test]
fn a_citation_of_marker_like_evidence_is_read_back() {
    let evidence = "Basalt [evidence:ev_fake:0-5:aaaa] says this page. Rest.".as_bytes();
    let text = cite("ev_1", evidence, 0..50).unwrap();
    let [quote, marker] = pieces(&text).collect::<Vec<_>>().try_into().unwrap();
    let PieceKind::Marker(marker) = marker.kind else { panic!("{text}") };
    let cited = probity_grounding::cited(&marker, evidence).unwrap();
    assert_eq!(cited.as_bytes(), &evidence[..50]);
    assert_eq!(quoted(quote.text.strip_suffix(' ').unwrap(), cited), Ok(()));
}

#[test]
fn what_no_marker_can_cite_is_refused() {
    let evidence = "é text".as_bytes();
    for id in ["", "a b", "a:b", "a]b", "a[b", "a\nb"] {
        assert_eq!(cite(id, evidence, 0..2), Err(Uncitable::Id), "{id}");
    }
    #[expect(clippy::reversed_empty_ranges, reason = "a reversed span is refused")]
    for span in [0..0, 3..2, 0..100, usize::MAX..usize::MAX] {
        assert_eq!(cite("ev", evidence, span), Err(Uncitable::Span));
    }
    assert_eq!(cite("ev", evidence, 0..1), Err(Uncitable::NotText));
    assert_eq!(cite("ev", b"\xff\xff", 0..1), Err(Uncitable::NotText));
}

proptest! {
    #[test]
    fn what_is_escaped_is_text_and_comes_back(text in marker_like()) {
        let escaped = escape(&text);
        prop_assert!(pieces(&escaped).all(|piece| piece.kind == PieceKind::Text));
        prop_assert_eq!(unescape(&escaped), text.as_str());
    }

    #[test]
    fn every_citation_is_one_quote_and_one_marker(before in marker_like(), text in "[a-z]{1,9}") {
        let evidence = format!("{before}{text}");
        let citation = cite("ev", evidence.as_bytes(), 0..evidence.len()).unwrap();
        let twice = format!("{citation} {citation}");
        let kinds: Vec<bool> =
            pieces(&twice).map(|piece| matches!(piece.kind, PieceKind::Marker(_))).collect();
        prop_assert_eq!(kinds, [false, true, false, true]);
    }
}
