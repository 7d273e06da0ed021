//! URLs.

use std::path::PathBuf;

use probity_store_nats::{Accept, ConnectError, Login, NatsOptions, NatsStore, inspect};

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

/// Whatever stands in a URL, and wherever: what is printed of it holds no part of a secret.
#[tokio::test]
async fn secrets_are_not_printed() {
    // No server is asked: nothing listens there, and what is wrong ends it before that.
    const TAIL: &str = "127.0.0.1:1/?timeout-ms=1000";
    let mut urls: Vec<String> = [
        "user:s3cret@",
        "s3cret@",
        "s3cret:@",
        "us%40er:p%3As3cret@",
        "user:p@s3cret@",
        "user:s3cret%4@",
        "s3cret%ff@",
        "user:s3cret@a,other:s3cret@",
        "user:s3/cret@",
        "user:s3?cret@",
        "user:s3&s3cret@",
        "user:s3#cret@",
        "user:s3=cret@",
        "user:s3%2Fcret@",
        "user:s3cret@host.,",
        "user:s3cret@,",
        "user:s3cret@a b,",
        "user:s3cret,",
        "user:s3cret@[::1]:2,",
        "user:s3cret@h,nats://user:s3cret@",
    ]
    .iter()
    .flat_map(|login| {
        ["nats://", "tls://", "NATS://", "Tls://"].map(|it| format!("{it}{login}{TAIL}"))
    })
    .collect();
    urls.extend(
        [
            "nats://user:s3cret",
            "nats://user:s3cret@",
            "nats://user:s3cret@/",
            "nats://s3cret@/NAME",
            "nats://user:s3cret@?replicas=1",
            "nats:///s3cret@h",
            "nats:s3cret",
            "s3cret://h",
            "nats://s3cret:s3cret/s3cret?s3cret",
            "user:s3cret@h",
        ]
        .map(str::to_owned),
    );
    for value in [
        "monitor=http://user:s3cret@h:8222",
        "monitor=http%3A%2F%2Fuser%3As3cret%40h%3A8222",
        "monitor=HTTP://user:s3cret@h",
        "monitor=https://user:s3cret@h",
        "monitor=http://h.,http://s3cret@h",
        "monitor=http://us/er:s3?cr@h",
        "monitor=http://h:8222/?token=s3cret",
        "monitor=http://h%23s3cret",
        "monitor=s3cret",
        "s3cret",
        "s3cret=1",
        "token=s3cret",
        "replicas=s3cret",
        "accept=s3cret",
        "timeout-ms=s3cret",
        "max-age-s=%s3cret",
        "tls-cert=/c&password=s3cret",
        "creds=/c&s3cret",
    ] {
        urls.push(format!("nats://user:s3cret@{TAIL}&{value}"));
        urls.push(format!("nats://{TAIL}&{value}"));
    }
    let is_safe = |url: &str, printed: &str| {
        let hidden = ["s3cret", "s3cr", "cret", "us@er", "us%40er", "other"];
        assert!(hidden.iter().all(|it| !printed.contains(it)), "{url}: {printed}");
    };
    let mut opened = 0;
    for url in &urls {
        let options = match NatsOptions::parse(url) {
            Ok(options) => options,
            Err(error) => {
                is_safe(url, &format!("{error} {error:?}"));
                continue;
            }
        };
        opened += 1;
        is_safe(url, &format!("{options:?} {options:#?} {:?}", options.urls()));
        is_safe(url, &format!("{:?}", inspect(&options).await));
        is_safe(url, &format!("{:?}", NatsStore::connect(options).await.unwrap_err()));
    }
    assert!(opened >= 20, "{opened} of {}", urls.len());
}

/// Options that no URL made: what does not belong there is refused, and not repeated.
#[tokio::test]
async fn secrets_in_wrong_places_are_refused() {
    let server = NatsOptions { servers: vec!["u:s3cret@h:1".to_owned()], ..NatsOptions::default() };
    let monitors = ["http://u:s3cret@h", "http://h/?key=s3cret"].map(str::to_owned).to_vec();
    let monitors = NatsOptions { monitors, ..NatsOptions::default() };
    for options in [server, monitors] {
        let printed = format!("{options:?} {:?} {:?}", options.urls(), inspect(&options).await);
        assert!(!printed.contains("s3cret"), "{printed}");
        assert_eq!(options.check().unwrap_err().code(), "nats_url");
        let error = NatsStore::connect(options).await.unwrap_err();
        assert_eq!(error.code(), "nats_url");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}

#[test]
fn a_scheme_is_read_in_any_case_and_a_dot_ends_a_name() {
    let options = NatsOptions::parse("NATS://user:p@s@host.:1,other./").unwrap();
    assert_eq!(options.servers, ["host.:1", "other.:4222"]);
    let login = Login::Password { user: "user".to_owned(), password: "p@s".to_owned() };
    assert_eq!(options.login, login);
    assert!(NatsOptions::parse("TLS://host").unwrap().tls);
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
        ("nats://localhost?replica=3", "`replica`"),
        ("nats://a:b@h,c:d@i", "one login"),
        ("nats://localhost?monitor=http://a:b@c", "no password"),
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
