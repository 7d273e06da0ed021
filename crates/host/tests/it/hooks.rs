//! Events that are sent out.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use hmac::{Hmac, KeyInit as _, Mac as _};
use probity_host::Courier;
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
    let courier = Courier::new(vec!["127.0.0.1".parse().unwrap()]);
    Face::with(probity_host::HostConfig { courier, ..config() }).await
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
