//! Metrics, scraped and sent.

use std::collections::BTreeSet;
use std::sync::Arc;

use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use probity_telemetry::{
    Capture, MAX_KINDS, Metric, Point, Registry, TelemetryOptions, prometheus_name,
};

use crate::receiver::attributes;
use crate::rig::{Noting, PATIENCE, Rig, liar, looks};

#[tokio::test]
async fn what_was_counted_can_be_scraped_without_a_receiver() {
    let rig = Rig::new().await;
    let telemetry = rig.telemetry_with(TelemetryOptions::default());
    rig.run(&telemetry, rig.plan(liar(), [looks()])).await.unwrap();
    assert!(telemetry.flush(PATIENCE).await);
    let text = telemetry.render();
    let lines = [
        "# TYPE probity_delegations_total counter",
        "probity_delegations_total{delegation_kind=\"coder\",probity_outcome=\"exhausted\"} 1",
        "probity_check_verdicts_total{probity_check_kind=\"world\",probity_verdict=\"revise\"} 2",
        "# TYPE probity_verify_attempts histogram",
        "probity_verify_attempts_bucket{delegation_kind=\"coder\",delegation_verify_outcome=\"failed\",le=\"1\"} 0",
        "probity_verify_attempts_bucket{delegation_kind=\"coder\",delegation_verify_outcome=\"failed\",le=\"2\"} 1",
        "probity_verify_attempts_sum{delegation_kind=\"coder\",delegation_verify_outcome=\"failed\"} 2",
        "probity_check_duration_seconds_count{probity_check_kind=\"world\",probity_check_phase=\"before\",probity_verdict=\"revise\"} 1",
        "probity_delegation_duration_seconds_count{delegation_kind=\"coder\",probity_outcome=\"exhausted\"} 1",
    ];
    for line in lines {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    assert_eq!(rig.receiver.got().requests, 0);
}

#[tokio::test]
async fn metrics_are_sent_when_the_process_ends() {
    let rig = Rig::new().await;
    let mut options = rig.options();
    options.capture = Capture::Names;
    options.resource = vec![("deployment.environment.name".to_owned(), "test".to_owned())];
    let delegate = Noting { out: rig.path("out.txt"), secret: "s" };
    let plan = rig.plan(Arc::new(delegate), [looks()]);
    let (_, got, _) = rig.watched_with(plan, options).await;
    let known: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
    let names: BTreeSet<&str> = got.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert!(names.is_subset(&known), "{names:?}");
    let find = |name: &str| got.metrics.iter().find(|metric| metric.name == name).unwrap();
    let Some(Data::Sum(sum)) = &find("probity.delegations").data else { panic!("no sum") };
    assert!(sum.is_monotonic);
    let point = attributes(&sum.data_points[0].attributes);
    assert_eq!((&*point["delegation.kind"], &*point["probity.outcome"]), ("coder", "verified"));
    let tokens = find("gen_ai.client.token.usage");
    assert_eq!(tokens.unit, "{token}");
    let Some(Data::Histogram(tokens)) = &tokens.data else { panic!("no histogram") };
    let of = |side: &str| {
        let is_side = |labels: &[_]| attributes(labels)["gen_ai.token.type"] == side;
        let point = tokens.data_points.iter().find(|point| is_side(&point.attributes)).unwrap();
        (point.count, point.sum)
    };
    assert_eq!((of("input"), of("output")), ((2, Some(80.0)), (2, Some(4.0))));
    for resource in &got.resources {
        let resource = attributes(&resource.attributes);
        assert_eq!(resource["service.name"], "probity");
        assert_eq!(resource["deployment.environment.name"], "test");
    }
}

#[test]
fn kinds_beyond_the_bound_are_one() {
    let registry = Registry::default();
    for number in 0..10 * MAX_KINDS {
        let labels = vec![format!("kind-{number}"), "verified".to_owned()];
        let point = Point { metric: Metric::Delegations, value: 1.0, labels };
        registry.add(&registry.bound(point));
    }
    let text = registry.render();
    let series = text.lines().filter(|line| line.starts_with("probity_delegations_total{"));
    assert_eq!(series.count(), MAX_KINDS + 1);
    let rest = 9 * MAX_KINDS;
    assert!(
        text.contains(&format!("delegation_kind=\"other\",probity_outcome=\"verified\"}} {rest}"))
    );
}

#[test]
fn the_text_is_what_prometheus_reads() {
    let registry = Registry::default();
    let labels = vec!["a\"b\\c\nd".to_owned(), "verified".to_owned()];
    registry.add(&Point { metric: Metric::Delegations, value: 1.0, labels });
    let text = registry.render();
    assert!(text.contains(r#"delegation_kind="a\"b\\c\nd""#), "{text}");
    for metric in Metric::ALL {
        let name = prometheus_name(metric);
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
        let is_legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(name.chars().all(is_legal), "{name}");
    }
    assert!(text.ends_with('\n'));
}

#[test]
fn buckets_rise() {
    for bounds in Metric::ALL.into_iter().filter_map(Metric::buckets) {
        assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
