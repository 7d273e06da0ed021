//! The standard variables, and ours.

use std::time::Duration;

use probity_telemetry::{Capture, Protocol, TelemetryError, TelemetryOptions, Temporality};

use crate::receiver::Answer;
use crate::rig::{Rig, liar};

fn read(pairs: &[(&str, &str)]) -> Result<TelemetryOptions, TelemetryError> {
    TelemetryOptions::from_env(|name| {
        let pair = pairs.iter().find(|(of, _)| *of == name);
        pair.map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn nothing_is_sent_unless_somebody_asks_for_it() {
    let options = read(&[]).unwrap();
    assert!(options.otlp.is_none());
    assert_eq!((options.service_name.as_str(), options.capture), ("probity", Capture::Nothing));
}

#[test]
fn one_endpoint_is_for_all_signals() {
    let otlp = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/")]).unwrap().otlp.unwrap();
    assert_eq!(otlp.protocol, Protocol::Http);
    assert_eq!(otlp.traces.as_deref(), Some("http://c:4318/v1/traces"));
    assert_eq!(otlp.metrics.as_deref(), Some("http://c:4318/v1/metrics"));
    assert_eq!(otlp.logs.as_deref(), Some("http://c:4318/v1/logs"));
}

#[test]
fn a_signals_own_endpoint_is_taken_as_it_is() {
    let otlp = read(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1/x")]).unwrap();
    let otlp = otlp.otlp.unwrap();
    assert_eq!(otlp.traces.as_deref(), Some("http://t:1/x"));
    assert_eq!((otlp.metrics, otlp.logs), (None, None));
}

#[test]
fn a_signal_can_be_left_out_or_asked_for() {
    let pairs = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"), ("OTEL_LOGS_EXPORTER", "none")];
    let otlp = read(&pairs).unwrap().otlp.unwrap();
    assert!(otlp.traces.is_some() && otlp.logs.is_none());
    let otlp = read(&[("OTEL_TRACES_EXPORTER", "otlp")]).unwrap().otlp.unwrap();
    assert_eq!(otlp.traces.as_deref(), Some("http://localhost:4318/v1/traces"));
    assert_eq!(otlp.metrics, None);
}

#[test]
fn it_can_be_turned_off() {
    let pairs = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"), ("OTEL_SDK_DISABLED", "TRUE")];
    assert!(read(&pairs).unwrap().otlp.is_none());
}

#[test]
fn the_rest_of_the_variables() {
    let options = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20abc, x-tenant = a "),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=ours,team=a%2Cb"),
        ("PROBITY_OTEL_CAPTURE", "names"),
        ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
    ])
    .unwrap();
    let otlp = options.otlp.unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(otlp.headers, [pair("authorization", "Basic abc"), pair("x-tenant", "a")]);
    assert_eq!(otlp.timeout, Duration::from_millis(1500));
    assert_eq!(otlp.metric_interval, Duration::from_secs(5));
    assert_eq!(otlp.temporality, Temporality::Delta);
    assert_eq!(options.service_name, "ours");
    assert_eq!(options.resource, [pair("team", "a,b")]);
    assert_eq!(options.capture, Capture::Names);
    assert!(!options.caller.unwrap().is_sampled);
    assert!(!format!("{otlp:?}").contains("abc"), "headers are secrets");
    let named = [("OTEL_RESOURCE_ATTRIBUTES", "service.name=a"), ("OTEL_SERVICE_NAME", "b")];
    assert_eq!(read(&named).unwrap().service_name, "b");
    let wrong = [("TRACEPARENT", "what"), ("OTEL_SERVICE_NAME", " ")];
    assert!(read(&wrong).unwrap().caller.is_none());
}

#[test]
fn a_value_that_means_nothing_is_told() {
    let rows = [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "99999999999"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_TRACES_SAMPLER", "xray"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "both"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "sk-secret"),
        ("PROBITY_OTEL_CAPTURE", "all"),
    ];
    for row in rows {
        let error = read(&[row]).unwrap_err();
        assert_eq!(error.code(), "telemetry_config", "{row:?}");
        assert!(error.to_string().contains(row.0), "{error}");
        assert!(!error.to_string().contains("sk-secret"), "{error}");
    }
    let ratio = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
    assert_eq!(read(&ratio).unwrap_err().code(), "telemetry_config");
}

/// Traces that are not sampled are not sent; what is counted and logged is sent of all.
#[tokio::test]
async fn a_sampler_chooses_traces() {
    let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let rows: [(&[(&str, &str)], bool); 6] = [
        (&[], true),
        (&[("OTEL_TRACES_SAMPLER", "always_off")], false),
        (&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0")], false),
        (&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "1")], true),
        (&[("TRACEPARENT", caller)], false),
        (&[("TRACEPARENT", caller), ("OTEL_TRACES_SAMPLER", "always_on")], true),
    ];
    for (pairs, is_sent) in rows {
        let rig = Rig::answering(Answer::Takes).await;
        let options = TelemetryOptions { otlp: rig.options().otlp, ..read(pairs).unwrap() };
        let (_, got, _) = rig.watched_with(rig.plan(liar(), []), options).await;
        assert_eq!(!got.spans.is_empty(), is_sent, "{pairs:?}");
        assert!(!got.logs.is_empty() && !got.metrics.is_empty());
    }
}

#[tokio::test]
async fn headers_come_with_every_request() {
    let rig = Rig::new().await;
    let mut options = rig.options();
    if let Some(otlp) = &mut options.otlp {
        otlp.headers = vec![("authorization".to_owned(), "Bearer x".to_owned())];
    }
    let (_, got, _) = rig.watched_with(rig.plan(liar(), []), options).await;
    assert_eq!(got.requests, 3);
    for headers in got.headers {
        assert_eq!(headers["authorization"], "Bearer x");
        assert_eq!(headers["content-type"], "application/x-protobuf");
    }
}
