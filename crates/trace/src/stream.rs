//! The audit of one run directory: reads the trace once, in pieces, and hands every event to every
//! family of rules.

mod course;
mod document;
mod piece;
mod pump;
mod reader;
mod trace_id;

use std::collections::BTreeMap;

use probity_report::{Draft, Failures, Place, Reading, SubjectKind, VerificationReport};
use serde_json::Value as Json;

use crate::model::TRACE;
use crate::plan::Plan;
use crate::read::{HEADER_MISSING, RecordKind};
use crate::rule::CHECKS;
use crate::scene::{Header, Scene};
use crate::seal::{self, Known, MANIFEST, TraceSums};
use crate::spec::{SPEC, Spec};
use crate::{RunFiles, TracePolicy};

use course::Course;
use piece::Piece;
use reader::Reader;
use trace_id::TraceId;

const PLAN: &str = "plan.json";

/// The largest `plan.json` that is read, in bytes.
pub const MAX_PLAN_BYTES: u64 = 256 << 20;

/// The largest `spec.json` that is read, in bytes.
pub const MAX_SPEC_BYTES: u64 = 16 << 20;

/// The largest `manifest.json` whose digest a report names, in bytes.
pub const MAX_MANIFEST_BYTES: u64 = 256 << 20;

/// The longest line of a trace that is read, in bytes, without its newline.
pub const MAX_LINE_BYTES: usize = 128 << 20;

/// Audits run directories under one policy. Remembers nothing between calls, so one can serve many
/// threads.
#[derive(Debug, Clone, Default)]
pub struct TraceAuditor {
    policy: TracePolicy,
}

impl TraceAuditor {
    /// An auditor with a policy.
    #[must_use]
    pub const fn new(policy: TracePolicy) -> Self {
        Self { policy }
    }

    /// Audits one run directory. Whatever is wrong with the files is a finding.
    #[must_use]
    pub fn audit(&self, files: &dyn RunFiles, source: &str) -> VerificationReport {
        let mut draft = Draft::new(SubjectKind::Trace, source, &CHECKS);
        draft.binds.insert("policy", self.bound_policy());
        draft.binds.insert("verifier_version", env!("CARGO_PKG_VERSION").to_owned());
        let mut failures = Failures::new();
        let mut known = Known::default();
        if let Some(digest) = document::digest(files, MANIFEST, MAX_MANIFEST_BYTES) {
            draft.binds.insert("manifest_sha256", hex::encode(digest));
            known.insert(MANIFEST, digest);
        }
        let plan = document::read(files, PLAN, MAX_PLAN_BYTES, &mut failures);
        let plan = plan.and_then(|document| {
            draft.binds.insert("plan_sha256", hex::encode(document.sha256));
            known.insert(PLAN, document.sha256);
            Plan::read(&document.text, &mut failures)
        });
        let spec = document::read(files, SPEC, MAX_SPEC_BYTES, &mut failures);
        let spec = spec.and_then(|document| {
            known.insert(SPEC, document.sha256);
            Spec::read(&document.text, &mut failures)
        });
        // What could not be read was told; a check without its ground did not pass, told or not.
        for (check, is_there) in [("plan", plan.is_some()), ("policy", spec.is_some())] {
            if !is_there {
                draft.skip(check);
            }
        }
        if !self.policy.seal {
            // The ids of run and runtime stand in the metadata, which is not looked at either.
            ["seal", "content_ids"].into_iter().for_each(|check| draft.skip(check));
        }
        match Reader::open(files) {
            Ok(reader) => {
                let ground = Ground { files, plan: plan.as_ref(), spec: spec.as_ref() };
                self.trace(reader, &ground, known, (&mut draft, &mut failures));
            }
            Err(error) => {
                document::tell(TRACE, &error, &mut failures);
                CHECKS.iter().for_each(|check| draft.skip(check));
            }
        }
        draft.failures = failures;
        draft.finish()
    }

    /// Audits the trace, and the directory against it.
    fn trace(
        &self,
        mut reader: Reader,
        ground: &Ground,
        mut known: Known,
        (draft, failures): (&mut Draft, &mut Failures),
    ) {
        let mut first = Piece::default();
        let has_more = reader.fill(&mut first);
        failures.append(first.take_failures());
        let (header, trace_id) = header(&first, failures);
        let scene = Scene {
            policy: &self.policy,
            files: ground.files,
            header: &header,
            plan: ground.plan,
            spec: ground.spec,
        };
        let mut course = Course::new(&scene, trace_id);
        course.piece(&mut first, failures);
        if has_more {
            let threads = self.policy.threads;
            pump::run(&mut reader, first, threads, |piece| course.piece(piece, failures));
        }
        let trace = reader.finish();
        let end = course.finish(failures);
        draft.metrics.extend([("lines", trace.lines), ("trace_bytes", trace.bytes)]);
        draft.metrics.extend(end.counts);
        if !trace.is_whole {
            // It was told. Sums of a part say nothing of the whole.
            draft.skip("seal");
            return;
        }
        draft.binds.insert("trace_sha256", trace.sha256.clone());
        known.insert_evidence(end.evidence_sums);
        let sums = TraceSums {
            file_sha256: trace.sha256,
            trace_id: end.trace_id,
            checksum: end.checksum,
            known,
        };
        seal::check(&scene, sums, failures);
    }

    /// The policy as a report names it: canonical text, with the reading.
    fn bound_policy(&self) -> String {
        let mut members: BTreeMap<String, Json> = BTreeMap::new();
        if let Ok(Json::Object(policy)) = serde_json::to_value(&self.policy) {
            members.extend(policy);
        }
        if let Ok(reading) = serde_json::to_value(Reading::Strict) {
            members.insert("reading".to_owned(), reading);
        }
        // Keys are text and values are words, booleans and integers: nothing that JSON cannot hold.
        serde_json::to_string(&members).unwrap_or_default()
    }
}

/// What the trace is held against.
struct Ground<'r> {
    files: &'r dyn RunFiles,
    plan: Option<&'r Plan>,
    spec: Option<&'r Spec>,
}

/// The header, and the trace's id as far as the header says it. The first record that can be read
/// has to be it.
fn header(first: &Piece, failures: &mut Failures) -> (Header, Option<TraceId>) {
    let record = first.records().next().filter(|record| record.kind() == RecordKind::Header);
    match record {
        Some(record) => (record.header(failures), TraceId::begin(record.value)),
        None => {
            failures.add(&HEADER_MISSING, Place::file(TRACE), HEADER_MISSING.finds);
            (Header::default(), None)
        }
    }
}
