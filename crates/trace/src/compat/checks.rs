//! The original's checks of a trace and its plan; those of the files are in `evidence`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use probity_report::Place;

use super::json::Value;
use super::marker::{Citation, markers};
use super::model::{Body, Claim, Event, Output, Plan, Support, SupportKind, Trace};
use super::number::Integer;
use super::outcome::Outcome;
use super::text::Text;
use super::{CompatError, PLAN, TRACE, rule};

/// The supports that a derived claim needs where the trace does not say.
const DEFAULT_SUPPORTS: i64 = 2;

/// Runs the first eight checks.
///
/// # Errors
/// [`CompatError::Raised`] where the original raises, [`CompatError::Limit`] beyond a bound.
pub(super) fn run(trace: &Trace, plan: &Plan, out: &mut Outcome) -> Result<(), CompatError> {
    plan_invariants(plan, out)?;
    header_invariants(trace, out)?;
    event_invariants(trace, out)?;
    step_invariants(trace, plan, out)?;
    tool_linkage(trace, out)?;
    claim_justifications(trace, out)?;
    claim_grounding(trace, out)?;
    reasoning_trace(trace, out)?;
    conclusions(trace, out)
}

/// The claims, each with the place of its event.
pub(super) fn claims(trace: &Trace) -> impl Iterator<Item = (&Claim, Place)> {
    trace.events.iter().filter_map(|event| match &event.body {
        Body::ClaimEmitted(claim) => Some((claim, place(event))),
        _ => None,
    })
}

/// The place of an event.
pub(super) fn place(event: &Event) -> Place {
    Place::file(TRACE).line(event.line)
}

/// Text in parts.
pub(super) fn message(parts: &[&dyn Part]) -> Text {
    let mut text = Text::new();
    parts.iter().for_each(|part| part.add_to(&mut text));
    text
}

/// A part of a message.
pub(super) trait Part {
    /// Adds it.
    fn add_to(&self, text: &mut Text);
}

impl Part for str {
    fn add_to(&self, text: &mut Text) {
        text.push_str(self);
    }
}

impl Part for &str {
    fn add_to(&self, text: &mut Text) {
        text.push_str(self);
    }
}

impl Part for String {
    fn add_to(&self, text: &mut Text) {
        text.push_str(self);
    }
}

impl Part for Text {
    fn add_to(&self, text: &mut Text) {
        text.push(self);
    }
}

impl Part for Citation {
    fn add_to(&self, text: &mut Text) {
        self.push_marker(text);
    }
}

fn plan_invariants(plan: &Plan, out: &mut Outcome) -> Result<(), CompatError> {
    let ids: HashSet<&Text> = plan.nodes.iter().map(|node| &node.id).collect();
    if ids.len() < plan.nodes.len() {
        let text = Text::of("Plan contains duplicate node ids.");
        out.add(&rule::NODE_REPEATED, Place::file(PLAN), text)?;
    }
    for node in &plan.nodes {
        for missing in node.dependencies.iter().filter(|id| !ids.contains(id)) {
            let parts: [&dyn Part; 4] =
                [&"PlanNode ", &node.id, &" depends on missing node id: ", missing];
            out.add(&rule::DEPENDENCY_MISSING, Place::file(PLAN), message(&parts))?;
        }
    }
    if !has_order(plan) {
        let text = Text::of("Plan contains a cycle (DAG invariant violated).");
        out.add(&rule::PLAN_CYCLE, Place::file(PLAN), text)?;
    }
    Ok(())
}

/// Whether some order has every node behind all its dependencies. Nodes of one id are one.
fn has_order(plan: &Plan) -> bool {
    let mut waits: BTreeMap<&Text, BTreeSet<&Text>> = BTreeMap::new();
    for node in &plan.nodes {
        waits.entry(&node.id).or_default().extend(&node.dependencies);
    }
    let mut followers: BTreeMap<&Text, Vec<&Text>> = BTreeMap::new();
    for (id, dependencies) in &waits {
        for dependency in dependencies {
            followers.entry(dependency).or_default().push(id);
        }
    }
    let is_free = |(_, open): &(_, &BTreeSet<_>)| open.is_empty();
    let mut ready: Vec<&Text> = waits.iter().filter(is_free).map(|(id, _)| *id).collect();
    let mut placed = 0;
    while let Some(id) = ready.pop() {
        placed += 1;
        for follower in followers.get(id).into_iter().flatten() {
            if let Some(open) = waits.get_mut(follower)
                && open.remove(id)
                && open.is_empty()
            {
                ready.push(follower);
            }
        }
    }
    placed == waits.len()
}

fn header_invariants(trace: &Trace, out: &mut Outcome) -> Result<(), CompatError> {
    let supports = |version: &Integer, known: &[i64]| known.iter().any(|v| *version == (*v).into());
    let versions: [(&str, &Integer, &[i64], &str); 3] = [
        ("schema_version", &trace.schema_version, &[1, 2], "[1, 2]"),
        ("runtime_protocol_version", &trace.runtime_protocol_version, &[1], "[1]"),
        ("canonicalization_version", &trace.canonicalization_version, &[1], "[1]"),
    ];
    let place = || Place::file(TRACE).line(1);
    for (field, version, known, shown) in versions {
        if !supports(version, known) {
            let text = format!("Unsupported trace {field}={version} (supported: {shown})");
            out.add(&rule::VERSION, place().pointer(format!("/{field}")), Text::of(&text))?;
        }
    }
    if trace.fingerprint_algo.bytes() != b"sha256" {
        let parts: [&dyn Part; 3] = [
            &"Unsupported trace fingerprint_algo=",
            &trace.fingerprint_algo,
            &" (supported: ['sha256'])",
        ];
        out.add(&rule::VERSION, place().pointer("/fingerprint_algo"), message(&parts))?;
    }
    Ok(())
}

fn event_invariants(trace: &Trace, out: &mut Outcome) -> Result<(), CompatError> {
    for (position, event) in trace.events.iter().enumerate() {
        match &event.idx {
            None => {
                let text = Text::of("Trace event missing idx field");
                out.add(&rule::IDX_MISSING, place(event), text)?;
            }
            Some(idx) if *idx != position.into() => {
                let text = Text::of("Trace idx must be monotonically increasing from 0");
                out.add(&rule::IDX_ORDER, place(event), text)?;
            }
            Some(_) => {}
        }
    }
    let mut calls = HashSet::new();
    let mut evidences = HashSet::new();
    for event in &trace.events {
        match &event.body {
            Body::ToolCalled { call_id } if !calls.insert(call_id) => {
                let text = message(&[&"Duplicate tool call id: ", call_id]);
                out.add(&rule::CALL_REPEATED, place(event), text)?;
            }
            Body::ToolReturned { call_id } if !calls.contains(call_id) => {
                let text = message(&[&"ToolReturned references unknown call: ", call_id]);
                out.add(&rule::RETURN_UNKNOWN, place(event), text)?;
            }
            Body::EvidenceRegistered(evidence) => {
                if event.step_id.is_empty() {
                    let text = Text::of("Evidence event missing step_id");
                    out.add(&rule::EVIDENCE_STEP, place(event), text)?;
                }
                if !evidences.insert(&evidence.id) {
                    let text = message(&[&"Duplicate evidence id: ", &evidence.id]);
                    out.add(&rule::EVIDENCE_REPEATED, place(event), text)?;
                }
            }
            _ => {}
        }
    }
    match unanswered(trace) {
        Some(list) => out.add(&rule::CALL_UNANSWERED, Place::file(TRACE), list),
        None => Ok(()),
    }
}

fn step_invariants(trace: &Trace, plan: &Plan, out: &mut Outcome) -> Result<(), CompatError> {
    let nodes: HashSet<&Text> = plan.nodes.iter().map(|node| &node.id).collect();
    let mut started = BTreeSet::new();
    for event in trace.events.iter().filter(|event| matches!(event.body, Body::StepStarted)) {
        started.insert(&event.step_id);
        if !nodes.is_empty() && !nodes.contains(&event.step_id) {
            let text = message(&[&"step_started references unknown step ", &event.step_id]);
            out.add(&rule::STEP_UNKNOWN, place(event), text)?;
        }
    }
    for event in &trace.events {
        if matches!(event.body, Body::StepFinished(_)) {
            started.remove(&event.step_id);
        }
    }
    match started.is_empty() {
        true => Ok(()),
        false => {
            let text = listed("Unfinished steps: ", &started);
            out.add(&rule::STEP_UNFINISHED, Place::file(TRACE), text)
        }
    }
}

fn tool_linkage(trace: &Trace, out: &mut Outcome) -> Result<(), CompatError> {
    match unanswered(trace) {
        Some(list) => {
            let text = message(&[&"tool_linkage: ", &list]);
            out.add(&rule::TOOL_LINKAGE, Place::file(TRACE), text)
        }
        None => Ok(()),
    }
}

fn claim_justifications(trace: &Trace, out: &mut Outcome) -> Result<(), CompatError> {
    let mut known: HashSet<(&str, &Text)> = HashSet::new();
    for event in &trace.events {
        match &event.body {
            Body::ClaimEmitted(claim) => known.insert(("claim", &claim.id)),
            Body::EvidenceRegistered(evidence) => known.insert(("evidence", &evidence.id)),
            Body::ToolReturned { call_id } => known.insert(("tool", call_id)),
            _ => false,
        };
    }
    for (claim, place) in claims(trace) {
        for support in &claim.supports {
            let kind = match support.kind {
                SupportKind::Claim => "claim",
                SupportKind::Evidence => "evidence",
                SupportKind::ToolCall => "tool",
            };
            if !known.contains(&(kind, &support.ref_id)) {
                let parts: [&dyn Part; 4] =
                    [&"claim_justifications: unknown ", &kind, &" ref ", &support.ref_id];
                out.add(&rule::REF_UNKNOWN, place.clone(), message(&parts))?;
            }
        }
    }
    Ok(())
}

fn claim_grounding(trace: &Trace, out: &mut Outcome) -> Result<(), CompatError> {
    const PREFIX: &str = "derived_claim_grounding: ";
    let required = required_supports(trace)?;
    for (claim, place) in claims(trace).filter(|(claim, _)| claim.is_derived) {
        let cited: Vec<Citation> = evidence_supports(claim).map(citation).collect();
        if cited.is_empty() {
            let text = message(&[&PREFIX, &"claim ", &claim.id, &" has no evidence supports"]);
            out.add(&rule::CLAIM_UNSUPPORTED, place, text)?;
            continue;
        }
        if required > cited.len().into() {
            let counts = format!(" has {} supports < required {required}", cited.len());
            let text = message(&[&PREFIX, &"claim ", &claim.id, &counts]);
            out.add(&rule::SUPPORTS_FEW, place.clone(), text)?;
        }
        let markers = markers(&claim.statement)
            .map_err(|_| CompatError::Raised { exception: "ValueError" })?;
        let markers: BTreeSet<Citation> = markers.into_iter().collect();
        for missing in cited.iter().filter(|citation| !markers.contains(citation)) {
            let says: &str = " missing canonical citation marker ";
            let text = message(&[&PREFIX, &"claim ", &claim.id, &says, missing]);
            out.add(&rule::MARKER_MISSING, place.clone(), text)?;
        }
        // The original tells these in the order of a hash set, which differs from run to run.
        let cited: BTreeSet<Citation> = cited.into_iter().collect();
        for unmatched in markers.difference(&cited) {
            let id = &unmatched.evidence_id;
            let says: &str = " has no matching support";
            let text = message(&[&PREFIX, &"marker for evidence ", id, &says]);
            out.add(&rule::MARKER_UNMATCHED, place.clone(), text)?;
        }
    }
    Ok(())
}

/// The supports that a derived claim needs, as the trace itself states them.
fn required_supports(trace: &Trace) -> Result<Integer, CompatError> {
    let stated = match &trace.min_supports {
        Some(Value::Integer(integer)) => Some(integer.clone()),
        Some(Value::Bool(bool)) => Some(i64::from(*bool).into()),
        Some(Value::Float(float)) if float.is_infinite() => {
            return Err(CompatError::Raised { exception: "OverflowError" });
        }
        Some(Value::Float(float)) => Integer::of_float(*float),
        Some(Value::Text(text)) => Integer::of_text(text),
        Some(Value::Null | Value::List(_) | Value::Object(_)) | None => {
            Some(DEFAULT_SUPPORTS.into())
        }
    };
    let least = Integer::from(1_i64);
    Ok(stated.map_or(least.clone(), |stated| stated.max(least)))
}

fn evidence_supports(claim: &Claim) -> impl Iterator<Item = &Support> {
    claim.supports.iter().filter(|support| support.kind == SupportKind::Evidence)
}

fn citation(support: &Support) -> Citation {
    Citation {
        evidence_id: support.ref_id.clone(),
        start: support.span.start.clone(),
        end: support.span.end.clone(),
        sha256: support.snippet_sha256.clone(),
    }
}

fn reasoning_trace(trace: &Trace, out: &mut Outcome) -> Result<(), CompatError> {
    let says = |text: &str| Text::of(&format!("reasoning_trace: {text}"));
    let header = || Place::file(TRACE).line(1).pointer("/metadata/reasoning_trace");
    if !claims(trace).any(|(claim, _)| claim.is_derived) {
        return Ok(());
    }
    let Some(reasoning) = &trace.reasoning else {
        return out.add(&rule::REASONING_MISSING, header(), says("missing reasoning metadata"));
    };
    let Some(stated) = reasoning else {
        return out.add(&rule::REASONING_HASH_MISSING, header(), says("missing result hash"));
    };
    let mut hashes = BTreeSet::new();
    for (claim, place) in claims(trace).filter(|(claim, _)| claim.is_derived) {
        if let Some(hash) = &claim.result_sha256 {
            hashes.insert(hash);
            continue;
        }
        let parts: [&dyn Part; 3] =
            [&"reasoning_trace: claim ", &claim.id, &" missing result_sha256"];
        out.add(&rule::CLAIM_HASH_MISSING, place, message(&parts))?;
    }
    if hashes.len() > 1 {
        let text = says("multiple result hashes present");
        return out.add(&rule::CLAIM_HASHES_DIFFER, Place::file(TRACE), text);
    }
    match hashes.first().is_some_and(|hash| *hash != stated) {
        true => out.add(&rule::REASONING_HASH_DIFFERS, header(), says("metadata hash mismatch")),
        false => Ok(()),
    }
}

/// The three checks of what the run comes to.
fn conclusions(trace: &Trace, out: &mut Outcome) -> Result<(), CompatError> {
    const REQUIRED: [(Output, &str); 5] = [
        (Output::Derive, "'derive'"),
        (Output::Finalize, "'finalize'"),
        (Output::Gather, "'gather'"),
        (Output::Understand, "'understand'"),
        (Output::Verify, "'verify'"),
    ];
    let whole = || Place::file(TRACE);
    let mut outputs: BTreeSet<Output> = BTreeSet::new();
    for event in &trace.events {
        if let Body::StepFinished(output) = event.body {
            outputs.insert(output);
        }
    }
    let is_derived = claims(trace).any(|(claim, _)| claim.is_derived);
    let is_insufficient = outputs.contains(&Output::InsufficientEvidence);
    if !is_derived && !is_insufficient {
        let text = Text::of("No derived claims and no insufficiency marker present");
        out.add(&rule::NO_CONCLUSION, whole(), text)?;
    }
    if is_derived && is_insufficient {
        let text = Text::of("Both derived claims and insufficiency present (ambiguous)");
        out.add(&rule::TWO_CONCLUSIONS, whole(), text)?;
    }
    if !outputs.contains(&Output::Finalize) {
        out.add(&rule::FINALIZE_MISSING, whole(), Text::of("Missing finalize output"))?;
    }
    let is_seen = |output: &Output| {
        outputs.contains(output) || (*output == Output::Derive && is_insufficient)
    };
    let missing: Vec<&str> =
        REQUIRED.iter().filter(|(output, _)| !is_seen(output)).map(|(_, name)| *name).collect();
    if !missing.is_empty() {
        let text = format!("Missing required step outputs: [{}]", missing.join(", "));
        out.add(&rule::STEPS_MISSING, whole(), Text::of(&text))?;
    }
    Ok(())
}

/// Says which calls have no result, if any.
fn unanswered(trace: &Trace) -> Option<Text> {
    let mut calls: BTreeSet<&Text> = BTreeSet::new();
    for event in &trace.events {
        if let Body::ToolCalled { call_id } = &event.body {
            calls.insert(call_id);
        }
    }
    for event in &trace.events {
        if let Body::ToolReturned { call_id } = &event.body {
            calls.remove(call_id);
        }
    }
    (!calls.is_empty()).then(|| listed("Missing tool results for call ids: ", &calls))
}

/// A list as Python shows it.
fn listed(says: &str, ids: &BTreeSet<&Text>) -> Text {
    let mut text = Text::of(says);
    let mut separator = "[";
    for id in ids {
        text.push_str(separator);
        text.push_repr(id);
        separator = ", ";
    }
    text.push_str("]");
    text
}
