//! What is sent out, and where nothing is sent: when it is registered and when it is sent.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use probity_egress::Resolve;
use probity_host::{Courier, CourierError, HostConfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::face::{Face, config};

/// Answers with these addresses, one after the other; the last one stays.
struct Turning(Vec<IpAddr>, AtomicUsize);

#[async_trait]
impl Resolve for Turning {
    async fn resolve(&self, _: &str) -> io::Result<Vec<SocketAddr>> {
        let turn = self.1.fetch_add(1, Ordering::SeqCst).min(self.0.len() - 1);
        Ok(vec![SocketAddr::new(self.0[turn], 0)])
    }
}

/// Answers with all of these.
struct All(Vec<IpAddr>);

#[async_trait]
impl Resolve for All {
    async fn resolve(&self, _: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(self.0.iter().map(|ip| SocketAddr::new(*ip, 0)).collect())
    }
}

const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Somebody on loopback who answers so, and tells the event of whatever came.
async fn stub(status: StatusCode, location: Option<String>) -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, taken) = mpsc::channel(64);
    let answer = move |headers: HeaderMap| {
        let (sender, location) = (sender.clone(), location.clone());
        async move {
            let event = headers.get("x-openwop-event-id").map(|id| id.to_str().unwrap().to_owned());
            sender.send(event.unwrap_or_default()).await.unwrap();
            let location = location.map(|to| (header::LOCATION, to.parse().unwrap()));
            (status, location.into_iter().collect::<HeaderMap>())
        }
    };
    let router: Router = Router::new().fallback(answer);
    tokio::spawn(axum::serve(listener, router).into_future());
    (port, taken)
}

async fn refused(courier: &Courier, url: &str) {
    let permitted = courier.permits(url).await;
    assert!(matches!(permitted, Err(CourierError::Refused(_))), "{url}: {permitted:?}");
    let posted = courier.post(url, &[], Vec::new()).await;
    assert!(matches!(posted, Err(CourierError::Refused(_))), "{url}: {posted:?}");
    for error in [permitted.unwrap_err(), posted.unwrap_err()] {
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn nothing_is_sent_to_what_is_not_public_at_either_time() {
    let (port, mut taken) = stub(StatusCode::OK, None).await;
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f.0.0.1:{port}/"),
        format!("http://0:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://[::ffff:7f00:1]:{port}/"),
        format!("http://[64:ff9b::7f00:1]:{port}/"),
        format!("http://[fe80::1]:{port}/"),
        format!("http://localhost:{port}/"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
        format!("http://user:hush@127.0.0.1:{port}/"),
        "http://hush@example.com/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://example.com/".to_owned(),
    ] {
        refused(&Courier::new(Vec::new()), &url).await;
    }
    assert!(taken.try_recv().is_err());
    // What is named is meant in that spelling of an address alone.
    let courier = Courier::new(vec!["127.0.0.1".parse().unwrap()]);
    assert_eq!(courier.post(&format!("http://127.0.0.1:{port}/"), &[], Vec::new()).await, Ok(200));
    assert!(taken.recv().await.is_some());
    refused(&courier, &format!("http://[::ffff:127.0.0.1]:{port}/")).await;
    refused(&courier, &format!("http://user:hush@127.0.0.1:{port}/")).await;
    refused(&courier, "http://10.0.0.1/").await;
}

#[tokio::test]
async fn a_name_is_refused_for_one_address_that_is_not_public() {
    for addresses in [vec![PUBLIC, LOOPBACK], vec![LOOPBACK]] {
        let courier = Courier::with_resolver(Vec::new(), Arc::new(All(addresses)));
        refused(&courier, "http://example.com/hook").await;
    }
    let nowhere = Courier::with_resolver(Vec::new(), Arc::new(All(Vec::new())));
    let unresolved = nowhere.permits("http://example.com/").await;
    assert!(matches!(unresolved, Err(CourierError::Unreachable(_))));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let (inner, mut reached) = stub(StatusCode::OK, None).await;
    let to = format!("http://127.0.0.1:{inner}/");
    let (outer, mut taken) = stub(StatusCode::TEMPORARY_REDIRECT, Some(to)).await;
    let courier = Courier::new(vec!["127.0.0.1".parse().unwrap()]);
    let url = format!("http://127.0.0.1:{outer}/");
    assert_eq!(courier.post(&url, &[], b"{}".to_vec()).await, Ok(307));
    assert!(taken.recv().await.is_some());
    assert!(reached.try_recv().is_err());
}

async fn registered(courier: Courier, url: &str) -> Face {
    let face = Face::with(HostConfig { courier, ..config() }).await;
    let answer = face.post("/v1/webhooks", &json!({"url": url})).await;
    assert_eq!(answer.status, 201, "{}", answer.json);
    face
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_once_it_is_registered_is_not_followed_there() {
    let (port, mut taken) = stub(StatusCode::OK, None).await;
    let resolver = Arc::new(Turning(vec![PUBLIC, LOOPBACK], AtomicUsize::new(0)));
    let courier = Courier::with_resolver(Vec::new(), resolver.clone());
    let face = registered(courier, &format!("http://example.com:{port}/")).await;
    face.to_end(&face.begin("conformance-noop").await).await;
    // Each event is looked up once and given up: nothing is tried again where it is refused.
    while resolver.1.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    assert!(taken.try_recv().is_err());
}

#[tokio::test]
async fn an_event_is_sent_a_bounded_number_of_times_and_then_the_next_one() {
    let (port, mut taken) = stub(StatusCode::SERVICE_UNAVAILABLE, None).await;
    let courier = Courier::new(vec!["127.0.0.1".parse().unwrap()]);
    let courier = courier.with_pause(Duration::from_millis(1));
    let face = registered(courier, &format!("http://127.0.0.1:{port}/")).await;
    let run = face.begin("conformance-noop").await;
    for sequence in 0..2 {
        for attempt in 0..5 {
            let event = taken.recv().await.unwrap();
            assert_eq!(event, format!("{run}.{sequence}"), "try {attempt}");
        }
    }
}
