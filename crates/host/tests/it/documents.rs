//! What the host says of itself.

use std::collections::BTreeSet;

use probity_host::event_types;
use reqwest::Method;
use serde_json::{Value, json};

use crate::face::{Face, config, done, holds};

const DISCOVERY: &str = "/.well-known/openwop";

#[tokio::test]
async fn discovery_needs_no_key_and_is_sent_once() {
    let face = Face::new().await;
    let answer = done(face.bare(Method::GET, DISCOVERY)).await;
    assert_eq!(answer.status, 200);
    holds("Discovery", &answer.json);
    assert!(answer.headers["cache-control"].to_str().unwrap().contains("max-age"));
    let tag = answer.headers["etag"].to_str().unwrap().to_owned();
    for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
        let again = face.bare(Method::GET, DISCOVERY).header("if-none-match", &known);
        let again = again.send().await.unwrap();
        assert_eq!(again.status(), 304, "{known}");
        assert_eq!(again.headers()["etag"], tag.as_str());
        assert_eq!(again.text().await.unwrap(), "");
    }
    let other = face.bare(Method::GET, DISCOVERY).header("if-none-match", "\"other\"");
    assert_eq!(done(other).await.status, 200);
    let head = face.bare(Method::HEAD, DISCOVERY).send().await.unwrap();
    assert_eq!((head.status().as_u16(), head.text().await.unwrap().as_str()), (200, ""));
}

#[tokio::test]
async fn only_what_is_on_is_advertised() {
    let gating = Face::new().await;
    let document = gating.get(DISCOVERY).await.json;
    let model = &document["multiAgent"]["executionModel"];
    assert_eq!(
        (&model["version"], &model["verifier"]),
        (&json!(6), &json!({"supported": true, "gating": true}))
    );
    assert_eq!(document["conformance"]["mockAgent"], true);
    for fixture in document["fixtures"].as_array().unwrap() {
        let id = fixture.as_str().unwrap();
        let answer = gating.get(&format!("/v1/workflows/{id}")).await;
        assert_eq!((answer.status, answer.text("id").as_str()), (200, id));
    }
    let mut told_only = config();
    told_only.terms.is_gating = false;
    let document = Face::with(told_only).await.get(DISCOVERY).await.json;
    let verifier = &document["multiAgent"]["executionModel"]["verifier"];
    assert_eq!(verifier, &json!({"supported": true, "gating": false}));
    let mut plain = config();
    (plain.has_verifiers, plain.has_conformance_seams) = (false, false);
    let face = Face::with(plain).await;
    let document = face.get(DISCOVERY).await.json;
    let model = &document["multiAgent"]["executionModel"];
    assert_eq!((&model["version"], model.get("verifier")), (&json!(5), None));
    assert!(document.get("fixtures").is_none() && document.get("conformance").is_none());
    for seam in ["/v1/host/sample/agents/verify-run", "/v1/host/sample/test/llm-cache-key"] {
        face.post(seam, &json!({})).await.is_failure(404, "not_found");
    }
    face.get("/v1/workflows/conformance-noop").await.is_failure(404, "not_found");
}

#[tokio::test]
async fn the_description_names_every_route_and_every_shape_that_it_refers_to() {
    let face = Face::new().await;
    let document = done(face.bare(Method::GET, "/v1/openapi.json")).await.json;
    assert_eq!(document["openapi"], "3.1.0");
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            // What is described is served: without a key it asks for one, or it is open.
            let place = path.replace(['{', '}'], "");
            let method: Method = method.to_uppercase().parse().unwrap();
            let status = done(face.bare(method, &place)).await.status;
            let is_open = operation.get("security").is_none();
            assert_eq!(is_open, status != 401, "{path}: {status}");
        }
    }
    let text = document.to_string();
    for refer in text.split("\"$ref\":\"#").skip(1) {
        let pointer = refer.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

#[tokio::test]
async fn every_type_of_event_is_a_message() {
    let face = Face::new().await;
    let document = done(face.bare(Method::GET, "/v1/asyncapi.json")).await.json;
    assert_eq!(document["asyncapi"], "3.0.0");
    let messages = document["channels"]["events"]["messages"].as_object().unwrap();
    let told: Vec<&String> = messages.keys().collect();
    assert_eq!(told, event_types().iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn definitions_are_registered_once_and_read_back() {
    let face = Face::new().await;
    let mut definition: Value = face.get("/v1/workflows/conformance-noop").await.json;
    definition["id"] = json!("mine");
    let register = |definition: Value| {
        let face = &face;
        async move { face.post("/v1/workflows", &definition).await }
    };
    assert_eq!(register(definition.clone()).await.status, 201);
    assert_eq!(register(definition.clone()).await.status, 201);
    assert_eq!(face.get("/v1/workflows/mine").await.json, definition);
    definition["name"] = json!("other");
    register(definition.clone()).await.is_failure(409, "run_already_active");
    definition["nodes"][0]["typeId"] = json!("core.unheard-of");
    let answer = register(definition.clone()).await;
    answer.is_failure(422, "capability_required");
    assert_eq!(answer.json["details"]["offendingTypeId"], "core.unheard-of");
    register(json!({"id": "x"})).await.is_failure(400, "validation_error");
}
