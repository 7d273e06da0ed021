//! What a run asks, as `suspend-request`.

use probity_workflow::{Interrupt, InterruptKind};
use serde_json::{Map, Value};

/// A wait for somebody.
#[must_use]
pub fn suspend_request(interrupt: &Interrupt) -> Value {
    let mut doc = Map::new();
    let mut put = |name: &str, value: Value| doc.insert(name.to_owned(), value);
    put("kind", kind_word(interrupt.kind).into());
    put("key", interrupt.key.as_str().into());
    put("data", Value::Object(interrupt.data.clone()));
    if let Some(schema) = &interrupt.resume_schema {
        put("resumeSchema", schema.clone());
    }
    if let Some(timeout_ms) = interrupt.timeout_ms {
        put("timeoutMs", timeout_ms.into());
    }
    Value::Object(doc)
}

pub(super) const fn kind_word(kind: InterruptKind) -> &'static str {
    match kind {
        InterruptKind::Approval => "approval",
        InterruptKind::Clarification => "clarification",
        InterruptKind::LowConfidence => "low-confidence",
        InterruptKind::ExternalEvent => "external-event",
    }
}
