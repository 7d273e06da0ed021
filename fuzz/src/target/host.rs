//! What reaches the host from outside: keys, tokens, bodies of requests, and what it tells of a run.

use probity_host::wire::v1;
use probity_host::{Grant, Keys, cache_key, keyed_run_id, owns};
use probity_record::canonical::parse_ijson;
use serde_json::Value;

use super::Target;
use crate::seed;

pub(super) const TARGETS: [Target; 3] = [
    Target::new("token", token, || {
        vec![grant().sign(&SECRET).into_bytes(), b"eyJydW4iOiIifQ.00".to_vec()]
    }),
    Target::new("keys", keys, || seed::texts(&KEYS)),
    Target::new("request", request, requests),
];

const SECRET: [u8; 32] = [7; 32];

const KEYS: [&str; 2] = [
    "[[key]]\nsha256 = \"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\"\ntenant = \"acme\"\nscopes = [\"runs:read\"]\nprincipal = \"ci\"\n",
    "[[key]]\nkey_env = \"A\"\ntenant = \"a\"\n[[key]]\nkey_env = \"B\"\ntenant = \"b\"\n",
];

fn grant() -> Grant {
    Grant {
        run: "acme-1".to_owned(),
        node: "gate".to_owned(),
        interrupt: "gate-1".to_owned(),
        principal: "ada".to_owned(),
        expires_ms: 1_000,
    }
}

/// A token: only one that was signed here says anything, and only what was signed.
fn token(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(read) = Grant::read(text, &SECRET) {
        assert_eq!(read, grant(), "a grant that nobody gave");
        assert!(Grant::read(text, &[8; 32]).is_none(), "signed with every secret");
    }
}

/// A keys file, and a key that somebody tries: it opens nothing but what the file names.
fn keys(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let env = |name: &str| (name.len() == 1).then(|| format!("secret-{name}"));
    let Ok(keys) = Keys::parse(text, env) else { return };
    let tenants: Vec<String> = keys.tenants().into_iter().map(str::to_owned).collect();
    assert!(!tenants.is_empty(), "keys of nobody");
    for tried in ["", "secret-A", "foo", text] {
        if let Some(caller) = keys.caller(tried) {
            assert!(tenants.contains(&caller.tenant));
            let is_named = text.contains("key_env") || text.contains("sha256");
            assert!(is_named, "a key that the file does not name");
        }
    }
    assert!(keys.caller("a key that nobody has").is_none());
    assert!(!format!("{keys:?}").contains("secret-"), "a key is shown");
    for tenant in &tenants {
        let run = keyed_run_id(tenant, "runs", text);
        assert!(owns(tenant, &run), "its own run");
        let stranger = format!("{tenant}x");
        assert!(!owns(&stranger, &run), "somebody else's run");
    }
}

/// The body of a request, of every kind. What is taken was there, and a refusal is a problem in JSON.
fn request(bytes: &[u8]) {
    let Ok(body) = parse_ijson(bytes) else { return };
    if let Some(key) = cache_key(&body) {
        assert_eq!(cache_key(&body.clone()), Some(key));
    }
    let told = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut refusals = Vec::new();
    match v1::CreateRun::parse(&body) {
        Ok(read) => assert_eq!(Some(read.workflow), told("workflowId")),
        Err(failure) => refusals.push(failure),
    }
    match v1::NewWebhook::parse(&body) {
        Ok(read) => assert_eq!(Some(read.url), told("url")),
        Err(failure) => refusals.push(failure),
    }
    match v1::BulkCancel::parse(&body) {
        Ok(read) => assert!(!read.runs.is_empty() && read.runs.len() <= 1_000),
        Err(failure) => refusals.push(failure),
    }
    match v1::ForkRun::parse(&body) {
        Ok(read) => {
            assert!(!read.is_replay || read.inputs.is_empty(), "a replay with other inputs")
        }
        Err(failure) => refusals.push(failure),
    }
    refusals.extend(v1::StopRun::parse(Some(&body)).err());
    refusals.extend(v1::PauseRun::parse(Some(&body)).err());
    refusals.extend(v1::Resume::parse(&body).err());
    for failure in refusals {
        let text = failure.to_json().to_string();
        assert!(serde_json::from_str::<Value>(&text).is_ok_and(|it| it.is_object()), "{text}");
    }
}

fn requests() -> Vec<Vec<u8>> {
    let mut seeds = seed::texts(&[
        r#"{"workflowId":"greet","inputs":{"a":1.5},"tenantId":"acme","tags":["x"],"metadata":{},"configurable":{"recursionLimit":5}}"#,
        r#"{"url":"https://example.com/hook","events":["run.completed"],"secret":"s"}"#,
        r#"{"runIds":["acme-1","acme-2"],"reason":"because"}"#,
        r#"{"mode":"branch","fromSeq":3,"runOptionsOverlay":{"inputs":{"a":null}}}"#,
        r#"{"resumeValue":{"action":"accept"},"drainPolicy":"finish"}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":0.5}"#,
    ]);
    seeds.extend(
        seed::files_named("crates/host", ".json").into_iter().filter(|it| it.len() < 4_096),
    );
    seeds
}
