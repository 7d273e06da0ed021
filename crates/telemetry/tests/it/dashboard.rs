//! The dashboard names only what there is.

use std::collections::{BTreeMap, BTreeSet};

use probity_core::Outcome;
use probity_telemetry::{Metric, VerifyOutcome, prometheus_name};
use serde_json::Value;

fn example(name: &str) -> String {
    let path = format!("{}/../../examples/telemetry/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn dashboard() -> Value {
    serde_json::from_str(&example("grafana-dashboard.json")).unwrap()
}

/// The names of series, each with the labels that it has.
fn series() -> BTreeMap<String, BTreeSet<String>> {
    let mut series = BTreeMap::new();
    for metric in Metric::ALL {
        let labels: BTreeSet<String> =
            metric.labels().iter().map(|label| label.replace('.', "_")).collect();
        let name = prometheus_name(metric);
        if metric.buckets().is_none() {
            series.insert(name, labels);
            continue;
        }
        let mut bucket = labels.clone();
        bucket.insert("le".to_owned());
        series.insert(format!("{name}_bucket"), bucket);
        series.insert(format!("{name}_sum"), labels.clone());
        series.insert(format!("{name}_count"), labels);
    }
    series
}

fn queries() -> Vec<String> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap().clone());
    let mut queries: Vec<String> =
        targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        queries.extend(variable["query"]["query"].as_str().map(str::to_owned));
    }
    queries
}

/// The names in a query that are no words of its language, quoted text left out.
fn names(query: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let plain: String = query
        .split('"')
        .enumerate()
        .map(|(place, part)| if place % 2 == 0 { part } else { "\"\"" })
        .collect();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let words = plain.split(|c| !is_name(c)).filter(|word| !word.is_empty());
    let known =
        ["sum", "by", "rate", "increase", "histogram_quantile", "or", "vector", "label_values"];
    let words = words.filter(|word| {
        !known.contains(word) && !word.starts_with('$') && !word.starts_with(char::is_numeric)
    });
    let is_series = |word: &&str| word.starts_with("probity_") || word.starts_with("gen_ai_");
    let series = series();
    let (metrics, labels): (Vec<&str>, Vec<&str>) =
        words.partition(|word| is_series(word) && !is_label(&series, word));
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    (owned(metrics), owned(labels))
}

fn is_label(series: &BTreeMap<String, BTreeSet<String>>, word: &str) -> bool {
    series.values().any(|labels| labels.contains(word))
}

#[test]
fn every_query_names_a_metric_and_labels_that_are_sent() {
    let series = series();
    let queries = queries();
    assert!(queries.len() > 10);
    for query in &queries {
        let (metrics, labels) = names(query);
        assert!(!metrics.is_empty(), "{query}");
        let has = |label: &String| {
            metrics.iter().any(|metric| series.get(metric).is_some_and(|it| it.contains(label)))
        };
        for metric in &metrics {
            assert!(series.contains_key(metric), "`{metric}` in {query}");
        }
        for label in &labels {
            assert!(has(label), "`{label}` in {query}");
        }
    }
}

/// A metric that nobody looks at need not be sent.
#[test]
fn every_metric_is_on_the_dashboard() {
    let all = queries().join("\n");
    for metric in Metric::ALL {
        assert!(all.contains(&prometheus_name(metric)), "{}", metric.name());
    }
}

#[test]
fn every_word_that_a_query_looks_for_is_one_that_is_sent() {
    let mut words: BTreeSet<&str> =
        Outcome::ALL.into_iter().map(Outcome::as_str).chain(["after", "before"]).collect();
    words.extend([VerifyOutcome::Passed, VerifyOutcome::Failed].map(VerifyOutcome::as_str));
    for query in queries() {
        for quoted in query.split('"').skip(1).step_by(2).filter(|it| !it.starts_with('$')) {
            for word in quoted.split('|') {
                assert!(words.contains(word), "`{word}` in {query}");
            }
        }
    }
}

#[test]
fn the_dashboard_has_the_shape_that_grafana_reads() {
    let dashboard = dashboard();
    for key in ["uid", "title", "schemaVersion", "panels", "templating", "time", "tags"] {
        assert!(!dashboard[key].is_null(), "{key}");
    }
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "an id stands twice");
    for panel in panels {
        assert!(panel["title"].is_string() && panel["type"].is_string());
        let place = &panel["gridPos"];
        let (x, w) = (place["x"].as_u64().unwrap(), place["w"].as_u64().unwrap());
        assert!(x + w <= 24 && w > 0, "{}", panel["title"]);
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        for target in panel["targets"].as_array().unwrap() {
            assert!(target["refId"].is_string());
        }
    }
}

/// A pipeline names only parts that are set up. What the collector itself says is not asked here.
#[test]
fn the_collector_receives_where_probity_sends() {
    let config = example("otel-collector.yaml");
    for port in ["127.0.0.1:4317", "127.0.0.1:4318"] {
        assert!(config.contains(port), "{port}");
    }
    let (parts, pipelines) = config.split_once("\nservice:").unwrap();
    let named = pipelines.lines().filter_map(|line| line.split_once('[')).flat_map(|(_, names)| {
        names
            .trim_end_matches(']')
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect::<Vec<_>>()
    });
    for name in named {
        assert!(parts.contains(&format!("\n  {name}:")), "{name}");
    }
}
