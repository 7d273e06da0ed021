//! Receivers in trouble: the run does not know of it, and the exit is bounded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use probity_core::{Entry, Event, Outcome};
use probity_telemetry::{Otlp, Protocol, TelemetryOptions, export_run};

use crate::receiver::Answer;
use crate::rig::{Noting, PATIENCE, Rig, looks, run_id};

/// Time for a run, and for what is sent behind it. Nothing here takes as long.
const LIMIT: Duration = Duration::from_secs(20);

async fn outcome_under(
    rig: &Rig,
    options: TelemetryOptions,
    deadline: Duration,
) -> probity_telemetry::Account {
    let telemetry = rig.telemetry_with(options);
    let delegate = Noting { out: rig.path("out.txt"), secret: "s" };
    let began = Instant::now();
    let ended = rig.run(&telemetry, rig.plan(Arc::new(delegate), [looks()])).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
    let account = telemetry.shutdown(deadline).await;
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    account
}

fn quick(rig: &Rig) -> TelemetryOptions {
    let mut options = rig.options();
    if let Some(otlp) = &mut options.otlp {
        otlp.timeout = Duration::from_millis(200);
    }
    options
}

#[tokio::test]
async fn a_receiver_that_hangs() {
    let rig = Rig::answering(Answer::Hangs).await;
    let account = outcome_under(&rig, quick(&rig), PATIENCE).await;
    assert_eq!(account.spans_sent, 0);
    assert!(account.lost > 0);
    assert!(account.last_error.is_some());
}

/// The deadline of the exit holds, whatever the receiver's own time is.
#[tokio::test]
async fn a_receiver_that_hangs_longer_than_the_exit_waits() {
    let rig = Rig::answering(Answer::Hangs).await;
    let account = outcome_under(&rig, rig.options(), Duration::from_millis(300)).await;
    assert_eq!(account.spans_sent, 0);
    assert!(account.lost > 0, "what nobody took is lost");
    assert!(account.last_error.unwrap().contains("in time"));
}

#[tokio::test]
async fn a_receiver_that_is_not_there() {
    let rig = Rig::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let otlp = Otlp::at(Protocol::Http, &url);
    let options = TelemetryOptions { otlp: Some(otlp), ..TelemetryOptions::default() };
    let account = outcome_under(&rig, options, PATIENCE).await;
    assert!(account.lost > 0);
}

#[tokio::test]
async fn a_receiver_that_breaks() {
    let rig = Rig::answering(Answer::Status(500)).await;
    let account = outcome_under(&rig, rig.options(), PATIENCE).await;
    assert!(account.lost > 0);
    assert!(account.last_error.is_some());
}

#[tokio::test]
async fn a_receiver_that_does_not_stop_talking() {
    let rig = Rig::answering(Answer::TalksOn).await;
    let account = outcome_under(&rig, rig.options(), PATIENCE).await;
    assert!(account.lost > 0);
}

#[tokio::test]
async fn a_receiver_that_takes_a_part() {
    let rig = Rig::answering(Answer::Refuses(3)).await;
    let account = outcome_under(&rig, rig.options(), PATIENCE).await;
    assert_eq!(account.lost, 0);
    assert!(account.refused >= 3);
    assert!(account.last_error.is_some());
}

#[tokio::test]
async fn what_is_lost_is_counted_where_it_can_be_scraped() {
    let rig = Rig::answering(Answer::Status(400)).await;
    let telemetry = rig.telemetry();
    rig.run(&telemetry, rig.plan(crate::rig::liar(), [])).await.unwrap();
    assert!(telemetry.flush(PATIENCE).await);
    let text = telemetry.render();
    assert!(text.contains("probity_telemetry_dropped_total{probity_signal=\"trace\"}"), "{text}");
}

#[tokio::test]
async fn an_old_run_that_is_not_taken_says_so() {
    let rig = Rig::answering(Answer::Status(400)).await;
    outcome_under(&rig, rig.options(), PATIENCE).await;
    let error = export_run(rig.store.as_ref(), &run_id(), &rig.options()).await.unwrap_err();
    assert_eq!(error.code(), "telemetry_unsent");
    let nowhere = TelemetryOptions::default();
    let error = export_run(rig.store.as_ref(), &run_id(), &nowhere).await.unwrap_err();
    assert_eq!(error.code(), "telemetry_no_endpoint");
    let error = export_run(rig.store.as_ref(), &"none".parse().unwrap(), &rig.options()).await;
    assert_eq!(error.unwrap_err().code(), "run_missing");
}

#[tokio::test]
async fn a_receiver_that_cannot_be_named_is_told_at_the_start() {
    let rig = Rig::new().await;
    let otlp = Otlp::at(Protocol::Http, "ftp://example.org");
    let options = TelemetryOptions { otlp: Some(otlp), ..TelemetryOptions::default() };
    let error = probity_telemetry::Telemetry::start(options, Arc::clone(&rig.store));
    assert_eq!(error.err().unwrap().code(), "telemetry_exporter");
}

/// What moves faster than it can be followed is lost, counted, and holds nobody up.
#[tokio::test]
async fn more_runs_than_can_be_followed() {
    let rig = Rig::new().await;
    let telemetry = rig.telemetry();
    let entry = Entry { at_ms: 1, event: Event::RunReleased };
    for number in 0..5000 {
        telemetry.entry(&format!("run-{number}").parse().unwrap(), &entry);
    }
    let account = telemetry.account();
    assert_eq!(account.lost, 5000 - 4096);
    assert!(account.last_error.is_some());
}
