//! The SDK's instruments, one for every metric, read by the task that sends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram, MeterProvider as _};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::metrics::{
    InstrumentKind, ManualReader, Pipeline, SdkMeterProvider, Temporality,
};

use crate::signal::{Metric, Point};

/// All of them.
pub(super) struct Instruments {
    reader: SharedReader,
    /// Holds what the reader only refers to.
    _provider: SdkMeterProvider,
    by_metric: BTreeMap<Metric, Instrument>,
}

enum Instrument {
    Counter(Counter<f64>),
    Histogram(Histogram<f64>),
}

/// A reader that the provider and whoever collects share.
#[derive(Clone)]
struct SharedReader(Arc<ManualReader>);

impl Instruments {
    pub(super) fn new(resource: Resource, temporality: Temporality) -> Self {
        let reader = ManualReader::builder().with_temporality(temporality).build();
        let reader = SharedReader(Arc::new(reader));
        let provider =
            SdkMeterProvider::builder().with_resource(resource).with_reader(reader.clone()).build();
        let scope: InstrumentationScope = super::scope();
        let meter = provider.meter_with_scope(scope);
        let instrument = |metric: Metric| match metric.buckets() {
            None => {
                let counter = meter.f64_counter(metric.name());
                let counter = counter.with_unit(metric.unit()).with_description(metric.help());
                Instrument::Counter(counter.build())
            }
            Some(bounds) => {
                let histogram = meter.f64_histogram(metric.name());
                let histogram = histogram.with_unit(metric.unit()).with_description(metric.help());
                Instrument::Histogram(histogram.with_boundaries(bounds.to_vec()).build())
            }
        };
        let by_metric = Metric::ALL.into_iter().map(|it| (it, instrument(it))).collect();
        Self { reader, _provider: provider, by_metric }
    }

    pub(super) fn record(&self, point: &Point) {
        let names = point.metric.labels().iter();
        let labels: Vec<KeyValue> = names
            .zip(&point.labels)
            .map(|(name, value)| KeyValue::new(*name, value.clone()))
            .collect();
        match self.by_metric.get(&point.metric) {
            Some(Instrument::Counter(counter)) => counter.add(point.value, &labels),
            Some(Instrument::Histogram(histogram)) => histogram.record(point.value, &labels),
            None => {}
        }
    }

    /// What was recorded; `None` where that is nothing.
    pub(super) fn collect(&self) -> Option<ResourceMetrics> {
        let mut collected = ResourceMetrics::default();
        self.reader.0.collect(&mut collected).ok()?;
        let is_some = collected.scope_metrics().next().is_some();
        is_some.then_some(collected)
    }
}

impl MetricReader for SharedReader {
    fn register_pipeline(&self, pipeline: Weak<Pipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, collected: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(collected)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}

impl fmt::Debug for SharedReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedReader")
    }
}
