//! Our spans and log events in the SDK's types.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _};
use opentelemetry::trace::{
    Event, Link, SpanContext, SpanKind, Status as SdkStatus, TraceFlags, TraceState,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value as SdkValue};
use opentelemetry_sdk::logs::{SdkLogRecord, SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::signal::{Attribute, Log, Severity, Span, Status, Value};
use crate::{SpanId, TraceId};

/// Who says it all.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("probity").with_version(env!("CARGO_PKG_VERSION")).build()
}

/// A span as the SDK would have made it, with our ids and the log's times.
pub(crate) fn span_data(span: Span) -> SpanData {
    let mut events = SpanEvents::default();
    events.events = span
        .events
        .into_iter()
        .map(|event| Event::new(event.name, time(event.at_ms), pairs(event.attributes), 0))
        .collect();
    let mut links = SpanLinks::default();
    let ends = span.links.into_iter().map(|(trace, id)| context(trace, id, false));
    links.links = ends.map(|end| Link::new(end, Vec::new(), 0)).collect();
    SpanData {
        span_context: context(span.trace, span.id, false),
        parent_span_id: span.parent.map_or(opentelemetry::SpanId::INVALID, span_id),
        parent_span_is_remote: span.is_parent_remote,
        span_kind: if span.is_client { SpanKind::Client } else { SpanKind::Internal },
        name: span.name.into(),
        start_time: time(span.start_ms),
        end_time: time(span.end_ms),
        attributes: pairs(span.attributes),
        dropped_attributes_count: 0,
        events,
        links,
        status: match span.status {
            Status::Unset => SdkStatus::Unset,
            Status::Ok => SdkStatus::Ok,
            Status::Error(word) => SdkStatus::error(word),
        },
        instrumentation_scope: scope(),
    }
}

/// The context that spans hang in, here or at the caller's.
pub(crate) fn context(trace: TraceId, id: SpanId, is_remote: bool) -> SpanContext {
    let trace = opentelemetry::TraceId::from_bytes(trace.to_bytes());
    SpanContext::new(trace, span_id(id), TraceFlags::SAMPLED, is_remote, TraceState::NONE)
}

/// Makes log records: the SDK gives them out through a logger alone.
pub(super) struct LogBook {
    logger: SdkLogger,
}

impl LogBook {
    pub(super) fn new() -> Self {
        Self { logger: SdkLoggerProvider::builder().build().logger("probity") }
    }

    pub(super) fn record(&self, log: &Log) -> SdkLogRecord {
        let mut record = self.logger.create_log_record();
        record.set_event_name(log.name);
        record.set_timestamp(time(log.at_ms));
        record.set_observed_timestamp(time(log.at_ms));
        let (severity, text) = match log.severity {
            Severity::Info => (opentelemetry::logs::Severity::Info, "INFO"),
            Severity::Warn => (opentelemetry::logs::Severity::Warn, "WARN"),
            Severity::Error => (opentelemetry::logs::Severity::Error, "ERROR"),
        };
        record.set_severity_number(severity);
        record.set_severity_text(text);
        let trace = opentelemetry::TraceId::from_bytes(log.trace.to_bytes());
        record.set_trace_context(trace, span_id(log.span), Some(TraceFlags::SAMPLED));
        for Attribute { key, value } in log.attributes.clone() {
            record.add_attribute(key, any(value));
        }
        record
    }
}

fn span_id(id: SpanId) -> opentelemetry::SpanId {
    opentelemetry::SpanId::from_bytes(id.to_bytes())
}

fn time(at_ms: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(at_ms)).unwrap_or(UNIX_EPOCH)
}

fn pairs(attributes: Vec<Attribute>) -> Vec<KeyValue> {
    let pair = |Attribute { key, value }| KeyValue::new(key, sdk_value(value));
    attributes.into_iter().map(pair).collect()
}

fn sdk_value(value: Value) -> SdkValue {
    match value {
        Value::Text(text) => SdkValue::String(text.into()),
        Value::Texts(texts) => {
            let texts: Vec<StringValue> = texts.into_iter().map(StringValue::from).collect();
            SdkValue::Array(Array::String(texts))
        }
        Value::Number(number) => SdkValue::I64(i64::try_from(number).unwrap_or(i64::MAX)),
        Value::Score(score) => SdkValue::F64(score),
        Value::Truth(truth) => SdkValue::Bool(truth),
    }
}

fn any(value: Value) -> AnyValue {
    match value {
        Value::Text(text) => AnyValue::String(text.into()),
        Value::Texts(texts) => {
            let texts = texts.into_iter().map(|text| AnyValue::String(text.into())).collect();
            AnyValue::ListAny(Box::new(texts))
        }
        Value::Number(number) => AnyValue::Int(i64::try_from(number).unwrap_or(i64::MAX)),
        Value::Score(score) => AnyValue::Double(score),
        Value::Truth(truth) => AnyValue::Boolean(truth),
    }
}
