//! Taking content out of a bundle that was made, and perhaps signed, by someone else.

use std::io::{Read, Write};

use probity_record::read_jsonl;
use probity_report::{Failures, Severity};

use super::manifest::ContentState;
use super::open::Opened;
use super::write::pack;
use super::{BundleError, BundleSummary, EPISODE, Inclusion, LOG, RECEIPT, named};

/// Writes the same bundle with less content. Log, statement and signature stay byte for byte, so the
/// proof still checks; what was left out before stays left out.
///
/// # Errors
/// [`BundleError::Refused`] for a bundle whose container, manifest or digests are not in order, and
/// [`BundleError::Sink`].
pub fn redact_bundle(
    source: &mut dyn Read,
    inclusion: &Inclusion,
    sink: &mut dyn Write,
) -> Result<BundleSummary, BundleError> {
    let mut failures = Failures::new();
    let opened = Opened::read(source, &mut failures).map_err(|refusal| BundleError::Refused {
        code: refusal.rule.code,
        message: refusal.message,
    })?;
    let mut found = failures.into_sorted().into_iter();
    if let Some(first) = found.find(|failure| failure.severity == Severity::Error) {
        let message = format!("{}: {}", first.place.file, first.message);
        return Err(BundleError::Refused { code: first.code, message });
    }
    let Opened { mut manifest, entries, .. } = opened;
    let proof = &manifest.proof.content;
    let records = entries.get(LOG).and_then(|log| read_jsonl(log).ok());
    let sources = records.map(|records| named::of_episode(&records.entries));
    let episode = proof.iter().find(|named| named.name == EPISODE).map(|named| named.sha256);
    // Of a log that cannot be read nobody knows what its episode repeats.
    let has_episode =
        sources.is_some_and(|sources| sources.iter().chain(&episode).all(|it| inclusion.has(it)));
    for (item, named) in manifest.content.iter_mut().zip(proof) {
        let is_withheld = match named.name.as_str() {
            // The receipt goes with its episode.
            EPISODE | RECEIPT => !has_episode,
            _ => !inclusion.has(&named.sha256),
        };
        if item.state == ContentState::Included && is_withheld {
            item.state = ContentState::Redacted;
            item.bytes = None;
        }
    }
    pack(&manifest, &|name| entries.get(name).cloned(), sink)
}
