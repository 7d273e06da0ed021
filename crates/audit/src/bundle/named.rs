//! The content that the events of a log name.

use std::collections::BTreeSet;

use probity_core::{Digest, Entry, Event};

/// Every blob that a log points at. What a blob names in turn is no part of it.
pub(super) fn blobs(entries: &[Entry]) -> BTreeSet<Digest> {
    entries.iter().flat_map(|entry| entry.event.named()).map(|(_, digest)| digest).collect()
}

/// The blobs that an episode repeats: what was asked for, and which human agreed. Who leaves one of
/// them out leaves the episode out.
pub(super) fn of_episode(entries: &[Entry]) -> BTreeSet<Digest> {
    let repeated = entries.iter().filter_map(|entry| match &entry.event {
        Event::RunOpened { request, .. } => Some(*request),
        Event::Answered { by, .. } => Some(*by),
        _ => None,
    });
    repeated.collect()
}
