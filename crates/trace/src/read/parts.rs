//! Calls, results, evidence and claims.

use crate::model::{Call, Claim, ClaimType, Evidence, Returned, Status, Support, SupportKind};

use super::desk::{Desk, Field, Way};

const STATUSES: &[(&str, Status)] = &[
    ("proposed", Status::Proposed),
    ("validated", Status::Validated),
    ("rejected", Status::Rejected),
];

const CLAIM_TYPES: &[(&str, ClaimType)] = &[
    ("derived", ClaimType::Derived),
    ("observed", ClaimType::Observed),
    ("assumed", ClaimType::Assumed),
];

const SUPPORT_KINDS: &[(&str, SupportKind)] = &[
    ("claim", SupportKind::Claim),
    ("evidence", SupportKind::Evidence),
    ("tool_call", SupportKind::ToolCall),
];

pub(super) fn call<'a>(desk: &mut Desk, field: Field<'a, '_>) -> Option<Call<'a>> {
    let keys = &["arguments", "call_idx", "id", "step_id", "tool_name"];
    let fields = desk.fields(field.value?, &field.way, keys)?;
    let arguments = desk.object(fields.get("arguments"));
    let call_idx = desk.integer(fields.get("call_idx"));
    let id = desk.text(fields.get("id"));
    let step_id = desk.text(fields.get("step_id"));
    let tool_name = desk.text(fields.get("tool_name"));
    Some(Call {
        id: id?,
        tool_name: tool_name?,
        arguments: arguments?,
        step_id: step_id?,
        call_idx: call_idx?,
    })
}

pub(super) fn returned<'a>(desk: &mut Desk, field: Field<'a, '_>) -> Option<Returned<'a>> {
    let keys = &["call_id", "error", "result", "success"];
    let fields = desk.fields(field.value?, &field.way, keys)?;
    let call_id = desk.text(fields.get("call_id"));
    let error = desk.text_or_null(fields.get("error"));
    let success = desk.boolean(fields.get("success"));
    let result = fields.get("result").value;
    Some(Returned { call_id: call_id?, success: success?, result: result?, error: error? })
}

pub(super) fn evidence<'a>(desk: &mut Desk, field: Field<'a, '_>) -> Option<Evidence<'a>> {
    let keys = &["chunk_id", "content_path", "id", "sha256", "span", "uri"];
    let fields = desk.fields(field.value?, &field.way, keys)?;
    let chunk_id = desk.digest(fields.get("chunk_id"));
    let content_path = desk.text(fields.get("content_path"));
    let id = desk.text(fields.get("id"));
    let sha256 = desk.digest(fields.get("sha256"));
    let span = desk.span(fields.get("span"));
    let uri = desk.text(fields.get("uri"));
    Some(Evidence {
        id: id?,
        uri: uri?,
        sha256: sha256?,
        span: span?,
        chunk_id: chunk_id?,
        content_path: content_path?,
    })
}

pub(super) fn claim<'a>(desk: &mut Desk, field: Field<'a, '_>) -> Option<Claim<'a>> {
    let keys = &["claim_type", "confidence", "id", "statement", "status", "structured", "supports"];
    let value = field.value?;
    let fields = desk.fields(value, &field.way, keys)?;
    let claim_type = desk.word(fields.get("claim_type"), CLAIM_TYPES);
    let _ = desk.share(fields.get("confidence"));
    let id = desk.text(fields.get("id"));
    let statement = desk.text(fields.get("statement"));
    let status = desk.word(fields.get("status"), STATUSES);
    let structured = desk.object_or_null(fields.get("structured"));
    let supports = supports(desk, fields.get("supports"));
    Some(Claim {
        id: id?,
        statement: statement?,
        status: status?,
        claim_type: claim_type?,
        supports: supports?,
        structured: structured?,
        value,
    })
}

fn supports<'a>(desk: &mut Desk, field: Field<'a, '_>) -> Option<Vec<Support<'a>>> {
    let list = desk.list(field)?;
    let mut supports = Some(Vec::new());
    for (at, item) in list.items().enumerate() {
        let way = Way::Item(&field.way, at);
        let support = support(desk, Field { value: Some(item), way });
        supports = supports.zip(support).map(|(mut supports, support)| {
            supports.push(support);
            supports
        });
    }
    supports
}

fn support<'a>(desk: &mut Desk, field: Field<'a, '_>) -> Option<Support<'a>> {
    let keys = &["hash_algo", "kind", "ref_id", "snippet_sha256", "span"];
    let fields = desk.fields(field.value?, &field.way, keys)?;
    let _ = desk.word(fields.get("hash_algo"), super::ALGORITHM);
    let kind = desk.word(fields.get("kind"), SUPPORT_KINDS);
    let ref_id = desk.text(fields.get("ref_id"));
    let snippet_sha256 = desk.digest(fields.get("snippet_sha256"));
    let span = desk.span(fields.get("span"));
    Some(Support { kind: kind?, ref_id: ref_id?, span: span?, snippet_sha256: snippet_sha256? })
}
