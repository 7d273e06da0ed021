//! Events that are sent out.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use hmac::{Hmac, KeyInit as _, Mac as _};
use probity_host::Courier;
use probity_store::{MemoryStore, WorkStore, read_run};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::face::{Face, OTHER, config, done, holds};

/// Somebody who takes events, and refuses the first of them that many times.
async fn receiver(refusals: usize) -> (String, mpsc::Receiver<(HeaderMap, Bytes)>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, taken) = mpsc::channel(64);
    let asked = Arc::new(AtomicUsize::new(0));
    let take = move |headers: HeaderMap, body: Bytes| async move {
        if asked.fetch_add(1, Ordering::SeqCst) < refusals {
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        sender.send((headers, body)).await.unwrap();
        StatusCode::OK
    };
    let router: Router = Router::new().fallback(take);
    tokio::spawn(axum::serve(listener, router).into_future());
    (url, taken)
}

async fn open_face() -> Face {
    open_face_on(Arc::new(MemoryStore::new())).await
}

async fn open_face_on(store: Arc<dyn WorkStore>) -> Face {
    let courier = Courier::new(vec!["127.0.0.1".parse().unwrap()]);
    Face::on(probity_host::HostConfig { courier, ..config() }, store).await
}

fn signed(secret: &str, headers: &HeaderMap, body: &[u8]) -> bool {
    let timestamp = headers["x-openwop-timestamp"].to_str().unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{timestamp}.").as_bytes());
    mac.update(body);
    let given = hex::decode(headers["x-openwop-signature"].as_bytes()).unwrap();
    mac.verify_slice(&given).is_ok()
}

#[tokio::test]
async fn events_are_sent_in_order_and_signed() {
    let face = open_face().await;
    let (url, mut taken) = receiver(1).await;
    let answer = face.post("/v1/webhooks", &json!({"url": url, "secret": "hush"})).await;
    assert_eq!(answer.status, 201, "{}", answer.json);
    holds("WebhookCreated", &answer.json);
    assert!(answer.json.get("secret").is_none() && !answer.json.to_string().contains("hush"));
    let run = face.begin("conformance-noop").await;
    let events = face.to_end(&run).await;
    for event in &events {
        let (headers, body) = taken.recv().await.unwrap();
        assert_eq!(&serde_json::from_slice::<Value>(&body).unwrap(), event);
        assert!(signed("hush", &headers, &body) && !signed("other", &headers, &body));
        assert_eq!(headers["x-openwop-algorithm"], "v1");
        assert_eq!(headers["x-openwop-subscription-id"], answer.text("webhookId").as_str());
    }
}

#[tokio::test]
async fn only_what_is_asked_for_and_only_ones_own_is_sent() {
    let face = open_face().await;
    let (url, mut taken) = receiver(0).await;
    let theirs = json!({"url": url}).to_string();
    let request = face.bare(Method::POST, "/v1/webhooks").bearer_auth(OTHER).body(theirs);
    let theirs = done(request).await;
    assert_eq!(theirs.status, 201);
    let body = json!({"url": url, "events": ["run.completed"]});
    let mine = face.post("/v1/webhooks", &body).await;
    assert!(mine.text("secret").len() >= 32);
    for _ in 0..3 {
        let run = face.begin("conformance-noop").await;
        let (headers, body) = taken.recv().await.unwrap();
        let event: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&event["type"], &event["runId"]), (&json!("run.completed"), &json!(run)));
        assert_eq!(headers["x-openwop-subscription-id"], mine.text("webhookId").as_str());
    }
    let path = format!("/v1/webhooks/{}", theirs.text("webhookId"));
    done(face.ask(Method::DELETE, &path)).await.is_failure(404, "subscription_not_found");
    let path = format!("/v1/webhooks/{}", mine.text("webhookId"));
    assert_eq!(done(face.ask(Method::DELETE, &path)).await.status, 204);
    done(face.ask(Method::DELETE, &path)).await.is_failure(404, "subscription_not_found");
}

#[tokio::test]
async fn nothing_is_sent_where_it_should_not_be() {
    let face = Face::new().await;
    for url in [
        "http://127.0.0.1:9/",
        "http://127.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "http://localhost/",
        "http://user:hush@example.com/",
        "ftp://example.com/",
        "no url",
    ] {
        let answer = face.post("/v1/webhooks", &json!({"url": url})).await;
        answer.is_failure(400, "webhook_url_rejected");
        assert!(!answer.json.to_string().contains("hush"));
    }
    for body in [json!({}), json!({"url": 3}), json!({"url": "http://127.0.0.1/", "events": ["x"]})]
    {
        face.post("/v1/webhooks", &body).await.is_failure(400, "validation_error");
    }
    let mut off = config();
    off.has_webhooks = false;
    let face = Face::with(off).await;
    face.post("/v1/webhooks", &json!({"url": "http://127.0.0.1/"}))
        .await
        .is_failure(404, "not_found");
    assert!(face.get("/.well-known/openwop").await.json.get("webhooks").is_none());
}

/// Whoever is registered on a store, as its logs and blobs have it.
async fn kept(face: &Face) -> String {
    let mut text = String::new();
    for listed in face.store.list(None, 1_000).await.unwrap() {
        for line in read_run(&*face.store, &listed.run).await.unwrap() {
            text.push_str(&String::from_utf8(line).unwrap());
        }
    }
    text
}

#[tokio::test]
async fn webhooks_outlive_the_host_and_their_secrets_are_not_in_the_store() {
    let face = open_face().await;
    let (url, mut taken) = receiver(0).await;
    let url = format!("{url}?token=hush-hush");
    let body = json!({"url": url, "secret": "hush", "events": ["run.completed"]});
    let id = face.post("/v1/webhooks", &body).await.text("webhookId");
    let gone = face.post("/v1/webhooks", &body).await.text("webhookId");
    let path = format!("/v1/webhooks/{gone}");
    assert_eq!(done(face.ask(Method::DELETE, &path)).await.status, 204);
    assert!(kept(&face).await.contains(&id) && !kept(&face).await.contains("hush"));
    let store = Arc::clone(&face.store);
    drop(face);
    let face = open_face_on(Arc::clone(&store)).await;
    let run = face.begin("conformance-noop").await;
    let (headers, body) = taken.recv().await.unwrap();
    assert!(signed("hush", &headers, &body));
    assert_eq!(headers["x-openwop-subscription-id"], id.as_str());
    assert!(String::from_utf8_lossy(&body).contains(&run));
    // Nothing came for the one that was removed, or it would have come before what comes now.
    face.begin("conformance-noop").await;
    assert_eq!(taken.recv().await.unwrap().0["x-openwop-subscription-id"], id.as_str());
    // A host with another secret cannot send, and can remove.
    let courier = Courier::new(vec!["127.0.0.1".parse().unwrap()]);
    let strange = probity_host::HostConfig { courier, token_secret: [8; 32], ..config() };
    let strange = Face::on(strange, store).await;
    let path = format!("/v1/webhooks/{id}");
    assert_eq!(done(strange.ask(Method::DELETE, &path)).await.status, 204);
    done(face.ask(Method::DELETE, &path)).await.is_failure(404, "subscription_not_found");
}

#[tokio::test]
async fn hosts_on_one_store_send_to_those_that_another_one_registered() {
    let one = open_face().await;
    let other = open_face_on(Arc::clone(&one.store)).await;
    let (url, mut taken) = receiver(0).await;
    let body = json!({"url": url, "events": ["run.completed"]});
    let (first, second) =
        tokio::join!(one.post("/v1/webhooks", &body), other.post("/v1/webhooks", &body));
    let mut expected = vec![first.text("webhookId"), second.text("webhookId")];
    expected.sort();
    // What one host registers the other learns by itself; what it is asked for, it looks up.
    let path = |id: &str| format!("/v1/webhooks/{id}");
    let strange = one.post("/v1/webhooks", &body).await.text("webhookId");
    assert_eq!(done(other.ask(Method::DELETE, &path(&strange))).await.status, 204);
    done(one.ask(Method::DELETE, &path(&strange))).await.is_failure(404, "subscription_not_found");
    for face in [&one, &other] {
        face.begin("conformance-noop").await;
        let mut got = Vec::new();
        for _ in 0..2 {
            let (headers, _) = taken.recv().await.unwrap();
            got.push(headers["x-openwop-subscription-id"].to_str().unwrap().to_owned());
        }
        got.sort();
        assert_eq!(got, expected);
    }
}

#[tokio::test]
async fn a_tenant_registers_no_more_webhooks_than_may_be() {
    let face = open_face().await;
    let body = json!({"url": "http://127.0.0.1:9/"});
    let mut last = String::new();
    for _ in 0..100 {
        let answer = face.post("/v1/webhooks", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.json);
        last = answer.text("webhookId");
    }
    let full = face.post("/v1/webhooks", &body).await;
    full.is_failure(409, "limit_reached");
    assert_eq!(full.json["details"]["max"], 100);
    assert!(!full.headers.contains_key("retry-after"));
    let theirs = face.bare(Method::POST, "/v1/webhooks").bearer_auth(OTHER).body(body.to_string());
    assert_eq!(done(theirs).await.status, 201);
    done(face.ask(Method::DELETE, &format!("/v1/webhooks/{last}"))).await;
    assert_eq!(face.post("/v1/webhooks", &body).await.status, 201);
}
