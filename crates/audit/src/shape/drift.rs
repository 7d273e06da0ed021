//! The shape of a drift signal.

use super::Shape::{List, Name, Text, Time, Word};
use super::{Field, Record, Shape, may, must};
use crate::rule::SHAPE_VALUE;

/// A drift signal.
pub(crate) static DRIFT: Record = Record { fields: FIELDS, is_open: false };

const FIELDS: &[Field] = &[
    must("driftId", Name),
    must("episodeId", Name),
    must("driftType", Word(TYPES, &SHAPE_VALUE)),
    must("severity", Word(&["green", "yellow", "red"], &SHAPE_VALUE)),
    must("detectedAt", Time),
    must("evidenceRefs", List(&Text, 0)),
    must("recommendedPatchType", Word(PATCHES, &SHAPE_VALUE)),
    must("fingerprint", Shape::Record(&FINGERPRINT)),
    may("notes", Text),
];

const TYPES: &[&str] =
    &["time", "freshness", "fallback", "bypass", "verify", "outcome", "fanout", "contention"];

const PATCHES: &[&str] = &[
    "dte_change",
    "ttl_change",
    "cache_bundle_change",
    "routing_change",
    "verification_change",
    "action_scope_tighten",
    "manual_review",
];

static FINGERPRINT: Record =
    Record { fields: &[must("key", Text), must("version", Text)], is_open: false };
