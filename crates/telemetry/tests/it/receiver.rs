//! A receiver of the OpenTelemetry protocol over HTTP, with its official messages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Takes,
    Status(u16),
    Refuses(i64),
    Hangs,
    TalksOn,
}

/// What it was sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Got {
    pub(crate) spans: Vec<Span>,
    pub(crate) logs: Vec<LogRecord>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) headers: Vec<HeaderMap>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) requests: usize,
}

#[derive(Clone)]
struct Inside {
    answer: Answer,
    got: Arc<Mutex<Got>>,
}

pub(crate) struct Receiver {
    pub(crate) url: String,
    got: Arc<Mutex<Got>>,
    server: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Receiver {
    pub(crate) async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let got = Arc::new(Mutex::new(Got::default()));
        let inside = Inside { answer, got: Arc::clone(&got) };
        let router = Router::new().fallback(receive).with_state(inside);
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, got, server }
    }

    pub(crate) fn got(&self) -> Got {
        self.got.lock().unwrap().clone()
    }
}

impl Got {
    pub(crate) fn take_traces(&mut self, request: ExportTraceServiceRequest) {
        for resource in request.resource_spans {
            self.resources.extend(resource.resource);
            self.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }

    pub(crate) fn take_logs(&mut self, request: ExportLogsServiceRequest) {
        for resource in request.resource_logs {
            self.resources.extend(resource.resource);
            self.logs.extend(resource.scope_logs.into_iter().flat_map(|scope| scope.log_records));
        }
    }

    pub(crate) fn take_metrics(&mut self, request: ExportMetricsServiceRequest) {
        for resource in request.resource_metrics {
            self.resources.extend(resource.resource);
            self.metrics.extend(resource.scope_metrics.into_iter().flat_map(|it| it.metrics));
        }
    }

    /// The spans of a name, in the order in which they came.
    pub(crate) fn named(&self, name: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }

    /// The only span of a name.
    pub(crate) fn one(&self, name: &str) -> &Span {
        let spans = self.named(name);
        let names: Vec<&str> = self.spans.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(spans.len(), 1, "{name} in {names:?}");
        spans[0]
    }
}

async fn receive(
    State(inside): State<Inside>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    {
        let mut got = inside.got.lock().unwrap();
        got.requests += 1;
        got.headers.push(headers);
        got.bytes.extend_from_slice(&body);
    }
    match inside.answer {
        Answer::Hangs => std::future::pending::<()>().await,
        Answer::Status(status) => {
            return (StatusCode::from_u16(status).unwrap(), "no").into_response();
        }
        Answer::TalksOn => return vec![b'x'; 1024 * 1024].into_response(),
        Answer::Takes | Answer::Refuses(_) => {}
    }
    let mut got = inside.got.lock().unwrap();
    match uri.path() {
        "/v1/traces" => got.take_traces(ExportTraceServiceRequest::decode(body).unwrap()),
        "/v1/logs" => got.take_logs(ExportLogsServiceRequest::decode(body).unwrap()),
        "/v1/metrics" => got.take_metrics(ExportMetricsServiceRequest::decode(body).unwrap()),
        other => panic!("posted to {other}"),
    }
    let mut answer = ExportTraceServiceResponse::default();
    if let Answer::Refuses(rejected_spans) = inside.answer {
        let error_message = "too many".to_owned();
        answer.partial_success = Some(ExportTracePartialSuccess { rejected_spans, error_message });
    }
    let is_protobuf = [("content-type", "application/x-protobuf")];
    (is_protobuf, answer.encode_to_vec()).into_response()
}

/// Attributes as text, by name.
pub(crate) fn attributes(pairs: &[KeyValue]) -> BTreeMap<String, String> {
    pairs.iter().map(|pair| (pair.key.clone(), text(pair.value.as_ref()))).collect()
}

pub(crate) fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::ArrayValue(array)) => {
            let texts: Vec<String> = array.values.iter().map(|value| text(Some(value))).collect();
            texts.join(",")
        }
        other => format!("{other:?}"),
    }
}
