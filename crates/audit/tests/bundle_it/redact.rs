//! Content that is left out, and the proof that stays.

use std::collections::BTreeSet;

use probity_audit::bundle::{BundlePolicy, Inclusion, redact_bundle};
use probity_core::{Digest, Event};
use probity_record::read_jsonl;
use probity_report::{CheckState, Verdict};

use crate::container::unpack;
use crate::sample::SECRET;
use crate::{audit, audit_signed, audit_with, bundle, codes, find, sample, signing_key, write};

fn redact(bytes: &[u8], inclusion: &Inclusion) -> Vec<u8> {
    let mut redacted = Vec::new();
    redact_bundle(&mut &*bytes, inclusion, &mut redacted).unwrap();
    redacted
}

#[test]
fn no_byte_of_content_leaves() {
    let sample = sample::decision();
    let whole = bundle(&sample, None);
    assert!(find(&whole, SECRET).is_some(), "the sample holds what is looked for");
    let redacted = write(&sample, &Inclusion::Nothing, None);
    assert_eq!(find(&redacted, SECRET), None);
    for bytes in sample.blobs.values() {
        let text = std::str::from_utf8(bytes).unwrap();
        assert_eq!(find(&redacted, text), None, "{text}");
    }
    let names: Vec<String> = unpack(&redacted).into_iter().map(|entry| entry.name).collect();
    assert!(names.iter().all(|name| !name.starts_with("blobs/")
        && name != "episode.json"
        && name != "receipt.json"));
}

/// A size would tell of what was left out.
#[test]
fn the_manifest_keeps_no_size_of_what_was_left_out() {
    let redacted = write(&sample::decision(), &Inclusion::Nothing, None);
    let manifest: serde_json::Value = serde_json::from_slice(&unpack(&redacted)[0].bytes).unwrap();
    for item in manifest["content"].as_array().unwrap() {
        assert_eq!(item["state"], "redacted");
        assert!(item.get("bytes").is_none());
    }
    for named in manifest["proof"]["content"].as_array().unwrap() {
        let keys: Vec<&String> = named.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["name", "sha256"]);
    }
}

#[test]
fn a_redacted_bundle_proves_integrity_only() {
    let report = audit(&write(&sample::plain(), &Inclusion::Nothing, None));
    assert_eq!(report.verdict, Verdict::IntegrityOnly, "{:#?}", report.failures);
    let finding = report.failures.iter().find(|f| f.code == "bundle_redacted").unwrap();
    assert!(finding.message.contains("integrity proved, grounding not re-checked"));
    let content = report.checks.iter().find(|check| check.name == "content").unwrap();
    assert_ne!(content.state, CheckState::Passed);
    let strict = BundlePolicy { allow_redacted: false, ..BundlePolicy::default() };
    let report = audit_with(&write(&sample::plain(), &Inclusion::Nothing, None), &strict);
    assert_eq!(report.verdict, Verdict::Invalid);
}

/// Taken out later or never put in: the same file. So whoever redacts needs no key.
#[test]
fn redaction_after_the_fact_keeps_the_signature() {
    let key = signing_key();
    let sample = sample::decision();
    let signed = bundle(&sample, Some(&key));
    let report = audit_signed(&signed);
    assert_eq!((report.verdict, codes(&report)), (Verdict::Valid, vec![]));
    let redacted = redact(&signed, &Inclusion::Nothing);
    assert_eq!(redacted, write(&sample, &Inclusion::Nothing, Some(&key)));
    let report = audit_signed(&redacted);
    assert_eq!(report.verdict, Verdict::IntegrityOnly, "{:#?}", report.failures);
    let signature = report.checks.iter().find(|check| check.name == "signature").unwrap();
    assert_eq!(signature.state, CheckState::Passed);
    assert_eq!(report.binds["proof"], audit_signed(&signed).binds["proof"]);
    assert_eq!(redact(&redacted, &Inclusion::All), redacted, "what is gone does not come back");
}

#[test]
fn one_piece_of_content_can_be_left_out() {
    let sample = sample::decision();
    let whole = bundle(&sample, None);
    let episode = probity_record::blob_digest(sample.episode.as_ref().unwrap().bytes());
    let opened = read_jsonl(&sample.log).unwrap().entries.swap_remove(0).event;
    let Event::RunOpened { request, .. } = opened else { panic!("{opened:?}") };
    for digest in sample.blobs.keys().chain([&episode]) {
        let inclusion = Inclusion::AllBut(BTreeSet::from([*digest]));
        let redacted = redact(&whole, &inclusion);
        assert_eq!(redacted, write(&sample, &inclusion, None));
        let left: Vec<Digest> =
            unpack(&redacted).iter().map(|e| probity_record::blob_digest(&e.bytes)).collect();
        assert!(!left.contains(digest));
        let report = audit(&redacted);
        assert_eq!(report.verdict, Verdict::IntegrityOnly, "{:#?}", report.failures);
        // The episode repeats the request, so it leaves with it.
        let expected = match *digest {
            digest if digest == request => 3,
            digest if digest == episode => 2,
            _ => 1,
        };
        assert_eq!(report.summary_metrics["content_redacted"], expected);
    }
}

/// What somebody said to the delegate, and who wants the run to stop, is content like any other.
#[test]
fn what_others_asked_of_a_run_is_left_out_like_any_content() {
    let sample = sample::noted();
    let whole = bundle(&sample, None);
    for content in [sample::STEER, sample::REQUEST] {
        let text = std::str::from_utf8(content).unwrap();
        assert!(find(&whole, text).is_some());
        let digest = probity_record::blob_digest(content);
        let one = Inclusion::AllBut(BTreeSet::from([digest]));
        for inclusion in [one, Inclusion::Nothing] {
            let redacted = redact(&whole, &inclusion);
            assert_eq!(redacted, write(&sample, &inclusion, None));
            for word in [text, "kim", "lee"].iter().filter(|word| text.contains(**word)) {
                let is_whole = inclusion != Inclusion::Nothing;
                assert_eq!(find(&redacted, word).is_some(), is_whole && *word == "kim", "{word}");
            }
            let report = audit(&redacted);
            assert_eq!(report.verdict, Verdict::IntegrityOnly, "{:#?}", report.failures);
        }
    }
}

#[test]
fn a_bundle_that_is_not_in_order_is_not_redacted() {
    let whole = bundle(&sample::plain(), None);
    let at = find(&whole, SECRET).unwrap();
    let mut changed = whole.clone();
    changed[at] ^= 1;
    for (bytes, code) in [(&whole[..700], "bundle_truncated"), (&changed, "bundle_entry_digest")] {
        let mut sink = Vec::new();
        let error = redact_bundle(&mut &*bytes, &Inclusion::Nothing, &mut sink).unwrap_err();
        assert_eq!(error.code(), "bundle_refused");
        assert!(error.to_string().contains(code), "{error}");
        assert!(sink.is_empty());
    }
}
