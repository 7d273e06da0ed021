//! Canonical JSON, single records, and logs of events that nobody decided.

use probity_audit::{LogAuditor, LogPolicy, NoContent};
use probity_core::{Delegation, Entry, Event};
use probity_record::canonical::{
    check, is_canonical, jcs, parse_ijson, parse_strict, to_canonical,
};
use probity_record::{
    Chain, Ledger, LedgerRecord, Record, StepText, blob_digest, candidate_hash, read_jsonl,
    read_step,
};
use probity_report::{Severity, Verdict};

use super::Target;
use crate::seed;
use crate::tape::Tape;

pub(super) const TARGETS: [Target; 3] = [
    Target::new("canonical", canonical, canonicals),
    Target::new("record", record, records),
    Target::new("entries", entries, entry_logs),
];

/// JSON of a stranger. The one-pass check agrees with the reader and the writer together, and what is
/// written is read as what it was.
fn canonical(bytes: &[u8]) {
    let strict = parse_strict(bytes);
    let written = strict.as_ref().ok().and_then(|value| to_canonical(value).ok());
    assert_eq!(check(bytes).is_ok(), written.as_deref() == Some(bytes), "two readers disagree");
    if let Some(text) = written {
        assert!(is_canonical(&text), "the writer's text is not canonical");
        let again = parse_strict(&text).ok().and_then(|value| to_canonical(&value).ok());
        assert_eq!(again.as_deref(), Some(&*text), "read again, it is written otherwise");
    }
    if let Ok(value) = &strict {
        assert!(parse_ijson(bytes).is_ok() || jcs(value).is_err(), "one reader is stricter");
        assert_eq!(candidate_hash(value), candidate_hash(&value.clone()));
    }
    let Ok(step) = read_step(bytes) else { return };
    let Ok(text) = jcs(&step) else { return };
    let again = read_step(&text).ok().and_then(|value| jcs(&value).ok());
    assert_eq!(again.as_deref(), Some(&*text), "a step is not what was written");
}

fn canonicals() -> Vec<Vec<u8>> {
    let mut seeds = seed::files("testdata/records/jcs");
    seeds.extend(seed::files("testdata/records/candidate"));
    seeds.retain(|seed| seed.len() < 4_096);
    seeds.extend(seed::texts(&[
        r#"{"a":[1,-0,1.5,1e21,9007199254740993],"b":{"\u00e9":"\ud83d\ude00"},"":null}"#,
        r#"{"a":1,"a":2}"#,
        "[[[[[[]]]]]]",
    ]));
    seeds
}

/// A line around a body, with the right hash: what a forger would write.
fn sealed(body: &[u8]) -> Vec<u8> {
    let hash = blob_digest(body).to_string();
    [b"{\"body\":", body, b",\"hash\":\"", hash.as_bytes(), b"\"}"].concat()
}

/// A record of either kind of log whose hash is right. What is taken is canonical, and with another
/// byte it is not taken.
fn record(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let (place, flip) = (usize::from(tape.byte()), tape.byte().max(1));
    let body = tape.rest();
    let mut line = sealed(body);
    let taken = (Record::parse(&line).is_ok(), LedgerRecord::parse(&line).is_ok());
    assert!(taken != (true, true), "a record of two kinds of log");
    if let Ok(record) = Record::parse(&line) {
        assert!(is_canonical(body), "a record that is not canonical");
        if let Ok(mut chain) = Chain::after(&record) {
            assert_eq!(chain.head(), blob_digest(body));
            assert!(chain.append(&record.entry).is_err() || !chain.is_empty());
        }
    }
    if let Ok(read) = LedgerRecord::parse(&line) {
        assert_eq!(Ledger::behind(&read).head(), blob_digest(body));
        if let StepText::Inline(text) = &read.step {
            assert!(read_step(text).is_ok(), "a step that cannot be read");
        }
    }
    if taken != (false, false) {
        let at = place.checked_rem(line.len()).unwrap_or(0);
        if let Some(byte) = line.get_mut(at) {
            *byte ^= flip;
        }
        assert!(Record::parse(&line).is_err(), "a changed byte is taken");
        assert!(LedgerRecord::parse(&line).is_err(), "a changed byte is taken");
    }
}

fn records() -> Vec<Vec<u8>> {
    let logs = seed::files_named("testdata/records", ".jsonl");
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for log in &logs {
        for line in log.split(|byte| *byte == b'\n') {
            let body = line.strip_prefix(b"{\"body\":").unwrap_or_default();
            let body = body.get(..body.len().saturating_sub(76)).unwrap_or_default();
            let seed = [&[9, 1], body].concat();
            if body.len() > 2 && !seeds.contains(&seed) {
                seeds.push(seed);
            }
        }
    }
    seeds.truncate(160);
    seeds
}

/// A log as the writer makes it out of any events, one a line. The reader gives them back. A log that
/// the machine takes for its own is counted as its events say, and the auditor, who folds it by rules
/// of his own and replays it, calls no other log valid.
fn entries(bytes: &[u8]) {
    let (log, export) = written(bytes);
    judge(&log, &export);
}

/// Events, one a line, as far as they are some, and the log that the writer makes of them.
pub(super) fn written(bytes: &[u8]) -> (Vec<Entry>, Vec<u8>) {
    let mut tape = Tape::new(bytes);
    let (mut log, mut export): (Vec<Entry>, Vec<u8>) = Default::default();
    let mut chain: Option<Chain> = None;
    while !tape.is_empty() && log.len() < 200 {
        let Ok(value) = read_step(tape.line()) else { continue };
        let Ok(entry) = serde_json::from_value::<Entry>(value) else { continue };
        if let (None, Event::RunOpened { run, .. }) = (&chain, &entry.event) {
            chain = Some(Chain::new(run.clone()));
        }
        let Some(line) = chain.as_mut().and_then(|chain| chain.append(&entry).ok()) else {
            continue;
        };
        export.extend_from_slice(line.as_bytes());
        export.push(b'\n');
        log.push(entry);
    }
    (log, export)
}

/// What holds of a log and its export, whoever wrote it.
pub(super) fn judge(log: &[Entry], export: &[u8]) {
    if log.is_empty() {
        return;
    }
    let read = read_jsonl(export);
    assert_eq!(read.as_ref().map(|read| &*read.entries), Ok(log), "read as it was not written");
    let is_sealed = read.is_ok_and(|read| read.seal.is_some());
    let policy = LogPolicy { stands_alone: true, allow_unsealed: true };
    let report = LogAuditor::new(&NoContent).with_policy(policy).jsonl(export, "log");
    let replayed = Delegation::replay(log);
    let errors = report.failures.iter().filter(|it| it.severity == Severity::Error);
    let mut errors = errors.map(|it| it.code).peekable();
    assert_eq!(report.verdict == Verdict::Valid, errors.peek().is_none());
    assert!(replayed.is_ok() || errors.peek().is_some(), "valid, and the machine refuses it");
    let Ok(machine) = replayed else { return };
    // What the machine does not look at: it takes the driver's names and marks for what they are.
    let beside = ["log_submission_differs", "log_work_fell", "log_judge_unseen"];
    let is_beside = |code: &str| beside.contains(&code);
    assert!(errors.all(is_beside), "replayed, and refused: {:#?}", report.failures);
    assert_eq!(machine.entries(), log.len() as u64);
    let is_counted =
        |entry: &&Entry| matches!(entry.event, Event::VerdictMerged { counted, .. } if counted);
    assert_eq!(machine.attempts() as usize, log.iter().filter(is_counted).count());
    assert!(machine.attempts() <= machine.max_attempts(), "more attempts than there are");
    let is_end = matches!(machine.stage(), probity_core::Stage::Sealed { .. });
    assert_eq!(is_end, is_sealed, "the end of a run and the seal of its log");
}

pub(super) fn entry_logs() -> Vec<Vec<u8>> {
    let logs = seed::files_named("testdata/records", ".jsonl");
    let entries = logs.iter().filter_map(|log| read_jsonl(log).ok());
    let lines = entries.map(|read| {
        let lines = read.entries.iter().filter_map(|entry| serde_json::to_vec(entry).ok());
        lines.collect::<Vec<_>>().join(&b'\n')
    });
    lines.collect()
}
