//! Metrics in this process, and their text for Prometheus.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::key;
use crate::signal::{Metric, Point};

/// The most kinds of delegates that are told apart; all others are `other`.
pub const MAX_KINDS: usize = 64;
/// The most series there are in all.
const MAX_SERIES: usize = 4096;

/// Adds up points. Its text is a pure function of them.
#[derive(Debug, Default)]
pub struct Registry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kinds: BTreeSet<String>,
    series: BTreeMap<(Metric, Vec<String>), Series>,
}

#[derive(Debug)]
enum Series {
    Counter(f64),
    Histogram { counts: Vec<u64>, sum: f64, count: u64 },
}

impl Registry {
    /// Bounds the labels of a point: the delegate's kind alone is not a closed word.
    pub fn bound(&self, mut point: Point) -> Point {
        let mut state = self.state();
        for (name, label) in point.metric.labels().iter().zip(&mut point.labels) {
            if *name != key::KIND || state.kinds.contains(label) {
                continue;
            }
            if state.kinds.len() < MAX_KINDS {
                state.kinds.insert(label.clone());
            } else {
                "other".clone_into(label);
            }
        }
        point
    }

    /// Adds a point.
    pub fn add(&self, point: &Point) {
        let mut state = self.state();
        let place = (point.metric, point.labels.clone());
        if state.series.len() >= MAX_SERIES && !state.series.contains_key(&place) {
            return;
        }
        let series = state.series.entry(place).or_insert_with(|| Series::of(point.metric));
        series.add(point.metric, point.value);
    }

    /// The text format of Prometheus, version 0.0.4.
    #[must_use]
    pub fn render(&self) -> String {
        let state = self.state();
        let mut text = String::new();
        for metric in Metric::ALL {
            let name = prometheus_name(metric);
            let kind = if metric.buckets().is_some() { "histogram" } else { "counter" };
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", metric.help());
            for ((_, labels), series) in state.series.iter().filter(|((of, _), _)| *of == metric) {
                series.render(&mut text, metric, &name, labels);
            }
        }
        text
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Series {
    fn of(metric: Metric) -> Self {
        match metric.buckets() {
            None => Self::Counter(0.0),
            Some(bounds) => Self::Histogram { counts: vec![0; bounds.len()], sum: 0.0, count: 0 },
        }
    }

    fn add(&mut self, metric: Metric, value: f64) {
        match self {
            Self::Counter(total) => *total += value,
            Self::Histogram { counts, sum, count } => {
                let bounds = metric.buckets().unwrap_or_default();
                let within = bounds.iter().zip(counts).filter(|(bound, _)| value <= **bound);
                within.for_each(|(_, count)| *count += 1);
                *sum += value;
                *count += 1;
            }
        }
    }

    fn render(&self, text: &mut String, metric: Metric, name: &str, labels: &[String]) {
        let names = metric.labels().iter().map(|name| underscored(name));
        let pairs: Vec<String> = names
            .zip(labels)
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let pairs = pairs.join(",");
        match self {
            Self::Counter(total) => drop(writeln!(text, "{name}{{{pairs}}} {total}")),
            Self::Histogram { counts, sum, count } => {
                let bounds = metric.buckets().unwrap_or_default();
                for (bound, within) in bounds.iter().zip(counts) {
                    let _ = writeln!(text, "{name}_bucket{{{pairs},le=\"{bound}\"}} {within}");
                }
                let _ = writeln!(text, "{name}_bucket{{{pairs},le=\"+Inf\"}} {count}");
                let _ = writeln!(text, "{name}_sum{{{pairs}}} {sum}");
                let _ = writeln!(text, "{name}_count{{{pairs}}} {count}");
            }
        }
    }
}

/// The name under which a metric is scraped, here and behind a collector.
#[must_use]
pub fn prometheus_name(metric: Metric) -> String {
    let mut name = underscored(metric.name());
    if metric.unit() == "s" {
        name.push_str("_seconds");
    }
    if metric.buckets().is_none() {
        name.push_str("_total");
    }
    name
}

fn underscored(name: &str) -> String {
    name.replace('.', "_")
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
