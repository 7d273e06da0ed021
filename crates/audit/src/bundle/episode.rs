//! The episode of a bundle: held against its own words, its receipt, its envelope and its log.

use probity_core::{Entry, Event};
use probity_policy::{Envelope, Format};
use probity_record::RunRecords;
use probity_report::{Class, Failures, Place, Rule};
use serde_json::Value;

use super::open::Opened;
use super::{BLOBS, EPISODE, RECEIPT, rule};
use crate::auditor::EpisodeAuditor;
use crate::drift::from_ms;
use crate::episode::Receipt;
use crate::finding::{Finding, Severity};
use crate::project;

/// Audits the episode, if it is there.
pub(super) fn check(opened: &Opened, records: Option<&RunRecords>, failures: &mut Failures) {
    let Some(bytes) = opened.entry(EPISODE) else { return };
    let auditor = auditor(opened, records);
    let receipt: Option<Receipt> =
        opened.entry(RECEIPT).and_then(|bytes| serde_json::from_slice(bytes).ok());
    let report = match &receipt {
        Some(receipt) => auditor.episode_with_receipt(bytes, EPISODE, receipt),
        None => auditor.episode(bytes, EPISODE),
    };
    if receipt.is_none() && opened.entry(RECEIPT).is_some() {
        let message = "not a receipt: the episode's name and its digest";
        failures.add(&rule::EPISODE_RECEIPT, Place::file(RECEIPT), message);
    }
    for finding in report.findings {
        tell(finding, failures);
    }
    if let Some(records) = records {
        hold(bytes, records, failures);
    }
}

/// An auditor that knows the envelope of the run, where that is among the content.
fn auditor(opened: &Opened, records: Option<&RunRecords>) -> EpisodeAuditor {
    let terms = records.into_iter().flat_map(|records| &records.entries).find_map(|entry| {
        let Event::RunOpened { terms, .. } = &entry.event else { return None };
        terms.as_ref()
    });
    let envelope = terms
        .and_then(|terms| opened.entry(&format!("{BLOBS}{}", terms.envelope)))
        .and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok())
        .and_then(|origin| {
            Envelope::parse(&origin.get("envelope")?.to_string(), Format::Json).ok()
        });
    let auditor = EpisodeAuditor::new();
    match envelope {
        Some(envelope) => auditor.with_envelope(envelope),
        None => auditor,
    }
}

/// What an episode of a run takes from its log: name, times, and why it ended.
fn hold(bytes: &[u8], records: &RunRecords, failures: &mut Failures) {
    let Ok(episode) = serde_json::from_slice::<Value>(bytes) else { return };
    let opened_at_ms = records.entries.first().map(|entry| entry.at_ms);
    let ended = records.entries.iter().rev().find_map(|Entry { at_ms, event }| match event {
        Event::OutcomeDecided { code, .. } => Some((*at_ms, code)),
        _ => None,
    });
    let run = Some(records.run.to_string());
    let expected = [
        ("/episodeId", run),
        ("/startedAt", opened_at_ms.and_then(from_ms)),
        ("/endedAt", ended.and_then(|(at_ms, _)| from_ms(at_ms))),
        ("/outcome/reason", ended.map(|(_, code)| code.to_string())),
    ];
    for (pointer, expected) in expected {
        let found = episode.pointer(pointer).and_then(Value::as_str);
        if let Some(expected) = expected.filter(|expected| found != Some(expected.as_str())) {
            let place = Place::file(EPISODE).pointer(pointer);
            failures.differs(&rule::EPISODE_RUN, place, expected, found.unwrap_or("nothing"));
        }
    }
    hold_course(&episode, records, failures);
}

/// What came of the decision, as the log has it: its outcome, verification, fallbacks and times.
fn hold_course(episode: &Value, records: &RunRecords, failures: &mut Failures) {
    let result = episode.pointer("/verification/result").and_then(Value::as_str).unwrap_or("na");
    let has_methods = episode.pointer("/verification/method").is_some();
    let members = match project::of_log(&records.entries, result, has_methods) {
        Ok(members) => members,
        Err(error) => {
            failures.add(&rule::EPISODE_RUN, Place::file(EPISODE), error.to_string());
            return;
        }
    };
    for (pointer, expected) in members {
        let found = episode.pointer(pointer);
        if found != Some(&expected) {
            let found = found.map_or_else(|| "nothing".to_owned(), Value::to_string);
            let place = Place::file(EPISODE).pointer(pointer);
            failures.differs(&rule::EPISODE_RUN, place, expected, found);
        }
    }
}

/// A finding of the episode auditor, under its own code.
fn tell(finding: Finding, failures: &mut Failures) {
    let severity = match finding.severity {
        Severity::Note => probity_report::Severity::Note,
        Severity::Warning => probity_report::Severity::Warning,
        Severity::Error => probity_report::Severity::Error,
    };
    let rule = Rule {
        code: finding.code,
        check: rule::EPISODE,
        severity,
        class: Class::Finding,
        invariant_id: None,
        finds: "",
    };
    failures.add(&rule, Place::file(EPISODE).pointer(finding.pointer), finding.message);
}
