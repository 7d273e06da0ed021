//! Workflow runs over HTTP: `serve`, `conformance`, and what logs say of such runs.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::fleet::{pipe, signal, work_off, worker};
use crate::http::{Host, KEY};
use crate::world::{HONEST, LIAR, REPENTANT, Ran, World, make_executable};

/// A definition of one delegation in the workspace of a world.
fn delegation(world: &World, id: &str, command: &[&str]) -> Value {
    json!({
        "id": id, "name": id, "version": "1", "edges": [],
        "nodes": [{"id": "write", "typeId": "probity.delegation", "name": "Write", "config": {
            "request": {
                "workspace": world.at(""), "task": "write hello to out.txt", "command": command,
                "expect": ["file:out.txt,created,contains=hello"],
            },
            "outputVariable": "answer",
        }}],
        "variables": [{"name": "answer", "type": "string", "defaultValue": "nothing"}],
    })
}

fn register(world: &World, name: &str, definition: &Value) {
    world.write(&format!("workflows/{name}.json"), &definition.to_string());
}

fn serve(world: &World, more: &[&str]) -> Host {
    std::fs::create_dir_all(world.at("workflows")).unwrap();
    Host::start(world, &store(world), &[&["--workflows", "workflows"], more].concat())
}

fn store(world: &World) -> String {
    format!("sqlite:{}", world.beside("host.db").display())
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn verdicts(events: &[Value]) -> Vec<&str> {
    let verified = events.iter().filter(|event| event["type"] == "agent.verified");
    verified.map(|event| event["payload"]["verdict"].as_str().unwrap()).collect()
}

fn assert_gapless(events: &[Value]) {
    let sequences: Vec<u64> = events.iter().map(|it| it["sequence"].as_u64().unwrap()).collect();
    let expected: Vec<u64> = (0..sequences.len() as u64).collect();
    assert_eq!(sequences, expected);
}

#[test]
fn a_run_is_begun_followed_taken_up_again_and_begun_once() {
    let world = World::new();
    register(&world, "greet", &delegation(&world, "greet", &REPENTANT));
    let host = serve(&world, &[]);
    let discovery = host.ask("GET", "/.well-known/openwop", &["Authorization: none"], "");
    assert_eq!(discovery.status, 200);
    assert_eq!(discovery.json()["multiAgent"]["executionModel"]["verifier"]["gating"], true);

    let body = r#"{"workflowId": "greet"}"#;
    let monday = ["Idempotency-Key: monday"];
    let begun = host.ask("POST", "/v1/runs", &monday, body);
    assert_eq!(begun.status, 201, "{begun:?}");
    let run = begun.json()["runId"].as_str().unwrap().to_owned();
    let events = host.events(&run, None);
    assert_gapless(&events);
    assert_eq!(types(&events).last(), Some(&"run.completed"), "{events:?}");
    assert_eq!(verdicts(&events), ["pass"], "a lie was told first, and taken back");
    assert_eq!(world.read("out.txt"), "hello\n");
    let answer = &events.last().unwrap()["payload"]["outputs"]["answer"];
    assert_eq!(answer, "Done.", "{events:?}");
    assert_eq!(host.events(&run, Some(2)), events[3..]);

    let again = host.ask("POST", "/v1/runs", &monday, body);
    assert_eq!(again.json()["runId"], run.as_str());
    assert!(again.head.contains("openwop-idempotent-replay: true"), "{again:?}");
    let other = host.ask("POST", "/v1/runs", &monday, r#"{"workflowId": "greet", "tags": ["x"]}"#);
    assert_eq!((other.status, &other.json()["error"]), (409, &"idempotency_key_mismatch".into()));
    host.end();
}

#[test]
fn the_gate_is_shut_for_a_lie_and_open_without_gating() {
    let world = World::new();
    register(&world, "lie", &delegation(&world, "lie", &LIAR));
    let host = serve(&world, &["--workers", "2"]);
    let run = host.begin(r#"{"workflowId": "lie"}"#);
    let events = host.events(&run, None);
    assert_eq!(types(&events).last(), Some(&"run.failed"), "{events:?}");
    assert_eq!(events.last().unwrap()["payload"]["error"]["code"], "not_verified");
    assert_ne!(verdicts(&events), ["pass"]);
    assert!(!types(&events).contains(&"variable.changed"), "{events:?}");
    host.end();
}

#[test]
fn a_dispatch_is_checked_by_a_script_before_anything_is_taken_over() {
    let world = World::new();
    let child = json!({
        "id": "child", "name": "Child", "version": "1", "edges": [],
        "nodes": [{"id": "echo", "typeId": "core.identity", "name": "Echo"}],
        "variables": [{"name": "payload", "type": "string", "defaultValue": "none"}],
    });
    register(&world, "child", &child);
    let script = "def verify(context):\n    \
                  good = \"good\" in context[\"result\"][\"response\"]\n    \
                  return VerificationResult(outcome = \"pass\" if good else \"fail\", detail = \"\")\n";
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
        "edges": [
            {"id": "a", "sourceNodeId": "boss", "targetNodeId": "hand"},
            {"id": "b", "sourceNodeId": "hand", "targetNodeId": "boss"},
        ],
        "variables": [{"name": "task", "type": "string"},
            {"name": "result", "type": "string", "defaultValue": "untouched"}],
        "metadata": {"probity": {"verifiers": {"hand": {
            "agentId": "the.critic", "checks": [{"verify": script}], "onFail": "give-up"}}}},
    });
    register(&world, "parent", &parent);
    let host = serve(&world, &[]);
    for (task, verdict, result) in [("a good one", "pass", "a good one"), ("bad", "", "untouched")]
    {
        let body = json!({"workflowId": "parent", "inputs": {"task": task}});
        let run = host.begin(&body.to_string());
        let events = host.events(&run, None);
        assert_gapless(&events);
        let told = verdicts(&events);
        match verdict {
            "pass" => assert_eq!(told, ["pass"], "{events:?}"),
            _ => assert!(!told.is_empty() && !told.contains(&"pass"), "{events:?}"),
        }
        let snapshot = host.get(&format!("/v1/runs/{run}")).json();
        assert_eq!(snapshot["variables"]["result"], result, "{snapshot}");
        assert!(!events.iter().any(|event| {
            event["type"] == "agent.verified" && event.to_string().contains(task)
        }));
    }
    // What the critic was asked is proved as every run is, though no request file says the like.
    let looks = host.get("/api/v1/delegations?delegate=critic").json();
    let looks = looks["delegations"].as_array().unwrap();
    assert!(looks.len() >= 2, "{looks:?}");
    for look in looks {
        let run = look["runId"].as_str().unwrap();
        proved(&world, &host, run);
    }
    host.end();
}

/// The bundle of a run, of the host and of the command, holds.
fn proved(world: &World, host: &Host, run: &str) {
    let bundle = host.get(&format!("/api/v1/delegations/{run}/bundle"));
    assert_eq!(bundle.status, 200, "{bundle:?}");
    world.write("down.probity", &bundle.body);
    let audited = world.probity(["audit", "down.probity"]);
    assert!(audited.stdout.starts_with("VALID"), "{audited:?}");
    let file = format!("{run}.probity");
    let exported =
        world.probity(["export", run, "--bundle", file.as_str(), "--store", &store(world)]);
    assert_eq!(exported.code, 0, "{exported:?}");
    assert_eq!(world.read(&file), bundle.body, "byte for byte");
}

#[test]
fn what_a_host_keeps_is_named_and_proved_and_is_no_run() {
    let world = World::new();
    register(&world, "greet", &delegation(&world, "greet", &HONEST));
    let host = serve(&world, &["--allow-private", "127.0.0.1"]);
    let definition = json!({"id": "own", "name": "Own", "version": "1", "edges": [],
        "nodes": [{"id": "a", "typeId": "core.noop", "name": "A"}], "variables": [],
        "metadata": {"long": "x".repeat(70_000)}});
    assert_eq!(host.post("/v1/workflows", &definition.to_string()).status, 201);
    let hook =
        host.post("/v1/webhooks", r#"{"url": "http://127.0.0.1:9/", "secret": "hush-hush"}"#);
    assert_eq!(hook.status, 201, "{hook:?}");
    let begin = r#"{"workflowId": "greet", "scopeId": "room"}"#;
    let begun = host.ask("POST", "/v1/runs", &["X-Dedup: enforce"], begin);
    assert_eq!(begun.status, 201, "{begun:?}");
    let run = begun.json()["runId"].as_str().unwrap().to_owned();
    host.events(&run, None);
    let works = host.get("/api/v1/delegations").json();
    proved(&world, &host, works["delegations"][0]["runId"].as_str().unwrap());
    host.end();
    let url = store(&world);
    let ask = |args: &[&str]| world.probity(args.iter().chain(&["--store", &url]));
    let listed = ask(&["log", "list", "--json"]).json();
    let lists = listed.as_array().unwrap().iter().filter(|it| it["kind"] == "list");
    let mut held = Vec::new();
    for list in lists {
        held.push(list["holds"].as_str().unwrap());
        let name = list["run_id"].as_str().unwrap();
        let shown = ask(&["log", "show", name]);
        assert!(shown.code == 0 && shown.stdout.starts_with("LIST · "), "{shown:?}");
        assert!(!shown.stdout.contains("127.0.0.1"), "{shown:?}");
        let json = ask(&["log", "show", name, "--json"]).json();
        assert_eq!((&json["kind"], json["entries"].as_array().unwrap().len()), (&"list".into(), 1));
        let audited = ask(&["audit", name]);
        assert_eq!(audited.code, 0, "{audited:?}");
        let exported = ask(&["log", "export", name]);
        world.write("list.jsonl", &exported.stdout.replacen("\"seq\":0", "\"seq\":1", 1));
        assert_ne!(world.probity(["audit", "list.jsonl"]).code, 0, "another one");
    }
    held.sort_unstable();
    assert_eq!(held, ["definitions", "scopes", "webhooks"]);
    let table = ask(&["log", "list"]);
    assert!(table.stdout.contains("of webhooks that a host keeps"), "{table:?}");
    assert!(!table.stdout.contains("not finished"), "{table:?}");
    assert_eq!(ask(&["log", "index", "runs.index"]).code, 0);
    let indexed = world.probity(["log", "list", "--index", "runs.index", "--json"]);
    assert!(!indexed.stdout.contains("damaged"), "{indexed:?}");
}

#[test]
fn a_killed_host_goes_on_where_it_was() {
    let world = World::new();
    pipe(&world, "never");
    let script = "if [ -e ../second ]; then echo hello > out.txt; else read word < ../never; fi; \
                  echo Done.";
    register(&world, "greet", &delegation(&world, "greet", &["sh", "-c", script]));
    let host = serve(&world, &[]);
    let run = host.begin(r#"{"workflowId": "greet"}"#);
    host.until(&run, "node.started");
    host.kill();
    std::fs::write(world.beside("second"), "").unwrap();
    let host = serve(&world, &[]);
    let events = host.events(&run, None);
    assert_gapless(&events);
    assert_eq!(types(&events).last(), Some(&"run.completed"), "{events:?}");
    let started = types(&events).iter().filter(|kind| **kind == "node.started").count();
    assert_eq!(started, 1);
    host.end();
}

#[test]
fn a_run_is_cancelled_and_its_delegation_with_it() {
    let world = World::new();
    pipe(&world, "never");
    register(&world, "wait", &delegation(&world, "wait", &["sh", "-c", "read word < ../never"]));
    let host = serve(&world, &[]);
    let run = host.begin(r#"{"workflowId": "wait"}"#);
    host.until(&run, "node.started");
    let cancelled = host.post(&format!("/v1/runs/{run}/cancel"), "");
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    assert_eq!(types(&host.events(&run, None)).last(), Some(&"run.cancelled"));
    host.end();
}

#[test]
fn other_workers_do_what_a_host_without_any_delegates() {
    let world = World::new();
    register(&world, "greet", &delegation(&world, "greet", &HONEST));
    let host = serve(&world, &["--workers", "0"]);
    let (mut child, _lines) = worker(&world, "elsewhere", &["--store", &store(&world)]);
    let run = host.begin(r#"{"workflowId": "greet"}"#);
    let events = host.events(&run, None);
    assert_eq!(types(&events).last(), Some(&"run.completed"), "{events:?}");
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
    host.end();
    assert_eq!(work_off(&world, &["--store", &store(&world)]).code, 0);
}

#[test]
fn a_goal_that_was_not_reached_is_never_a_success() {
    let world = World::new();
    let run_of = |met: bool| {
        json!({
            "id": format!("met-{met}"), "name": "Boss", "version": "1", "edges": [],
            "nodes": [{"id": "boss", "typeId": "core.orchestrator.supervisor", "name": "Boss",
                "agent": {"agentId": "the.boss"},
                "config": {"plan": [{"kind": "terminate", "reason": "goal-reached",
                    "successCriteria": [{"key": "tests-pass", "met": met}]}]}}],
        })
    };
    register(&world, "true", &run_of(true));
    register(&world, "false", &run_of(false));
    let host = serve(&world, &[]);
    let (yes, no) =
        (host.begin(r#"{"workflowId": "met-true"}"#), host.begin(r#"{"workflowId": "met-false"}"#));
    let url = store(&world);
    let ask = |args: &[&str]| world.probity(args.iter().chain(&["--store", &url]));
    for (run, code, satisfied) in [(&yes, 0, true), (&no, 1, false)] {
        let watched = ask(&["watch", run, "--json"]);
        assert_eq!(watched.code, code, "{watched:?}");
        assert_eq!(watched.json()["is_goal_satisfied"], satisfied, "{watched:?}");
    }
    let watched = ask(&["watch", &no]);
    assert_eq!(watched.code, 1, "{watched:?}");
    assert!(!watched.stdout.to_lowercase().contains("verified"), "{watched:?}");
    assert!(!watched.stdout.starts_with("COMPLETED ·"), "{watched:?}");
    let snapshot = host.get(&format!("/v1/runs/{no}")).json();
    assert_ne!(snapshot["goalSatisfied"], true, "{snapshot}");
    host.end();
}

#[test]
fn who_has_no_key_learns_nothing() {
    let world = World::new();
    let host = serve(&world, &[]);
    for key in ["Authorization: Bearer wrong", "Authorization: none"] {
        for path in ["/v1/runs", "/v1/runs/none", "/v1/nothing"] {
            let answer = host.ask("GET", path, &[key], "");
            assert_eq!((answer.status, &answer.json()["error"]), (401, &"unauthenticated".into()));
        }
    }
    let taken = world
        .command(["serve", "--json", "--addr", &host.address, "--store", "memory"])
        .env("PROBITY_API_KEY", KEY)
        .output()
        .unwrap();
    let taken = Ran::from(taken);
    assert_eq!((taken.code, taken.error_code()), (64, "host_address".to_owned()), "{taken:?}");
    host.end();
}

#[test]
fn a_host_that_cannot_be_trusted_does_not_start() {
    let world = World::new();
    world.write("keys.toml", "[[key]]\nkey_env = \"PROBITY_API_KEY\"\n");
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(world.at("keys.toml"), permissions).unwrap();
    };
    mode(0o644);
    world.write("wrong/a.json", r#"{"id": "a", "name": "A", "nodes": []}"#);
    world.write("other/a.json", &delegation(&world, "a", &HONEST).to_string());
    world.write("other/b.json", &delegation(&world, "a", &LIAR).to_string());
    let ask = |args: &[&str], key: &str| {
        let head = ["serve", "--json", "--addr", "127.0.0.1:0", "--store", "memory"];
        let mut command = world.command(head.iter().chain(args));
        Ran::from(command.env("PROBITY_API_KEY", key).output().unwrap())
    };
    for (args, key, code, told) in [
        (&[][..], "", "host_keys_none", "openssl rand"),
        (&["--keys", "keys.toml"], KEY, "secret_exposed", "chmod 600"),
        (&["--workflows", "wrong"], KEY, "validation_error", "a.json"),
        (&["--workflows", "other"], KEY, "definition_differs", "b.json"),
        (&["--workflows", "nowhere"], KEY, "file_read", "nowhere"),
    ] {
        let ran = ask(args, key);
        assert_eq!((ran.code, ran.error_code().as_str()), (64, code), "{ran:?}");
        assert!(ran.stderr.contains(told), "{told}: {ran:?}");
    }
    mode(0o600);
    let ran = ask(&["--keys", "keys.toml"], "");
    assert_eq!((ran.code, ran.error_code().as_str()), (64, "host_key_invalid"), "{ran:?}");
}

#[test]
fn the_secret_of_tokens_is_made_once_and_for_its_owner() {
    let world = World::new();
    serve(&world, &[]).end();
    let path = world.beside("host.db.token-secret");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let first = std::fs::read(&path).unwrap();
    serve(&world, &[]).end();
    assert_eq!(std::fs::read(&path).unwrap(), first);
}

#[test]
fn workflow_runs_are_listed_shown_exported_and_proved() {
    let world = World::new();
    register(&world, "greet", &delegation(&world, "greet", &HONEST));
    let host = serve(&world, &[]);
    let run = host.begin(r#"{"workflowId": "greet"}"#);
    let events = host.events(&run, None);
    host.end();
    let url = store(&world);
    let ask = |args: &[&str]| world.probity(args.iter().chain(&["--store", &url]));
    let listed = ask(&["log", "list", "--json"]).json();
    let of = |kind: &str| {
        let runs = listed.as_array().unwrap();
        runs.iter().find(|run| run["kind"] == kind).unwrap().clone()
    };
    let (workflow, work) = (of("workflow"), of("delegation"));
    assert_eq!(
        (&workflow["run_id"], &workflow["status"]),
        (&run.as_str().into(), &"completed".into())
    );
    assert_eq!((&workflow["workflow"], &workflow["sealed"]), (&"greet".into(), &true.into()));
    assert_eq!(
        (&work["task"], &work["outcome"]),
        (&"write hello to out.txt".into(), &"verified".into())
    );
    assert!(ask(&["log", "list"]).stdout.contains("completed        workflow greet"));
    let shown = ask(&["log", "show", &run]);
    assert!(shown.stdout.starts_with("COMPLETED · workflow greet"), "{shown:?}");
    assert!(shown.stdout.contains("agent-verified"), "{shown:?}");
    let json = ask(&["log", "show", &run, "--json"]).json();
    assert_eq!(json["events"].as_array().unwrap().len(), events.len());
    assert!(ask(&["log", "tail", &run]).stdout.contains("run-completed"));
    let audited = ask(&["audit", &run]);
    assert_eq!(audited.code, 0, "{audited:?}");
    let exported = ask(&["log", "export", &run]);
    assert_eq!((exported.code, exported.stderr.as_str()), (0, ""), "{exported:?}");
    world.write("run.jsonl", &exported.stdout);
    assert_eq!(world.probity(["audit", "run.jsonl"]).code, 0);
    world.write("run.jsonl", &exported.stdout.replacen("greet", "great", 1));
    let forged = world.probity(["audit", "run.jsonl", "--json"]);
    assert_ne!(forged.code, 0, "{forged:?}");
    let cut: String = exported.stdout.split_inclusive('\n').take(1).collect();
    world.write("run.jsonl", &cut);
    assert_eq!(world.probity(["audit", "run.jsonl"]).code, 1, "no end");
    assert_eq!(world.probity(["audit", "run.jsonl", "--allow-unsealed"]).code, 0);
}

#[test]
fn the_real_host_holds_to_every_scenario() {
    let world = World::new();
    world.write(
        "keys.toml",
        "[[key]]\nkey_env = \"PROBITY_API_KEY\"\ntenant = \"one\"\n\
        [[key]]\nkey_env = \"OTHER_KEY\"\ntenant = \"two\"\n",
    );
    let permissions = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(world.at("keys.toml"), permissions).unwrap();
    let host = Host::start_with(
        &world,
        &store(&world),
        &["--keys", "keys.toml", "--conformance-seams", "--allow-private", "127.0.0.2"],
        &[("OTHER_KEY", "another")],
    );
    let url = format!("http://{}", host.address);
    let kit = |args: &[&str]| {
        let mut command = world.command(["conformance", &url].iter().chain(args));
        command.env("PROBITY_API_KEY", KEY).env("OTHER_KEY", "another");
        Ran::from(command.output().unwrap())
    };
    let text = kit(&["--filter", "verifier/no-success-after-fail"]);
    let told = "passed   verifier/no-success-after-fail";
    assert!(text.code == 0 && text.stdout.contains(told), "{text:?}");
    let ran = kit(&["--json", "--other-key-env", "OTHER_KEY", "--allow-skips"]);
    let report = ran.json();
    let outcomes = report["outcomes"].as_array().unwrap();
    let missed: Vec<&Value> =
        outcomes.iter().filter(|outcome| outcome["status"] != "passed").collect();
    // Where nobody receives them, nothing can be sent. An answer that comes before the body was read may be
    // lost with the connection.
    let excused = [
        ("core/artifacts", "skipped"),
        ("webhooks/register", "skipped"),
        ("webhooks/delivery", "skipped"),
        ("core/error-body-size", "failed"),
    ];
    let is_excused = |outcome: &&Value| {
        let word = |key: &str| outcome[key].as_str().unwrap().to_owned();
        excused.contains(&(word("id").as_str(), word("status").as_str()))
    };
    assert!(missed.iter().all(is_excused) && ran.code <= 1, "{missed:#?}");
    assert!(report["totals"]["passed"].as_u64().unwrap() > 100);
    let received = ["--receiver", "127.0.0.2:0", "--strict", "--filter", "webhooks/delivery"];
    let sent = kit(&[&received[..], &["--filter", "webhooks/inner-addresses"]].concat());
    assert!(sent.code == 0 && sent.stdout.contains("2 passed, 0 failed"), "{sent:?}");
    assert_eq!(kit(&["--filter", "no such"]).code, 64);
    host.end();
    assert_eq!(kit(&[]).code, 2, "nobody answers");
}

#[test]
fn the_kit_lists_what_it_would_do() {
    let world = World::new();
    let listed = world.probity(["conformance", "--list", "--filter", "verifier/", "--json"]).json();
    let ids: Vec<&str> =
        listed.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert!(
        ids.contains(&"verifier/fail-keeps-out")
            && ids.iter().all(|id| id.starts_with("verifier/"))
    );
    let mut command = world.command(["conformance", "http://127.0.0.1:1", "--json"]);
    let ran = Ran::from(command.env_remove("PROBITY_API_KEY").output().unwrap());
    assert_eq!((ran.code, ran.error_code()), (64, "usage".to_owned()), "no key");
}

/// What stands in the README behind a fence.
fn block(fence: &str) -> String {
    let readme = include_str!("../../../../README.md");
    let (_, rest) = readme.split_once(fence).unwrap();
    rest.split_once("\n```").unwrap().0.to_owned()
}

/// Runs commands of the README in the workspace of a world. What they leave running ends with them.
fn followed(world: &World, commands: &str) -> Ran {
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin/probity")).unwrap();
    let script = format!("trap 'kill $!; wait' EXIT\n{commands}\n");
    let like = world.command([""; 0]);
    let envs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
    let mut shell = Command::new("sh");
    shell.args(["-euc", &script]).current_dir(world.at("")).envs(envs).output().unwrap().into()
}

#[test]
fn the_commands_of_the_readme_begin_a_run_and_follow_it() {
    let world = World::new();
    make_executable(&world.at("my-agent"), "#!/bin/sh\ncat > /dev/null\necho hello > out.txt\n");
    let definition = block("```json\n").replace("/srv/greet", &world.at("").display().to_string());
    world.write("workflows/greet.json", &definition);
    let ran = followed(&world, &block("```sh serve\n"));
    assert_eq!(ran.code, 0, "{ran:?}");
    for told in ["event: agent.verified", "\"verdict\":\"pass\"", "COMPLETED · workflow greet"] {
        assert!(ran.stdout.contains(told), "{told}: {ran:?}");
    }
    assert_eq!(ran.stdout.matches("event: run.started").count(), 1, "{ran:?}");
    assert_eq!(ran.stdout.matches("event: run.completed").count(), 2, "{ran:?}");
}

#[test]
fn the_commands_of_the_readme_submit_watch_merge_and_prove() {
    let world = World::new();
    world.write("checkout/README", "");
    let agent =
        "#!/bin/sh\nif grep -q 'VERIFICATION FAILED'; then echo hello > out.txt; fi\necho Done.\n";
    make_executable(&world.at("checkout/my-agent"), agent);
    let ran = followed(&world, &block("```sh verdicts\n"));
    assert_eq!(ran.code, 0, "{ran:?}");
    for told in
        ["VERIFIED after 2 attempts", "\"outcome\":\"verified\"", "\"mayMerge\":true", "VALID"]
    {
        assert!(ran.stdout.contains(told), "{told}: {ran:?}");
    }
}

#[test]
fn the_figures_of_the_host_are_told_without_content_and_to_who_may_read_them() {
    let world = World::new();
    register(&world, "lie", &delegation(&world, "lie", &LIAR));
    let host = serve(&world, &["--workers", "2"]);
    let run = host.begin(r#"{"workflowId": "lie"}"#);
    assert_eq!(types(&host.events(&run, None)).last(), Some(&"run.failed"));
    let counted = || {
        let answer = host.get("/metrics");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.head.contains("text/plain; version=0.0.4"), "{answer:?}");
        let ended = |line: &&str| line.starts_with("probity_delegations_total{");
        (answer.body.lines().find(ended).map(str::to_owned), answer.body)
    };
    // What a log says is told a little later.
    let told = (0..2_000).find_map(|_| counted().0);
    let told = told.unwrap_or_else(|| panic!("{}", counted().1));
    assert!(told.contains("exhausted") && told.ends_with(" 1"), "{told}");
    assert!(!counted().1.contains("hello"), "no task, no claim");
    let nobody = host.ask("GET", "/metrics", &["Authorization: Bearer x"], "");
    assert_eq!(nobody.status, 401);
    host.end();
}
