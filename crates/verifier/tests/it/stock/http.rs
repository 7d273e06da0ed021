//! `http:URL`, against a server on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use super::bed::Bed;

/// A server that answers each path in its own way. It lives as long as the test process.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut hung = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let answer = match path.as_str() {
                "/ok" => full(200, "", "all is well: 12 rows"),
                "/json" => full(200, "", r#"{"status": "up", "rows": [1, 2, 3]}"#),
                "/twice" => full(200, "", r#"{"status": "down", "status": "up"}"#),
                "/none" => full(204, "", ""),
                "/error" => full(503, "", r#"{"error": "Bad credentials"}"#),
                "/lie" => full(200, "", r#"{"error": "Bad credentials"}"#),
                "/there" => full(302, "location: /ok\r\n", ""),
                "/away" => full(302, "location: http://other.example/\r\n", ""),
                "/round" => full(302, "location: /round\r\n", ""),
                "/huge" => full(200, "", &"x".repeat(2 << 20)),
                "/broken" => "this is not http\r\n\r\n".to_owned(),
                "/hang" => {
                    hung.push(stream);
                    continue;
                }
                _ => full(404, "", "not found"),
            };
            // A client that has read enough closes first.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

fn full(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

#[test]
fn answers_pass_and_fail_each_in_its_own_way() {
    let server = serve();
    let mut bed = Bed::new();
    bed.start();
    bed.allow = vec![server.to_string()];
    let rows: Vec<(String, &str)> = [
        ("/ok", "pass"),
        ("/none", "pass"),
        ("/gone", "revise http_status"),
        ("/error", "revise http_status"),
        ("/ok,status=200", "pass"),
        ("/ok,status=204", "revise http_status"),
        ("/none,status=200|204", "pass"),
        ("/gone,status=404", "pass"),
        ("/gone,status=4xx", "pass"),
        ("/ok,body_contains=well", "pass"),
        ("/ok,body_contains=well,body_contains=ill", "revise http_body"),
        (r"/ok,body_matches=\d+ rows", "pass"),
        (r"/ok,body_matches=^\d", "revise http_body"),
        // A 200 with an error in its body is no success.
        ("/lie", "pass"),
        ("/lie,pointer=/status,equals=up", "revise http_value"),
        ("/json,pointer=/status,equals=up", "pass"),
        ("/json,pointer=/status,equals=down", "revise http_value"),
        ("/json,pointer=/rows/2", "pass"),
        ("/json,pointer=/rows/3", "revise http_value"),
        ("/json,pointer=/rows/0,equals=1", "pass"),
        (r"/lie,equals={\,", "revise http_value"),
        (r#"/lie,equals={"error":"Bad credentials"}"#, "pass"),
        ("/ok,pointer=/status", "revise http_json"),
        // Readers differ in which of two equal keys they take.
        ("/twice,pointer=/status,equals=up", "revise http_json"),
        ("/twice,pointer=/status,equals=down", "revise http_json"),
        ("/twice", "pass"),
        ("/there,body_contains=well", "pass"),
        ("/away", "fault egress_denied"),
        ("/round", "inconclusive egress_too_many_redirects"),
        ("/broken", "inconclusive egress_unreachable"),
        ("/huge", "pass"),
        ("/huge,body_contains=y", "inconclusive content_cut"),
        ("/huge,body_contains=xx", "pass"),
        ("/huge,pointer=/a", "inconclusive content_cut"),
    ]
    .iter()
    .map(|(rest, expected)| (format!("http:http://{server}{rest}"), *expected))
    .collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(check, it)| (check.as_str(), *it)).collect();
    bed.table(&rows);
    let reason = bed.reason(&format!("http:http://{server}/error"));
    assert_eq!(reason, format!("`http://{server}/error` answers with status 503, expected 2xx"));
    assert_eq!(bed.red(&format!("http:http://{server}/ok")), "pass");
}

#[test]
fn a_host_that_is_not_allowed_is_not_asked() {
    let server = serve();
    let mut bed = Bed::new();
    bed.start();
    let url = format!("http:http://{server}/ok");
    assert_eq!(bed.says(&url), "fault egress_denied");
    assert_eq!(bed.red(&url), "fault egress_denied");
    bed.allow = vec!["127.0.0.1:1".to_owned()];
    assert_eq!(bed.says(&url), "fault egress_denied");
    bed.allow = vec![server.to_string()];
    assert_eq!(bed.says(&format!("http:http://user:pw@{server}/ok")), "fault egress_bad_url");
}

#[test]
fn a_host_that_hangs_or_refuses_is_inconclusive_in_time() {
    let server = serve();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let mut bed = Bed::new();
    bed.start();
    bed.allow = vec![server.to_string(), closed.to_string()];
    assert_eq!(bed.says(&format!("http:http://{closed}/")), "inconclusive egress_unreachable");
    bed.timeout = Duration::from_millis(400);
    let started = Instant::now();
    assert_eq!(bed.says(&format!("http:http://{server}/hang")), "inconclusive egress_timeout");
    assert!(started.elapsed() < bed.timeout + Duration::from_secs(1), "{:?}", started.elapsed());
}
