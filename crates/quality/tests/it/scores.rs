//! What is counted, and what is never good news.

use probity_quality::{Asked, CheckQuality, Fate, Operator, Role, State, Tried, suggestion};

fn tried(operator: Operator, fate: Fate) -> Tried {
    let code = (fate != Fate::Missed).then(|| "word".to_owned());
    let what = format!("{} of `a`", operator.as_str());
    let suggestion = "look".to_owned();
    Tried { operator, path: "a".to_owned(), line: None, what, fate, code, suggestion }
}

fn of(all: &[(Operator, Fate)]) -> CheckQuality {
    CheckQuality::of(
        "id",
        "file",
        all.iter().map(|(operator, fate)| tried(*operator, *fate)).collect(),
    )
}

#[test]
fn faults_and_controls_are_in_no_score() {
    use Fate::{Caught, Fault, Missed};
    let found = of(&[
        (Operator::Mode, Missed),
        (Operator::Empty, Missed),
        (Operator::Delete, Caught),
        (Operator::Literal, Fault),
        (Operator::Nothing, Missed),
        (Operator::Touch, Missed),
    ]);
    let counts =
        (found.tried, found.caught, found.missed, found.faults, found.controls, found.false_alarms);
    assert_eq!(counts, (4, 1, 2, 1, 2, 0));
    assert_eq!((found.state, found.score_percent, found.blind), (State::Scored, Some(33), false));
    // The heavier miss is told first.
    assert_eq!(found.misses[0].sentence, "empty of `a` still passes");
    assert_eq!(found.misses.len(), 2);
    let at = |percent| found.misses_more_than(percent);
    assert_eq!((at(66), at(67), at(100)), (Some(true), Some(false), Some(false)));
}

#[test]
fn nothing_judged_is_no_score() {
    use Fate::{Caught, Fault, Missed};
    let unscored = [
        (of(&[]), State::NotTried),
        (of(&[(Operator::Nothing, Missed)]), State::NotTried),
        (of(&[(Operator::Delete, Fault), (Operator::Nothing, Missed)]), State::Unscored),
        (of(&[(Operator::Delete, Caught), (Operator::Nothing, Caught)]), State::Unreliable),
        (of(&[(Operator::Delete, Caught), (Operator::Touch, Fault)]), State::Unreliable),
    ];
    for (found, state) in unscored {
        assert_eq!(
            (found.state, found.score_percent, found.blind),
            (state, None, false),
            "{found:?}"
        );
        assert_eq!(found.misses_more_than(100), None);
        assert!(found.reason.is_some());
    }
    let blind = of(&[(Operator::Delete, Missed), (Operator::Nothing, Missed)]);
    assert_eq!((blind.score_percent, blind.blind), (Some(0), true));
}

#[test]
fn every_miss_has_a_suggestion() {
    let asked = Asked { kind: "command", undeclared: Some("tests/**") };
    let said = suggestion(&asked, Operator::Empty, Role::Judge, "tests/a.py");
    assert_eq!(said, "whoever does the work can edit what decides: add inputs=tests/**");
    for kind in
        ["file", "dir", "json", "sqlite", "git", "changes_only", "citations", "script", "command"]
    {
        let asked = Asked { kind, undeclared: None };
        assert!(!suggestion(&asked, Operator::Mode, Role::Named, "a").is_empty());
        let said = suggestion(&asked, Operator::Delete, Role::Judge, "a");
        assert!(said.ends_with("inputs=a"), "{said}");
    }
}
