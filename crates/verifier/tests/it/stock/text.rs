//! `text:`, the claim's response.

use super::bed::Bed;

#[test]
fn the_response_holds_what_is_asked_for_or_not() {
    let mut bed = Bed::new();
    bed.claim.response = "Done. 12 tests pass.".to_owned();
    bed.start();
    bed.table(&[
        ("text:,contains=Done", "pass"),
        ("text:,contains=done", "revise text_content"),
        (r"text:,matches=\d+ tests", "pass"),
        (r"text:,contains=Done,matches=^\d", "revise text_content"),
    ]);
    bed.claim.response = String::new();
    assert_eq!(bed.says("text:,contains=Done"), "revise text_content");
    assert_eq!(bed.reason("text:,contains=Done"), "the response does not contain `Done`");
}
