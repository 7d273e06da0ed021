//! The tools of the runtime: named by what they were set up with.

use probity_report::{Failures, Rule};

use crate::identity::{canonical, name};
use crate::scene::Scene;
use crate::seal::document::Desk;
use crate::tape::{Tape, Value};

const META: &str = "run_meta.json";
const MAX_BYTES: u64 = 1 << 20;

/// A name that nothing else rests on: told, and accepted.
pub(super) static CONFIG: Rule = Rule::warning(
    "trace_runtime_config",
    "content_ids",
    "a tool whose configuration has another name than its content gives",
);

/// What the search is hashed from, besides its name and kind.
const HASHED: [&str; 11] = [
    "b",
    "chunk_chars",
    "corpus_max_bytes",
    "corpus_sha256",
    "k1",
    "lazy_index",
    "max_chunks",
    "max_docs",
    "overlap_chars",
    "parallel_scoring",
    "schema_version",
];

/// Holds the tools that the source system ships against their names. What of the run metadata cannot
/// be read is told with the seal.
pub(super) fn check(scene: &Scene, declared: Option<&str>, failures: &mut Failures) {
    let mut bytes = Vec::new();
    if !scene.policy.seal || scene.files.read(META, MAX_BYTES, &mut bytes).is_err() {
        return;
    }
    let text = String::from_utf8(bytes).unwrap_or_default();
    let mut tape = Tape::default();
    if tape.read(&text).is_err() {
        return;
    }
    let root = tape.root(&text);
    let is_live =
        root.pointer("/runtime_descriptor/mode").and_then(Value::text).as_deref() == Some("live");
    let tools = root.pointer("/runtime_descriptor/tools").filter(|_| is_live);
    let mut desk = Desk::new(META, failures);
    for (at, tool) in tools.into_iter().flat_map(Value::items).enumerate() {
        let text = |key: &str| tool.get(key).and_then(Value::text).unwrap_or_default();
        let right = match (text("name").as_ref(), text("version").as_ref(), declared) {
            ("retrieve", "2.0.0", Some(declared)) => of_search(declared),
            ("retrieve" | "compute", "0.0.0", _) => {
                let quoted = tool.get("name").map(canonical).unwrap_or_default();
                Some(name("toolcfg", &["{\"name\":", &quoted, "}"]))
            }
            _ => None,
        };
        if let (Some(right), Some(found)) = (right, tool.get("config_fingerprint"))
            && found.text().as_deref() != Some(&right)
        {
            let at = format_args!("/runtime_descriptor/tools/{at}/config_fingerprint");
            desk.differs(&CONFIG, found, at, right, found.raw());
        }
    }
}

fn of_search(declared: &str) -> Option<String> {
    let mut tape = Tape::default();
    tape.read(declared).ok()?;
    let root = tape.root(declared);
    let mut members =
        vec![("backend", "\"bm25-chunked\"".to_owned()), ("name", "\"retrieve\"".to_owned())];
    for key in HASHED {
        members.push((key, canonical(root.get(key)?)));
    }
    members.sort();
    let members: Vec<String> =
        members.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    Some(name("toolcfg", &["{", &members.join(","), "}"]))
}
