//! The problem, the plan and the runtime of a sample run.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::bm25::Library;
use super::canon::{canonical, content_id, sha256};
use super::{Ending, Retrieval, SampleRun};

/// The preset of every sample run.
pub(super) const PRESET: &str = "default";

/// What every sample run demands of its derived claims.
pub(super) const MIN_SUPPORTS: u64 = 2;

/// A plan whose nodes are kept as text, so that a long one is not held as a tree.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    id: String,
    node_ids: Vec<String>,
    /// The canonical text of the plan without its id: `{"edges":[],` cut off.
    body: String,
}

impl Plan {
    pub(super) fn new(run: &SampleRun, spec: &Value) -> Self {
        let mut node_ids: Vec<String> = Vec::new();
        let mut nodes = String::new();
        let mut add = |kind: &str, notes: &str, requests: Value| {
            let dependencies: Vec<&String> = node_ids.last().into_iter().collect();
            let parameters = json!({"preset": PRESET});
            let named = json!({"kind": kind, "deps": dependencies, "params": parameters});
            let id = content_id("node", &named);
            let node = json!({
                "dependencies": dependencies,
                "id": id,
                "kind": kind,
                "parameters": parameters,
                "step": {"kind": kind, "notes": notes, "tool_requests": requests},
            });
            nodes.push_str(if nodes.is_empty() { "" } else { "," });
            nodes.push_str(&canonical(&node));
            node_ids.push(id);
        };
        add("understand", "Normalize/understand the problem.", json!([]));
        for pair in 0..run.pairs {
            let request = json!({"arguments": arguments(run, pair), "tool_name": "retrieve"});
            add("gather", "Gather evidence/tools.", json!([request]));
            add("derive", "Derive candidate structured claim(s).", json!([]));
        }
        add("verify", "Verify internal consistency.", json!([]));
        add("finalize", "Finalize outputs.", json!([]));
        let ends = json!({"problem": spec["description"], "spec_id": spec["id"]});
        let body = format!("\"nodes\":[{nodes}],{}", canonical(&ends).trim_start_matches('{'));
        let id = format!("plan_v1_{}", sha256(format!("{{\"edges\":[],{body}").as_bytes()));
        Self { id, node_ids, body }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The id of a node, in the order of execution.
    pub(super) fn node(&self, at: usize) -> &str {
        self.node_ids.get(at).map_or("", String::as_str)
    }

    /// The file.
    pub(super) fn text(&self) -> String {
        format!("{{\"edges\":[],\"id\":\"{}\",{}\n", self.id, self.body)
    }

    /// The invariant checksum: over plan, order of the evidence, runtime.
    pub(super) fn checksum(&self, evidence_order: &Value, runtime: &Value) -> String {
        let mut hash = Sha256::new();
        hash.update("{\"evidence_order\":");
        hash.update(canonical(evidence_order));
        hash.update(",\"plan\":");
        hash.update(self.text().trim_end());
        hash.update(",\"runtime_descriptor\":");
        hash.update(canonical(runtime));
        hash.update("}");
        hex::encode(hash.finalize())
    }
}

/// What the gather step of a pair asks the tool.
pub(super) fn arguments(run: &SampleRun, pair: u64) -> Value {
    json!({"query": format!("basalt{pair}"), "top_k": per_pair(run)})
}

/// Pieces of evidence that each pair gathers.
pub(super) fn per_pair(run: &SampleRun) -> u64 {
    if run.ending == Ending::Answer { 2 } else { 1 }
}

pub(super) fn spec(run: &SampleRun, library: Option<&Library>) -> Value {
    let mut constraints = json!({"needs_retrieval": true, "top_k": per_pair(run)});
    if let Some(library) = library {
        constraints["chunk_chars"] = library.provenance()["chunk_chars"].clone();
        constraints["corpus_path"] = json!("corpora/sample.jsonl");
        constraints["overlap_chars"] = library.provenance()["overlap_chars"].clone();
    }
    let description = match (run.is_unicode, run.retrieval) {
        (false, Retrieval::Memory) => "Does basalt float?",
        (false, Retrieval::Bm25) => "Does basalt float, by the corpus?",
        (true, _) => "Schwimmt \"Basalt\" in 水? \u{1f30b}\n\u{1}",
    };
    let mut spec = json!({
        "constraints": constraints,
        "description": description,
        "expected": null,
        "expected_output_type": "Claim",
        "version": 1,
    });
    let id = content_id("spec", &spec);
    spec["id"] = json!(id);
    spec
}

/// The runtime, as it describes itself.
pub(super) fn runtime(library: Option<&Library>) -> Value {
    let tool = |name: &str, version: &str, config: &Value| {
        let fingerprint = content_id("toolcfg", config);
        json!({"config_fingerprint": fingerprint, "name": name, "version": version})
    };
    let compute = tool("compute", "0.0.0", &json!({"name": "compute"}));
    let (kind, retrieve) = match library {
        None => ("FakeRuntime", tool("retrieve", "0.0.0", &json!({"name": "retrieve"}))),
        Some(library) => ("LocalBM25Runtime", tool("retrieve", "2.0.0", &library.config())),
    };
    json!({"kind": kind, "mode": "live", "tools": [compute, retrieve]})
}
