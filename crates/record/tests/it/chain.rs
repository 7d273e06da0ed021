use probity_core::{Entry, Event, Outcome};
use probity_record::{Chain, ChainError, MAX_RECORD_BYTES, Record, ResumeError, read_records};

use crate::sample;

const SEALED: &str = "verified-after-two-attempts";

fn entry(event: Event) -> Entry {
    Entry { at_ms: 1, event }
}

#[test]
fn a_chain_can_be_taken_up_behind_every_record() {
    let entries = sample::entries(SEALED);
    let lines = sample::lines(SEALED);
    for cut in 1..lines.len() {
        let mut chain = Chain::resume(&lines[cut - 1]).unwrap();
        assert_eq!((chain.len(), chain.is_sealed()), (cut as u64, false));
        for (entry, line) in entries[cut..].iter().zip(&lines[cut..]) {
            assert_eq!(chain.append(entry).unwrap().as_bytes(), line);
        }
        assert!(chain.is_sealed());
    }
}

#[test]
fn a_record_holds_what_was_appended() {
    let entries = sample::entries(SEALED);
    let mut chain = Chain::new("run-verified-after-two-attempts".parse().unwrap());
    let mut prev = chain.head();
    assert_eq!(prev.to_string(), "0".repeat(64));
    for (seq, entry) in (0..).zip(&entries) {
        let line = chain.append(entry).unwrap();
        let record = Record::parse(line.as_bytes()).unwrap();
        assert_eq!((record.seq, line.seq()), (seq, seq));
        assert_eq!((record.prev, record.hash), (prev, line.hash()));
        assert_eq!(&record.entry, entry);
        assert_eq!(record.seal.is_some(), matches!(entry.event, Event::Sealed { .. }));
        assert!(!line.as_bytes().contains(&b'\n'));
        prev = chain.head();
    }
}

#[test]
fn nothing_follows_the_seal() {
    let lines = sample::lines(SEALED);
    let mut chain = Chain::resume(lines.last().unwrap()).unwrap();
    for event in
        [Event::RunResumed { interruptions: 1 }, Event::Sealed { outcome: Outcome::Verified }]
    {
        let before = chain.clone();
        let refused = chain.append(&entry(event));
        assert!(matches!(refused, Err(ChainError::Sealed { len: 19, .. })), "{refused:?}");
        assert_eq!(chain, before);
    }
}

#[test]
fn only_the_first_record_opens_the_run_and_it_must() {
    let opened = sample::entries(SEALED).remove(0);
    let mut other_run = Chain::new("another".parse().unwrap());
    assert!(matches!(other_run.append(&opened), Err(ChainError::Header { seq: 0, .. })));
    let mut empty = Chain::new("run-verified-after-two-attempts".parse().unwrap());
    let sealed_at_once = empty.append(&entry(Event::Sealed { outcome: Outcome::Cancelled }));
    assert!(matches!(sealed_at_once, Err(ChainError::Header { .. })));
    assert!(empty.is_empty());
    empty.append(&opened).unwrap();
    assert!(matches!(empty.append(&opened), Err(ChainError::Header { seq: 1, .. })));
}

#[test]
fn a_refused_entry_leaves_the_chain_as_it_was() {
    let mut chain = Chain::resume(sample::lines("unsealed").last().unwrap()).unwrap();
    let before = chain.clone();
    let too_late = Entry { at_ms: 1 << 53, event: Event::RunResumed { interruptions: 1 } };
    let refused = chain.append(&too_late).unwrap_err();
    assert!(refused.to_string().contains("/at_ms"), "{refused}");
    assert_eq!(chain, before);

    let Event::RunOpened { run, request, policy, checks, hooks, terms, parent } =
        sample::entries(SEALED).remove(0).event
    else {
        panic!("not the header")
    };
    let checks = vec![checks[0].clone(); 6000];
    let mut chain = Chain::new(run.clone());
    let refused = chain.append(&entry(Event::RunOpened {
        run,
        request,
        policy,
        checks,
        hooks,
        terms,
        parent,
    }));
    assert!(matches!(refused, Err(ChainError::TooLong { bytes }) if bytes > MAX_RECORD_BYTES));
    assert!(chain.is_empty());
}

#[test]
fn a_damaged_tail_is_not_continued() {
    let lines = sample::lines("unsealed");
    let line = lines.last().unwrap();
    for cut in 0..line.len() {
        assert!(matches!(Chain::resume(&line[..cut]), Err(ResumeError::Line(_))), "{cut}");
    }
}

#[test]
fn an_unsealed_log_reads_as_unsealed() {
    let log = read_records(sample::lines("unsealed")).unwrap();
    assert_eq!(log.seal, None);
    assert_eq!(log.entries, sample::entries("unsealed"));
}

/// A finished check with so many criteria of 64 characters, and one more of its own length.
fn wide(criteria: usize, last: usize) -> Entry {
    let mut names = vec!["x".repeat(64).parse().unwrap(); criteria];
    names.push("y".repeat(last).parse().unwrap());
    entry(Event::CheckFinished {
        check: probity_core::CheckIndex(0),
        finding: probity_core::Finding::Verdict {
            verdict: probity_core::VerdictKind::Pass,
            code: "ok".parse().unwrap(),
            reason: None,
            criteria: names,
            confidence_bp: None,
            evidence: None,
            metadata: None,
            output: None,
        },
        judge: None,
        elapsed_ms: 1,
        rewrite: None,
    })
}

#[test]
fn a_record_may_be_as_long_as_its_bound() {
    let mut chain = Chain::new("run-verified-after-two-attempts".parse().unwrap());
    assert!(chain.is_empty());
    chain.append(&sample::entries(SEALED)[0]).unwrap();
    assert!(!chain.is_empty());
    let length = |entry: &Entry| chain.clone().append(entry).map(|line| line.as_bytes().len());
    let one = length(&wide(0, 1)).unwrap();
    // A criterion takes its quotes and its comma.
    let room = MAX_RECORD_BYTES - one;
    let (criteria, last) = (room / 67, room % 67 + 1);
    assert!(last < 64, "one criterion more or less");
    assert_eq!(length(&wide(criteria, last)), Ok(MAX_RECORD_BYTES));
    let bytes = MAX_RECORD_BYTES + 1;
    assert_eq!(length(&wide(criteria, last + 1)), Err(ChainError::TooLong { bytes }));
}
