//! Who may what, and what is said to everybody else.

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::face::{Face, OTHER, READER, config, done};

#[tokio::test]
async fn who_has_no_key_learns_nothing() {
    let face = Face::new().await;
    let run = face.begin("conformance-noop").await;
    for path in [
        "/v1/runs".to_owned(),
        format!("/v1/runs/{run}"),
        format!("/v1/runs/{run}/artifacts/a"),
        "/v1/runs/nobody".to_owned(),
        "/v1/nowhere".to_owned(),
        "/".to_owned(),
    ] {
        let bare = done(face.bare(Method::GET, &path)).await;
        bare.is_failure(401, "unauthenticated");
        assert_eq!(bare.headers["www-authenticate"], "Bearer");
        let wrong = done(face.bare(Method::GET, &path).bearer_auth("wrong")).await;
        wrong.is_failure(401, "unauthenticated");
        assert_eq!(bare.json, wrong.json);
    }
    done(face.bare(Method::POST, "/v1/runs").body("{")).await.is_failure(401, "unauthenticated");
}

#[tokio::test]
async fn a_key_may_what_its_scopes_say() {
    let face = Face::new().await;
    let ask = |path| face.bare(Method::POST, path).bearer_auth(READER).body("{}");
    let answer = done(ask("/v1/runs")).await;
    answer.is_failure(403, "forbidden");
    assert_eq!(answer.json["details"]["requiredScope"], "runs:create");
    let answer = done(ask("/v1/runs/unknown/cancel")).await;
    assert_eq!(answer.json["details"]["requiredScope"], "runs:cancel");
    let read = done(face.bare(Method::GET, "/v1/runs").bearer_auth(READER)).await;
    assert_eq!(read.status, 200);
}

#[tokio::test]
async fn another_tenants_run_is_not_there() {
    let face = Face::new().await;
    let run = face.begin("conformance-approval").await;
    face.to_wait(&run).await;
    for (method, path) in [
        (Method::GET, format!("/v1/runs/{run}")),
        (Method::GET, format!("/v1/runs/{run}/events")),
        (Method::GET, format!("/v1/runs/{run}/events/poll")),
        (Method::GET, format!("/v1/runs/{run}/ancestry")),
        (Method::GET, format!("/v1/runs/{run}/interrupts")),
        (Method::POST, format!("/v1/runs/{run}/cancel")),
        (Method::POST, format!("/v1/runs/{run}:pause")),
    ] {
        let answer = done(face.bare(method, &path).bearer_auth(OTHER)).await;
        answer.is_failure(404, "not_found");
    }
    let body = json!({"resumeValue": "accept"}).to_string();
    let path = format!("/v1/runs/{run}/interrupts/gate");
    let answer = done(face.bare(Method::POST, &path).bearer_auth(OTHER).body(body)).await;
    answer.is_failure(404, "not_found");
    let body = json!({"runIds": [run]}).to_string();
    let bulk = face.bare(Method::POST, "/v1/runs:bulk-cancel").bearer_auth(OTHER).body(body);
    assert_eq!(done(bulk).await.json["results"][0]["error"]["error"], "not_found");
    let list = done(face.bare(Method::GET, "/v1/runs").bearer_auth(OTHER)).await;
    assert_eq!(list.json["runs"], json!([]));
    assert_eq!(face.snapshot(&run).await["status"], "waiting-approval");
}

#[tokio::test]
async fn a_registered_definition_is_its_tenants_alone() {
    let face = Face::new().await;
    let mut definition = face.get("/v1/workflows/conformance-noop").await.json;
    definition["id"] = json!("mine");
    assert_eq!(face.post("/v1/workflows", &definition).await.status, 201);
    let theirs = |method, path: &str, body: String| {
        done(face.bare(method, path).bearer_auth(OTHER).body(body))
    };
    let read = theirs(Method::GET, "/v1/workflows/mine", String::new()).await;
    read.is_failure(404, "not_found");
    let begin = json!({"workflowId": "mine"});
    let begun = theirs(Method::POST, "/v1/runs", begin.to_string()).await;
    begun.is_failure(404, "not_found");
    let mut changed = definition.clone();
    changed["version"] = json!("9.0.0");
    // Names are each tenant's own: nobody learns which ones another tenant has.
    let registered = theirs(Method::POST, "/v1/workflows", changed.to_string()).await;
    assert_eq!(registered.status, 201, "{}", registered.json);
    let read = theirs(Method::GET, "/v1/workflows/mine", String::new()).await;
    assert_eq!(read.json["version"], "9.0.0");
    let mut differs = definition.clone();
    differs["name"] = json!("another");
    face.post("/v1/workflows", &differs).await.is_failure(409, "run_already_active");
    let mut shared = definition.clone();
    (shared["id"], shared["version"]) = (json!("conformance-noop"), json!("9.0.0"));
    face.post("/v1/workflows", &shared).await.is_failure(409, "run_already_active");
    assert_eq!(face.get("/v1/workflows/mine").await.json, definition);
    assert_eq!(face.post("/v1/workflows", &changed).await.status, 201);
    assert_eq!(face.get("/v1/workflows/mine").await.json, changed);
    let run = face.begin("mine").await;
    face.to_end(&run).await;
    // They outlive the host.
    let again = Face::on(config(), std::sync::Arc::clone(&face.store)).await;
    assert_eq!(again.get("/v1/workflows/mine").await.json["version"], "9.0.0");
    again.to_end(&again.begin("mine").await).await;
    // Where they are kept is no run of anybody.
    let runs = again.get("/v1/runs").await.json;
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2, "{runs}");
    let listed = face.store.list(None, 100).await.unwrap();
    let list = listed.iter().find(|it| it.run.as_str().starts_with("definitions-")).unwrap();
    for path in ["", "/events", "/cancel"] {
        let path = format!("/v1/runs/{}{path}", list.run);
        face.get(&path).await.is_failure(
            if path.ends_with("cancel") { 405 } else { 404 },
            if path.ends_with("cancel") { "method_not_allowed" } else { "not_found" },
        );
    }
}

#[tokio::test]
async fn whatever_goes_wrong_is_the_envelope() {
    let face = Face::new().await;
    face.get("/v1/nowhere").await.is_failure(404, "not_found");
    face.get("/v1/runs/nobody").await.is_failure(404, "not_found");
    face.get("/v1/runs/no%2Fbody").await.is_failure(404, "not_found");
    let answer = done(face.ask(Method::DELETE, "/v1/runs")).await;
    answer.is_failure(405, "method_not_allowed");
    assert_eq!(answer.headers["allow"], "GET, POST");
    for body in
        ["", "{", "[]", "null", "{}", "{\"workflowId\": 3}", "{\"a\":1,\"a\":2}", "\u{fffd}"]
    {
        let answer = done(face.ask(Method::POST, "/v1/runs").body(body)).await;
        answer.is_failure(400, "validation_error");
    }
    let answer = face.post("/v1/runs", &json!({"workflowId": "nobody"})).await;
    answer.is_failure(404, "not_found");
    let tenant = json!({"workflowId": "conformance-noop", "tenantId": "other"});
    face.post("/v1/runs", &tenant).await.is_failure(403, "forbidden");
}

#[tokio::test]
async fn a_head_that_cannot_be_read_is_the_envelope_as_well() {
    let face = Face::new().await;
    let long = "a".repeat(70_000);
    for (head, status) in [
        ("GET /v1/runs HTTP/1.1\r\nno header\r\n\r\n".to_owned(), 400),
        ("NONSENSE\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nhost: h\r\ncontent-length: x\r\n\r\n".to_owned(), 400),
        (format!("GET /{long} HTTP/1.1\r\nhost: h\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nhost: h\r\nx: {long}{long}\r\n\r\n"), 431),
    ] {
        let mut socket = TcpStream::connect(face.address).await.unwrap();
        // Whoever is refused early may not have sent all of it.
        let _ = socket.write_all(head.as_bytes()).await;
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes).await;
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {text}");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{text}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        crate::face::holds("Error", &body);
        assert_eq!(body["error"], "validation_error");
    }
}

#[tokio::test]
async fn a_word_of_a_path_is_no_name() {
    let face = Face::new().await;
    for method in [Method::GET, Method::OPTIONS] {
        let answer = done(face.ask(method, "/v1/runs/bulk-cancel")).await;
        answer.is_failure(405, "method_not_allowed");
        assert_eq!(answer.headers["allow"], "POST");
    }
}

#[tokio::test]
async fn a_large_body_is_refused_whether_it_says_its_size_or_not() {
    let mut config = config();
    config.limits.max_body_bytes = 100;
    let face = Face::with(config).await;
    let answer = done(face.ask(Method::POST, "/v1/runs").body("x".repeat(101))).await;
    answer.is_failure(413, "validation_error");
    assert_eq!(answer.json["details"]["maxBytes"], 100);
    let mut socket = TcpStream::connect(face.address).await.unwrap();
    let head = "POST /v1/runs HTTP/1.1\r\nhost: h\r\nauthorization: Bearer acme-key\r\n\
                transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    let chunk = format!("65\r\n{}\r\n0\r\n\r\n", "x".repeat(0x65));
    socket.write_all(format!("{head}{chunk}").as_bytes()).await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 413"), "{text}");
    assert!(text.contains("\"error\":\"validation_error\""), "{text}");
}

#[tokio::test]
async fn more_requests_than_there_is_room_for_are_told_when_to_come_again() {
    let mut config = config();
    config.limits.max_requests = 0;
    let face = Face::with(config).await;
    let answer = face.get("/v1/runs").await;
    answer.is_failure(429, "rate_limited");
    assert_eq!(answer.headers["retry-after"], "1");
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_the_connection() {
    let mut config = config();
    config.limits.head_timeout_ms = 50;
    let face = Face::with(config).await;
    let mut socket = TcpStream::connect(face.address).await.unwrap();
    socket.write_all(b"GET /v1/runs HTTP/1.1\r\nhost:").await.unwrap();
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test]
async fn a_body_that_does_not_come_is_told_so() {
    let mut config = config();
    config.limits.body_timeout_ms = 50;
    let face = Face::with(config).await;
    let mut socket = TcpStream::connect(face.address).await.unwrap();
    let head = "POST /v1/runs HTTP/1.1\r\nhost: h\r\nauthorization: Bearer acme-key\r\n\
                content-length: 10\r\nconnection: close\r\n\r\n{";
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
}

#[tokio::test]
async fn a_key_that_stands_twice_and_a_body_too_deep_are_refused_everywhere() {
    let face = Face::new().await;
    let run = face.begin("conformance-approval").await;
    face.to_wait(&run).await;
    let list = face.get(&format!("/v1/runs/{run}/interrupts")).await;
    let token = list.json["interrupts"][0]["url"].as_str().unwrap().to_owned();
    let deep = format!("{{\"nodes\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    for path in [
        "/v1/workflows".to_owned(),
        "/v1/runs".to_owned(),
        "/v1/runs:bulk-cancel".to_owned(),
        "/v1/webhooks".to_owned(),
        format!("/v1/runs/{run}/cancel"),
        format!("/v1/runs/{run}:pause"),
        format!("/v1/runs/{run}:resume"),
        format!("/v1/runs/{run}:fork"),
        format!("/v1/runs/{run}/interrupts/gate"),
        token,
        "/v1/host/sample/agents/verify-run".to_owned(),
    ] {
        // The second one would say something else than the first: who reads which, nobody knows.
        let body = "{\"reason\":{\"twice\":1,\"twice\":2}}";
        let answer = done(face.ask(Method::POST, &path).body(body)).await;
        answer.is_failure(400, "validation_error");
        assert!(answer.json["message"].as_str().unwrap().contains("`twice`"), "{path}");
        let answer = done(face.ask(Method::POST, &path).body(deep.clone())).await;
        answer.is_failure(400, "validation_error");
    }
    assert_eq!(face.snapshot(&run).await["status"], "waiting-approval");
}
