//! B: the header.

use serde_json::{Value, json};

use super::{CLAIM, Row, Run};

pub(super) const ROWS: &[Row] = &[
    ("B01 schema_version 2", "trace_version_unsupported", |run| version(run, json!(2))),
    ("B02 schema_version 3", "trace_version_unsupported", |run| version(run, json!(3))),
    ("B03 schema_version 0", "trace_version_unsupported", |run| version(run, json!(0))),
    ("B04 schema_version \"1\"", "trace_type", |run| version(run, json!("1"))),
    ("B05 schema_version 1.0", "trace_type", |run| version(run, json!(1.0))),
    ("B06 schema_version true", "trace_type", |run| version(run, json!(true))),
    ("B07 schema_version null", "trace_type", |run| version(run, json!(null))),
    ("B08 schema_version 1.5", "trace_type", |run| version(run, json!(1.5))),
    ("B09 no schema_version", "trace_key_missing", |run| remove(run, "schema_version")),
    ("B10 runtime_protocol_version 2", "trace_version_unsupported", |run| {
        run.header(|header| header["runtime_protocol_version"] = 2.into());
    }),
    ("B11 no runtime_protocol_version", "trace_key_missing", |run| {
        remove(run, "runtime_protocol_version");
    }),
    ("B12 canonicalization_version 2", "trace_version_unsupported", |run| {
        run.header(|header| header["canonicalization_version"] = 2.into());
    }),
    ("B13 no canonicalization_version", "trace_key_missing", |run| {
        remove(run, "canonicalization_version");
    }),
    ("B14 md5", "trace_word", |run| run.header(|header| header["fingerprint_algo"] = "md5".into())),
    ("B15 SHA256", "trace_word", |run| {
        run.header(|header| header["fingerprint_algo"] = "SHA256".into());
    }),
    ("B16 no fingerprint_algo", "trace_key_missing", |run| remove(run, "fingerprint_algo")),
    ("B20 another spec_id", "trace_header_spec_id", |run| {
        run.header(|header| header["spec_id"] = format!("spec_v1_{}", "0".repeat(64)).into());
    }),
    ("B21 another plan_id", "trace_header_plan_id", |run| {
        run.header(|header| header["plan_id"] = format!("plan_v1_{}", "0".repeat(64)).into());
    }),
    ("B22 spec_id and plan_id null", "trace_type", |run| {
        run.header(|header| {
            header["spec_id"] = Value::Null;
            header["plan_id"] = Value::Null;
        });
    }),
    ("B23 metadata a list", "trace_type", |run| {
        run.header(|header| header["metadata"] = json!([]))
    }),
    ("B24 no metadata", "trace_key_missing", |run| remove(run, "metadata")),
    ("B25 no policy", "trace_policy_min_supports", |run| {
        run.header(|header| {
            header["metadata"].as_object_mut().expect("an object").remove("reasoning_policy");
        });
    }),
    ("B26 policy lowered, support dropped", "citation_too_few_supports", |run| {
        lowered(run, json!(1))
    }),
    ("B27 policy junk, support dropped", "citation_too_few_supports", |run| {
        lowered(run, json!("junk"));
    }),
    ("B28 policy -5, support dropped", "citation_too_few_supports", |run| lowered(run, json!(-5))),
    ("B26 policy lowered", "trace_policy_min_supports", |run| {
        run.header(|header| {
            header["metadata"]["reasoning_policy"]["min_supports_per_claim"] = 1.into();
        });
    }),
    ("B30 another runtime fingerprint", "trace_run_meta_differs", |run| {
        run.header(|header| header["metadata"]["runtime_fingerprint"] = "0".repeat(64).into());
    }),
    ("B31 another corpus", "trace_provenance_sha256", |run| {
        run.header(|header| {
            header["metadata"]["retrieval_provenance"]["corpus_sha256"] = "0".repeat(64).into();
        });
    }),
    ("B32 another question", "trace_reasoning_question", |run| {
        run.header(|header| header["metadata"]["reasoning_trace"]["question"] = "Why?".into());
    }),
    ("B32 other evidence", "trace_reasoning_evidence_ids", |run| {
        run.header(|header| header["metadata"]["reasoning_trace"]["evidence_ids"] = json!([]));
    }),
    ("B33 another seed", "trace_run_meta_differs", |run| {
        run.header(|header| header["metadata"]["run_meta"]["seed"] = 9.into());
    }),
    ("B34 another mode", "trace_run_meta_differs", |run| {
        run.header(|header| header["metadata"]["run_meta"]["mode"] = "frozen".into());
    }),
    ("B35 another runtime", "trace_run_meta_differs", |run| {
        run.header(|header| header["metadata"]["run_meta"]["runtime_kind"] = "Other".into());
    }),
];

/// What a new seal mends.
pub(super) const SEALED_ROWS: &[Row] = &[
    ("A19 key twice: schema_version", "trace_duplicate_key", |run| {
        run.swap(
            "\"schema_version\":1,\"spec_id\"",
            "\"schema_version\":99,\"schema_version\":1,\"spec_id\"",
        );
    }),
    ("B17 another trace id", "trace_id_trace", |run| {
        run.header(|header| header["id"] = format!("trace_v1_{}", "0".repeat(64)).into());
    }),
    ("B18 empty trace id", "trace_id_trace", |run| run.header(|header| header["id"] = "".into())),
    ("B19 trace id null", "trace_type", |run| run.header(|header| header["id"] = Value::Null)),
    ("B29 another checksum", "trace_invariant_checksum", |run| {
        run.header(|header| header["metadata"]["invariant_checksum"] = "0".repeat(64).into());
    }),
    ("A30 NUL in the question", "trace_id_trace", |run| {
        run.swap("\"normalized_question\":\"", "\"normalized_question\":\"\\u0000");
    }),
];

fn version(run: &mut Run, version: Value) {
    run.header(|header| header["schema_version"] = version);
}

fn remove(run: &mut Run, key: &str) {
    run.header(|header| drop(header.as_object_mut().expect("an object").remove(key)));
}

fn lowered(run: &mut Run, supports: Value) {
    run.records(|header, events| {
        header["metadata"]["reasoning_policy"]["min_supports_per_claim"] = supports;
        let claim = &mut events[CLAIM]["claim"];
        claim["supports"].as_array_mut().expect("supports").pop();
        let statement = claim["statement"].as_str().expect("a statement");
        let end = statement.find(']').expect("a marker");
        claim["statement"] = statement[..=end].into();
    });
}
