//! Delegations over HTTP: the verdict API of the real `probity serve`.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::fleet::{pipe, work_off};
use crate::http::{Answer, Host, KEY};
use crate::world::{CREATED, HONEST, LIAR, REPENTANT, Ran, World};

const API: &str = "/api/v1/delegations";
const PEM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/keys/");

pub(crate) fn store(world: &World) -> String {
    format!("sqlite:{}", world.beside("host.db").display())
}

/// A host whose callers may work in the workspace of a world.
pub(crate) fn serve(world: &World, more: &[&str]) -> Host {
    let root = world.at("").display().to_string();
    Host::start(world, &store(world), &[&["--workspace-root", &root], more].concat())
}

fn document(command: &[&str]) -> Value {
    json!({"task": "write hello to out.txt", "command": command, "workspace": ".", "expect": [CREATED]})
}

impl Host {
    fn delegate(&self, document: &Value, key: &str) -> String {
        let answer =
            self.ask("POST", API, &[&format!("Idempotency-Key: {key}")], &document.to_string());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["runId"].as_str().unwrap().to_owned()
    }

    fn of(&self, run: &str, part: &str) -> Value {
        self.get(&format!("{API}/{run}{part}")).json()
    }

    /// The types of all records of a run, once it has ended.
    fn log(&self, run: &str) -> Vec<Value> {
        let told = self.ask("GET", &format!("{API}/{run}/events"), &[], "");
        let data = told.body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(|data| serde_json::from_str(data.trim()).unwrap()).collect()
    }

    fn until_record(&self, run: &str, kind: &str) {
        self.until_at(&format!("{API}/{run}/events"), kind);
    }
}

fn count(log: &[Value], kind: &str) -> usize {
    log.iter().filter(|record| record["type"] == kind).count()
}

fn word(answer: &Answer) -> (u16, String, String) {
    let json = answer.json();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (answer.status, word(&json["error"]), word(&json["details"]["code"]))
}

#[test]
fn a_lie_is_caught_over_http_and_the_truth_is_proved_to_a_stranger() {
    let world = World::new();
    let host = serve(&world, &["--sign", &format!("{PEM}signer.pem")]);
    let run = host.delegate(&document(&REPENTANT), "one");
    let log = host.log(&run);
    assert_eq!(log.last().unwrap()["type"], "run.sealed", "{log:?}");
    assert_eq!(count(&log, "delegate.dispatched"), 2, "a lie was told first");
    let verdict = host.of(&run, "/verdict");
    assert_eq!((&verdict["outcome"], &verdict["attempts"]), (&"verified".into(), &2.into()));
    let merge = host.of(&run, "/may-merge");
    assert_eq!((&merge["mayMerge"], &merge["stale"]), (&true.into(), &false.into()), "{merge}");
    let other = host.of(&run, &format!("/may-merge?candidate={}", "0".repeat(64)));
    assert_eq!((&other["mayMerge"], &other["why"]), (&false.into(), &"candidate_differs".into()));

    let bundle = host.get(&format!("{API}/{run}/bundle"));
    assert_eq!(bundle.status, 200, "{bundle:?}");
    world.write("down.probity", &bundle.body);
    let args =
        ["audit", "down.probity", "--require-signature", "--key", &format!("{PEM}signer.pub.pem")];
    let audited = world.probity(args);
    assert!(audited.code == 0 && audited.stdout.starts_with("VALID"), "{audited:?}");
    let key = format!("{PEM}signer.pem");
    let args = ["export", &run, "--bundle", "here.probity", "--sign", &key, "--store"];
    assert_eq!(world.probity(args.iter().chain(&[store(&world).as_str()])).code, 0);
    assert_eq!(world.read("down.probity"), world.read("here.probity"), "byte for byte");

    // The bundles were written into the workspace: the world has moved.
    let stale = host.of(&run, "/may-merge");
    assert_eq!((&stale["mayMerge"], &stale["why"]), (&false.into(), &"stale".into()), "{stale}");
    host.end();
}

#[test]
fn what_was_not_verified_is_merged_only_where_a_named_human_answers_for_it() {
    let world = World::new();
    let host = serve(&world, &[]);
    let run = host.delegate(&document(&LIAR), "lie");
    host.log(&run);
    let merge = host.of(&run, "/may-merge");
    assert_eq!((&merge["mayMerge"], &merge["why"]), (&false.into(), &"exhausted".into()));
    let waive = format!("{API}/{run}/waive");
    let waived = host.post(&waive, r#"{"by": "Ada", "reason": "written by hand"}"#);
    assert_eq!(waived.status, 201, "{waived:?}");
    let merge = host.of(&run, "/may-merge");
    assert_eq!((&merge["why"], &merge["waivedBy"]), (&"waived".into(), &"Ada".into()), "{merge}");
    host.end();

    let url = store(&world);
    let ask = |args: &[&str]| world.probity(args.iter().chain(&["--store", &url]));
    let waiver = format!("waiver-{run}");
    let listed = ask(&["log", "list", "--json"]).json();
    let found = listed.as_array().unwrap().iter().find(|it| it["run_id"] == waiver.as_str());
    let found = found.unwrap();
    assert_eq!((&found["kind"], &found["waives"]), (&"waiver".into(), &run.as_str().into()));
    assert!(ask(&["log", "list"]).stdout.contains(&format!("waiver           of run {run}")));
    let shown = ask(&["log", "show", &waiver]);
    assert!(shown.stdout.starts_with("WAIVER · of run"), "{shown:?}");
    assert!(
        shown.stdout.contains("by Ada") && shown.stdout.contains("written by hand"),
        "{shown:?}"
    );
    assert_eq!(ask(&["log", "show", &waiver, "--json"]).json()["by"], "Ada");
    let audited = ask(&["audit", &waiver, &run]);
    assert!(audited.code == 0 && audited.stdout.contains("2 records: 2 valid"), "{audited:?}");
    // Alone it proves its chain and no more.
    world.write("waiver.jsonl", &ask(&["log", "export", &waiver]).stdout);
    assert_eq!(world.probity(["audit", "waiver.jsonl"]).code, 5);
    let forged = world.read("waiver.jsonl").replacen("exhausted", "rejected", 1);
    world.write("waiver.jsonl", &forged);
    assert_eq!(world.probity(["audit", "waiver.jsonl"]).code, 3);
}

#[test]
fn a_request_over_the_wire_is_strict_and_stays_in_its_folder() {
    let world = World::new();
    std::fs::write(world.beside("outside.star"), "def run(result):\n    return True\n").unwrap();
    symlink(world.beside("home"), world.at("out")).unwrap();
    symlink(world.beside("outside.star"), world.at("out.star")).unwrap();
    world.write("untrusted/.probity/probity.toml", "max_verify_retries = 1\n");
    std::fs::create_dir_all(world.at("untrusted/inner")).unwrap();
    let host = serve(&world, &[]);
    let own = "PROBITY_API_KEY";
    let mcp = json!({"endpoint": "http://127.0.0.1:1", "model": "m",
        "mcp": {"s": {"command": ["env"], "env_keep": ["PROBITY_TOKEN_SECRET"]}}});
    let chat = json!({"endpoint": "http://127.0.0.1:1", "model": "m", "key_env": own});
    for (key, value, code) in [
        ("frobnicate", json!(1), "request_parse"),
        ("id", json!("mine"), ""),
        ("job", json!("delegate"), ""),
        ("project", json!("0".repeat(64)), ""),
        ("callers_hooks", json!(0), ""),
        ("workspace", Value::Null, ""),
        ("workspace", json!("/etc"), "workspace_root"),
        ("workspace", json!(".."), "workspace_root"),
        ("workspace", json!("untrusted/../.."), "workspace_root"),
        ("workspace", json!("out"), "workspace_root"),
        ("workspace", json!("nowhere"), "workspace_root"),
        ("workspace", json!("out.txt\u{0}"), "workspace_root"),
        ("workspace", json!("untrusted"), "project_untrusted"),
        ("workspace", json!("untrusted/inner"), "project_above"),
        ("verify_files", json!(["out.star"]), "workspace_root"),
        ("verify_files", json!(["../outside.star"]), "workspace_root"),
        ("verify_files", json!(["/etc/hostname"]), "workspace_root"),
        ("verify_files", json!(["."]), "workspace_root"),
        ("sealed", json!(["/etc/shadow"]), ""),
        ("sealed", json!(["../outside.star"]), "path_outside"),
        ("command", json!([]), "request_no_command"),
        ("agent", json!("coder"), "profile_missing"),
        ("max_verify_retries", json!(1000), "request_bound"),
        ("expect", json!([{"command": "env", "env": [own]}]), "request_own_secret"),
        ("expect", json!([{"external": "env", "env": [own]}]), "request_own_secret"),
        ("chat", chat, "request_delegates"),
        ("parent_id", json!("0123456789ab-0198c0de-0000-7000-8000-000000000000"), ""),
    ] {
        let mut document = document(&HONEST);
        document[key] = value.clone();
        let answer = host.post(API, &document.to_string());
        let (status, error, found) = word(&answer);
        assert!([400, 404].contains(&status), "{key} {value}: {answer:?}");
        assert!(["validation_error", "not_found"].contains(&error.as_str()), "{answer:?}");
        assert_eq!(found, code, "{key} {value}: {answer:?}");
        let said =
            status == 404 || answer.body.contains(key) || answer.json()["details"]["path"] == key;
        assert!(said || !code.is_empty(), "{key} is not named: {answer:?}");
    }
    for chat in [mcp, json!({"endpoint": "http://127.0.0.1:1", "model": "m", "key_env": own})] {
        let document = json!({"task": "t", "chat": chat, "workspace": "."});
        let answer = host.post(API, &document.to_string());
        assert_eq!(word(&answer), (400, "validation_error".into(), "request_own_secret".into()));
    }
    let large = json!({"task": "x".repeat(10_000_000), "command": ["true"], "workspace": "."});
    // An answer that comes before the body was read may be lost with the connection.
    let answer = std::panic::catch_unwind(|| host.post(API, &large.to_string()).status);
    assert!(answer.is_err() || answer.unwrap() == 413);
    assert_eq!(host.get(API).json()["delegations"], json!([]), "nothing was left for a worker");
    host.end();
    let closed = Host::start(&world, &store(&world), &[]);
    let answer = closed.post(API, &document(&HONEST).to_string());
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (501, Some("capability_not_provided"))
    );
    closed.end();
}

#[test]
fn a_trusted_project_decides_and_its_hash_goes_with_the_run() {
    let world = World::new();
    let check = format!("expect = [\"{CREATED}\"]\n");
    world.write(".probity/probity.toml", &check);
    assert_eq!(world.probity(["trust"]).code, 0);
    let host = serve(&world, &[]);
    let mut asked = document(&LIAR);
    asked.as_object_mut().unwrap().remove("expect");
    let run = host.delegate(&asked, "lie");
    host.log(&run);
    assert_eq!(host.of(&run, "/verdict")["outcome"], "exhausted", "the project's check counts");
    host.end();
}

#[test]
fn the_same_document_is_one_run_on_every_host_and_after_every_restart() {
    let world = World::new();
    let (one, two) = (serve(&world, &[]), serve(&world, &[]));
    let run = one.delegate(&document(&HONEST), "pr-1");
    let log = two.log(&run);
    assert_eq!(two.delegate(&document(&HONEST), "pr-1"), run);
    assert_eq!((count(&log, "delegate.dispatched"), count(&log, "run.sealed")), (1, 1), "{log:?}");
    let other = two.ask("POST", API, &["Idempotency-Key: pr-1"], &document(&LIAR).to_string());
    assert_eq!((other.status, &other.json()["error"]), (409, &"idempotency_key_mismatch".into()));
    one.kill();
    two.kill();
    let three = serve(&world, &[]);
    let document = document(&HONEST).to_string();
    let again = three.ask("POST", API, &["Idempotency-Key: pr-1"], &document);
    assert_eq!((again.status, &again.json()["runId"]), (201, &run.as_str().into()), "{again:?}");
    assert!(again.head.contains("openwop-idempotent-replay: true"), "{again:?}");
    assert_eq!(three.log(&run), log);
    three.end();
}

#[test]
fn a_killed_host_neither_loses_an_attempt_nor_counts_one_twice() {
    let world = World::new();
    pipe(&world, "never");
    let script = "cat > /dev/null; echo x >> ../begun; \
                  if [ -e ../second ]; then echo hello > out.txt; else read word < ../never; fi; \
                  echo Done.";
    let host = serve(&world, &[]);
    let run = host.delegate(&document(&["sh", "-c", script]), "one");
    host.until_record(&run, "delegate.dispatched");
    host.kill();
    std::fs::write(world.beside("second"), "").unwrap();
    let host = serve(&world, &[]);
    let log = host.log(&run);
    let sequences: Vec<u64> = log.iter().map(|it| it["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequences, (0..log.len() as u64).collect::<Vec<_>>());
    let verdict = host.of(&run, "/verdict");
    assert_eq!(
        (&verdict["outcome"], &verdict["attempts"]),
        (&"verified".into(), &1.into()),
        "{log:?}"
    );
    assert_eq!((count(&log, "claim.received"), count(&log, "run.sealed")), (1, 1), "{log:?}");
    host.end();
}

#[test]
fn a_key_sees_what_its_scopes_and_its_tenant_allow() {
    let world = World::new();
    world.write(
        "keys.toml",
        "[[key]]\nkey_env = \"PROBITY_API_KEY\"\ntenant = \"one\"\n\
         [[key]]\nkey_env = \"READER\"\ntenant = \"one\"\nscopes = [\"runs:read\"]\n\
         [[key]]\nkey_env = \"OTHER\"\ntenant = \"two\"\n",
    );
    std::fs::set_permissions(world.at("keys.toml"), std::fs::Permissions::from_mode(0o600))
        .unwrap();
    let root = world.at("").display().to_string();
    let args = ["--keys", "keys.toml", "--workspace-root", &format!("one={root}")];
    let envs = [("READER", "the-reader"), ("OTHER", "the-other")];
    let host = Host::start_with(&world, &store(&world), &args, &envs);
    let run = host.delegate(&document(&HONEST), "one");
    host.log(&run);
    let (reader, other) = ("Authorization: Bearer the-reader", "Authorization: Bearer the-other");
    let ask = |method: &str, path: &str, key: &str| {
        let body =
            if method == "POST" { r#"{"by": "Eve", "reason": "r", "text": "t"}"# } else { "" };
        host.ask(method, &format!("{API}{path}"), &[key], body)
    };
    let at = |part: &str| format!("/{run}{part}");
    let digest = host.log(&run)[0]["event"]["request"].as_str().unwrap().to_owned();
    let evidence = at(&format!("/evidence/{digest}"));
    for (method, path) in [
        ("POST", ""),
        ("GET", evidence.as_str()),
        ("GET", &at("/bundle")),
        ("POST", &at("/waive")),
        ("POST", &at("/cancel")),
        ("POST", &at("/steer")),
    ] {
        assert_eq!(ask(method, path, reader).status, 403, "{method} {path}");
    }
    for part in ["", "/verdict", "/may-merge", "/events", "/bundle"] {
        assert_eq!(ask("GET", &at(part), other).status, 404, "{part}");
    }
    for part in ["/waive", "/cancel"] {
        assert!([400, 404].contains(&ask("POST", &at(part), other).status), "{part}");
    }
    assert_eq!(ask("GET", &evidence, other).status, 404);
    assert_eq!(ask("GET", "", other).json()["delegations"], json!([]));
    let told = ask("GET", &at(""), reader);
    assert_eq!(told.json()["hasContent"], false);
    assert!(!told.body.contains("Done.") && !told.body.contains("hello"), "{told:?}");
    // The folder is another tenant's.
    let answer = host.ask("POST", API, &[other], &document(&HONEST).to_string());
    assert_eq!(word(&answer).1, "capability_not_provided", "{answer:?}");
    host.end();
}

#[test]
fn a_delegate_finds_no_secret_of_the_server_in_any_environment() {
    let world = World::new();
    // Other tests have clients with that key in their environment.
    let digest = hex::encode(Sha256::digest(KEY));
    let keys = format!(
        "[[key]]\nsha256 = \"{digest}\"\n[[key]]\nkey_env = \"PROBITY_API_KEY\"\n\
         [[key]]\nkey_env = \"OPERATOR\"\ntenant = \"o\"\n"
    );
    world.write("keys.toml", &keys);
    std::fs::set_permissions(world.at("keys.toml"), std::fs::Permissions::from_mode(0o600))
        .unwrap();
    let script = "cat > /dev/null; env > seen.txt; cat /proc/*/environ >> seen.txt 2>/dev/null; \
                  cat /proc/*/cmdline >> seen.txt 2>/dev/null; echo hello > out.txt";
    let root = world.at("").display().to_string();
    let secrets = [
        ("PROBITY_API_KEY", "a-key-of-this-test-alone"),
        ("OPERATOR", "operators-own-key"),
        ("PROBITY_TOKEN_SECRET", "a-long-token-secret"),
    ];
    let args = ["--keys", "keys.toml", "--workspace-root", &root];
    let host = Host::start_with(&world, &store(&world), &args, &secrets);
    for key in ["a-key-of-this-test-alone", "operators-own-key"] {
        let answer = host.ask("GET", API, &[&format!("Authorization: Bearer {key}")], "");
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let run = host.delegate(&document(&["sh", "-c", script]), "one");
    host.log(&run);
    let seen = String::from_utf8_lossy(&std::fs::read(world.at("seen.txt")).unwrap()).into_owned();
    assert!(
        seen.contains("XDG_STATE_HOME") && seen.contains("workspace-root"),
        "the rest is there"
    );
    for (name, secret) in secrets {
        assert!(!seen.contains(secret), "{name}");
    }
    host.end();
}

#[test]
fn without_gating_a_verdict_is_told_and_nothing_is_kept_out() {
    let world = World::new();
    let child = json!({"id": "child", "name": "Child", "version": "1", "edges": [],
        "nodes": [{"id": "echo", "typeId": "core.identity", "name": "Echo"}],
        "variables": [{"name": "payload", "type": "string", "defaultValue": "none"}]});
    let script =
        "def verify(context):\n    return VerificationResult(outcome = \"fail\", detail = \"\")\n";
    let parent = json!({
        "id": "parent", "name": "Parent", "version": "1",
        "nodes": [
            {"id": "boss", "typeId": "core.orchestrator.supervisor", "name": "Boss",
                "agent": {"agentId": "the.boss"},
                "config": {"plan": [{"kind": "next-worker", "nextWorkerIds": ["child"]},
                    {"kind": "terminate", "reason": "goal-reached"}]}},
            {"id": "hand", "typeId": "core.dispatch", "name": "Hand over", "config": {
                "inputMapping": {"payload": "task"}, "outputMapping": {"result": "payload"}}},
        ],
        "edges": [{"id": "a", "sourceNodeId": "boss", "targetNodeId": "hand"},
            {"id": "b", "sourceNodeId": "hand", "targetNodeId": "boss"}],
        "variables": [{"name": "task", "type": "string", "defaultValue": "bad"},
            {"name": "result", "type": "string", "defaultValue": "untouched"}],
        "metadata": {"probity": {"verifiers": {"hand": {
            "agentId": "the.critic", "checks": [{"verify": script}], "onFail": "give-up"}}}},
    });
    world.write("workflows/child.json", &child.to_string());
    world.write("workflows/parent.json", &parent.to_string());
    for (flags, is_gating, result) in
        [(&[][..], true, "untouched"), (&["--no-gating"][..], false, "bad")]
    {
        let args = [&["--workflows", "workflows"], flags].concat();
        let host = Host::start(&world, "memory", &args);
        let discovery = host.get("/.well-known/openwop").json();
        assert_eq!(discovery["multiAgent"]["executionModel"]["verifier"]["gating"], is_gating);
        let run = host.begin(r#"{"workflowId": "parent"}"#);
        let events = host.events(&run, None);
        let verdicts: Vec<&Value> = events
            .iter()
            .filter(|event| event["type"] == "agent.verified")
            .map(|event| &event["payload"]["verdict"])
            .collect();
        assert!(!verdicts.is_empty() && verdicts.iter().all(|it| *it != "pass"), "{verdicts:?}");
        let snapshot = host.get(&format!("/v1/runs/{run}")).json();
        assert_eq!(snapshot["variables"]["result"], result, "{flags:?} {events:?}");
        host.end();
    }
}

#[test]
fn other_workers_do_the_delegations_of_a_host_that_does_none() {
    let world = World::new();
    let host = serve(&world, &["--workers", "0"]);
    let run = host.delegate(&document(&HONEST), "one");
    let bundle = host.get(&format!("{API}/{run}/bundle"));
    assert_eq!((bundle.status, &bundle.json()["error"]), (409, &"run_not_ended".into()));
    assert_eq!(host.of(&run, "/may-merge")["why"], "not_sealed");
    let worked: Ran = work_off(&world, &["--store", &store(&world)]);
    assert_eq!(worked.code, 0, "{worked:?}");
    host.log(&run);
    assert_eq!(host.of(&run, "/may-merge")["mayMerge"], true);
    host.end();
}
