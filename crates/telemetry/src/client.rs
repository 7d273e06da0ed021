//! The exporter's HTTP client: the one way out of this workspace, bounded in time and size.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use probity_egress::{EgressError, ProviderClient};
use prost::Message as _;

/// The longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Posts batches to one endpoint.
#[derive(Debug)]
pub(crate) struct OtlpClient {
    client: ProviderClient,
    timeout: Duration,
    /// What receivers took a batch without.
    refused: Arc<AtomicU64>,
}

impl OtlpClient {
    pub(crate) fn new(
        endpoint: &str,
        timeout: Duration,
        refused: Arc<AtomicU64>,
    ) -> Result<Self, EgressError> {
        let client = ProviderClient::new(endpoint, CONNECT_TIMEOUT.min(timeout))?;
        Ok(Self { client, timeout, refused })
    }

    async fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let url = request.uri().to_string();
        let headers: Vec<(&str, &str)> = request
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .filter(|(name, _)| *name != "user-agent")
            .collect();
        let mut answer = self.client.post(&url, &headers, request.body().to_vec()).await?;
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await? {
            if body.len() + piece.len() > MAX_ANSWER_BYTES {
                return Err("the receiver's answer is longer than 64 KiB".into());
            }
            body.extend(piece);
        }
        let mut response = Response::builder().status(answer.status());
        if let Some(after) = answer.header("retry-after") {
            response = response.header("retry-after", after);
        }
        if (200..300).contains(&answer.status()) {
            self.refused.fetch_add(refused_of(&body), Ordering::Relaxed);
        }
        Ok(response.body(Bytes::from(body))?)
    }
}

#[async_trait]
impl HttpClient for OtlpClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        match tokio::time::timeout(self.timeout, self.post(request)).await {
            Ok(answered) => answered,
            Err(_) => Err("the receiver did not answer in time".into()),
        }
    }
}

/// How much of a batch a receiver refused while it took the rest. The answers for spans, metrics and
/// log events have one shape on the wire.
fn refused_of(body: &[u8]) -> u64 {
    let answer = ExportTraceServiceResponse::decode(body).unwrap_or_default();
    let refused = answer.partial_success.map_or(0, |partial| partial.rejected_spans);
    u64::try_from(refused).unwrap_or_default()
}
