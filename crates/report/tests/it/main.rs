//! What a report says, through its public face.

use probity_report::{
    CheckState, Class, Draft, MAX_FAILURES, Place, Rule, Severity, SubjectKind, Verdict,
};

static BROKEN: Rule = Rule::error("sample_broken", "one", "a sample").under("INV-1");
static UNREAD: Rule = Rule::malformed("sample_unread", "one", "a sample");
static CUT: Rule = Rule::limit("sample_cut", "two", "a sample");
static GONE: Rule = Rule::withheld("sample_gone", "two", "a sample");
static ODD: Rule = Rule::warning("sample_odd", "two", "a sample");

fn verdict(rules: &[&'static Rule]) -> Verdict {
    let mut draft = Draft::new(SubjectKind::Trace, "here", &["one", "two"]);
    rules.iter().for_each(|rule| draft.failures.add(rule, Place::file("f"), "m"));
    draft.finish().verdict
}

#[test]
fn the_weightiest_finding_decides_whatever_the_order() {
    let table: [(&[&'static Rule], Verdict); 8] = [
        (&[], Verdict::Valid),
        (&[&ODD], Verdict::Valid),
        (&[&BROKEN], Verdict::Invalid),
        (&[&GONE], Verdict::IntegrityOnly),
        (&[&GONE, &BROKEN], Verdict::Invalid),
        (&[&CUT, &BROKEN, &ODD], Verdict::LimitExceeded),
        (&[&BROKEN, &UNREAD, &CUT], Verdict::Malformed),
        (&[&UNREAD], Verdict::Malformed),
    ];
    for (rules, expected) in table {
        assert_eq!(verdict(rules), expected, "{rules:?}");
        let turned: Vec<_> = rules.iter().rev().copied().collect();
        assert_eq!(verdict(&turned), expected, "{turned:?}");
    }
}

#[test]
fn only_valid_exits_0_and_no_two_verdicts_share_a_code() {
    let mut codes: Vec<u8> = Verdict::BY_WEIGHT.iter().map(|verdict| verdict.exit_code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1, 3, 4, 5, 6]);
    assert_eq!(Verdict::Valid.exit_code(), 0);
    for (at, heavy) in Verdict::BY_WEIGHT.iter().enumerate() {
        for light in &Verdict::BY_WEIGHT[at..] {
            assert_eq!(heavy.worse(*light), *heavy);
            assert_eq!(light.worse(*heavy), *heavy);
        }
    }
}

#[test]
fn a_skipped_check_is_neither_passed_nor_valid() {
    let mut draft = Draft::new(SubjectKind::Bundle, "here", &["one", "two"]);
    draft.skip("two");
    let report = draft.finish();
    assert_eq!(report.verdict, Verdict::IntegrityOnly);
    let states: Vec<CheckState> = report.checks.iter().map(|check| check.state).collect();
    assert_eq!(states, [CheckState::Passed, CheckState::Skipped]);
}

#[test]
fn a_report_does_not_depend_on_the_order_of_finding_or_on_the_source() {
    let report = |source, turned: bool| {
        let mut draft = Draft::new(SubjectKind::Trace, source, &["one", "two"]);
        let mut lines: Vec<u64> = (1..20).collect();
        if turned {
            lines.reverse();
        }
        for line in lines {
            draft.failures.add(&BROKEN, Place::file("f").line(line), "m");
        }
        draft.finish()
    };
    let (one, other) = (report("here", false), report("there", true));
    assert_eq!((&one.id, &one.failures), (&other.id, &other.failures));
    assert_eq!(one.bytes(), report("here", true).bytes());
    assert_ne!(one.bytes(), other.bytes(), "the source is told");
    assert_eq!(one.failures[0].invariant_id, Some("INV-1"));
}

#[test]
fn what_is_not_kept_is_counted() {
    let mut draft = Draft::new(SubjectKind::Trace, "here", &["one", "two"]);
    let many = MAX_FAILURES as u64 + 7;
    for line in 0..many {
        draft.failures.add(&BROKEN, Place::file("f").line(line), "m");
    }
    draft.failures.add(&UNREAD, Place::file("f"), "the last one still weighs");
    let report = draft.finish();
    assert_eq!(report.failures.len(), MAX_FAILURES + 1);
    assert!(report.has("sample_unread"), "the first of a code is kept");
    assert_eq!(report.summary_metrics["failures"], many + 1);
    assert_eq!(report.checks[0].errors, many + 1);
    assert_eq!(report.verdict, Verdict::Malformed);
}

#[test]
fn text_of_a_stranger_cannot_steer_a_terminal() {
    let mut draft = Draft::new(SubjectKind::Trace, "a\u{1b}[2J", &["one"]);
    draft.failures.differs(&BROKEN, Place::file("f").pointer("/\u{202e}x"), "a\u{7}", "\u{200b}");
    let report = draft.finish();
    let bytes = String::from_utf8(report.bytes()).unwrap();
    assert!(!bytes.contains("\\u001b") && !bytes.contains('\u{202e}'), "{bytes}");
    assert_eq!(report.failures[0].severity, Severity::Error);
    assert!(Class::Malformed > Class::Limit && Class::Limit > Class::Withheld);
}

#[test]
fn what_nobody_sees_of_a_strangers_text_is_shown_as_a_mark() {
    for hidden in ['\u{200b}', '\u{202e}', '\u{206a}', '\u{206f}', '\u{e0041}', '\u{7f}'] {
        assert_eq!(probity_report::legible(&format!("a{hidden}b"), 9), "a\u{fffd}b", "{hidden:?}");
    }
}

#[test]
fn what_would_not_be_kept_is_only_counted() {
    let mut draft = Draft::new(SubjectKind::Trace, "here", &["one", "two"]);
    for _ in 0..MAX_FAILURES {
        assert!(!draft.failures.is_only_counted(&BROKEN));
        draft.failures.add(&BROKEN, Place::file("f"), "m");
    }
    assert!(draft.failures.is_only_counted(&BROKEN));
    assert!(!draft.failures.is_only_counted(&UNREAD), "the first of a code is kept");
    let report = draft.finish();
    assert_eq!(report.summary_metrics["failures"], MAX_FAILURES as u64 + 1);
    assert_eq!(report.checks[0].errors, MAX_FAILURES as u64 + 1);
}

#[test]
fn of_a_value_as_large_as_a_file_the_front_is_told() {
    struct Endless;
    impl std::fmt::Display for Endless {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            loop {
                f.write_str("é")?;
            }
        }
    }
    let mut draft = Draft::new(SubjectKind::Trace, "here", &["one"]);
    draft.failures.differs(&BROKEN, Place::file("f"), Endless, "x".repeat(799));
    let report = draft.finish();
    let (expected, actual) = (&report.failures[0].expected, &report.failures[0].actual);
    assert_eq!(expected.as_deref(), Some(&*("é".repeat(800) + "…")));
    assert_eq!(actual.as_deref(), Some(&*"x".repeat(799)));
}
