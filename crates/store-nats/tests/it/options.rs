//! URLs.

use std::path::PathBuf;

use probity_store_nats::{Accept, ConnectError, Login, NatsOptions};

#[test]
fn a_url_says_everything() {
    let url = "tls://us%40er:p%3Ass@a.example:1,[::1]:2,c/SPACE_1?replicas=5&tls-ca=/ca.pem\
               &tls-cert=/c.pem&tls-key=/k.pem&lease-ttl-ms=20000&timeout-ms=5000&max-age-s=60\
               &max-bytes=1000&monitor=http://a:8222,http://b:8222&accept=sync,replicas";
    let wanted = NatsOptions {
        servers: vec!["a.example:1".to_owned(), "[::1]:2".to_owned(), "c:4222".to_owned()],
        tls: true,
        space: "SPACE_1".to_owned(),
        login: Login::Password { user: "us@er".to_owned(), password: "p:ss".to_owned() },
        tls_ca: Some(PathBuf::from("/ca.pem")),
        tls_identity: Some((PathBuf::from("/c.pem"), PathBuf::from("/k.pem"))),
        replicas: 5,
        lease_ttl_ms: 20_000,
        timeout_ms: 5000,
        max_age_s: Some(60),
        max_bytes: Some(1000),
        monitors: vec!["http://a:8222".to_owned(), "http://b:8222".to_owned()],
        accept: Accept { sync: true, replicas: true },
    };
    assert_eq!(NatsOptions::parse(url), Ok(wanted));
    let plain = NatsOptions::parse("nats://localhost").unwrap();
    assert_eq!(plain, NatsOptions::default());
    assert_eq!(NatsOptions::parse("nats://localhost:4222/PROBITY?"), Ok(plain.clone()));
    let token = NatsOptions::parse("nats://word@localhost").unwrap();
    assert_eq!(token.login, Login::Token("word".to_owned()));
    assert_eq!(plain.replicas, 3, "less than that is only taken where it is written");
    assert_eq!(plain.lease_ttl_ms, 10_000, "as long as in a file");
}

#[test]
fn secrets_are_not_printed() {
    for url in ["nats://user:s3cret@localhost", "nats://s3cret@localhost"] {
        let printed = format!("{:?}", NatsOptions::parse(url).unwrap());
        assert!(!printed.contains("s3cret"), "{printed}");
    }
}

#[test]
fn what_is_wrong_with_a_url_is_said() {
    for (url, word) in [
        ("http://localhost", "nats://"),
        ("nats://", "host:port"),
        ("nats://localhost:99999", "host:port"),
        ("nats://a,,b", "host:port"),
        ("nats://::1", "host:port"),
        ("nats://ho st", "host:port"),
        ("nats://localhost/lower", "A-Z"),
        ("nats://localhost/A.B", "A-Z"),
        ("nats://localhost/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "32"),
        ("nats://localhost?replica=3", "replicas, creds"),
        ("nats://localhost?replicas", "no value"),
        ("nats://localhost?replicas=2", "1, 3 or 5"),
        ("nats://localhost?replicas=many", "number"),
        ("nats://localhost?lease-ttl-ms=199", "200 to 3600000"),
        ("nats://localhost?lease-ttl-ms=3600001", "200 to 3600000"),
        ("nats://localhost?timeout-ms=999", "1000 to 600000"),
        ("nats://localhost?max-age-s=0", "max-age-s"),
        ("nats://localhost?max-bytes=0", "max-bytes"),
        ("nats://localhost?monitor=https://a", "http://"),
        ("nats://localhost?accept=everything", "sync, replicas"),
        ("nats://localhost?tls-cert=/c.pem", "come together"),
        ("nats://a%4@localhost", "%"),
        ("nats://a%ff@localhost", "UTF-8"),
    ] {
        let error = NatsOptions::parse(url).unwrap_err();
        assert!(matches!(error, ConnectError::Url { .. }), "{url}: {error:?}");
        assert!(error.to_string().contains(word), "{url}: {error}");
        assert_eq!(error.code(), "nats_url");
    }
}

#[test]
fn a_url_names_a_credentials_file() {
    let options = NatsOptions::parse("nats://localhost?creds=/a%20b.creds").unwrap();
    assert_eq!(options.login, Login::Credentials(PathBuf::from("/a b.creds")));
}
