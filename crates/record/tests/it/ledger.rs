//! The log of a workflow run: written, read back, damaged, mistaken.

use probity_record::{
    Ledger, LedgerError, LedgerRecord, LineFault, MAX_INLINE_BYTES, MAX_RECORD_BYTES, Record,
    StepText, blob_digest, read_step, verify_records,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sample;

fn new() -> Ledger {
    Ledger::new("wf-1".parse().unwrap())
}

fn ledger_bytes(step: &Value) -> Vec<u8> {
    new().append(7, step).unwrap().bytes
}

fn inline(record: &LedgerRecord) -> Value {
    match &record.step {
        StepText::Inline(text) => serde_json::from_slice(text).unwrap(),
        StepText::Blob(digest) => panic!("in blob {digest}"),
    }
}

/// A record of that body with the right hash.
fn line(body: &str) -> Vec<u8> {
    let hash = blob_digest(body.as_bytes());
    format!("{{\"body\":{body},\"hash\":\"{hash}\"}}").into_bytes()
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53) + 1..1_i64 << 53).prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_was_written_is_read_and_written_again_to_the_byte(
        steps in prop::collection::vec((0..1_u64 << 50, any_json()), 1..8),
    ) {
        let (mut writer, mut reader, mut again) = (new(), new(), new());
        for (at_ms, step) in &steps {
            let line = writer.append(*at_ms, step).unwrap();
            let record = reader.read(&line.bytes).unwrap();
            let StepText::Inline(text) = &record.step else { panic!("a short step") };
            let read = read_step(text).unwrap();
            prop_assert_eq!(&again.append(record.at_ms, &read).unwrap(), &line);
        }
        prop_assert_eq!(&writer, &reader);
    }
}

#[test]
fn numbers_are_spelled_once() {
    let mut ledger = new();
    let step = json!({ "b": 1.0, "a": 0.25, "c": 1e21, "d": -0.0, "e": -4753227801892400900.0 });
    let record = new().read(&ledger.append(7, &step).unwrap().bytes).unwrap();
    let text = br#"{"a":0.25,"b":1,"c":1e+21,"d":0,"e":-4753227801892401000}"#;
    assert_eq!(record.step, StepText::Inline(text.to_vec()));
    assert_eq!(new().append(7, &read_step(text).unwrap()).unwrap().bytes, ledger_bytes(&step));
    assert_eq!(record.at_ms, 7);
}

#[test]
fn a_number_that_would_be_rounded_is_refused_and_leaves_the_end_where_it_was() {
    let mut ledger = new();
    let error = ledger.append(7, &json!([u64::MAX])).unwrap_err();
    assert!(matches!(error, LedgerError::Canonical(_)), "{error}");
    assert_eq!(ledger, new());
}

#[test]
fn a_long_step_is_a_blob_at_the_edge() {
    let spare = |chars: usize| {
        let line = new().append(7, &json!("x".repeat(chars))).unwrap();
        (line.bytes.len(), line.blob)
    };
    let around = spare(0).0;
    let (longest, none) = spare(MAX_INLINE_BYTES - around);
    assert_eq!((longest, none), (MAX_INLINE_BYTES, None));
    let (short, blob) = spare(MAX_INLINE_BYTES - around + 1);
    let (digest, text) = blob.unwrap();
    assert!(short < 1024);
    assert_eq!(blob_digest(&text), digest);

    let mut ledger = new();
    let long = json!("x".repeat(2 * MAX_RECORD_BYTES));
    let line = ledger.append(7, &long).unwrap();
    let record = new().read(&line.bytes).unwrap();
    let (digest, text) = line.blob.unwrap();
    assert_eq!(record.step, StepText::Blob(digest));
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), long);
}

#[test]
fn every_damage_is_named() {
    let mut ledger = new();
    let lines: Vec<Vec<u8>> =
        (0..3).map(|n| ledger.append(n, &json!({ "n": n })).unwrap().bytes).collect();
    let code = |lines: &[&[u8]]| {
        let mut reader = new();
        let read = lines.iter().try_for_each(|line| reader.read(line).map(drop));
        read.unwrap_err().code()
    };
    let [a, b, c] = lines.as_slice() else { panic!("three lines") };
    assert_eq!(code(&[a, c]), "log_seq");
    assert_eq!(code(&[b]), "log_seq");
    assert_eq!(code(&[a, a]), "log_seq");
    assert_eq!(code(&[a, &b[..b.len() - 1]]), "record_envelope");
    let changed = String::from_utf8(b.clone()).unwrap().replace("\"n\":1", "\"n\":2");
    assert_eq!(code(&[a, changed.as_bytes()]), "record_hash");
    let mut other = new();
    other.append(0, &json!(null)).unwrap();
    let other = other.append(1, &json!({ "n": 1 })).unwrap().bytes;
    assert_eq!(code(&[a, &other]), "log_prev");
    let mut foreign = Ledger::new("wf-2".parse().unwrap());
    assert_eq!(code(&[&foreign.append(0, &json!(null)).unwrap().bytes]), "log_run");
}

#[test]
fn a_body_in_another_spelling_or_shape_is_no_record() {
    let bytes = new().append(5, &json!({ "n": 1 })).unwrap().bytes;
    let text = String::from_utf8(bytes).unwrap();
    let body = text.strip_prefix("{\"body\":").unwrap().rsplit_once(",\"hash\":").unwrap().0;
    assert!(LedgerRecord::parse(&line(body)).is_ok());
    let code = |from: &str, to: &str| {
        let changed = body.replacen(from, to, 1);
        assert_ne!(changed, body, "{from}");
        LedgerRecord::parse(&line(&changed)).map(drop).unwrap_err().code()
    };
    assert_eq!(code("\"n\":1", "\"n\":1.0"), "record_not_canonical");
    assert_eq!(code("\"n\":1", "\"n\": 1"), "record_not_canonical");
    assert_eq!(code("\"n\":1", "\"n\":1,\"n\":1"), "record_body");
    assert_eq!(code("\"seq\":0", "\"seq\":0,\"spare\":1"), "record_body");
    assert_eq!(code("\"step\":{\"n\":1},", ""), "record_body");
    assert_eq!(code("\"kind\":\"workflow\"", "\"kind\":\"else\""), "record_body");
    assert_eq!(code("\"v\":\"1.0\"", "\"v\":\"2.0\""), "record_version");
    assert_eq!(code(",\"v\":\"1.0\"", ",\"then\":1,\"v\":\"1.7\""), "record_newer");
}

#[test]
fn a_log_of_a_newer_minor_version_is_read_and_not_continued() {
    let bytes = new().append(5, &json!({ "n": 1 })).unwrap().bytes;
    let text = String::from_utf8(bytes).unwrap();
    let body = text.strip_prefix("{\"body\":").unwrap().rsplit_once(",\"hash\":").unwrap().0;
    let newer = line(&body.replace("\"v\":\"1.0\"", "\"v\":\"1.1\""));
    let mut ledger = new();
    assert_eq!(inline(&ledger.read(&newer).unwrap()), json!({ "n": 1 }));
    let error = ledger.append(6, &json!(null)).unwrap_err();
    assert_eq!(error.code(), "ledger_newer");
}

#[test]
fn the_two_kinds_of_logs_are_not_mistaken_for_each_other() {
    let mut ledger = new();
    for step in [json!({ "n": 1 }), json!({ "sure": 0.5 })] {
        let bytes = ledger.append(5, &step).unwrap().bytes;
        assert_eq!(Record::parse(&bytes), Err(LineFault::WorkflowLog));
        let report = verify_records([&bytes]);
        assert_eq!(report.findings.first().map(|it| it.fault.code()), Some("log_of_workflow"));
    }
    for bytes in sample::lines("verified-after-two-attempts") {
        assert_eq!(LedgerRecord::parse(&bytes), Err(LineFault::DelegationLog));
    }
}

#[test]
fn time_never_goes_back() {
    let mut ledger = new();
    ledger.append(9, &json!(1)).unwrap();
    let second = ledger.append(3, &json!(2)).unwrap().bytes;
    assert_eq!(LedgerRecord::parse(&second).unwrap().at_ms, 9);
}

#[test]
fn a_log_may_be_read_from_its_middle() {
    let mut ledger = new();
    let lines: Vec<Vec<u8>> =
        (0..4).map(|n| ledger.append(n, &json!({ "n": n })).unwrap().bytes).collect();
    let [_, b, c, d] = lines.as_slice() else { panic!("four lines") };
    let mut reader = Ledger::behind(&LedgerRecord::parse(b).unwrap());
    assert_eq!(reader.read(d).unwrap_err().code(), "log_seq");
    assert_eq!(inline(&reader.read(c).unwrap()), json!({ "n": 2 }));
    assert_eq!(inline(&reader.read(d).unwrap()), json!({ "n": 3 }));
    assert_eq!(reader, ledger);
}

#[test]
fn the_end_of_a_log_moves_with_every_step() {
    let mut ledger = new();
    assert_eq!((ledger.len(), ledger.is_empty(), ledger.at_ms()), (0, true, 0));
    for (steps, at_ms) in (1..).zip([70, 70, 95]) {
        ledger.append(at_ms, &json!(steps)).unwrap();
        assert_eq!((ledger.len(), ledger.is_empty(), ledger.at_ms()), (steps, false, at_ms));
    }
    assert_eq!(MAX_INLINE_BYTES, 131_072);
}

#[test]
fn the_first_byte_of_another_spelling_is_named() {
    let bytes = ledger_bytes(&json!({"a": 10, "b": 1}));
    let text = String::from_utf8(bytes).unwrap();
    let body = text.strip_prefix("{\"body\":").unwrap().split_once(",\"hash\":").unwrap().0;
    for (other, at) in [("\"a\":10.0", ".0"), ("\"a\":1e1", "e1"), ("\"a\": 10", " 10")] {
        let body = body.replace("\"a\":10", other);
        let Err(LineFault::NotCanonical(fault)) = new().read(&line(&body)) else {
            panic!("{body}")
        };
        assert_eq!(Some(fault.offset), body.find(at), "{body}");
    }
}

#[test]
fn the_largest_safe_integer_stays_one() {
    let largest = 9_007_199_254_740_991_u64;
    let read = |text: &str| read_step(text.as_bytes()).unwrap();
    assert_eq!(read(&largest.to_string()).as_u64(), Some(largest));
    assert_eq!(read(&format!("-{largest}")).as_i64(), Some(-9_007_199_254_740_991));
    assert_eq!(read("9007199254740992").as_f64(), Some(9_007_199_254_740_992.0));
    assert_eq!(read("9007199254740992").as_u64(), None);
}
