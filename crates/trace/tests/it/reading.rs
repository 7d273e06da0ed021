//! Damage to the bytes of a trace: each kind has its code, its place and its weight.

use probity_trace::{MemoryFiles, TraceAuditor, TracePolicy, VerificationReport};

use probity_trace::Verdict::{self, Invalid, LimitExceeded, Malformed};

/// 64 hex digits.
pub(crate) const HASH: &str = "4be1d7f5a3c9806e4be1d7f5a3c9806e4be1d7f5a3c9806e4be1d7f5a3c9806e";

/// A header, then every kind of event and of output once. Shapes only: it proves nothing.
pub(crate) fn lines() -> Vec<String> {
    let events = [
        r#""idx":0,"kind":"step_started","step_id":"s1""#.to_owned(),
        finished(r#"{"assumptions":["a"],"normalized_question":"q","task_type":"t","type":"understand"}"#),
        r#""call":{"arguments":{"q":[1]},"call_idx":0,"id":"c1","step_id":"s2","tool_name":"t"},"idx":2,"kind":"tool_called","step_id":"s2""#.to_owned(),
        r#""idx":3,"kind":"tool_returned","result":{"call_id":"c1","error":null,"result":{"x":0.5},"success":true},"step_id":"s2""#.to_owned(),
        format!(r#""evidence":{{"chunk_id":"{HASH}","content_path":"evidence/e.txt","id":"e1","sha256":"{HASH}","span":[0,9],"uri":"u"}},"idx":4,"kind":"evidence_registered","step_id":"s2""#),
        finished(r#"{"evidence_ids":["e1"],"retrieval_provenance":{},"retrieval_queries":["q"],"type":"gather"}"#),
        format!(r#""claim":{{"claim_type":"derived","confidence":0.7,"id":"k1","statement":"x","status":"proposed","structured":{{}},"supports":[{{"hash_algo":"sha256","kind":"evidence","ref_id":"e1","snippet_sha256":"{HASH}","span":[0,9]}}]}},"idx":6,"kind":"claim_emitted","step_id":"s3""#),
        finished(r#"{"claim_ids":["k1"],"type":"derive"}"#),
        finished(r#"{"reason":"r","required":2,"retrieved":0,"type":"insufficient_evidence"}"#),
        finished(r#"{"missing_support_claim_ids":["k1"],"rejected_claim_ids":["k1"],"type":"verify","validated_claim_ids":["k1"]}"#),
        finished(r#"{"final_answer":"x","final_claim_ids":["k1"],"type":"finalize","uncertainty":"u"}"#),
    ];
    let header = r#"{"canonicalization_version":1,"fingerprint_algo":"sha256","id":"trace_v1_0","metadata":{},"plan_id":"p","record":"trace_header","runtime_protocol_version":1,"schema_version":1,"spec_id":"s"}"#;
    let line = |event: String| format!(r#"{{"event":{{{event}}},"record":"trace_event"}}"#);
    std::iter::once(header.to_owned()).chain(events.into_iter().map(line)).collect()
}

fn finished(output: &str) -> String {
    format!(r#""idx":1,"kind":"step_finished","output":{output},"step_id":"s1""#)
}

/// The lines as a file.
pub(crate) fn text(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

/// The report on a run that has a trace and nothing else.
pub(crate) fn audit(trace: impl Into<Vec<u8>>) -> VerificationReport {
    let mut files = MemoryFiles::default();
    files.files.insert("trace.jsonl".to_owned(), trace.into());
    TraceAuditor::new(TracePolicy { threads: 1, ..TracePolicy::default() }).audit(&files, "run")
}

/// What is found of the trace's bytes and shapes: code, line, pointer.
pub(crate) fn found(report: &VerificationReport) -> Vec<(&'static str, u64, String)> {
    let of_reader = |check: &str| matches!(check, "json" | "canonical");
    let failures = report.failures.iter();
    failures
        .filter(|failure| of_reader(failure.check) && failure.place.file == "trace.jsonl")
        .map(|failure| {
            (failure.code, failure.place.line.unwrap_or(0), failure.place.pointer.clone())
        })
        .collect()
}

fn codes(trace: impl Into<Vec<u8>>) -> Vec<(&'static str, u64)> {
    found(&audit(trace)).into_iter().map(|(code, line, _)| (code, line)).collect()
}

#[test]
fn a_trace_of_every_shape_is_read_without_a_finding() {
    let report = audit(text(&lines()));
    assert_eq!(found(&report), []);
    let metric = |name| report.summary_metrics.get(name).copied();
    assert_eq!(metric("lines"), Some(12));
    assert_eq!(metric("events"), Some(11));
    assert_eq!(metric("trace_bytes"), Some(text(&lines()).len() as u64));
    assert_eq!(metric("claims"), Some(1));
    assert_eq!(metric("supports"), Some(1));
    assert_eq!(metric("evidence"), Some(1));
    assert_eq!(metric("tool_calls"), Some(1));
    assert_eq!(metric("steps"), Some(1));
}

#[test]
fn every_damage_to_a_line_has_its_code() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let rows: Vec<(&str, Vec<(&str, u64)>)> = vec![
        ("", vec![("trace_blank_line", 3)]),
        (" \t", vec![("trace_blank_line", 3)]),
        ("\r", vec![("trace_blank_line", 3)]),
        ("garbage", vec![("trace_syntax", 3)]),
        ("{}{}", vec![("trace_syntax", 3)]),
        ("{\"a\":1,}", vec![("trace_syntax", 3)]),
        ("\0\0", vec![("trace_syntax", 3)]),
        ("\u{feff}{}", vec![("trace_syntax", 3)]),
        ("{\"a\":NaN}", vec![("trace_number", 3)]),
        ("{\"a\":-Infinity}", vec![("trace_number", 3)]),
        ("{\"a\":1e400}", vec![("trace_number", 3)]),
        ("{\"a\":9007199254740992}", vec![("trace_number", 3)]),
        ("{\"a\":\"\\ud800\"}", vec![("trace_surrogate", 3)]),
        (&deep, vec![("trace_too_deep", 3)]),
        ("[]", vec![("trace_type", 3)]),
        ("null", vec![("trace_type", 3)]),
        ("{}", vec![("trace_key_missing", 3)]),
        ("{\"record\":\"note\"}", vec![("trace_record_unknown", 3)]),
        ("{\"record\":1}", vec![("trace_record_unknown", 3)]),
        ("{\"record\":\"trace_header\"}", vec![("trace_header_misplaced", 3)]),
        ("{\"record\":\"trace_event\"}", vec![("trace_key_missing", 3)]),
        (
            "{\"record\":\"note\",\"record\":\"note\"}",
            vec![
                ("trace_not_canonical", 3),
                ("trace_duplicate_key", 3),
                ("trace_record_unknown", 3),
            ],
        ),
    ];
    for (line, expected) in rows {
        let mut lines = lines();
        lines.insert(2, line.to_owned());
        let mut found = codes(text(&lines));
        let mut expected = expected;
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{:.40}", line);
    }
}

#[test]
fn every_damage_to_the_file_has_its_code_and_its_weight() {
    let whole = text(&lines());
    let cut = whole[..whole.len() - 20].to_vec();
    let no_newline = whole[..whole.len() - 1].to_vec();
    let with_bom = [b"\xef\xbb\xbf", whole.as_slice()].concat();
    let one_return = String::from_utf8(whole.clone()).unwrap().replacen("}\n", "}\r\n", 1);
    let joined = String::from_utf8(whole.clone()).unwrap().replacen("}\n", "}\r", 2);
    let mut headless = lines();
    let header = headless.remove(0);
    let mut header_last = headless.clone();
    header_last.push(header);
    let mut not_utf8 = whole.clone();
    *not_utf8.last_mut().unwrap() = 0xff;
    let utf16: Vec<u8> =
        String::from_utf8_lossy(&whole).encode_utf16().flat_map(u16::to_le_bytes).collect();
    type Row = (&'static str, Vec<u8>, Vec<(&'static str, u64)>, Verdict);
    let rows: Vec<Row> = vec![
        ("empty", vec![], vec![("trace_header_missing", 0)], Malformed),
        ("cut", cut, vec![("trace_syntax", 12), ("trace_no_final_newline", 12)], Malformed),
        ("no newline", no_newline, vec![("trace_no_final_newline", 12)], Invalid),
        ("bom", with_bom, vec![("trace_bom", 1)], Invalid),
        ("one return", one_return.into(), vec![("trace_carriage_return", 1)], Invalid),
        (
            "returns for newlines",
            joined.into(),
            vec![("trace_header_missing", 0), ("trace_syntax", 1)],
            Malformed,
        ),
        ("headless", text(&headless), vec![("trace_header_missing", 0)], Malformed),
        (
            "header last",
            text(&header_last),
            vec![("trace_header_missing", 0), ("trace_header_misplaced", 12)],
            Malformed,
        ),
        (
            "not utf-8",
            not_utf8,
            vec![("trace_not_utf8", 12), ("trace_no_final_newline", 12)],
            Malformed,
        ),
        ("utf-16", utf16, vec![], Malformed),
    ];
    for (name, bytes, mut expected, weight) in rows {
        let report = audit(bytes);
        let mut found: Vec<_> =
            found(&report).into_iter().map(|(code, line, _)| (code, line)).collect();
        if expected.is_empty() {
            assert!(!found.is_empty(), "{name}");
        } else {
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{name}");
        }
        // The rest of the run is missing, which weighs as much as can be: look at the trace alone.
        assert_eq!(weight_of(&report), weight, "{name}");
    }
}

/// What the findings on the trace come to, by the classes of their rules.
fn weight_of(report: &VerificationReport) -> Verdict {
    let codes: Vec<&str> = found(report).into_iter().map(|(code, ..)| code).collect();
    let has = |class| {
        probity_trace::rules().iter().any(|rule| rule.class == class && codes.contains(&rule.code))
    };
    match (has(probity_report::Class::Malformed), has(probity_report::Class::Limit)) {
        (true, _) => Malformed,
        (false, true) => LimitExceeded,
        (false, false) => Invalid,
    }
}

#[test]
fn damaged_bytes_leave_the_lines_around_them_readable() {
    let mut lines = lines();
    lines.insert(3, "junk".to_owned());
    lines.insert(5, "junk".to_owned());
    let mut bytes = text(&lines);
    // Three damaged places: a lone lead byte, a cut sequence, an overlong one.
    let at = |bytes: &[u8], n: usize| {
        bytes.windows(4).enumerate().filter(|(_, four)| *four == b"junk").nth(n).unwrap().0
    };
    let (first, second) = (at(&bytes, 0), at(&bytes, 1));
    bytes[first..first + 4].copy_from_slice(b"\xff\xe2\x82x");
    bytes[second..second + 4].copy_from_slice(b"\xc0\x80\xf0\x9f");
    let report = audit(bytes);
    let found: Vec<_> = found(&report).into_iter().map(|(code, line, _)| (code, line)).collect();
    assert_eq!(found, [("trace_not_utf8", 4), ("trace_not_utf8", 6)]);
    assert_eq!(report.summary_metrics["events"], 11);
}

#[test]
fn a_finding_names_the_bytes_of_the_value() {
    let mut lines = lines();
    lines[7] = lines[7].replace("\"confidence\":0.7", "\"confidence\":7.5");
    let bytes = text(&lines);
    let report = audit(bytes.clone());
    let failure = report.failures.iter().find(|failure| failure.code == "trace_range").unwrap();
    let span = failure.place.span.unwrap();
    let named = &bytes[usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()];
    assert_eq!(named, b"7.5");
    assert_eq!(failure.place.line, Some(8));
    assert_eq!(failure.place.pointer, "/event/claim/confidence");
    assert_eq!(failure.expected.as_deref(), Some("0 to 1"));
    assert_eq!(failure.actual.as_deref(), Some("7.5"));
}

#[test]
fn every_departure_from_canonical_text_is_told_at_its_byte() {
    let rows = [
        ("\"event\":{", "\"event\": {", "trace_not_canonical"),
        ("\"idx\":4", "\"idx\":-0", "trace_not_canonical"),
        ("\"uri\":\"u\"", "\"uri\":\"\\u0075\"", "trace_not_canonical"),
        ("\"uri\":\"u\"", "\"uri\":\"\\/\"", "trace_not_canonical"),
    ];
    for (from, to, code) in rows {
        let mut lines = lines();
        let changed = lines[5].replacen(from, to, 1);
        let at = changed.bytes().zip(lines[5].bytes()).take_while(|(a, b)| a == b).count();
        assert_ne!(changed, lines[5], "{from}");
        lines[5] = changed;
        let report = audit(text(&lines));
        assert_eq!(found(&report), [(code, 6, String::new())], "{to}");
        let before: usize = lines[..5].iter().map(|line| line.len() + 1).sum();
        let failure = report.failures.iter().find(|failure| failure.code == code).unwrap();
        assert_eq!(failure.place.span.unwrap().start, (before + at) as u64, "{to}");
    }
    let mut lines = lines();
    lines[1] =
        r#"{"record":"trace_event","event":{"step_id":"s1","kind":"step_started","idx":0}}"#.into();
    let report = audit(text(&lines));
    assert_eq!(found(&report), [("trace_not_canonical", 2, String::new())]);
    assert_eq!(report.summary_metrics["events"], 11, "what it says is still looked at");
}

#[test]
fn a_run_without_a_trace_is_malformed() {
    let report = TraceAuditor::default().audit(&MemoryFiles::default(), "run");
    assert_eq!(report.verdict, Malformed);
    let missing: Vec<_> = report
        .failures
        .iter()
        .filter(|failure| failure.code == "trace_unreadable")
        .map(|failure| failure.place.file.as_str())
        .collect();
    assert_eq!(missing, ["plan.json", "spec.json", "trace.jsonl"]);
    assert!(report.checks.iter().all(|check| check.state != probity_report::CheckState::Passed));
}

#[test]
fn every_rule_has_one_code_one_page_and_a_known_check() {
    let rules = probity_trace::rules();
    let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/codes");
    let mut codes: Vec<&str> = rules.iter().map(|rule| rule.code).collect();
    codes.sort_unstable();
    for pair in codes.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
    for rule in rules {
        assert!(probity_trace::CHECKS.contains(&rule.check), "{}", rule.code);
        let page = std::fs::read_to_string(pages.join(format!("{}.md", rule.code)));
        let page = page.unwrap_or_else(|error| panic!("{}: {error}", rule.code));
        assert!(page.starts_with(&format!("# {}\n", rule.code)), "{}", rule.code);
    }
}
