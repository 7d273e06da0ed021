//! The merge table, enumerated whole against a table in another style: a ranked list and the first
//! rank that occurs.

use probity_core::{Finding, Judgement, VerdictKind, merge};
use proptest::prelude::*;

use crate::rig::{fail, fault, inconclusive, pass, revise};

const RANKED: [(char, Judgement); 5] = [
    ('X', Judgement::Fault),
    ('F', Judgement::Fail),
    ('R', Judgement::Revise),
    ('I', Judgement::Inconclusive),
    ('P', Judgement::Pass),
];

fn expected(letters: &str) -> Judgement {
    RANKED
        .into_iter()
        .find(|(letter, _)| letters.contains(*letter))
        .map_or(Judgement::Unverified, |(_, judgement)| judgement)
}

fn findings(letters: &str) -> Vec<Finding> {
    letters.chars().map(finding).collect()
}

fn finding(letter: char) -> Finding {
    match letter {
        'X' => fault(),
        'F' => fail(),
        'R' => revise(),
        'I' => inconclusive(),
        'P' => pass(),
        '-' => Finding::NotApplicable,
        other => panic!("no finding `{other}`"),
    }
}

#[test]
fn every_sequence_of_up_to_three_findings_merges_as_the_ranking_says() {
    let kinds = ["", "X", "F", "R", "I", "P", "-"];
    let mut seen = std::collections::BTreeSet::new();
    for a in kinds {
        for b in kinds {
            for c in kinds {
                let letters = format!("{a}{b}{c}");
                assert_eq!(merge(&findings(&letters)), expected(&letters), "{letters}");
                let mut sorted: Vec<_> = letters.chars().collect();
                sorted.sort_unstable();
                seen.insert(sorted);
            }
        }
    }
    // 1 + 6 + 21 + 56: every multiset of up to three out of six kinds.
    assert_eq!(seen.len(), 84);
}

#[test]
fn the_golden_rows() {
    for (letters, judgement) in [
        ("", "unverified"),
        ("-", "unverified"),
        ("--", "unverified"),
        ("P-", "pass"),
        ("PP", "pass"),
        ("PI", "inconclusive"),
        ("IR", "revise"),
        ("RF", "fail"),
        ("FX", "fault"),
        ("PX", "fault"),
        ("-X", "fault"),
    ] {
        assert_eq!(merge(&findings(letters)).as_str(), judgement, "{letters}");
    }
}

#[test]
fn only_a_verdict_about_the_delegate_is_charged() {
    for (judgement, charged) in [
        (Judgement::Pass, true),
        (Judgement::Revise, true),
        (Judgement::Fail, true),
        (Judgement::Inconclusive, false),
        (Judgement::Fault, false),
        (Judgement::Unverified, false),
    ] {
        assert_eq!(judgement.counts_as_attempt(), charged, "{judgement:?}");
    }
}

#[test]
fn a_finding_holds_a_verdict_or_a_fault_never_both() {
    assert_eq!(pass().verdict(), Some(VerdictKind::Pass));
    assert_eq!(fault().verdict(), None);
    assert_eq!(Finding::NotApplicable.verdict(), None);
}

proptest! {
    #[test]
    fn order_does_not_matter(letters in "[XFRIP-]{0,12}", seed in any::<u64>()) {
        let mut shuffled: Vec<_> = letters.chars().collect();
        let length = shuffled.len();
        for index in 1..length {
            let other = (seed.rotate_left(7 * index as u32) % (index as u64 + 1)) as usize;
            shuffled.swap(index, other);
        }
        let shuffled: String = shuffled.into_iter().collect();
        prop_assert_eq!(merge(&findings(&letters)), merge(&findings(&shuffled)));
    }

    #[test]
    fn what_does_not_apply_changes_nothing(letters in "[XFRIP-]{0,12}", at in 0usize..13) {
        let mut longer = letters.clone();
        longer.insert(at.min(letters.len()), '-');
        prop_assert_eq!(merge(&findings(&letters)), merge(&findings(&longer)));
        prop_assert_eq!(merge(&findings(&letters)), expected(&letters));
    }
}
