//! The events of a sample run, made one pair of steps at a time.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::canon::{canonical, content_id, sha256};
use super::text::{Passage, passage};
use super::{Ending, Parts, plan};

/// Makes the events in order, each with the evidence files that belong to it. What is held besides
/// the pair at hand is the ids of evidence and claims, which the last events list.
#[derive(Debug)]
pub struct Events<'p> {
    parts: &'p Parts,
    ready: VecDeque<Record>,
    stage: Stage,
    made: u64,
    evidence_ids: Vec<String>,
    claims: Vec<String>,
    answer: Option<(String, String)>,
    reasoning: Option<Value>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its canonical text: what stands behind `event` in the trace.
    pub event: String,
    /// The evidence file that it registers, if it does.
    pub evidence: Option<Evidence>,
}

/// An evidence file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Its path within the run directory.
    pub path: String,
    /// What it holds.
    pub text: String,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Start,
    Pair(u64),
    End,
    Over,
}

/// A piece of evidence of the pair at hand.
struct Piece {
    id: String,
    passage: Passage,
}

impl Record {
    /// The line of the trace, with its newline.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{{\"event\":{},\"record\":\"trace_event\"}}\n", self.event)
    }
}

impl<'p> Events<'p> {
    /// The events of a run.
    #[must_use]
    pub fn new(parts: &'p Parts) -> Self {
        Self {
            parts,
            ready: VecDeque::new(),
            stage: Stage::Start,
            made: 0,
            evidence_ids: Vec::new(),
            claims: Vec::new(),
            answer: None,
            reasoning: None,
        }
    }

    /// The ids of the evidence so far, in the order of registration.
    pub(super) fn evidence_ids(&self) -> &[String] {
        &self.evidence_ids
    }

    /// What the header says of the derived claim, once it was made.
    pub(super) fn reasoning(&self) -> Option<Value> {
        self.reasoning.clone()
    }

    fn make(&mut self) {
        match self.stage {
            Stage::Start => {
                self.understand();
                self.stage = Stage::Pair(0);
            }
            Stage::Pair(pair) => {
                let pieces = self.gather(pair);
                self.derive(pair, &pieces);
                let next = pair.saturating_add(1);
                let is_last = next >= self.parts.run.pairs;
                self.stage = if is_last { Stage::End } else { Stage::Pair(next) };
            }
            Stage::End => {
                self.verify();
                self.finalize();
                self.stage = Stage::Over;
            }
            Stage::Over => {}
        }
    }

    fn understand(&mut self) {
        let step = self.step(0);
        self.started(&step);
        let output = json!({
            "assumptions": [],
            "normalized_question": self.parts.spec["description"],
            "task_type": "generic",
            "type": "understand",
        });
        self.finished(&step, &output);
    }

    fn gather(&mut self, pair: u64) -> Vec<Piece> {
        let step = self.step(pair.saturating_mul(2).saturating_add(1));
        self.started(&step);
        let arguments = plan::arguments(&self.parts.run, pair);
        let named = json!({"step_id": step, "i": 0, "tool": "retrieve", "args": arguments});
        let call_id = content_id("call", &named);
        let call = json!({
            "arguments": arguments,
            "call_idx": 0,
            "id": call_id,
            "step_id": step,
            "tool_name": "retrieve",
        });
        self.push(json!({"call": call, "kind": "tool_called", "step_id": step}), None);
        let found = self.retrieve(pair, &arguments);
        let results: Vec<&Value> = found.iter().map(|(result, _)| result).collect();
        let mut answer = json!({"evidences": results});
        if let Some(library) = &self.parts.library {
            answer["provenance"] = library.provenance().clone();
        }
        let result = json!({"call_id": call_id, "error": null, "result": answer, "success": true});
        self.push(json!({"kind": "tool_returned", "result": result, "step_id": step}), None);
        let mut pieces = Vec::new();
        for (result, passage) in found {
            pieces.push(self.register(&step, &result, passage));
        }
        let library = self.parts.library.as_ref();
        let output = json!({
            "evidence_ids": pieces.iter().map(|piece| &piece.id).collect::<Vec<_>>(),
            "retrieval_provenance": library.map_or_else(|| json!({}), |of| of.provenance().clone()),
            "retrieval_queries": [self.parts.spec["description"]],
            "type": "gather",
        });
        self.finished(&step, &output);
        pieces
    }

    /// What the tool finds: the entry in its result, and the passage.
    fn retrieve(&self, pair: u64, arguments: &Value) -> Vec<(Value, Passage)> {
        let run = &self.parts.run;
        if let Some(library) = &self.parts.library {
            return library.search(run, pair);
        }
        let query = arguments["query"].as_str().unwrap_or_default();
        let one = |side: u64| {
            let passage = passage(run, pair, side);
            let digest = sha256(passage.text.as_bytes());
            let span = json!([0, passage.text.len()]);
            let result = json!({
                "chunk_id": digest,
                "chunk_sha256": digest,
                "chunk_span": span,
                "span": span,
                "text": passage.text,
                "uri": format!("mem://{query}/{side}"),
            });
            (result, passage)
        };
        (0..plan::per_pair(run)).map(one).collect()
    }

    fn register(&mut self, step: &str, result: &Value, passage: Passage) -> Piece {
        let digest = sha256(passage.text.as_bytes());
        let mut evidence = json!({
            "chunk_id": result["chunk_id"],
            "sha256": digest,
            "span": result["span"],
            "uri": result["uri"],
        });
        let id = content_id("ev", &evidence);
        let path = format!("evidence/{id}.txt");
        evidence["id"] = json!(id);
        evidence["content_path"] = json!(path);
        let event = json!({"evidence": evidence, "kind": "evidence_registered", "step_id": step});
        self.push(event, Some(Evidence { path, text: passage.text.clone() }));
        self.evidence_ids.push(id.clone());
        Piece { id, passage }
    }

    fn derive(&mut self, pair: u64, pieces: &[Piece]) {
        let step = self.step(pair.saturating_mul(2).saturating_add(2));
        self.started(&step);
        let ending = self.parts.run.ending;
        if ending != Ending::Insufficient {
            self.claim(&step, pieces);
        }
        let output = if ending == Ending::Answer {
            let claim = self.claims.last().into_iter().collect::<Vec<_>>();
            json!({"claim_ids": claim, "type": "derive"})
        } else {
            json!({
                "reason": "insufficient_evidence",
                "required": plan::MIN_SUPPORTS,
                "retrieved": pieces.len(),
                "type": "insufficient_evidence",
            })
        };
        self.finished(&step, &output);
    }

    fn claim(&mut self, step: &str, pieces: &[Piece]) {
        let is_derived = self.claims.is_empty();
        let is_marked = self.parts.run.ending == Ending::Marked;
        let mut statement = String::new();
        let mut cited = String::new();
        let mut supports = Vec::new();
        let mut picked = Vec::new();
        for Piece { id, passage } in pieces {
            let (start, end) = (passage.quote.start, passage.quote.end);
            let quote = passage.text.get(start..end).unwrap_or_default();
            let digest = sha256(quote.as_bytes());
            let gap = |text: &str, gap: &'static str| if text.is_empty() { "" } else { gap };
            let blank = gap(&statement, " ");
            statement += &format!("{blank}{quote} [evidence:{id}:{start}-{end}:{digest}]");
            let semicolon = gap(&cited, ";");
            cited += &format!("{semicolon}{id}:{start}-{end}:{digest}");
            supports.push(json!({
                "hash_algo": "sha256",
                "kind": "evidence",
                "ref_id": id,
                "snippet_sha256": digest,
                "span": [start, end],
            }));
            picked.push(json!({"evidence_id": id, "sha": digest, "span": [start, end]}));
        }
        let question = &self.parts.spec["description"];
        let result_sha256 = sha256(format!("{statement}|{cited}").as_bytes());
        let mut claim = json!({
            "claim_type": if is_derived { "derived" } else { "observed" },
            "confidence": 0.7,
            "statement": statement,
            "status": if is_marked { "rejected" } else { "proposed" },
            "structured": null,
            "supports": supports,
        });
        if is_derived {
            claim["structured"] = json!({
                "reasoner": {
                    "picked": picked,
                    "question": question,
                    "reasoner": "baseline_extractive_v2",
                },
                "result_sha256": result_sha256,
            });
            if is_marked {
                claim["structured"]["insufficient"] = json!(true);
            }
            self.reasoning = Some(json!({
                "evidence_ids": self.evidence_ids,
                "question": question,
                "reasoning_trace_sha256": result_sha256,
                "result_sha256": result_sha256,
            }));
        }
        let id = content_id("claim", &claim);
        claim["id"] = json!(id);
        self.push(json!({"claim": claim, "kind": "claim_emitted", "step_id": step}), None);
        if self.answer.as_ref().is_none_or(|(first, _)| id < *first) {
            self.answer = Some((id.clone(), statement));
        }
        self.claims.push(id);
    }

    fn verify(&mut self) {
        let step = self.step(self.parts.run.pairs.saturating_mul(2).saturating_add(1));
        self.started(&step);
        self.claims.sort();
        let is_marked = self.parts.run.ending == Ending::Marked;
        let none: &[String] = &[];
        let all = self.claims.as_slice();
        let (validated, rejected) = if is_marked { (none, all) } else { (all, none) };
        let output = json!({
            "missing_support_claim_ids": [],
            "rejected_claim_ids": rejected,
            "type": "verify",
            "validated_claim_ids": validated,
        });
        self.finished(&step, &output);
    }

    fn finalize(&mut self) {
        let step = self.step(self.parts.run.pairs.saturating_mul(2).saturating_add(2));
        self.started(&step);
        let answer = self.answer.take().filter(|_| self.parts.run.ending == Ending::Answer);
        let output = match answer {
            Some((_, statement)) => json!({
                "final_answer": statement,
                "final_claim_ids": self.claims,
                "type": "finalize",
                "uncertainty": null,
            }),
            None => json!({
                "final_answer": null,
                "final_claim_ids": [],
                "type": "finalize",
                "uncertainty": "No validated claim",
            }),
        };
        self.finished(&step, &output);
    }

    /// The id of a step, by its place in the plan.
    fn step(&self, at: u64) -> String {
        usize::try_from(at).map_or("", |at| self.parts.plan.node(at)).to_owned()
    }

    fn started(&mut self, step: &str) {
        self.push(json!({"kind": "step_started", "step_id": step}), None);
    }

    fn finished(&mut self, step: &str, output: &Value) {
        self.push(json!({"kind": "step_finished", "output": output, "step_id": step}), None);
    }

    fn push(&mut self, mut event: Value, evidence: Option<Evidence>) {
        event["idx"] = json!(self.made);
        self.made = self.made.saturating_add(1);
        self.ready.push_back(Record { event: canonical(&event), evidence });
    }
}

impl Iterator for Events<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.ready.is_empty() && !matches!(self.stage, Stage::Over) {
            self.make();
        }
        self.ready.pop_front()
    }
}
