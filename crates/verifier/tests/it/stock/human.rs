//! `human:WHO`: only a run can ask.

use super::bed::Bed;

#[test]
fn nobody_is_asked_by_the_verifier() {
    let mut bed = Bed::new();
    bed.start();
    assert_eq!(bed.says("human:ana,question=Is it live?"), "fault human_unasked");
    assert_eq!(bed.red("human:ana"), "fault human_unasked");
}
