//! One citation against its evidence: every way in which it can be wrong.

use probity_grounding::{Fault, Marker, cited, quoted};

const EVIDENCE: &str = "Ålesund ligger på Sunnmøre.";
/// SHA-256 of `Ålesund`, 8 bytes.
const HASH: &str = "0b7d3f4b7b2b4f4c";

fn sha256(bytes: &[u8]) -> String {
    let text = probity_grounding::cite("ev", bytes, 0..bytes.len()).unwrap();
    text[text.len() - 65..text.len() - 1].to_owned()
}

#[test]
fn the_cited_bytes_are_given() {
    let hash = sha256("Ålesund".as_bytes());
    let marker = Marker { id: "ev", start: 0, end: 8, sha256: &hash };
    assert_eq!(cited(&marker, EVIDENCE.as_bytes()), Ok("Ålesund"));
}

#[test]
fn what_differs_is_told_apart() {
    let hash = sha256("Ålesund".as_bytes());
    let len = EVIDENCE.len() as u64;
    let hold = |start, end| {
        cited(&Marker { id: "ev", start, end, sha256: &hash }, EVIDENCE.as_bytes()).unwrap_err()
    };
    let actual = sha256(EVIDENCE.as_bytes());
    assert_eq!(hold(0, len), Fault::HashMismatch { actual });
    assert_eq!(hold(0, len + 1), Fault::OutOfBounds { end: len + 1, len });
    assert_eq!(hold(len, len + 1), Fault::OutOfBounds { end: len + 1, len });
    let end = probity_grounding::MAX_OFFSET;
    assert_eq!(hold(0, end), Fault::OutOfBounds { end, len });
    assert_eq!(hold(1, 8), Fault::SplitCharacter);
    assert_eq!(hold(0, 1), Fault::SplitCharacter);
    let marker = Marker { id: "ev", start: 0, end: 2, sha256: HASH };
    assert_eq!(cited(&marker, b"\xff\xfe"), Err(Fault::NotUtf8));
}

#[test]
fn an_empty_or_reversed_span_is_out_of_bounds() {
    for (start, end) in [(0, 0), (5, 3), (u64::MAX, u64::MAX)] {
        let marker = Marker { id: "ev", start, end, sha256: HASH };
        let fault = cited(&marker, EVIDENCE.as_bytes()).unwrap_err();
        assert_eq!(fault.code(), "citation_out_of_bounds");
    }
}

#[test]
fn a_quote_is_the_cited_bytes_and_nothing_else() {
    assert_eq!(quoted("It rains.", "It rains."), Ok(()));
    assert_eq!(quoted("[\\evidence]", "[evidence]"), Ok(()));
    assert_eq!(quoted("We know: It rains.", "It rains."), Err(Fault::Unmarked));
    assert_eq!(quoted(" It rains.", "It rains."), Err(Fault::QuoteDiffers));
    assert_eq!(quoted("It rains. So.", "It rains."), Err(Fault::QuoteDiffers));
    assert_eq!(quoted("it rains.", "It rains."), Err(Fault::QuoteDiffers));
    assert_eq!(quoted("", "It rains."), Err(Fault::QuoteDiffers));
    assert_eq!(quoted("", ""), Err(Fault::QuoteDiffers));
}
