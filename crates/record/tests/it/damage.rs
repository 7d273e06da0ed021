//! Break it on purpose: {drop, truncate, flip, swap, duplicate} × {header, event, seal}.

use probity_core::Outcome;
use probity_record::{
    LineFault, MAX_RECORD_BYTES, Record, Report, read_jsonl, read_records, verify_jsonl,
    verify_records,
};

use crate::sample;

const SEALED: &str = "verified-after-two-attempts";

fn join(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
}

fn body(line: &[u8]) -> String {
    let text = std::str::from_utf8(line).unwrap();
    text.strip_prefix("{\"body\":").unwrap().rsplit_once(",\"hash\":").unwrap().0.to_owned()
}

/// A record of that body with the right hash.
fn record(body: &str) -> Vec<u8> {
    let hash = probity_record::blob_digest(body.as_bytes());
    format!("{{\"body\":{body},\"hash\":\"{hash}\"}}").into_bytes()
}

/// Header, an event in the middle, the event before the seal, the seal.
fn parts(lines: &[Vec<u8>]) -> [usize; 4] {
    [0, lines.len() / 2, lines.len() - 2, lines.len() - 1]
}

fn codes(bytes: &[u8]) -> Vec<&'static str> {
    verify_jsonl(bytes).findings.iter().map(|finding| finding.fault.code()).collect()
}

#[test]
fn the_undamaged_log_is_whole_and_sealed() {
    let lines = sample::lines(SEALED);
    let log = read_records(&lines).unwrap();
    let seal = log.seal.unwrap();
    assert_eq!(seal.events, lines.len() as u64 - 1);
    assert_eq!(seal.outcome, Outcome::Verified);
    assert_eq!(log.entries, sample::entries(SEALED));
    assert!(verify_records(&lines).is_sealed());
    assert_eq!(read_jsonl(&join(&lines)), Ok(log));
}

#[test]
fn a_dropped_record_is_missed() {
    let lines = sample::lines(SEALED);
    for part in 0..lines.len() {
        let mut damaged = lines.clone();
        damaged.remove(part);
        let report = verify_records(&damaged);
        assert!(!report.is_sealed(), "{part}");
        // A log that only lost its end is a prefix: whole as far as it goes, and unsealed.
        assert_eq!(report.is_whole(), part == lines.len() - 1, "{part}");
        assert_eq!(read_records(&damaged).is_err(), part != lines.len() - 1, "{part}");
    }
}

#[test]
fn truncation_at_every_byte_never_reads_as_sealed() {
    let lines = sample::lines("smallest");
    let whole = join(&lines);
    let mut boundaries = vec![0];
    for line in &lines {
        boundaries.push(boundaries.last().unwrap() + line.len() + 1);
    }
    for length in 0..whole.len() {
        let cut = &whole[..length];
        let report = verify_jsonl(cut);
        assert!(!report.is_sealed(), "{length}");
        match read_jsonl(cut) {
            Ok(log) => {
                assert!(boundaries.contains(&length) && length > 0, "{length}");
                assert_eq!(log.seal, None, "{length}");
            }
            Err(_) => assert!(!boundaries.contains(&length) || length == 0, "{length}"),
        }
    }
}

#[test]
fn a_flip_of_any_bit_of_any_byte_is_found() {
    let whole = join(&sample::lines("smallest"));
    assert!(verify_jsonl(&whole).is_sealed());
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            assert!(!verify_jsonl(&damaged).is_whole(), "byte {at} bit {bit}");
        }
    }
}

#[test]
fn swapped_records_are_found() {
    let lines = sample::lines(SEALED);
    for a in parts(&lines) {
        for b in parts(&lines) {
            if a == b {
                continue;
            }
            let mut damaged = lines.clone();
            damaged.swap(a, b);
            let report = verify_records(&damaged);
            assert!(!report.is_whole(), "{a} {b}");
            let codes = codes(&join(&damaged));
            assert!(codes.contains(&"log_seq") && codes.contains(&"log_prev"), "{a} {b} {codes:?}");
        }
    }
}

#[test]
fn a_duplicated_record_is_found_wherever_it_stands() {
    let lines = sample::lines(SEALED);
    for part in parts(&lines) {
        for place in 0..=lines.len() {
            let mut damaged = lines.clone();
            damaged.insert(place, lines[part].clone());
            assert!(!verify_records(&damaged).is_whole(), "{part} at {place}");
        }
    }
}

#[test]
fn nothing_stands_after_the_seal_and_nothing_between_the_lines() {
    let lines = sample::lines(SEALED);
    let whole = join(&lines);
    assert_eq!(codes(&[&whole[..], b"\n"].concat()), ["log_after_seal", "log_empty_line"]);
    assert_eq!(codes(&[b"\n", &whole[..]].concat())[0], "log_empty_line");
    let crlf = String::from_utf8(whole.clone()).unwrap().replace('\n', "\r\n");
    assert!(codes(crlf.as_bytes()).iter().all(|code| *code == "record_envelope"));
    assert_eq!(codes(&whole[..whole.len() - 1]), ["log_no_newline"]);
    assert_eq!(codes(b""), ["log_empty"]);
}

#[test]
fn records_of_another_run_do_not_pass() {
    let (ours, other) = (sample::lines(SEALED), sample::lines("exhausted"));
    let mut mixed = ours.clone();
    mixed[5] = other[5].clone();
    let report = verify_records(&mixed);
    let runs = report.findings.iter().filter(|found| matches!(found.fault, LineFault::Run { .. }));
    assert_eq!(runs.map(|found| found.line).collect::<Vec<_>>(), [6]);
    // A foreign tail on our head: the chain is broken there.
    let spliced = [&ours[..8], &other[8..]].concat();
    assert!(!verify_records(&spliced).is_whole());
}

#[test]
fn a_forger_who_recomputes_one_hash_breaks_the_next_link() {
    let lines = sample::lines(SEALED);
    for part in 0..lines.len() - 1 {
        let mut damaged = lines.clone();
        damaged[part] = record(&body(&lines[part]).replacen("\"at_ms\":1", "\"at_ms\":2", 1));
        let report = verify_records(&damaged);
        let first = &report.findings[0];
        assert_eq!((first.line, first.fault.code()), (part as u64 + 2, "log_prev"), "{part}");
    }
}

#[test]
fn a_run_is_opened_once_and_first_even_in_a_chain_that_holds() {
    let lines = sample::lines(SEALED);
    let opened = body(&lines[0]);
    // Written by someone who keeps the chain right but not the order of events.
    let mut second = opened.replace("\"seq\":0", "\"seq\":1");
    let hash = probity_record::blob_digest(opened.as_bytes()).to_string();
    second = second.replace(&"0".repeat(64), &hash);
    let other_run = second.replacen("\"run\":\"run-", "\"run\":\"other-", 1);
    for second in [second, other_run] {
        assert_eq!(codes(&join(&[lines[0].clone(), record(&second)])), ["log_header"]);
    }
    let started = body(&lines[1]).replace("\"seq\":1", "\"seq\":0");
    let started = started.replace(&hash, &"0".repeat(64));
    assert_eq!(codes(&join(&[record(&started)])), ["log_header"]);
}

#[test]
fn every_finding_is_reported_and_their_number_is_bounded_in_memory() {
    let mut lines = sample::lines(SEALED);
    lines[2] = b"not a record".to_vec();
    lines.remove(5);
    lines.swap(8, 9);
    let codes = codes(&join(&lines));
    assert_eq!(codes[0], "record_envelope");
    assert!(codes.iter().filter(|code| **code == "log_seq").count() >= 3, "{codes:?}");
    assert!(codes.contains(&"seal_events"), "{codes:?}");
    let error = read_records(&lines).unwrap_err();
    assert_eq!((error.first.line, error.others), (3, codes.len() - 1));

    let junk = vec![b"x".to_vec(); 5000];
    let report = verify_records(&junk);
    assert_eq!(report.findings_total, 5000 + usize::from(report.run.is_some()));
    assert!(report.findings.len() < 5000);
}

#[test]
fn a_seal_and_its_event_go_together_and_agree() {
    let lines = sample::lines(SEALED);
    let sealing = body(&lines[lines.len() - 1]);
    let before = body(&lines[lines.len() - 2]);
    let (_, rest) = sealing.split_once(",\"seal\":").unwrap();
    let (seal, tail) = rest.split_once("},").unwrap();
    let seal = format!(",\"seal\":{seal}}}");
    assert_eq!(seal.matches("\"outcome\":\"verified\"").count(), 1);
    assert!(tail.starts_with("\"seq\":"));
    let other = seal.replace("\"outcome\":\"verified\"", "\"outcome\":\"rejected\"");
    let misplaced = before.replacen(",\"seq\":", &format!("{seal},\"seq\":"), 1);
    for (body, code) in [
        (sealing.replace(&seal, ""), LineFault::SealMissing.code()),
        (sealing.replace(&seal, &other), LineFault::SealOutcome.code()),
        (misplaced, LineFault::SealMisplaced.code()),
    ] {
        let fault = Record::parse(&record(&body)).unwrap_err();
        assert_eq!(fault.code(), code, "{fault}: {body}");
    }
    assert!(Record::parse(&record(&sealing)).is_ok());
}

#[test]
fn a_line_is_too_long_above_its_bound() {
    let fault = |bytes: usize| Record::parse(&vec![b' '; bytes]).unwrap_err();
    assert_eq!(MAX_RECORD_BYTES, 262_144);
    assert_eq!(fault(MAX_RECORD_BYTES), LineFault::Envelope);
    for bytes in [MAX_RECORD_BYTES + 1, 2 * MAX_RECORD_BYTES] {
        assert_eq!(fault(bytes), LineFault::TooLong { bytes });
    }
}

#[test]
fn findings_are_listed_up_to_their_bound_and_all_counted() {
    let first_says = |bytes: &[u8]| read_jsonl(bytes).unwrap_err().to_string();
    assert!(!first_says(b"{}\n").contains("more findings"), "{}", first_says(b"{}\n"));
    let empty = "\n".repeat(Report::MAX_FINDINGS + 2);
    let report = verify_jsonl(empty.as_bytes());
    assert_eq!(report.findings.len(), Report::MAX_FINDINGS);
    assert_eq!(report.findings_total, Report::MAX_FINDINGS + 2);
    let more = format!(" (and {} more findings)", report.findings_total - 1);
    assert!(first_says(empty.as_bytes()).ends_with(&more), "{}", first_says(empty.as_bytes()));
}
