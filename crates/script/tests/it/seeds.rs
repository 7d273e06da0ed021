//! The scripts of seed 000 as printed, with the indentation that the text lost.

use std::sync::Arc;

use probity_core::VerdictKind::{self, Pass, Revise};
use probity_egress::stub::{Reply, StubRequest, StubResolver, StubServer};
use probity_egress::{Client, EgressPolicy};
use probity_script::{EgressGate, Host, Script, ScriptVerifier};
use probity_verifier::Verifier as _;
use serde_json::json;

use crate::support::{Setup, World, testdata};

fn seed(setup: &Setup, name: &str) -> ScriptVerifier {
    setup.of(Script::from_file(&testdata(&format!("seed-000/{name}.star"))).unwrap())
}

async fn judged(setup: &Setup, name: &str, world: &World) -> (VerdictKind, String) {
    let verdict = seed(setup, name).verify(&world.ctx).await.unwrap();
    (verdict.kind, verdict.reason)
}

/// A host whose public names lead to a server of this test.
async fn public(names: &[&str], answer: fn(&StubRequest) -> Reply) -> (StubServer, Host) {
    let server = StubServer::https(names, answer).await.unwrap();
    let resolver = names.iter().fold(StubResolver::new(), |resolver, name| {
        resolver.name(name, vec![vec![server.address()]])
    });
    let policy = EgressPolicy::allowing(names.iter().copied(), names.iter().copied()).unwrap();
    let roots = server.root_der().into_iter().collect();
    let client = Client::with_resolver(policy, Arc::new(resolver), roots).unwrap();
    let host = Host { http: Some(Arc::new(EgressGate::new(client))), ..Host::default() };
    (server, host)
}

#[tokio::test]
async fn the_repository_check() {
    for mut setup in Setup::both() {
        let (server, host) = public(&["api.github.com"], |request| match request.target.as_str() {
            "/repos/htekdev/ai-harness" => Reply::text(200, "{}"),
            _ => Reply::text(500, ""),
        })
        .await;
        setup.host = host;
        let world = World::new(&[]);
        assert_eq!(judged(&setup, "repository", &world).await, (Pass, String::new()));
        assert_eq!(server.seen().len(), 1);

        let (_server, host) = public(&["api.github.com"], |_| Reply::text(404, "")).await;
        setup.host = host;
        assert_eq!(
            judged(&setup, "repository", &world).await,
            (Revise, "repo not found".to_owned())
        );
    }
}

#[tokio::test]
async fn the_repository_check_without_permission_is_a_fault() {
    for setup in Setup::both() {
        let fault = seed(&setup, "repository").verify(&World::new(&[]).ctx).await.unwrap_err();
        assert_eq!(fault.code.as_str(), "egress_denied");
        assert!(fault.location.unwrap().contains("repository.star:4:"));
    }
}

#[tokio::test]
async fn the_existence_check() {
    for mut setup in Setup::both() {
        setup.args = json!({"expected_path": "out/report.txt"});
        let there = World::new(&[("out/report.txt", "x")]);
        assert_eq!(judged(&setup, "existence", &there).await, (Pass, String::new()));
        let absent = World::new(&[]);
        assert_eq!(
            judged(&setup, "existence", &absent).await,
            (Revise, "expected file does not exist".to_owned())
        );
    }
}

#[tokio::test]
async fn the_reachability_check() {
    for mut setup in Setup::both() {
        let (_server, host) =
            public(&["status.example.com"], |request| match request.target.as_str() {
                "/up" => Reply::text(204, ""),
                _ => Reply::text(503, ""),
            })
            .await;
        setup.host = host;
        setup.args = json!({"url": "https://status.example.com/up"});
        let world = World::new(&[]);
        assert_eq!(judged(&setup, "reachability", &world).await, (Pass, String::new()));
        setup.args = json!({"url": "https://status.example.com/down"});
        assert_eq!(
            judged(&setup, "reachability", &world).await,
            (Revise, "endpoint returned 503".to_owned())
        );
    }
}

#[tokio::test]
async fn the_shape_check() {
    for setup in Setup::both() {
        for (response, kind, reason) in [
            (r#"{"id": 7}"#, Pass, ""),
            ("Done.", Revise, "response is not valid JSON"),
            (r#"{"name": "x"}"#, Revise, "response missing required 'id' field"),
        ] {
            let world = World::new(&[]).claiming(response);
            assert_eq!(judged(&setup, "shape", &world).await, (kind, reason.to_owned()));
        }
    }
}
