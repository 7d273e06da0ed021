//! Words and names as they are read by people and by other programs.

use probity_core::{
    Input, MAX_CHECK_MS, MAX_WALL_MS, Phase, Policy, Refusal, RunId, SubmissionId, Threshold, Tier,
};

use crate::rig::{Rig, code, d, pass, turn};

#[test]
fn tiers_and_thresholds_have_their_words() {
    let words = "tiny small medium large";
    assert_eq!(Tier::ALL.map(Tier::as_str).join(" "), words);
    assert_eq!(Tier::ALL.map(|it| it.to_string()).join(" "), words);
    let words = format!("none {words}");
    assert_eq!(Threshold::ALL.map(Threshold::as_str).join(" "), words);
    assert_eq!(Threshold::ALL.map(|it| it.to_string()).join(" "), words);
}

#[test]
fn a_refusal_names_what_came() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    let inputs = [
        (rig.observed(Phase::Before), "observed"),
        (Input::Unreadable { phase: Phase::After, code: code("gone"), detail: d(1) }, "unreadable"),
        (rig.finished(0, pass()), "check_finished"),
        (rig.said(0, pass()), "check_answered"),
        (Rig::hooked(0, probity_core::HookDecision::Allow), "hook_answered"),
        (Input::Woken { answer: d(2) }, "woken"),
        (Rig::answered(probity_core::Answer::Reject), "answered"),
        (Input::Sealed, "sealed"),
    ];
    for (input, word) in inputs {
        let refusal = rig.feed(input).unwrap_err();
        let Refusal::NotNow { input, .. } = &refusal else { panic!("{refusal}") };
        assert_eq!(*input, word);
        assert!(refusal.to_string().ends_with(&format!("takes no `{word}`")), "{refusal}");
    }
    rig.claim(1);
    let refusal = rig.feed(Rig::noted(turn(0), 1, probity_core::Usage::default())).unwrap_err();
    assert!(refusal.to_string().ends_with("takes no `noted`"), "{refusal}");
}

#[test]
fn a_uuid_makes_the_name_that_everybody_writes() {
    let bits = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210;
    let text = "01234567-89ab-cdef-fedc-ba9876543210";
    assert_eq!(RunId::from_uuid(bits).as_str(), text);
    assert_eq!(SubmissionId::from_uuid(bits).as_str(), text);
    assert_eq!(RunId::from_uuid(10).as_str(), "00000000-0000-0000-0000-00000000000a");
}

#[test]
fn the_longest_times_are_thirty_days_and_an_hour() {
    assert_eq!((MAX_WALL_MS, MAX_CHECK_MS), (2_592_000_000, 3_600_000));
}
