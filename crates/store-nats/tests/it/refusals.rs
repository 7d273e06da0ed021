//! Servers that are less than what is asked of them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use probity_store_nats::{Accept, ConnectError, Level, NatsOptions, NatsStore, inspect};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::cluster::{Cluster, Setup};

async fn refusal(options: &NatsOptions) -> ConnectError {
    NatsStore::connect(options.clone()).await.expect_err("it was opened")
}

/// A server that shakes hands and knows nothing else.
async fn pretender(version: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (from, mut to) = stream.into_split();
                let info = format!(
                    "INFO {{\"server_name\":\"old\",\"version\":\"{version}\",\"headers\":true,\
                     \"max_payload\":1048576,\"jetstream\":true}}\r\n"
                );
                to.write_all(info.as_bytes()).await.unwrap();
                let mut lines = BufReader::new(from).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    if line.trim() == "PING" {
                        to.write_all(b"PONG\r\n").await.unwrap();
                    }
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_servers_are_refused_and_silent_ones_end() {
    let options = |address: SocketAddr| NatsOptions {
        servers: vec![address.to_string()],
        replicas: 1,
        timeout_ms: 2000,
        accept: Accept { sync: true, replicas: false },
        ..NatsOptions::default()
    };
    for version in ["2.9.10", "2.12.2", "2.12.3-beta.1"] {
        let error = refusal(&options(pretender(version).await)).await;
        assert_eq!(error.code(), "nats_version");
        let text = error.to_string();
        assert!(text.contains(version) && text.contains("2.12.3 or newer"), "{text}");
    }
    let started = Instant::now();
    let error = refusal(&options(pretender("2.15.1").await)).await;
    assert_eq!(error.code(), "nats_setup", "{error}");
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = refusal(&options(nobody)).await;
    assert_eq!(error.code(), "nats_unreachable", "{error}");
    assert!(started.elapsed() < Duration::from_secs(12), "{:?}", started.elapsed());
    let findings = inspect(&options(pretender("2.9.10").await)).await;
    assert!(findings.iter().any(|it| it.code == Some("nats_version")), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_jetstream_is_refused() {
    let setup = Setup { without_jetstream: true, ..Setup::default() };
    let cluster = Cluster::with(1, &setup).await;
    assert_eq!(refusal(&cluster.options()).await.code(), "nats_no_jetstream");
    let findings = inspect(&cluster.options()).await;
    let failed: Vec<_> = findings.iter().filter(|it| it.level == Level::Fail).collect();
    assert!(failed.iter().any(|it| it.code == Some("nats_no_jetstream")), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_acknowledges_first_is_refused_unless_that_is_accepted() {
    let setup = Setup { without_sync: true, ..Setup::default() };
    let cluster = Cluster::with(1, &setup).await;
    let options = cluster.options();
    let error = refusal(&options).await;
    assert_eq!(error.code(), "nats_sync");
    assert!(error.to_string().contains("sync_interval: always"), "{error}");
    let silent = NatsOptions { monitors: Vec::new(), ..options.clone() };
    assert_eq!(refusal(&silent).await.code(), "nats_sync_unknown");
    // An endpoint that is something else.
    let wrong = vec![format!("http://{}", cluster.address(0))];
    let wrong = NatsOptions { monitors: wrong, ..options.clone() };
    assert_eq!(refusal(&wrong).await.code(), "nats_sync_unknown");
    let accept = Accept { sync: true, replicas: false };
    let accepted = NatsOptions { accept, ..options.clone() };
    assert!(NatsStore::connect(accepted.clone()).await.is_ok());

    let level_of_sync = |findings: Vec<probity_store_nats::Finding>| {
        let sync = findings.into_iter().find(|it| it.subject == "sync").unwrap();
        (sync.level, sync.code)
    };
    let refused = level_of_sync(inspect(&options).await);
    assert_eq!(refused, (Level::Fail, Some("nats_sync")));
    let taken = level_of_sync(inspect(&accepted).await);
    assert_eq!(taken, (Level::Warn, Some("nats_sync")));
}

/// What another server says about its disk says nothing about the ones that keep the runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_endpoint_of_another_server_is_refused() {
    let (one, other, three, alike) =
        tokio::join!(Cluster::start(1), Cluster::start(1), Cluster::start(3), Cluster::start(3));
    let monitors = |cluster: &Cluster| cluster.options().monitors;
    let with =
        |cluster: &Cluster, monitors: Vec<String>| NatsOptions { monitors, ..cluster.options() };
    // One of them is right, and does not make up for the other; a name of the cluster is no proof.
    let mixed = [monitors(&one), monitors(&other)].concat();
    let swapped = monitors(&alike)[..1].to_vec();
    for options in [with(&one, monitors(&other)), with(&one, mixed), with(&three, swapped)] {
        let error = refusal(&options).await;
        assert_eq!(error.code(), "nats_monitor_other", "{error}");
        assert!(error.to_string().contains("another server"), "{error}");
        let findings = inspect(&options).await;
        let said = |it: &&probity_store_nats::Finding| it.code == Some("nats_monitor_other");
        let said: Vec<_> = findings.iter().filter(said).collect();
        assert_eq!(said.len(), 1, "{findings:#?}");
        assert_eq!((said[0].level, said[0].subject.as_str()), (Level::Fail, "sync"));
        let accepted =
            NatsOptions { accept: Accept { sync: true, replicas: false }, ..options.clone() };
        let findings = inspect(&accepted).await;
        assert!(findings.iter().all(|it| it.level != Level::Fail), "{findings:#?}");
    }
    // Each member vouches for itself, whichever of them is connected to.
    for node in 0..3 {
        let servers = vec![three.address(node).to_string()];
        let options = NatsOptions { servers, ..three.options() };
        assert!(NatsStore::connect(options.clone()).await.is_ok());
        let findings = inspect(&options).await;
        assert!(findings.iter().all(|it| it.level == Level::Ok), "{findings:#?}");
        // Two names of one server are one server.
        let same = vec![options.monitors[0].clone(), format!("{}/", options.monitors[0])];
        let findings = inspect(&NatsOptions { monitors: same, ..options }).await;
        let few = |it: &probity_store_nats::Finding| {
            it.level == Level::Warn && it.text.contains("endpoints of 1 servers")
        };
        assert!(findings.iter().any(few), "{findings:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_with_other_settings_are_refused_and_left_alone() {
    let cluster = Cluster::start(1).await;
    let three = NatsOptions { replicas: 3, ..cluster.options() };
    let error = refusal(&three).await;
    assert_eq!(error.code(), "nats_replicas");
    assert!(error.to_string().contains("replicas=1"), "{error}");

    drop(NatsStore::connect(cluster.options()).await.unwrap());
    for (other, stream, setting) in [
        (NatsOptions { max_age_s: Some(3600), ..cluster.options() }, "PROBITY_LOG", "max_age"),
        (NatsOptions { max_bytes: Some(1 << 30), ..cluster.options() }, "PROBITY_LOG", "max_bytes"),
        (NatsOptions { lease_ttl_ms: 999, ..cluster.options() }, "PROBITY_WORK", "lease-ttl-ms"),
    ] {
        let error = refusal(&other).await;
        let ConnectError::StreamDiffers { stream: found, setting: which, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!((found.as_str(), which.as_str()), (stream, setting));
        assert_eq!(error.code(), "nats_stream_differs");
        let findings = inspect(&other).await;
        let differs = |it: &&probity_store_nats::Finding| it.code == Some("nats_stream_differs");
        assert!(findings.iter().any(|it| differs(&it) && it.subject == stream), "{findings:?}");
    }
    // Another space does not mind.
    let elsewhere =
        NatsOptions { space: "ELSEWHERE".to_owned(), lease_ttl_ms: 999, ..cluster.options() };
    assert!(NatsStore::connect(elsewhere).await.is_ok());
    assert!(NatsStore::connect(cluster.options()).await.is_ok());
    let findings = inspect(&cluster.options()).await;
    assert!(findings.iter().all(|it| it.level == Level::Ok), "{findings:#?}");
    assert!(findings.len() >= 10, "{findings:#?}");
}
