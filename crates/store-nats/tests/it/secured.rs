//! Logins and TLS.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use probity_store::{Batch, RunLog as _};
use probity_store_nats::{Login, NatsOptions, NatsStore};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::cluster::{Cluster, Setup};

async fn works(options: NatsOptions) {
    let store = NatsStore::connect(options).await.unwrap();
    let run = "secured".parse().unwrap();
    let len = store.state(&run).await.unwrap().unwrap_or_default().len;
    let appended = store.append(&run, len, Batch::of(vec![b"x".to_vec()])).await;
    assert_eq!(appended, Ok(len + 1));
}

async fn code(options: NatsOptions) -> &'static str {
    NatsStore::connect(options).await.expect_err("it was opened").code()
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_with_the_right_password_gets_in() {
    let lines = "authorization { users: [ { user: u, password: \"p@ss/word\" } ] }".to_owned();
    let cluster = Cluster::with(1, &Setup { lines, ..Setup::default() }).await;
    let login = |password: &str| NatsOptions {
        login: Login::Password { user: "u".to_owned(), password: password.to_owned() },
        ..cluster.options()
    };
    works(login("p@ss/word")).await;
    assert_eq!(code(login("wrong")).await, "nats_auth");
    assert_eq!(code(cluster.options()).await, "nats_auth");
    let (address, options) = (cluster.address(0), cluster.options());
    let url =
        format!("nats://u:p%40ss%2Fword@{address}?replicas=1&monitor={}", options.monitors[0]);
    works(NatsOptions::parse(&url).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_is_used_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let issue = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let (params, key) = (CertificateParams::new(names).unwrap(), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &authority).unwrap();
        (pem("CERTIFICATE", certificate.der()), pem("PRIVATE KEY", &key.serialize_der()))
    };
    let ca = write("ca.pem", pem("CERTIFICATE", authority.der()));
    let (certificate, key) = issue(&["127.0.0.1", "localhost"]);
    let (server_cert, server_key) = (write("s.pem", certificate), write("s.key", key));
    let (certificate, key) = issue(&["client"]);
    let identity = (write("c.pem", certificate), write("c.key", key));
    let lines = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}",
        server_cert.display(),
        server_key.display(),
        ca.display()
    );
    let cluster = Cluster::with(1, &Setup { lines, ..Setup::default() }).await;
    let good = NatsOptions {
        tls: true,
        tls_ca: Some(ca),
        tls_identity: Some(identity),
        timeout_ms: 10_000,
        ..cluster.options()
    };
    works(good.clone()).await;
    // A server that asks for it gets it.
    works(NatsOptions { tls: false, ..good.clone() }).await;
    let stranger = NatsOptions { tls_ca: None, ..good.clone() };
    assert_eq!(code(stranger).await, "nats_tls");
    let missing = NatsOptions { tls_ca: Some(folder.path().join("none")), ..good.clone() };
    assert_eq!(code(missing).await, "nats_tls");
    // Without a certificate of its own the server lets nobody in.
    let refused = code(NatsOptions { tls_identity: None, ..good.clone() }).await;
    assert!(["nats_tls", "nats_unreachable"].contains(&refused), "{refused}");

    let plain = Cluster::start(1).await;
    let lured = NatsOptions { servers: plain.options().servers, ..good };
    let refused = tokio::time::timeout(Duration::from_secs(30), code(lured)).await.unwrap();
    assert!(["nats_tls", "nats_unreachable"].contains(&refused), "{refused}");
}
