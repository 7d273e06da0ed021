//! Several documents: arrays, lines, and other kinds of documents among them.

use probity_audit::{Acceptance, DocumentKind, EpisodeAuditor, audit_episodes};
use serde_json::Value;

use crate::{auditor, codes, data, value};

#[test]
fn an_array_gives_one_report_for_each() {
    let list = Value::Array(vec![
        value("01_success.json"),
        value("drift_time.json"),
        value("envelope.json"),
        value("pack.json"),
        value("02_stale_abstain.json"),
    ]);
    let reports = audit_episodes(list.to_string().as_bytes(), "all.json", &auditor());
    let kinds: Vec<DocumentKind> = reports.iter().map(|report| report.kind).collect();
    use DocumentKind::{Drift, Envelope, Episode, Pack};
    assert_eq!(kinds, [Episode, Drift, Envelope, Pack, Episode]);
    let names: Vec<&str> = reports.iter().map(|r| r.episode_id.as_deref().unwrap()).collect();
    assert_eq!(names, ["ep-freeze-1", "dr-3", "FreezeCard", "cards", "ep-freeze-2"]);
    for (index, report) in reports.iter().enumerate() {
        assert_eq!(report.verdict, Acceptance::Accepted, "{:?}", report.findings);
        assert_eq!((report.source.as_str(), report.index), ("all.json", Some(index as u64)));
    }
}

#[test]
fn a_single_document_has_no_place_in_a_list() {
    let reports = auditor().document(&data("01_success.json"), "one.json");
    assert_eq!(reports.len(), 1);
    assert_eq!((reports[0].index, reports[0].line), (None, None));
    assert_eq!(auditor().document(b"[]", "x"), []);
    assert_eq!(auditor().document(b" [ ] ", "x"), []);
}

#[test]
fn an_array_that_breaks_off_says_so_after_what_could_be_read() {
    let episode = value("01_success.json").to_string();
    for (text, last) in [
        (format!("[{episode}"), "!document_syntax"),
        (format!("[{episode},"), "!document_syntax"),
        (format!("[{episode} {episode}]"), "!document_syntax"),
        (format!("[{episode}] x"), "!document_trailing"),
        (format!("[{episode},{{\"a\":NaN}}]"), "!document_number"),
    ] {
        let reports = auditor().document(text.as_bytes(), "x");
        assert_eq!(reports.len(), 2, "{text}");
        assert_eq!(reports[0].verdict, Acceptance::Accepted);
        assert_eq!(codes(&reports[1]), [last]);
    }
    let twice = "[{\"episodeId\":\"a\",\"episodeId\":\"b\"}]";
    assert_eq!(codes(&auditor().document(twice.as_bytes(), "x")[0])[0], "!document_duplicate_key");
}

#[test]
fn reports_are_handed_on_one_by_one_as_the_list_gives_them() {
    let episode = value("01_success.json").to_string();
    for text in ["[1,2,[]]", "[]", "", "{}", "[1,", &format!("[{episode}, 1] x"), &episode] {
        let mut each = Vec::new();
        auditor().document_each(text.as_bytes(), "x", &mut |report| each.push(report));
        assert_eq!(each, auditor().document(text.as_bytes(), "x"), "{text}");
    }
}

#[test]
fn a_line_carries_its_number() {
    let line = value("01_success.json").to_string();
    let report = auditor().line(line.as_bytes(), "all.jsonl", 7);
    assert_eq!((report.line, report.source.as_str()), (Some(7), "all.jsonl"));
}

#[test]
fn one_auditor_serves_many_threads_and_gives_equal_reports() {
    fn shared<T: Send + Sync>(_: &T) {}
    let auditor = auditor();
    shared(&auditor);
    let bytes = data("03_late_fallback.json");
    let audit = || serde_json::to_string(&auditor.episode(&bytes, "x")).unwrap();
    let here = audit();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(audit)).collect();
        all.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), here));
    });
}

#[test]
fn envelopes_and_packs_are_judged_by_the_policy() {
    let mut envelope = value("envelope.json");
    envelope["stageBudgetsMs"]["act"] = Value::from(4000);
    let report = EpisodeAuditor::new().episode(envelope.to_string().as_bytes(), "x");
    assert_eq!((report.kind, report.verdict), (DocumentKind::Envelope, Acceptance::Rejected));
    assert!(report.has("envelope_stage_sum"), "{:?}", report.findings);

    let mut pack = value("pack.json");
    pack["version"] = Value::from("3.0.1");
    let report = EpisodeAuditor::new().episode(pack.to_string().as_bytes(), "x");
    assert_eq!((report.kind, report.verdict), (DocumentKind::Pack, Acceptance::Rejected));
    assert!(report.has("pack_hash_mismatch"), "{:?}", report.findings);
    pack.as_object_mut().unwrap().remove("policyPackHash");
    let report = EpisodeAuditor::new().episode(pack.to_string().as_bytes(), "x");
    assert!(report.has("pack_hash_missing"), "{:?}", report.findings);
}
