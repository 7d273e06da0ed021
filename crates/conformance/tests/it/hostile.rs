//! Hosts that are gone, or mean harm: bounded, and told clearly.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use probity_conformance::{Disposition, Filter, Key, Kit, KitError, Options, Report, Silent};
use tokio::net::TcpListener;

use crate::host::{self, KEY, Prank};

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_no_report() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = kit(&url, PATIENT_MS).run(&Filter::default(), &Silent).await.unwrap_err();
    assert!(matches!(error, KitError::Unreachable { .. }), "{error}");
    assert_eq!(error.code(), "conformance_unreachable");
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_no_report_either() {
    let url = host::start(None, Some(Prank::Silence)).await;
    let error = kit(&url, HASTY_MS).run(&Filter::default(), &Silent).await.unwrap_err();
    assert_eq!(error.to_string(), "the host does not answer: nothing within 700 ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_for_a_discovery_document_fails_by_name() {
    let report = against(Prank::Garbage, &["core/discovery", "verifier/fail-keeps-out"]).await;
    assert!(report.failed().contains(&"core/discovery"), "{}", report.to_text());
    let skipped = &report.outcome("verifier/fail-keeps-out").unwrap().disposition;
    assert!(
        matches!(skipped, Disposition::Skipped { reason } if reason.contains("not advertised")),
        "{skipped:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_end_is_cut() {
    let report = against(Prank::EndlessStream, &["streams/debug-is-all"]).await;
    assert_eq!(reason(&report, "streams/debug-is-all"), "more than 4194304 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_without_end_is_cut() {
    let report = against(Prank::EndlessLine, &["streams/debug-is-all"]).await;
    assert_eq!(reason(&report, "streams/debug-is-all"), "more than 1048576 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_end_is_cut() {
    let report = against(Prank::HugeSnapshot, &["core/run-lifecycle"]).await;
    assert_eq!(reason(&report, "core/run-lifecycle"), "more than 1048576 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_is_cut() {
    let report = against(Prank::SlowSnapshot, &["core/run-lifecycle"]).await;
    assert_eq!(reason(&report, "core/run-lifecycle"), "nothing within 700 ms");
}

#[test]
fn an_address_that_is_none_is_refused() {
    for url in
        ["", "host", "ftp://host/", "http://", "http://user:password@host/", "http://host/?query"]
    {
        let kit = Kit::new(url, Key::new(KEY), Options::new("mark"));
        let error = kit.map(|_| ()).unwrap_err();
        assert_eq!(error.code(), "conformance_url", "{url}");
        assert!(!error.to_string().contains(KEY));
    }
}

async fn against(prank: Prank, ids: &[&str]) -> Report {
    let url = host::start(None, Some(prank)).await;
    let started = Instant::now();
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    let limit_ms = if prank == Prank::SlowSnapshot { HASTY_MS } else { PATIENT_MS };
    let report =
        kit(&url, limit_ms).run(&Filter { ids, ..Filter::default() }, &Silent).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
    report
}

/// For hosts that never come to an end: where nothing else is measured.
const HASTY_MS: u64 = 700;
/// For all others: what bounds them is not the time.
const PATIENT_MS: u64 = 15_000;

fn kit(url: &str, limit_ms: u64) -> Kit {
    let mut options = Options::new("a mark of this test");
    options.request_timeout_ms = limit_ms;
    options.max_body_bytes = 1024 * 1024;
    Kit::new(url, Key::new(KEY), options).unwrap()
}

fn reason(report: &Report, id: &str) -> String {
    match &report.outcome(id).unwrap().disposition {
        Disposition::Failed { got, .. } => got.clone(),
        other => panic!("{other:?}"),
    }
}
