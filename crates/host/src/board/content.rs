//! Content of a run, as far as one answer may hold it.

use probity_core::{Claim, Digest, Evidence};
use probity_store::{BlobError, Store};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::step::{Step, Text};
use crate::error::Failure;

/// The largest blob that is read, in bytes.
const MAX_BLOB_BYTES: u64 = 4 * 1024 * 1024;
/// The longest text that is told, in bytes.
const MAX_TEXT_BYTES: usize = 32 * 1024;
/// What all texts of one answer come to at most, in bytes.
const MAX_ALL_BYTES: usize = 2 * 1024 * 1024;
/// Pieces of evidence that are told of one finding.
const MAX_EVIDENCE: usize = 100;

/// Reads what events name, until there is enough.
pub(super) struct Content<'a> {
    pub(super) store: &'a dyn Store,
    /// Whether it is asked for at all.
    pub(super) is_wanted: bool,
    /// Bytes that were told.
    pub(super) told: usize,
}

/// The blob of a claim.
#[derive(Deserialize)]
struct StoredClaim {
    claim: Claim,
}

impl Content<'_> {
    /// Words that a blob is, or that stand in one of its members.
    pub(super) async fn add(
        &mut self,
        step: &mut Step,
        label: &'static str,
        digest: Option<Digest>,
        members: &[&str],
    ) -> Result<(), Failure> {
        let Some(digest) = digest.filter(|_| self.is_wanted) else { return Ok(()) };
        let Some(bytes) = self.bytes(&digest).await? else { return Ok(()) };
        let named = Some(digest.to_string());
        if members.is_empty() {
            self.tell(step, label, &String::from_utf8_lossy(&bytes), named);
            return Ok(());
        }
        let read: Map<String, Value> = serde_json::from_slice(&bytes).unwrap_or_default();
        for member in members {
            match read.get(*member) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => self.tell(step, label, text, named.clone()),
                Some(value) => self.tell(step, label, &value.to_string(), named.clone()),
            }
        }
        Ok(())
    }

    /// A claim: the answer, the tools that were called, the output.
    pub(super) async fn add_claim(
        &mut self,
        step: &mut Step,
        digest: Digest,
    ) -> Result<(), Failure> {
        if !self.is_wanted {
            return Ok(());
        }
        let Some(bytes) = self.bytes(&digest).await? else { return Ok(()) };
        let Ok(StoredClaim { claim }) = serde_json::from_slice(&bytes) else { return Ok(()) };
        self.tell(step, "response", &claim.response, Some(digest.to_string()));
        if let Some(output) = &claim.output {
            self.tell(step, "output", &pretty(output), None);
        }
        for call in &claim.tool_calls {
            let text = format!("{} {}", call.name, pretty(&call.arguments));
            self.tell(step, "tool call", &text, None);
            for result in claim.tool_results.iter().filter(|result| result.call_id == call.id) {
                let label = if result.is_error { "tool error" } else { "tool result" };
                self.tell(step, label, &result.content, None);
            }
        }
        Ok(())
    }

    /// What a check observed.
    pub(super) async fn add_evidence(
        &mut self,
        step: &mut Step,
        digest: Option<Digest>,
    ) -> Result<(), Failure> {
        let Some(digest) = digest.filter(|_| self.is_wanted) else { return Ok(()) };
        let Some(bytes) = self.bytes(&digest).await? else { return Ok(()) };
        let read: Vec<Evidence> = serde_json::from_slice(&bytes).unwrap_or_default();
        for Evidence { source, observed, digest, span } in read.into_iter().take(MAX_EVIDENCE) {
            let (source, observed) = (self.cut(&source).0, self.cut(&observed).0);
            step.evidence.push(serde_json::json!({
                "source": source, "observed": observed, "digest": digest, "span": span,
            }));
        }
        Ok(())
    }

    /// Says something of a step that is known already.
    pub(super) fn tell(
        &mut self,
        step: &mut Step,
        label: &'static str,
        text: &str,
        digest: Option<String>,
    ) {
        if text.is_empty() {
            return;
        }
        let (text, is_cut) = self.cut(text);
        step.texts.push(Text { label, text, is_cut, digest });
    }

    /// The part of a text that there is room for.
    fn cut(&mut self, text: &str) -> (String, bool) {
        let room = MAX_TEXT_BYTES.min(MAX_ALL_BYTES.saturating_sub(self.told));
        let kept = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        self.told = self.told.saturating_add(kept.len());
        (kept.to_owned(), kept.len() < text.len())
    }

    /// The bytes of a blob. What is missing, damaged or too large is for audits to tell.
    pub(super) async fn bytes(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Failure> {
        if self.told >= MAX_ALL_BYTES {
            return Ok(None);
        }
        match self.store.get(digest, MAX_BLOB_BYTES).await {
            Ok(bytes) => Ok(bytes),
            Err(error @ BlobError::Unavailable(_)) if error.code() != "store_corrupt" => {
                Err(error.into())
            }
            Err(_) => Ok(None),
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
