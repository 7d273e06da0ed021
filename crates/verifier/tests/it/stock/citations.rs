//! `citations:`, the answer's statements held against the evidence that they cite.

use probity_grounding::cite;

use super::bed::Bed;

const MOON: &str = "The Moon orbits the Earth in about 27 days. Its gravity raises ocean tides.";
const SUN: &str = "The Sun adds a smaller pull.";

/// A citation of a text that stands in the evidence.
fn quote(id: &str, evidence: &str, text: &str) -> String {
    let start = evidence.find(text).unwrap();
    cite(id, evidence.as_bytes(), start..start + text.len()).unwrap()
}

fn bed() -> Bed {
    let mut bed = Bed::new();
    bed.write("evidence/moon.txt", MOON).write("evidence/sun.txt", SUN);
    bed.write("secret.txt", SUN);
    bed.start();
    bed
}

const CHECK: &str = "citations:answer.md,evidence=evidence";

#[test]
fn an_answer_that_quotes_what_it_cites_passes() {
    let bed = bed();
    let answer = format!(
        "{}\n{}\n",
        quote("moon", MOON, "Its gravity raises ocean tides."),
        quote("sun.txt", SUN, SUN),
    );
    bed.write("answer.md", &answer);
    assert_eq!(bed.says(CHECK), "pass");
    let said = bed.verify(CHECK).unwrap();
    assert_eq!(said.evidence.first().unwrap().source, "citations:answer.md");
}

#[test]
fn every_fault_has_its_code_and_is_a_fail() {
    let bed = bed();
    let good = quote("moon", MOON, "Its gravity raises ocean tides.");
    let table = [
        (good.replace("moon", "mars"), "citation_fabricated"),
        (good.replace("evidence:moon", "evidence:../secret"), "citation_fabricated"),
        (good.replace("evidence:moon", "evidence:/etc/passwd"), "citation_fabricated"),
        (quote("moon", SUN, SUN), "citation_misattributed"),
        (good.replace("raises ocean", "calms ocean"), "citation_quote_differs"),
        (good.replace("44-75", "44-7500"), "citation_out_of_bounds"),
        (good.replace("44-75", "43-75"), "citation_hash_mismatch"),
        (good.replace("44-75", "044-75"), "citation_marker_malformed"),
        (format!("{good}\nThe Moon is made of cheese."), "citation_unmarked"),
        ("The Moon is made of cheese.".to_owned(), "citation_unmarked"),
        (String::new(), "citation_no_claim"),
        ("\n  \n".to_owned(), "citation_no_claim"),
        (format!("INSUFFICIENT EVIDENCE\n{good}"), "citation_insufficient_beside_claims"),
    ];
    for (answer, code) in table {
        bed.write("answer.md", &answer);
        assert_eq!(bed.says(CHECK), format!("fail {code}"), "{answer}");
        assert_eq!(bed.says(&format!("{CHECK},revise")), format!("revise {code}"), "{answer}");
    }
}

#[test]
fn insufficient_evidence_is_an_answer_where_nothing_is_claimed() {
    let bed = bed();
    for answer in ["INSUFFICIENT EVIDENCE", "INSUFFICIENT EVIDENCE: no source names a year\n"] {
        bed.write("answer.md", answer);
        assert_eq!(bed.says(CHECK), "pass", "{answer}");
    }
    let marked = format!("INSUFFICIENT EVIDENCE: in part\n{}", quote("sun", SUN, SUN));
    bed.write("answer.md", marked);
    assert_eq!(bed.says(CHECK), "fail citation_insufficient_beside_claims");
    assert_eq!(bed.says(&format!("{CHECK},allow_marked_insufficient")), "pass");
}

#[test]
fn distinct_evidence_is_counted_and_words_may_be_free() {
    let bed = bed();
    let twice = quote("moon", MOON, "Its gravity raises ocean tides.");
    let (_, marker) = twice.split_at(twice.find('[').unwrap());
    let sun = quote("sun", SUN, SUN);
    let (_, other) = sun.split_at(SUN.len() + 1);
    bed.write("answer.md", format!("Gravity makes tides. {marker} {marker}"));
    assert_eq!(bed.says(CHECK), "fail citation_quote_differs");
    let free = format!("{CHECK},quotes=any");
    assert_eq!(bed.says(&free), "pass");
    assert_eq!(bed.says(&format!("{free},min_supports=2")), "fail citation_too_few_supports");
    bed.write("answer.md", format!("Gravity makes tides. {marker} {other}"));
    assert_eq!(bed.says(&format!("{free},min_supports=2")), "pass");
}

#[test]
fn the_response_can_be_the_answer() {
    let mut bed = bed();
    bed.claim.response = quote("sun", SUN, SUN);
    bed.start();
    assert_eq!(bed.says("citations:-,evidence=evidence"), "pass");
    bed.claim.response = "Done!".to_owned();
    assert_eq!(bed.says("citations:-,evidence=evidence"), "fail citation_unmarked");
}

#[test]
fn what_is_not_there_is_told_apart() {
    let bed = bed();
    assert_eq!(bed.says(CHECK), "revise citation_answer_missing");
    bed.write("answer.md", quote("sun", SUN, SUN));
    assert_eq!(bed.says("citations:answer.md,evidence=none"), "fault citation_no_evidence");
    let gathered = "citations:answer.md,evidence=none,may_change=none/**";
    assert_eq!(bed.says(gathered), "fail citation_fabricated");
    // A link is not evidence: it can pass one file off as another.
    bed.remove("evidence/sun.txt").link("evidence/sun.txt", bed.path("secret.txt"));
    assert_eq!(bed.says(CHECK), "fail citation_fabricated");
    bed.write("answer.md", [0xff, 0xfe]);
    assert_eq!(bed.says(CHECK), "fail citation_not_utf8");
}

#[test]
fn the_reason_names_the_place_and_the_text() {
    let bed = bed();
    bed.write("answer.md", "The Moon is made of cheese.");
    assert_eq!(
        bed.reason(CHECK),
        "bytes 0-27 (`The Moon is made of cheese.`): no marker covers this text \
         (citation_unmarked)"
    );
}
