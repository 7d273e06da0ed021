//! The same over gRPC, at the official services.

use std::sync::{Arc, Mutex};

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use probity_telemetry::{Otlp, Protocol, TelemetryOptions};
use tokio::net::TcpListener;
use tonic::{Request, Response, Status};

use crate::receiver::{Got, attributes};
use crate::rig::{PATIENCE, Rig, liar, looks};

#[derive(Clone, Default)]
struct Service(Arc<Mutex<(Got, Vec<String>)>>);

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut inside = self.0.lock().unwrap();
        let token = request.metadata().get("authorization");
        inside.1.extend(token.map(|token| token.to_str().unwrap().to_owned()));
        inside.0.take_traces(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

async fn serve(service: Service) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(TraceServiceServer::new(service.clone()));
            let server = http2::Builder::new(TokioExecutor::new());
            tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
        }
    });
    url
}

#[tokio::test]
async fn spans_are_sent_over_grpc() {
    let (rig, service) = (Rig::new().await, Service::default());
    let mut otlp = Otlp::at(Protocol::Grpc, &serve(service.clone()).await);
    (otlp.metrics, otlp.logs) = (None, None);
    otlp.headers = vec![("authorization".to_owned(), "Bearer x".to_owned())];
    let options = TelemetryOptions { otlp: Some(otlp), ..TelemetryOptions::default() };
    let (_, _, account) = rig.watched_with(rig.plan(liar(), [looks()]), options).await;
    assert_eq!((account.lost, account.last_error), (0, None));
    let (got, tokens) = service.0.lock().unwrap().clone();
    let execute = attributes(&got.one("delegation.execute").attributes);
    assert_eq!(execute["delegation.verify_outcome"], "failed");
    assert_eq!(tokens, ["Bearer x"]);
    assert_eq!(u64::try_from(got.spans.len()).unwrap(), account.spans_sent);
}

#[tokio::test]
async fn a_grpc_receiver_that_is_not_there_costs_no_run() {
    let rig = Rig::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let otlp = Otlp::at(Protocol::Grpc, &url);
    let options = TelemetryOptions { otlp: Some(otlp), ..TelemetryOptions::default() };
    let telemetry = rig.telemetry_with(options);
    rig.run(&telemetry, rig.plan(liar(), [looks()])).await.unwrap();
    let account = telemetry.shutdown(PATIENCE).await;
    assert!(account.lost > 0);
}
