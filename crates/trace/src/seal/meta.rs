//! `run_meta.json`, and what the header of the trace says of the same.

use probity_report::{Failures, Place, Rule};
use sha2::{Digest as _, Sha256};

use crate::identity::{canonical, is_canonically, name, quoted};
use crate::model::TRACE;
use crate::plan::PLAN;
use crate::scene::Scene;
use crate::stream::MAX_PLAN_BYTES;
use crate::tape::{Kind, Tape, Value};

use super::document::{Desk, Form, text_of};
use super::{MISSING, TraceSums};

const META: &str = "run_meta.json";
const MAX_BYTES: u64 = 1 << 20;
const VERSION: &str = "1";

pub(super) static RUN_ID: Rule =
    Rule::error("trace_id_run", "content_ids", "a run whose id is not that of its content");
pub(super) static RUNTIME: Rule = Rule::error(
    "trace_runtime_fingerprint",
    "content_ids",
    "a fingerprint of the runtime that is not that of its description",
);
pub(super) static CHECKSUM: Rule = Rule::error(
    "trace_invariant_checksum",
    "content_ids",
    "a checksum that is not that of plan, evidence and runtime",
);
pub(super) static DIFFERS: Rule = Rule::error(
    "trace_run_meta_differs",
    "seal",
    "run metadata that contradict the trace, the plan or themselves",
);
pub(super) static PRESET: Rule =
    Rule::error("trace_preset", "seal", "a step of the plan with another preset than the run");

/// Members of `run_meta.json`, raw.
struct Meta<'a> {
    run_id: Value<'a>,
    preset: Value<'a>,
    seed: Value<'a>,
    descriptor: Value<'a>,
    kind: Value<'a>,
    mode: Value<'a>,
    fingerprint: Value<'a>,
    checksum: Value<'a>,
    spec_id: Value<'a>,
    plan_id: Value<'a>,
    trace_id: Value<'a>,
}

/// Holds the run metadata against trace and plan.
pub(super) fn check(scene: &Scene, sums: &mut TraceSums, failures: &mut Failures) {
    let mut metadata_tape = Tape::default();
    // The header is told where it was read; here it is only compared.
    let is_read = metadata_tape.read(&scene.header.metadata).is_ok();
    let metadata = is_read.then(|| metadata_tape.root(&scene.header.metadata));
    let Some(text) = text_of(scene.files, META, MAX_BYTES, &MISSING, failures) else { return };
    sums.known.insert(META, Sha256::digest(&text).into());
    let mut tape = Tape::default();
    let mut desk = Desk::new(META, failures);
    let Some(root) = desk.read(&mut tape, &text, Form::Line) else { return };
    let Some(meta) = Meta::read(&mut desk, root) else { return };
    meta.check_ids(scene, sums, &mut desk);
    let checksum = check_plan(scene, sums, &meta, failures);
    let mut desk = Desk::new(META, failures);
    if let Some(right) = &checksum
        && meta.checksum.text().as_deref() != Some(right)
    {
        let at = format_args!("/invariant_checksum");
        desk.differs(&CHECKSUM, meta.checksum, at, right, meta.checksum.raw());
    }
    if let Some(metadata) = metadata {
        meta.check_header(metadata, checksum.as_deref(), failures);
    }
}

impl<'a> Meta<'a> {
    fn read(desk: &mut Desk, root: Value<'a>) -> Option<Self> {
        let keys = [
            "invariant_checksum",
            "plan_id",
            "preset",
            "producer_version",
            "run_id",
            "runtime",
            "runtime_descriptor",
            "runtime_fingerprint",
            "schema_version",
            "seed",
            "spec_id",
            "trace_id",
        ];
        let members = desk.members(root, format_args!(""), keys)?;
        let [checksum, plan_id, preset, producer, run_id, runtime, ..] = members;
        let [.., descriptor, fingerprint, version, seed, spec_id, trace_id] = members;
        let texts = [plan_id, preset, producer, run_id, spec_id, trace_id];
        let names = ["plan_id", "preset", "producer_version", "run_id", "spec_id", "trace_id"];
        let mut is_whole = true;
        for (value, name) in texts.into_iter().zip(names) {
            is_whole &= desk.text(value, format_args!("/{name}")).is_some();
        }
        is_whole &= desk.one_of(seed, format_args!("/seed"), &[Kind::Integer]).is_some();
        is_whole &= desk.exactly(version, format_args!("/schema_version"), VERSION).is_some();
        is_whole &= desk.digest(checksum, format_args!("/invariant_checksum")).is_some();
        is_whole &= desk.digest(fingerprint, format_args!("/runtime_fingerprint")).is_some();
        let at = format_args!("/runtime");
        let [kind, mode] = desk.members(runtime, at, ["kind", "mode"])?;
        is_whole &= desk.text(kind, format_args!("/runtime/kind")).is_some();
        is_whole &= desk.text(mode, format_args!("/runtime/mode")).is_some();
        is_whole &= is_descriptor(desk, descriptor);
        is_whole.then_some(Self {
            run_id,
            preset,
            seed,
            descriptor,
            kind,
            mode,
            fingerprint,
            checksum,
            spec_id,
            plan_id,
            trace_id,
        })
    }

    /// Ids that are hashed from the metadata alone, and ids that the trace has too.
    fn check_ids(&self, scene: &Scene, sums: &TraceSums, desk: &mut Desk) {
        let right = hex::encode(Sha256::digest(canonical(self.descriptor)));
        if self.fingerprint.text().as_deref() != Some(&right) {
            let at = format_args!("/runtime_fingerprint");
            desk.differs(&RUNTIME, self.fingerprint, at, right, self.fingerprint.raw());
        }
        let right = name(
            "run",
            &[
                "{\"preset\":",
                &canonical(self.preset),
                ",\"runtime_fingerprint\":",
                &canonical(self.fingerprint),
                ",\"seed\":",
                &canonical(self.seed),
                ",\"spec_id\":",
                &canonical(self.spec_id),
                "}",
            ],
        );
        if self.run_id.text().as_deref() != Some(&right) {
            desk.differs(&RUN_ID, self.run_id, format_args!("/run_id"), right, self.run_id.raw());
        }
        let trace_id = match scene.header.line.is_empty() {
            true => &sums.trace_id,
            false => &scene.header.id,
        };
        let plan_id = scene.plan.map_or(&scene.header.plan_id, |plan| &plan.id);
        let spec_id = scene.spec.map_or(&scene.header.spec_id, |spec| &spec.id);
        let ids = [(self.trace_id, trace_id), (self.plan_id, plan_id), (self.spec_id, spec_id)];
        for ((value, right), key) in ids.into_iter().zip(["trace_id", "plan_id", "spec_id"]) {
            if value.text().as_deref() != Some(right) {
                desk.differs(&DIFFERS, value, format_args!("/{key}"), right, value.raw());
            }
        }
        for key in ["kind", "mode"] {
            let (value, right) = match key {
                "kind" => (self.kind, self.descriptor.get(key)),
                _ => (self.mode, self.descriptor.get(key)),
            };
            if right.and_then(Value::text) != value.text() {
                let right = right.map_or("", Value::raw);
                desk.differs(&DIFFERS, value, format_args!("/runtime/{key}"), right, value.raw());
            }
        }
    }

    /// What the header of the trace says of the run.
    fn check_header(&self, metadata: Value, checksum: Option<&str>, failures: &mut Failures) {
        let mut differs = |rule: &'static Rule, pointer: &str, right: &str| {
            let found = metadata.pointer(pointer);
            if !found.is_some_and(|found| is_canonically(found, right)) {
                let place = Place::file(TRACE).line(1).pointer(format!("/metadata{pointer}"));
                failures.differs(rule, place, right, found.map_or("nothing", Value::raw));
            }
        };
        if let Some(right) = checksum {
            differs(&CHECKSUM, "/invariant_checksum", &quoted(right));
        }
        differs(&DIFFERS, "/runtime_fingerprint", &canonical(self.fingerprint));
        differs(&DIFFERS, "/run_meta/seed", &canonical(self.seed));
        differs(&DIFFERS, "/run_meta/runtime_kind", &canonical(self.kind));
        differs(&DIFFERS, "/run_meta/mode", &canonical(self.mode));
    }
}

/// Holds the plan's presets against the run's, and gives the checksum that the run should have.
fn check_plan(
    scene: &Scene,
    sums: &TraceSums,
    meta: &Meta,
    failures: &mut Failures,
) -> Option<String> {
    let text = sums.known.read_again(scene.files, PLAN, MAX_PLAN_BYTES, failures)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut tape = Tape::default();
    let spelling = tape.read(text).ok()?;
    let plan = tape.root(text);
    let preset = meta.preset.text();
    let nodes = plan.get("nodes").into_iter().flat_map(|nodes| nodes.items());
    let mut desk = Desk::new(PLAN, failures);
    for (at, node) in nodes.enumerate() {
        let Some(parameters) = node.get("parameters") else { continue };
        let found = parameters.get("preset");
        if let Some(found) = found
            && found.text() != preset
        {
            let at = format_args!("/nodes/{at}/parameters/preset");
            desk.differs(&PRESET, found, at, meta.preset.raw(), found.raw());
        }
    }
    let remade = spelling.uncanonical.map(|_| canonical(plan));
    let plan = remade.as_deref().unwrap_or(text);
    Some(sums.checksum.clone().finish(plan, &canonical(meta.descriptor)))
}

/// Tells what is wrong with the description of a runtime.
fn is_descriptor(desk: &mut Desk, descriptor: Value) -> bool {
    let at = format_args!("/runtime_descriptor");
    let Some([kind, mode, tools]) = desk.members(descriptor, at, ["kind", "mode", "tools"]) else {
        return false;
    };
    let mut is_whole = desk.text(kind, format_args!("/runtime_descriptor/kind")).is_some();
    is_whole &= match mode.text().as_deref() {
        Some("live" | "frozen") => true,
        _ => {
            let at = format_args!("/runtime_descriptor/mode");
            desk.unfit::<()>(mode, at, "live or frozen").is_some()
        }
    };
    let at = format_args!("/runtime_descriptor/tools");
    is_whole &= desk.one_of(tools, at, &[Kind::List]).is_some();
    for (place, tool) in tools.items().enumerate() {
        let at = format_args!("/runtime_descriptor/tools/{place}");
        let keys = ["config_fingerprint", "name", "version"];
        let Some(texts) = desk.members(tool, at, keys) else { return false };
        for (value, key) in texts.into_iter().zip(keys) {
            let at = format_args!("/runtime_descriptor/tools/{place}/{key}");
            is_whole &= desk.text(value, at).is_some();
        }
    }
    is_whole
}
