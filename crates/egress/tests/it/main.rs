//! Behaviour of the guarded client against servers on loopback.

#![expect(clippy::unwrap_used, reason = "tests")]

mod address;
mod guard;
mod limits;
mod provider;
mod redirect;
mod rule;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use probity_egress::stub::{Reply, StubRequest, StubResolver, StubServer};
use probity_egress::{Client, EgressError, EgressPolicy, Request, Response};
use tokio_util::sync::CancellationToken;

/// A server that answers everything with `ok`.
async fn ok_server() -> StubServer {
    server(|_| Reply::text(200, "ok")).await
}

async fn server<F>(answer: F) -> StubServer
where
    F: Fn(&StubRequest) -> Reply + Send + Sync + 'static,
{
    StubServer::http(answer).await.unwrap()
}

fn client(hosts: &[&str], private: &[&str]) -> Client {
    Client::new(policy(hosts, private)).unwrap()
}

fn policy(hosts: &[&str], private: &[&str]) -> EgressPolicy {
    EgressPolicy::allowing(hosts.iter().copied(), private.iter().copied()).unwrap()
}

fn with_resolver(policy: EgressPolicy, resolver: StubResolver) -> (Client, Arc<StubResolver>) {
    let resolver = Arc::new(resolver);
    let client = Client::with_resolver(policy, Arc::<StubResolver>::clone(&resolver), Vec::new());
    (client.unwrap(), resolver)
}

async fn get(client: &Client, url: &str) -> Result<Response, EgressError> {
    client.send(&Request::get(url), &CancellationToken::new()).await
}

fn host(address: SocketAddr) -> String {
    address.to_string()
}
