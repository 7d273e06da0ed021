//! A whole answer against its evidence.

use probity_grounding::{
    AnswerAudit, AnswerPolicy, Bound, EvidenceSource, Fault, INSUFFICIENT, MAX_ANSWER_BYTES,
    MAX_FAULTS, MAX_MARKERS, MemoryEvidence, NoEvidence, Quotes, audit_answer, cite, insufficiency,
};
use proptest::prelude::*;

use crate::piece::marker_like;

const MOON: &str = "The Moon orbits the Earth. Its gravity raises ocean tides.";
const TIDES: &str = "Tides are caused by the gravity of the Moon. The Sun adds a smaller pull.";
const EXACT: AnswerPolicy = AnswerPolicy {
    min_supports: 1,
    quotes: Quotes::Exact,
    allow_insufficient: true,
    allow_marked_insufficient: false,
};
const ANY: AnswerPolicy = AnswerPolicy { quotes: Quotes::Any, ..EXACT };

fn evidence() -> MemoryEvidence {
    let known = [("moon", Some(MOON)), ("tides", Some(TIDES)), ("gone", None)];
    let owned = known.map(|(id, text)| (id.to_owned(), text.map(|text| text.as_bytes().to_vec())));
    MemoryEvidence { contents: owned.into() }
}

/// A quote of all of `quote` with its marker.
fn cite_in(id: &str, content: &str, quote: &str) -> String {
    let start = content.find(quote).unwrap();
    cite(id, content.as_bytes(), start..start + quote.len()).unwrap()
}

fn moon() -> String {
    cite_in("moon", MOON, "Its gravity raises ocean tides.")
}

fn tides() -> String {
    cite_in("tides", TIDES, "Tides are caused by the gravity of the Moon.")
}

fn marker_of(citation: &str) -> &str {
    &citation[citation.rfind('[').unwrap()..]
}

fn audit(text: &str, policy: AnswerPolicy) -> AnswerAudit {
    audit_answer(text, &evidence(), policy)
}

#[track_caller]
fn codes(text: &str, policy: AnswerPolicy) -> Vec<&'static str> {
    audit(text, policy).faults.iter().map(|found| found.fault.code()).collect()
}

#[test]
fn quotes_with_their_markers_are_grounded() {
    let out = audit(&format!("{} {}\n\n{}\n", moon(), tides(), moon()), EXACT);
    assert_eq!(out.faults, []);
    assert!(out.is_grounded());
    assert_eq!((out.claims, out.markers, out.evidence), (2, 3, 2));
}

#[test]
fn each_claim_needs_its_distinct_supports() {
    let two = AnswerPolicy { min_supports: 2, ..EXACT };
    assert_eq!(codes(&format!("{} {}", moon(), tides()), two), [""; 0]);
    assert_eq!(codes(&format!("{}\n{}", moon(), tides()), two), ["citation_too_few_supports"; 2]);
    assert_eq!(codes(&format!("{} {}", moon(), moon()), two), ["citation_too_few_supports"]);
    let none = AnswerPolicy { min_supports: 0, ..EXACT };
    assert_eq!(codes("It rains.", none), ["citation_unmarked"]);
}

#[test]
fn a_copy_of_evidence_under_another_id_is_no_second_support() {
    let mut evidence = evidence();
    evidence.contents.insert("moon2".to_owned(), Some(MOON.as_bytes().to_vec()));
    let copy = cite_in("moon2", MOON, "Its gravity raises ocean tides.");
    let two = AnswerPolicy { min_supports: 2, ..EXACT };
    let out = audit_answer(&format!("{} {copy}", moon()), &evidence, two);
    assert_eq!(out.faults[0].fault, Fault::TooFewSupports { found: 1, required: 2 });
}

#[test]
fn every_fault_is_told_with_its_place() {
    let (moon, tides) = (moon(), tides());
    let unknown = moon.replace(":moon:", ":m\u{43e}on:");
    let gone = moon.replace(":moon:", ":gone:");
    let other = moon.replace(":moon:", ":tides:");
    let far = tides.replace(":0-44:", ":0-4400:");
    let shifted = tides.replace(":0-44:", ":1-45:");
    let altered = moon.replace("raises", "lowers");
    let cases = [
        (unknown.as_str(), "citation_fabricated"),
        (&gone, "citation_evidence_missing"),
        (&other, "citation_misattributed"),
        (&far, "citation_out_of_bounds"),
        (&shifted, "citation_hash_mismatch"),
        (&altered, "citation_quote_differs"),
        ("It rains.", "citation_unmarked"),
        ("It rains. [evidence:moon]", "citation_marker_malformed"),
    ];
    for (text, code) in cases {
        assert_eq!(codes(text, EXACT), [code], "{text}");
        let both = audit(&format!("{tides}\n{text}"), EXACT);
        assert_eq!(both.faults.len(), 1, "{text}");
        assert!(both.faults[0].at.start > tides.len(), "{text}");
    }
}

#[test]
fn a_quote_of_other_evidence_is_attributed() {
    // The marker holds; the words are those of another piece.
    let text = format!("The Sun adds a smaller pull. {}", marker_of(&moon()));
    let [found] = audit(&text, EXACT).faults.try_into().unwrap();
    assert_eq!(found.fault, Fault::Misattributed { found_in: "tides".to_owned() });
    assert_eq!(found.id, "moon");
}

#[test]
fn words_before_a_quote_are_unmarked() {
    let text = format!("As everybody knows: {}", moon());
    let [found] = audit(&text, EXACT).faults.try_into().unwrap();
    assert_eq!(found.fault, Fault::Unmarked);
    assert_eq!(found.at, 0..text.len() - marker_of(&text).len() - 1);
    assert_eq!(codes(&text, ANY), [""; 0]);
    assert_eq!(codes(&format!("{} So it is.", moon()), EXACT), ["citation_unmarked"]);
    assert_eq!(codes(&format!("{} So it is.", moon()), ANY), ["citation_unmarked"]);
}

#[test]
fn with_any_text_every_line_that_says_something_needs_a_marker() {
    let marker = marker_of(&moon()).to_owned();
    let text = format!("- Tides {marker}.\n---\n- The Moon does it {marker}\n");
    assert_eq!(audit(&text, ANY).claims, 2);
    assert_eq!(codes(&text, ANY), [""; 0]);
    let open = format!("It rains.\nTides {marker}\n");
    let [found] = audit(&open, ANY).faults.try_into().unwrap();
    assert_eq!((found.fault, found.at), (Fault::Unmarked, 0..9));
    let broken = format!("Tides {}", marker.replace(":27-58:", ":28-58:"));
    assert_eq!(codes(&broken, ANY), ["citation_hash_mismatch"]);
}

#[test]
fn markers_in_a_row_share_the_text_before_them() {
    let mut evidence = evidence();
    let copy = format!("Note: {MOON}");
    evidence.contents.insert("note".to_owned(), Some(copy.clone().into_bytes()));
    let second = cite_in("note", &copy, "Its gravity raises ocean tides.");
    let two = AnswerPolicy { min_supports: 2, ..EXACT };
    let text = format!("{} {}", moon(), marker_of(&second));
    assert_eq!(audit_answer(&text, &evidence, two).faults, []);
    let wrong = format!("{} {}", moon(), marker_of(&tides()));
    assert_eq!(audit_answer(&wrong, &evidence, two).faults[0].id, "tides");
}

#[test]
fn a_quote_may_hold_line_breaks_and_what_looks_like_a_marker() {
    let content = "One.\n\nTwo [evidence:x] three.\nINSUFFICIENT EVIDENCE: four.";
    let evidence =
        MemoryEvidence { contents: [("ev".to_owned(), Some(content.as_bytes().to_vec()))].into() };
    let text = cite("ev", content.as_bytes(), 0..content.len()).unwrap();
    let out = audit_answer(&text, &evidence, EXACT);
    assert_eq!((out.claims, out.faults), (1, vec![]));
}

#[test]
fn an_empty_answer_never_passes() {
    let marker = marker_of(&moon()).to_owned();
    for text in ["", " \n ", "\u{feff}"] {
        assert!(!audit(text, EXACT).is_grounded(), "{text:?}");
    }
    assert_eq!(codes("", EXACT), ["citation_no_claim"]);
    assert_eq!(codes(" --- \n", ANY), ["citation_no_claim"]);
    assert_eq!(codes(&marker, ANY), ["citation_no_claim"]);
    assert_eq!(codes(&marker, EXACT), ["citation_quote_differs"]);
}

#[test]
fn insufficient_evidence_is_an_answer_where_the_policy_says_so() {
    let refused = AnswerPolicy { allow_insufficient: false, ..EXACT };
    for text in [INSUFFICIENT, "INSUFFICIENT EVIDENCE: nothing on granite\n"] {
        let out = audit(text, EXACT);
        assert!(out.is_grounded() && out.is_insufficient && out.claims == 0, "{text}");
        assert_eq!(codes(text, refused), ["citation_insufficient_refused"]);
    }
    for text in ["insufficient evidence", "INSUFFICIENT EVIDENCES", "INSUFFICIENT EVIDENCE, but"] {
        assert_eq!(codes(text, EXACT), ["citation_unmarked"], "{text}");
    }
    assert_eq!(insufficiency(" INSUFFICIENT EVIDENCE: none "), Some("none"));
    assert_eq!(insufficiency("INSUFFICIENT EVIDENCE"), Some(""));
    assert_eq!(insufficiency("no INSUFFICIENT EVIDENCE"), None);
}

#[test]
fn claims_beside_insufficiency_need_the_policy() {
    let marked = AnswerPolicy { allow_marked_insufficient: true, ..EXACT };
    let line = "INSUFFICIENT EVIDENCE: the Sun is green";
    for text in [format!("{}\n{line}", moon()), format!("{line}\n{}", moon())] {
        assert_eq!(codes(&text, EXACT), ["citation_insufficient_beside_claims"], "{text}");
        assert_eq!(codes(&text, marked), [""; 0], "{text}");
    }
    // A marker on such a line is still held against its evidence.
    let broken = format!("{line} [evidence:nowhere:0-5:{}]", "a".repeat(64));
    assert_eq!(codes(&broken, marked), ["citation_fabricated"]);
    // No marked line makes a claim beside it legal.
    assert_eq!(codes(&format!("{line}\nIt rains."), marked), ["citation_unmarked"]);
}

#[test]
fn every_bound_is_told() {
    let limit = |text: &str| audit(text, EXACT).faults.pop().unwrap().fault;
    assert_eq!(limit(&"a".repeat(MAX_ANSWER_BYTES + 1)), Fault::Limit(Bound::Answer));
    let markers = "[evidence]".repeat(MAX_MARKERS + 1);
    let out = audit(&markers, EXACT);
    assert_eq!(out.faults_total, MAX_MARKERS as u64 + 1);
    assert_eq!(out.faults.len(), MAX_FAULTS);
}

/// Evidence that is larger than an audit may hold, or broken.
struct Endless;

impl EvidenceSource for Endless {
    fn content(&self, id: &str) -> Result<std::borrow::Cow<'_, [u8]>, NoEvidence> {
        match id {
            "large" => Err(NoEvidence::TooLarge),
            "zeros" => Ok(vec![b'0'; 64 << 20].into()),
            id => Err(NoEvidence::Unreadable(format!("no {id}"))),
        }
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn what_a_source_cannot_give_is_a_fault() {
    let hash = "a".repeat(64);
    let fault = |text: &str| audit_answer(text, &Endless, ANY).faults.pop().unwrap().fault;
    let large = fault(&format!("a [evidence:large:0-5:{hash}]"));
    assert_eq!(large, Fault::Limit(Bound::Evidence));
    let unreadable = fault(&format!("a [evidence:x:0-5:{hash}]"));
    assert_eq!(unreadable, Fault::EvidenceUnreadable { why: "no x".to_owned() });
    let spans = format!("a [evidence:zeros:0-67108864:{hash}]").repeat(5);
    assert_eq!(fault(&spans), Fault::Limit(Bound::Hashed));
}

proptest! {
    #[test]
    fn no_text_breaks_an_audit(text in marker_like(), exact in any::<bool>()) {
        let quotes = if exact { Quotes::Exact } else { Quotes::Any };
        let policy = AnswerPolicy { quotes, allow_marked_insufficient: true, ..EXACT };
        let out = audit(&text, policy);
        prop_assert_eq!(&out, &audit(&text, policy));
        for found in &out.faults {
            prop_assert!(text.get(found.at.clone()).is_some());
        }
        // None of these texts cites anything that there is.
        prop_assert!(!out.is_grounded() || out.is_insufficient);
    }

    #[test]
    fn one_altered_byte_of_a_grounded_answer_is_noticed(
        at in any::<prop::sample::Index>(),
        to in 0x21u8..0x7f,
    ) {
        let text = format!("{} {}", moon(), tides());
        let at = at.index(text.len());
        prop_assume!(text.as_bytes()[at] != to && text.as_bytes()[at] != b' ');
        let mut bytes = text.into_bytes();
        bytes[at] = to;
        let out = audit(std::str::from_utf8(&bytes).unwrap(), EXACT);
        prop_assert!(!out.is_grounded());
    }
}

/// What costs a pass over the evidence per marker would take minutes.
#[test]
fn many_markers_in_one_large_piece_are_held_in_linear_time() {
    let content = "All work and no play. ".repeat(1 << 17);
    let contents = [("large".to_owned(), Some(content.clone().into_bytes()))].into();
    let citations: Vec<String> = (0..5000)
        .map(|n| cite("large", content.as_bytes(), n * 22..n * 22 + 21).unwrap())
        .collect();
    let out = audit_answer(&citations.join(" "), &MemoryEvidence { contents }, EXACT);
    assert_eq!((out.markers, out.faults), (5000, vec![]));
}
