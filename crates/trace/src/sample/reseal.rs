//! Seals a run again after its content was changed: what somebody with write access would do.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::canon::{canonical, content_id, sha256};
use super::line;
use crate::MemoryFiles;

/// Recomputes trace id, invariant checksum, `run_meta.json`, fingerprint and manifest over the files
/// as they are. Files that are no JSON, or of another shape, are left as they are and sealed so.
pub fn reseal(files: &mut MemoryFiles) {
    reseal_header(files);
    let trace = files.files.get("trace.jsonl").map(|bytes| sha256(bytes));
    if let Some(digest) = trace {
        files.files.insert("fingerprint.txt".to_owned(), format!("{digest}\n").into_bytes());
    }
    files.files.remove("manifest.json");
    let manifest: BTreeMap<&String, String> =
        files.files.iter().map(|(path, bytes)| (path, sha256(bytes))).collect();
    let manifest = line(&json!(manifest));
    files.files.insert("manifest.json".to_owned(), manifest.into_bytes());
}

/// Recomputes the ids of problem, plan, calls, evidence and claims too, puts them wherever they are
/// referred to, and seals: a forgery that is consistent throughout.
pub fn reid(files: &mut MemoryFiles) {
    let mut renamed: Vec<(String, String)> = Vec::new();
    if let Some(mut spec) = read(files, "spec.json") {
        rename(&mut spec, "spec", &[], &mut renamed);
    }
    apply(files, &mut renamed);
    let trace = files.files.get("trace.jsonl").cloned().unwrap_or_default();
    for (at, _) in String::from_utf8_lossy(&trace).lines().enumerate() {
        if let Some(mut record) = trace_line(files, at) {
            if let Some(event) = record.get_mut("event").filter(|event| event.is_object()) {
                rename_event(event, &mut renamed);
            }
            apply(files, &mut renamed);
        }
    }
    if let Some(mut plan) = read(files, "plan.json") {
        rename(&mut plan, "plan", &[], &mut renamed);
    }
    apply(files, &mut renamed);
    reseal(files);
}

fn rename_event(event: &mut Value, renamed: &mut Vec<(String, String)>) {
    match event["kind"].as_str() {
        Some("tool_called") => {
            let call = &event["call"];
            let named = json!({
                "args": call["arguments"],
                "i": call["call_idx"],
                "step_id": call["step_id"],
                "tool": call["tool_name"],
            });
            note(&call["id"], content_id("call", &named), renamed);
        }
        Some("evidence_registered") => {
            rename(&mut event["evidence"], "ev", &["content_path"], renamed);
        }
        Some("claim_emitted") => rename(&mut event["claim"], "claim", &[], renamed),
        _ => {}
    }
}

/// Notes the id of an object that is hashed without its id and some other members.
fn rename(object: &mut Value, kind: &str, without: &[&str], renamed: &mut Vec<(String, String)>) {
    let Some(members) = object.as_object_mut() else { return };
    let Some(id) = members.remove("id") else { return };
    members.retain(|key, _| !without.contains(&key.as_str()));
    note(&id, content_id(kind, object), renamed);
}

fn note(id: &Value, new: String, renamed: &mut Vec<(String, String)>) {
    match id.as_str() {
        Some(old) if old != new && !old.is_empty() => renamed.push((old.to_owned(), new)),
        _ => {}
    }
}

/// Puts new ids in the place of old ones, in every JSON file and in the names of the files.
fn apply(files: &mut MemoryFiles, renamed: &mut Vec<(String, String)>) {
    for (old, new) in renamed.drain(..) {
        let all = std::mem::take(&mut files.files);
        for (path, bytes) in all {
            let is_ours = !path.starts_with("evidence/") && !path.starts_with("provenance/");
            let bytes = match String::from_utf8(bytes) {
                Ok(text) if is_ours => text.replace(&old, &new).into_bytes(),
                Ok(text) => text.into_bytes(),
                Err(error) => error.into_bytes(),
            };
            files.files.insert(path.replace(&old, &new), bytes);
        }
    }
}

fn reseal_header(files: &mut MemoryFiles) -> Option<()> {
    let plan = read(files, "plan.json")?;
    let mut meta = read(files, "run_meta.json")?;
    let text = String::from_utf8(files.files.get("trace.jsonl")?.clone()).ok()?;
    let (first, rest) = text.split_once('\n')?;
    let mut header: Value = serde_json::from_str(first).ok().filter(is_finite)?;
    let mut events = Vec::new();
    for record in rest.lines().filter(|line| !line.trim().is_empty()) {
        let record: Value = serde_json::from_str(record).ok().filter(is_finite)?;
        events.push(record.get("event")?.clone());
    }
    let is_evidence = |event: &&Value| event["kind"] == "evidence_registered";
    let evidence_order: Vec<&Value> =
        events.iter().filter(is_evidence).map(|event| &event["evidence"]["id"]).collect();
    let checksum = sha256(
        canonical(&json!({
            "evidence_order": evidence_order,
            "plan": plan,
            "runtime_descriptor": meta["runtime_descriptor"],
        }))
        .as_bytes(),
    );
    header
        .get_mut("metadata")?
        .as_object_mut()?
        .insert("invariant_checksum".to_owned(), json!(checksum));
    let mut named = header.clone();
    let members = named.as_object_mut()?;
    members.remove("id");
    members.remove("record");
    members.insert("events".to_owned(), json!(events));
    let id = content_id("trace", &named);
    header["id"] = json!(id);
    reseal_meta(&mut meta, &header, &checksum)?;
    files.files.insert("run_meta.json".to_owned(), line(&meta).into_bytes());
    let text = format!("{}{rest}", line(&header));
    files.files.insert("trace.jsonl".to_owned(), text.into_bytes());
    Some(())
}

fn reseal_meta(meta: &mut Value, header: &Value, checksum: &str) -> Option<()> {
    let meta = meta.as_object_mut()?;
    let mut put = |key: &str, value: Value| meta.insert(key.to_owned(), value);
    put("invariant_checksum", json!(checksum));
    put("trace_id", header["id"].clone());
    put("plan_id", header["plan_id"].clone());
    put("spec_id", header["spec_id"].clone());
    let named = json!({
        "preset": meta.get("preset"),
        "runtime_fingerprint": meta.get("runtime_fingerprint"),
        "seed": meta.get("seed"),
        "spec_id": meta.get("spec_id"),
    });
    meta.insert("run_id".to_owned(), json!(content_id("run", &named)));
    Some(())
}

fn read(files: &MemoryFiles, path: &str) -> Option<Value> {
    serde_json::from_slice(files.files.get(path)?).ok()
}

fn trace_line(files: &MemoryFiles, at: usize) -> Option<Value> {
    let text = std::str::from_utf8(files.files.get("trace.jsonl")?).ok()?;
    serde_json::from_str(text.lines().nth(at)?).ok()
}

/// Whether every number is one that a double holds: some builds of the reader take any.
fn is_finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(f64::is_finite),
        Value::Array(items) => items.iter().all(is_finite),
        Value::Object(members) => members.values().all(is_finite),
        _ => true,
    }
}
