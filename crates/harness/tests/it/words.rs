//! What is said when an agent stops without a pass cannot be read as success.

use probity_harness::{
    Tally, ended_without_claim, exhausted, not_accepted, nothing_checked, overridden, refused,
    unchecked, unchecked_and_released, waits_for_human,
};

const TALLY: Tally<'static> = Tally { run: "run-1", claim: 3, allowed: 3 };

#[test]
fn whatever_lets_an_agent_go_without_a_pass_says_that_nothing_was_verified() {
    for text in [
        unchecked_and_released(Some(&TALLY), "the host is down"),
        unchecked_and_released(None, ""),
        exhausted(&TALLY, "file: absent"),
        not_accepted("run-1", "rejected", "no"),
        waits_for_human("run-1"),
        nothing_checked("no project"),
    ] {
        assert!(text.starts_with("probity: NOT VERIFIED"), "{text}");
        let rest = text.to_lowercase().replace("not verified", "").replace("nothing was", "");
        for word in ["success", "verified", "passed", "all good", "done."] {
            assert!(!rest.contains(word), "`{word}` in: {text}");
        }
    }
    for text in [overridden("codex", "Stop"), ended_without_claim("codex", "Stop")] {
        assert!(text.ends_with("nothing was verified"), "{text}");
    }
}

#[test]
fn a_tally_says_which_claim_of_how_many_and_where_the_record_is() {
    let text = unchecked(Some(&TALLY), "down");
    assert!(text.starts_with("NOT CHECKED (claim 3 of 3): "), "{text}");
    assert!(text.ends_with("Record: probity log show run-1"), "{text}");
    assert!(!unchecked(None, "down").contains("Record"));
    assert_eq!(
        refused(&TALLY, "VERIFICATION FAILED\n"),
        "VERIFICATION FAILED\n\nRecord: probity log show run-1"
    );
}

#[test]
fn a_reason_is_cut_and_a_missing_one_is_said() {
    assert!(exhausted(&TALLY, &"ü".repeat(10_000)).len() < 2_000);
    assert!(exhausted(&TALLY, " ").contains("(no reason was given)"));
}
