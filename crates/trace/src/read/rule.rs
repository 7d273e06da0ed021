//! What can be wrong with the bytes of a trace and with the shape of its records.

use probity_report::Rule;

const JSON: &str = "json";
const CANONICAL: &str = "canonical";
const SCHEMA: &str = "INV-SCH-001";

pub(crate) static UNREADABLE: Rule =
    Rule::malformed("trace_unreadable", JSON, "a file that the audit needs and cannot read");
pub(crate) static FILE_TOO_LARGE: Rule =
    Rule::limit("trace_file_too_large", JSON, "a file larger than is read");
pub(crate) static NOT_UTF8: Rule =
    Rule::malformed("trace_not_utf8", JSON, "bytes that are not UTF-8");
pub(crate) static BOM: Rule =
    Rule::error("trace_bom", JSON, "a byte order mark in front of the text");
pub(crate) static LINE_TOO_LONG: Rule =
    Rule::limit("trace_line_too_long", JSON, "a line longer than is read");
pub(crate) static BLANK_LINE: Rule =
    Rule::error("trace_blank_line", JSON, "a line without a record");
pub(super) static SYNTAX: Rule = Rule::malformed("trace_syntax", JSON, "a line that is not JSON");
pub(super) static NUMBER: Rule =
    Rule::error("trace_number", JSON, "a number that not every reader keeps");
pub(super) static SURROGATE: Rule =
    Rule::error("trace_surrogate", JSON, "an escape for half a character");
pub(super) static TOO_DEEP: Rule =
    Rule::limit("trace_too_deep", JSON, "values nested deeper than is read");
pub(super) static TOO_MANY: Rule =
    Rule::limit("trace_too_many_values", JSON, "more values in one line than are read");
pub(super) static DUPLICATE_KEY: Rule =
    Rule::error("trace_duplicate_key", JSON, "a key that stands twice in its object");
pub(crate) static HEADER_MISSING: Rule =
    Rule::malformed("trace_header_missing", JSON, "a trace that does not begin with its header");
pub(super) static HEADER_MISPLACED: Rule =
    Rule::error("trace_header_misplaced", JSON, "a header behind the first record");
pub(super) static RECORD_UNKNOWN: Rule =
    Rule::error("trace_record_unknown", JSON, "a record that is neither header nor event");
pub(super) static KEY_MISSING: Rule =
    Rule::error("trace_key_missing", JSON, "a key that must be there").under(SCHEMA);
pub(super) static KEY_UNKNOWN: Rule =
    Rule::error("trace_key_unknown", JSON, "a key that must not be there").under(SCHEMA);
pub(super) static TYPE: Rule =
    Rule::error("trace_type", JSON, "a value of another JSON type").under(SCHEMA);
pub(super) static WORD: Rule =
    Rule::error("trace_word", JSON, "a word that is not of the closed list").under(SCHEMA);
pub(super) static RANGE: Rule =
    Rule::error("trace_range", JSON, "a number outside its range").under(SCHEMA);
pub(super) static DIGEST: Rule =
    Rule::error("trace_digest_shape", JSON, "a digest that is not 64 lower-case hex digits")
        .under(SCHEMA);
pub(super) static SPAN: Rule =
    Rule::error("trace_span_shape", JSON, "a span that is not a start and a later end")
        .under(SCHEMA);
pub(super) static VERSION: Rule =
    Rule::error("trace_version_unsupported", JSON, "a version that is not accepted").under(SCHEMA);
pub(crate) static CARRIAGE_RETURN: Rule =
    Rule::error("trace_carriage_return", CANONICAL, "a carriage return at the end of a line");
pub(crate) static NO_FINAL_NEWLINE: Rule =
    Rule::error("trace_no_final_newline", CANONICAL, "a last line without its newline");
pub(super) static NOT_CANONICAL: Rule =
    Rule::error("trace_not_canonical", CANONICAL, "JSON that is not in its canonical form");

/// What is found of bytes and shapes.
pub(crate) static RULES: &[&Rule] = &[
    &UNREADABLE,
    &FILE_TOO_LARGE,
    &NOT_UTF8,
    &BOM,
    &LINE_TOO_LONG,
    &BLANK_LINE,
    &SYNTAX,
    &NUMBER,
    &SURROGATE,
    &TOO_DEEP,
    &TOO_MANY,
    &DUPLICATE_KEY,
    &HEADER_MISSING,
    &HEADER_MISPLACED,
    &RECORD_UNKNOWN,
    &KEY_MISSING,
    &KEY_UNKNOWN,
    &TYPE,
    &WORD,
    &RANGE,
    &DIGEST,
    &SPAN,
    &VERSION,
    &CARRIAGE_RETURN,
    &NO_FINAL_NEWLINE,
    &NOT_CANONICAL,
];

/// The keys of the header.
pub(super) static HEADER_KEYS: [&str; 9] = [
    "canonicalization_version",
    "fingerprint_algo",
    "id",
    "metadata",
    "plan_id",
    "record",
    "runtime_protocol_version",
    "schema_version",
    "spec_id",
];

/// Those of them that hold a version.
pub(super) const VERSION_KEYS: [&str; 3] =
    ["canonicalization_version", "runtime_protocol_version", "schema_version"];

/// The kinds of events.
#[derive(Debug, Clone, Copy)]
pub(super) enum EventKind {
    StepStarted,
    StepFinished,
    ToolCalled,
    ToolReturned,
    EvidenceRegistered,
    ClaimEmitted,
}

pub(super) static EVENT_KINDS: [(&str, EventKind); 6] = [
    ("step_started", EventKind::StepStarted),
    ("step_finished", EventKind::StepFinished),
    ("tool_called", EventKind::ToolCalled),
    ("tool_returned", EventKind::ToolReturned),
    ("evidence_registered", EventKind::EvidenceRegistered),
    ("claim_emitted", EventKind::ClaimEmitted),
];
