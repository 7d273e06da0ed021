//! What a step gave, told apart by its `type`.

use crate::model::Output;

use super::desk::{Desk, Field, Way};
use crate::tape::Value;

#[derive(Debug, Clone, Copy)]
enum Type {
    Understand,
    Gather,
    Derive,
    Verify,
    Finalize,
    Insufficient,
}

const TYPES: &[(&str, Type)] = &[
    ("understand", Type::Understand),
    ("gather", Type::Gather),
    ("derive", Type::Derive),
    ("verify", Type::Verify),
    ("finalize", Type::Finalize),
    ("insufficient_evidence", Type::Insufficient),
];

pub(super) fn read<'a>(desk: &mut Desk, field: Field<'a, '_>) -> Option<Output<'a>> {
    let value = desk.object(field)?;
    match desk.discriminator(value, &field.way, "type", TYPES)? {
        Type::Understand => understand(desk, value, &field.way),
        Type::Gather => gather(desk, value, &field.way),
        Type::Derive => {
            let fields = desk.fields(value, &field.way, &["claim_ids", "type"])?;
            Some(Output::Derive { claim_ids: desk.texts(fields.get("claim_ids"))? })
        }
        Type::Verify => verify(desk, value, &field.way),
        Type::Finalize => finalize(desk, value, &field.way),
        Type::Insufficient => insufficient(desk, value, &field.way),
    }
}

fn understand<'a>(desk: &mut Desk, value: Value<'a>, way: &Way) -> Option<Output<'a>> {
    let keys = &["assumptions", "normalized_question", "task_type", "type"];
    let fields = desk.fields(value, way, keys)?;
    let _ = desk.texts(fields.get("assumptions"));
    let _ = desk.text(fields.get("task_type"));
    let normalized_question = desk.text(fields.get("normalized_question"))?;
    Some(Output::Understand { normalized_question })
}

fn gather<'a>(desk: &mut Desk, value: Value<'a>, way: &Way) -> Option<Output<'a>> {
    let keys = &["evidence_ids", "retrieval_provenance", "retrieval_queries", "type"];
    let fields = desk.fields(value, way, keys)?;
    let evidence_ids = desk.texts(fields.get("evidence_ids"));
    let retrieval_provenance = desk.object(fields.get("retrieval_provenance"));
    let retrieval_queries = desk.texts(fields.get("retrieval_queries"));
    Some(Output::Gather {
        evidence_ids: evidence_ids?,
        retrieval_queries: retrieval_queries?,
        retrieval_provenance: retrieval_provenance?,
    })
}

fn verify<'a>(desk: &mut Desk, value: Value<'a>, way: &Way) -> Option<Output<'a>> {
    let keys = &["missing_support_claim_ids", "rejected_claim_ids", "type", "validated_claim_ids"];
    let fields = desk.fields(value, way, keys)?;
    let missing_support = desk.texts(fields.get("missing_support_claim_ids"));
    let rejected = desk.texts(fields.get("rejected_claim_ids"));
    let validated = desk.texts(fields.get("validated_claim_ids"));
    Some(Output::Verify {
        validated: validated?,
        rejected: rejected?,
        missing_support: missing_support?,
    })
}

fn finalize<'a>(desk: &mut Desk, value: Value<'a>, way: &Way) -> Option<Output<'a>> {
    let keys = &["final_answer", "final_claim_ids", "type", "uncertainty"];
    let fields = desk.fields(value, way, keys)?;
    let answer = desk.text_or_null(fields.get("final_answer"));
    let claim_ids = desk.texts(fields.get("final_claim_ids"));
    desk.text_or_null(fields.get("uncertainty"))?;
    Some(Output::Finalize { claim_ids: claim_ids?, answer: answer? })
}

fn insufficient<'a>(desk: &mut Desk, value: Value<'a>, way: &Way) -> Option<Output<'a>> {
    let fields = desk.fields(value, way, &["reason", "required", "retrieved", "type"])?;
    let reason = desk.text(fields.get("reason"));
    let required = desk.integer(fields.get("required"));
    let retrieved = desk.integer(fields.get("retrieved"));
    reason?;
    Some(Output::Insufficient { retrieved: retrieved?, required: required? })
}
