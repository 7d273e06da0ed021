//! The official exporters, fed with what a projection gave: our ids, the log's times.

mod batch;
mod instruments;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_otlp::{
    LogExporter, MetricExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::LogExporter as _;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter as _;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};

use crate::client::OtlpClient;
use crate::options::{Otlp, Protocol, TelemetryOptions};
use crate::signal::Log;
use crate::{Point, TelemetryError};
pub(crate) use batch::span_data;
use batch::{LogBook, scope};
use instruments::Instruments;

/// Everything that sends.
pub(crate) struct Exporters {
    traces: Option<SpanExporter>,
    logs: Option<LogExporter>,
    metrics: Option<(MetricExporter, Instruments)>,
    book: LogBook,
    timeout: Duration,
    refused: Arc<AtomicU64>,
}

impl Exporters {
    /// What sends to the configured receiver. Must be called on a runtime.
    pub(crate) fn new(options: &TelemetryOptions, otlp: &Otlp) -> Result<Self, TelemetryError> {
        let refused = Arc::new(AtomicU64::new(0));
        let resource = resource(options);
        let mut traces = match &otlp.traces {
            Some(endpoint) => Some(span_exporter(otlp, endpoint, &refused)?),
            None => None,
        };
        let mut logs = match &otlp.logs {
            Some(endpoint) => Some(log_exporter(otlp, endpoint, &refused)?),
            None => None,
        };
        let metrics = match &otlp.metrics {
            Some(endpoint) => {
                let exporter = metric_exporter(otlp, endpoint, &refused)?;
                Some((exporter, Instruments::new(resource.clone(), otlp.temporality)))
            }
            None => None,
        };
        traces.iter_mut().for_each(|exporter| exporter.set_resource(&resource));
        logs.iter_mut().for_each(|exporter| exporter.set_resource(&resource));
        // The exporter bounds its tries, and not the last of them.
        let timeout = otlp.timeout.saturating_mul(2);
        Ok(Self { traces, logs, metrics, book: LogBook::new(), timeout, refused })
    }

    pub(crate) const fn wants_spans(&self) -> bool {
        self.traces.is_some()
    }

    pub(crate) const fn wants_logs(&self) -> bool {
        self.logs.is_some()
    }

    /// What receivers refused so far, of batches that they took.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Sends spans.
    pub(crate) async fn spans(&self, spans: Vec<SpanData>) -> Result<(), String> {
        let Some(exporter) = &self.traces else { return Ok(()) };
        bounded(self.timeout, exporter.export(spans)).await
    }

    /// Sends log events.
    pub(crate) async fn logs(&self, logs: &[Log]) -> Result<(), String> {
        let Some(exporter) = &self.logs else { return Ok(()) };
        let records: Vec<_> = logs.iter().map(|log| self.book.record(log)).collect();
        let scope = scope();
        let pairs: Vec<_> = records.iter().map(|record| (record, &scope)).collect();
        let batch = opentelemetry_sdk::logs::LogBatch::new(&pairs);
        bounded(self.timeout, exporter.export(batch)).await
    }

    /// Sends metrics as they stand.
    pub(crate) async fn metrics(&self) -> Result<(), String> {
        let Some((exporter, instruments)) = &self.metrics else { return Ok(()) };
        let Some(collected) = instruments.collect() else { return Ok(()) };
        bounded(self.timeout, exporter.export(&collected)).await
    }

    /// Takes a point in.
    pub(crate) fn record(&self, point: &Point) {
        if let Some((_, instruments)) = &self.metrics {
            instruments.record(point);
        }
    }
}

async fn bounded<E: std::fmt::Display>(
    timeout: Duration,
    sent: impl Future<Output = Result<(), E>>,
) -> Result<(), String> {
    match tokio::time::timeout(timeout, sent).await {
        Ok(sent) => sent.map_err(|error| error.to_string()),
        Err(_) => Err("the receiver did not answer in time".to_owned()),
    }
}

fn resource(options: &TelemetryOptions) -> Resource {
    let pairs = options.resource.iter();
    let pairs = pairs.map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
    Resource::builder_empty()
        .with_attribute(KeyValue::new("telemetry.sdk.name", "opentelemetry"))
        .with_attribute(KeyValue::new("telemetry.sdk.language", "rust"))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(pairs)
        .with_service_name(options.service_name.clone())
        .build()
}

fn client(
    otlp: &Otlp,
    endpoint: &str,
    refused: &Arc<AtomicU64>,
) -> Result<OtlpClient, TelemetryError> {
    OtlpClient::new(endpoint, otlp.timeout, Arc::clone(refused))
        .map_err(|error| unbuilt(endpoint, &error))
}

fn unbuilt(endpoint: &str, error: &dyn std::fmt::Display) -> TelemetryError {
    TelemetryError::Exporter { endpoint: endpoint.to_owned(), why: error.to_string() }
}

/// One exporter: the three of them are built alike and share no trait that says so.
macro_rules! exporter {
    ($name:ident, $exporter:ident $(, $more:ident)?) => {
        fn $name(
            otlp: &Otlp,
            endpoint: &str,
            refused: &Arc<AtomicU64>,
        ) -> Result<$exporter, TelemetryError> {
            let builder = $exporter::builder();
            $(let builder = builder.$more(otlp.temporality);)?
            let built = match otlp.protocol {
                Protocol::Http => builder
                    .with_http()
                    .with_http_client(client(otlp, endpoint, refused)?)
                    .with_headers(otlp.headers.iter().cloned().collect())
                    .with_protocol(opentelemetry_otlp::Protocol::HttpBinary)
                    .with_endpoint(endpoint)
                    .with_timeout(otlp.timeout)
                    .build(),
                #[cfg(feature = "grpc")]
                Protocol::Grpc => {
                    use opentelemetry_otlp::WithTonicConfig as _;
                    use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
                    let builder = builder
                        .with_tonic()
                        .with_metadata(metadata(otlp, endpoint)?)
                        .with_endpoint(endpoint)
                        .with_timeout(otlp.timeout);
                    if endpoint.starts_with("https:") {
                        let tls = ClientTlsConfig::new().with_enabled_roots();
                        builder.with_tls_config(tls).build()
                    } else {
                        builder.build()
                    }
                }
                #[cfg(not(feature = "grpc"))]
                Protocol::Grpc => return Err(unbuilt(endpoint, &"this build has no gRPC")),
            };
            built.map_err(|error| unbuilt(endpoint, &error))
        }
    };
}

exporter!(span_exporter, SpanExporter);
exporter!(log_exporter, LogExporter);
exporter!(metric_exporter, MetricExporter, with_temporality);

#[cfg(feature = "grpc")]
fn metadata(
    otlp: &Otlp,
    endpoint: &str,
) -> Result<opentelemetry_otlp::tonic_types::metadata::MetadataMap, TelemetryError> {
    let mut request = opentelemetry_http::Request::builder();
    for (name, value) in &otlp.headers {
        request = request.header(name, value);
    }
    let request = request.body(()).map_err(|error| unbuilt(endpoint, &error))?;
    let headers = request.headers().clone();
    Ok(opentelemetry_otlp::tonic_types::metadata::MetadataMap::from_headers(headers))
}
