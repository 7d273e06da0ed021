//! There and back: what is written is valid, the same every time, and however it is read.

use std::io::{self, Read, Write};

use probity_audit::bundle::{
    BUNDLE_FORMAT, BundleError, BundleInput, BundlePolicy, Inclusion, audit_bundle, write_bundle,
};
use probity_audit::log::LogPolicy;
use probity_core::Event;
use probity_record::{Chain, read_jsonl};
use probity_report::{CheckState, SubjectKind, Verdict};
use serde_json::Value;

use crate::container::unpack;
use crate::{audit, audit_with, bundle, codes, sample, signing_key};

#[test]
fn a_written_bundle_is_valid() {
    for (sample, has_episode) in [(sample::plain(), false), (sample::decision(), true)] {
        let report = audit(&bundle(&sample, None));
        assert_eq!(codes(&report), ["bundle_unsigned"], "{:#?}", report.failures);
        assert_eq!((report.verdict, report.kind), (Verdict::Valid, SubjectKind::Bundle));
        assert!(report.checks.iter().all(|check| check.state == CheckState::Passed));
        let has = |name: &str| report.checks.iter().any(|check| check.name == name);
        assert_eq!(has("episode"), has_episode);
        assert!(!has("signature"), "nobody asked for one");
        let expected = sample.blobs.len() as u64 + if has_episode { 2 } else { 0 };
        assert_eq!(report.summary_metrics["content_included"], expected);
        assert_eq!(report.summary_metrics["content_redacted"], 0);
    }
}

/// What a delegate wrote and waited for, what it was answered, what a check said besides, and what
/// others had to say.
#[test]
fn notes_waits_answers_wishes_and_metadata_go_in_and_are_checked() {
    let sample = sample::noted();
    let whole = bundle(&sample, None);
    assert_eq!(codes(&audit(&whole)), ["bundle_unsigned"]);
    for (role, bytes) in [
        ("note", sample::NOTE),
        ("wait", sample::WAIT),
        ("answer", sample::ANSWER),
        ("metadata", sample::METADATA),
        ("steer", sample::STEER),
        ("by", sample::REQUEST),
    ] {
        let digest = probity_record::blob_digest(bytes);
        let mut without = sample::noted();
        without.blobs.remove(&digest).unwrap();
        let report = audit(&bundle(&without, None));
        assert_eq!(report.verdict, Verdict::IntegrityOnly, "{role}");
        assert!(codes(&report).contains(&"bundle_absent"), "{role}: {:#?}", report.failures);
    }
}

#[test]
fn equal_input_gives_equal_bytes() {
    let key = signing_key();
    for key in [None, Some(&key)] {
        assert_eq!(bundle(&sample::decision(), key), bundle(&sample::decision(), key));
    }
}

#[test]
fn the_log_goes_in_byte_for_byte() {
    let sample = sample::plain();
    let entries = unpack(&bundle(&sample, None));
    assert_eq!(entries[1].bytes, sample.log);
    for entry in entries.iter().filter(|entry| entry.name.starts_with("blobs/")) {
        let digest = entry.name["blobs/".len()..].parse().unwrap();
        assert_eq!(sample.blobs[&digest], entry.bytes);
    }
    let manifest: Value = serde_json::from_slice(&entries[0].bytes).unwrap();
    assert_eq!(manifest["format"], BUNDLE_FORMAT);
    assert_eq!(manifest["proof"]["outcome"], "verified");
}

/// A source that gives one byte at a time, and one that breaks.
struct Slow<'a>(&'a [u8], Option<usize>);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(left) = &mut self.1 {
            *left = left.checked_sub(1).ok_or_else(|| io::Error::other("the disk is gone"))?;
        }
        self.0.read(&mut buffer[..1])
    }
}

#[test]
fn it_does_not_matter_how_the_bytes_come() {
    let bytes = bundle(&sample::plain(), None);
    let policy = BundlePolicy::default();
    let slow = audit_bundle(&mut Slow(&bytes, None), "run.probity", &policy);
    assert_eq!(slow, audit(&bytes));
    let broken = audit_bundle(&mut Slow(&bytes, Some(3000)), "run.probity", &policy);
    assert_eq!(codes(&broken), ["bundle_unreadable"]);
    assert_eq!(broken.verdict, Verdict::Malformed);
    assert!(broken.checks[1..].iter().all(|check| check.state == CheckState::Skipped));
}

#[test]
fn a_moved_bundle_keeps_its_report() {
    let bytes = bundle(&sample::plain(), None);
    let moved = audit_bundle(&mut &*bytes, "elsewhere", &BundlePolicy::default());
    assert_eq!(moved.id, audit(&bytes).id);
}

#[test]
fn every_cut_is_malformed() {
    let bytes = bundle(&sample::plain(), None);
    let near = |edge: usize| edge.saturating_sub(3)..(edge + 3).min(bytes.len());
    let edges = (0..bytes.len()).step_by(512).flat_map(near);
    for len in edges.chain(near(bytes.len())) {
        let report = audit(&bytes[..len]);
        assert_eq!(report.verdict, Verdict::Malformed, "cut at {len}: {:?}", codes(&report));
    }
}

#[test]
fn bytes_behind_the_end_are_refused() {
    let mut bytes = bundle(&sample::plain(), None);
    bytes.push(0);
    assert_eq!(codes(&audit(&bytes)), ["bundle_trailing"]);
    bytes.resize(bytes.len() + 10_240, 0);
    assert_eq!(codes(&audit(&bytes)), ["bundle_trailing"]);
}

#[test]
fn content_that_nobody_has_is_told() {
    let mut sample = sample::plain();
    let first = *sample.blobs.keys().next().unwrap();
    sample.blobs.remove(&first);
    let bytes = bundle(&sample, None);
    let report = audit(&bytes);
    assert!(report.has("bundle_absent"));
    assert_eq!(report.verdict, Verdict::IntegrityOnly);
    assert_eq!(report.summary_metrics["content_absent"], 1);
    let strict = BundlePolicy { allow_redacted: false, ..BundlePolicy::default() };
    let report = audit_with(&bytes, &strict);
    assert!(report.has("bundle_redaction_refused"));
    assert_eq!(report.verdict, Verdict::Invalid);
}

#[test]
fn what_is_no_proof_is_not_written() {
    let sample = sample::plain();
    let end = sample.log[..sample.log.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    let mut damaged = sample.log.clone();
    damaged[20] ^= 1;
    let card = sample::decision();
    let cases: [(&[u8], Option<_>, &str); 5] = [
        (&sample.log[..=end], None, "bundle_unsealed"),
        (&sample.log[..end], None, "bundle_log"),
        (&damaged, None, "bundle_log"),
        (b"", None, "bundle_log"),
        (&sample.log, card.episode.as_ref(), "bundle_episode"),
    ];
    for (log, episode, code) in cases {
        let mut sink = Vec::new();
        let inclusion = &Inclusion::All;
        let input = BundleInput { log, content: &sample, episode, inclusion, key: None };
        assert_eq!(write_bundle(&input, &mut sink).unwrap_err().code(), code);
        assert!(sink.is_empty());
    }
    let mut wrong = sample::plain();
    for bytes in wrong.blobs.values_mut() {
        bytes.push(b'!');
    }
    let (log, inclusion) = (&*sample.log, &Inclusion::All);
    let input = BundleInput { log, content: &wrong, episode: None, inclusion, key: None };
    assert_eq!(write_bundle(&input, &mut Vec::new()).unwrap_err().code(), "bundle_blob");
}

/// A log that is whole and tells of a run that no machine makes: its own audit is part of the bundle's.
#[test]
fn a_lie_in_the_log_is_found_in_the_log() {
    let mut sample = sample::plain();
    let mut chain = Chain::new("run-plain".parse().unwrap());
    let entries = read_jsonl(&sample.log).unwrap().entries;
    sample.log.clear();
    for mut entry in entries {
        if let Event::VerdictMerged { attempts, .. } = &mut entry.event {
            *attempts = 1;
        }
        sample.log.extend(chain.append(&entry).unwrap().into_bytes());
        sample.log.push(b'\n');
    }
    let report = audit(&bundle(&sample, None));
    assert_eq!(report.verdict, Verdict::Invalid);
    let found = report.failures.iter().find(|found| found.code == "log_attempts_differ").unwrap();
    assert_eq!((found.place.file.as_str(), found.check), ("log.jsonl", "accounting"));
    assert!(found.place.line.is_some());
}

/// Every check of a log is one of its bundle.
#[test]
fn the_checks_of_the_log_are_those_of_the_bundle() {
    let report = audit(&bundle(&sample::plain(), None));
    let names: Vec<&str> = report.checks.iter().map(|check| check.name).collect();
    assert_eq!(names[..4], ["container", "manifest", "digests", "statement"]);
    assert_eq!(names[4..], LogPolicy::default().checks());
    assert_eq!(report.binds["run"], "run-plain");
}

/// A sink with no room.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("no room"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_breaks_is_told() {
    let sample = sample::plain();
    let inclusion = &Inclusion::All;
    let input =
        BundleInput { log: &sample.log, content: &sample, episode: None, inclusion, key: None };
    let error = write_bundle(&input, &mut Full).unwrap_err();
    assert!(matches!(error, BundleError::Sink(_)));
    assert_eq!(error.code(), "bundle_sink");
}
