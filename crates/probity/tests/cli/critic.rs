//! `agent` checks: another delegate judges the claim.

use std::fs;

use probity_chat::ModelReply;
use probity_testkit::{Answer, StrictServer};
use serde_json::{Value, json};

use crate::world::{CREATED, HONEST, Ran, World};

const PASS: &str = r#"{"verdict": "pass", "criteria": {"kind": true}, "confidence": 0.9}"#;
const REVISE: &str =
    r#"{"verdict": "revise", "criteria": {"kind": false}, "reason": "It is not kind."}"#;

fn run(world: &World, request: &Value) -> Ran {
    fs::write(world.beside("r.json"), request.to_string()).unwrap();
    world.probity(["run", "--request", "../r.json", "--workspace", ".", "--json"])
}

/// A critic that gives these answers in turn and keeps what it was asked.
fn critic(world: &World, answers: &[&str]) -> Value {
    for (number, answer) in answers.iter().enumerate() {
        fs::write(world.beside(&format!("answer.{number}")), answer).unwrap();
    }
    let folder = world.beside("").display().to_string();
    let script = "cd $1; n=$(ls | grep -c asked); cat > asked.$n; cat answer.$n";
    json!(["sh", "-c", script, "critic", folder])
}

fn request(critic: Value, more: Value) -> Value {
    let mut agent =
        json!({"command": critic, "criteria": {"kind": "The file says something kind."}});
    for (key, value) in more.as_object().unwrap() {
        agent[key] = value.clone();
    }
    json!({
        "task": "write hello to out.txt",
        "command": HONEST,
        "expect": ["file:out.txt,contains=hello", {"agent": agent}],
    })
}

fn check<'a>(report: &'a Value, id: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap()
}

#[test]
fn a_critic_refuses_and_then_lets_it_pass() {
    let world = World::new();
    let ran = run(&world, &request(critic(&world, &[REVISE, PASS]), json!({})));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()["attempts"], 2, "{ran:?}");
    let asked = fs::read_to_string(world.beside("asked.0")).unwrap();
    assert!(asked.contains("The file says something kind."), "{asked}");
    assert!(asked.contains("out.txt") && asked.contains("Done."), "{asked}");
    assert!(fs::metadata(world.beside("asked.2")).is_err(), "the red run asks nobody");
}

#[test]
fn what_is_no_answer_faults_and_silence_is_inconclusive() {
    let world = World::new();
    let ran = run(&world, &request(critic(&world, &["Fine.", "Really."]), json!({})));
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stdout.contains("critic_answer"), "{ran:?}");
    let absent = json!(["./no-such-critic"]);
    let ran = run(&world, &request(absent, json!({})));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stdout.contains("critic_unavailable"), "{ran:?}");
}

#[test]
fn nobody_judges_their_own_work_unless_that_is_said_and_shown() {
    let world = World::new();
    let own = [
        "sh",
        "-c",
        "cat > /dev/null; echo hello > out.txt; echo '{\"verdict\": \"pass\", \
        \"criteria\": {\"kind\": true}}'",
    ];
    let mut asked = request(json!(own), json!({}));
    asked["command"] = json!(own);
    let ran = run(&world, &asked);
    assert_eq!((ran.code, ran.error_code()), (64, "critic_is_actor".to_owned()), "{ran:?}");
    asked["expect"][1]["agent"]["allow_self"] = true.into();
    let ran = run(&world, &asked);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    assert!(report["warnings"].to_string().contains("self-verification"), "{ran:?}");
    assert!(check(&report, "agent").to_string().contains("self-verification"), "{ran:?}");
    let shown = world.probity(["log", "show", report["run_id"].as_str().unwrap(), "--json"]);
    assert!(shown.stdout.contains("self-verification"), "{shown:?}");
}

#[test]
fn another_spelling_of_the_same_delegate_is_no_other_delegate() {
    let world = World::new();
    let chat = |endpoint: &str| json!({"chat": {"endpoint": endpoint, "model": "m"}});
    let line = |program: &str| json!({"command": [program, "-c", "cat"]});
    let agent = |program: &str| json!({"acp": {"command": [program, "-c", "cat"]}});
    let near = chat("http://localhost:1/v1");
    let table = [
        (line("sh"), line("/bin/sh"), true),
        (line("/bin/../bin/sh"), line("sh"), true),
        (line("sh"), agent("sh"), true),
        (line("sh"), line("bash"), false),
        (near.clone(), chat("http://LOCALHOST:1/v1/"), true),
        (near.clone(), chat("http://127.0.0.1:1/v1"), true),
        (near, chat("http://localhost:2/v1"), false),
        (chat("https://a.example"), chat("https://A.example:443/"), true),
    ];
    for (actor, critic, is_same) in table {
        let mut check = critic.clone();
        check["criteria"] = json!({"kind": "It is kind."});
        let mut asked = actor.clone();
        asked["task"] = "x".into();
        asked["expect"] = json!([{"agent": check}]);
        world.write("r.json", &asked.to_string());
        let checked = world.probity(["check", "r.json"]);
        let said = checked.stdout.contains("critic_is_actor");
        assert_eq!(said, is_same, "{actor} {critic}: {checked:?}");
        assert!(!checked.stdout.contains("u{1f}"), "{checked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_judges_with_its_model_and_without_tools() {
    let world = World::new();
    let answer = |text: &str| Answer::reply(ModelReply::text(text));
    let server = StrictServer::answers([answer(REVISE), answer(PASS)]).start().await.unwrap();
    let profile = format!("---\nendpoint: {}\nmodel: judge\n---\nBe strict.\n", server.base_url());
    world.write(".probity/agents/judge.md", &profile);
    assert_eq!(world.probity(["trust"]).code, 0);
    let agent =
        json!({"profile": "judge", "criteria": {"kind": "It is kind."}, "min_confidence": 0.5});
    let asked = json!({
        "task": "write hello to out.txt",
        "command": HONEST,
        "expect": [CREATED, {"agent": agent}],
    });
    let ran = run(&world, &asked);
    assert_eq!(ran.code, 0, "{ran:?}");
    let received = server.received();
    assert_eq!(received.len(), 2);
    for request in &received {
        let messages = request.body["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2, "every claim is judged anew");
        assert!(messages[0].to_string().contains("Be strict."));
        assert!(request.body.get("tools").is_none());
    }
    // The same model at work is its own critic.
    let mut own = asked.clone();
    own["command"] = json!([]);
    own["agent"] = "judge".into();
    let ran = run(&world, &own);
    assert_eq!((ran.code, ran.error_code()), (64, "critic_is_actor".to_owned()), "{ran:?}");

    let tool = json!({"name": "a", "description": "b", "script": "def run(args):\n    return 1\n"});
    let chat = json!({"endpoint": server.base_url(), "model": "judge", "tools": [tool]});
    let mut armed = asked;
    armed["expect"][1] = json!({"agent": {"chat": chat, "criteria": {"kind": "x"}}});
    let ran = run(&world, &armed);
    assert_eq!((ran.code, ran.error_code()), (64, "critic_tools".to_owned()), "{ran:?}");
    let mut nobody = json!({"task": "x", "command": HONEST});
    nobody["expect"] = json!([{"agent": {"profile": "nobody", "criteria": {"kind": "x"}}}]);
    let ran = run(&world, &nobody);
    assert_eq!((ran.code, ran.error_code()), (64, "profile_missing".to_owned()), "{ran:?}");
}

#[test]
fn a_critic_that_the_delegate_could_edit_is_sealed() {
    let world = World::new();
    world.write("critic.sh", &format!("cat > /dev/null; echo '{PASS}'\n"));
    let mut asked = request(json!(["sh", "critic.sh"]), json!({}));
    asked["command"] = json!([
        "sh",
        "-c",
        "cat > /dev/null; echo hello > out.txt; echo '#' >> critic.sh; echo Done."
    ]);
    let ran = run(&world, &asked);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("judge_tampered"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_from_elsewhere_is_judged_too_and_a_recheck_needs_no_key() {
    let world = World::new();
    let answer = Answer::reply(ModelReply::text(PASS));
    let server = StrictServer::answers([answer]).key("sk-test").start().await.unwrap();
    let chat = json!({"endpoint": server.base_url(), "model": "judge", "key_env": "TEST_KEY"});
    let agent = json!({"chat": chat, "criteria": {"kind": "It is kind."}});
    let expect = format!("agent:{}", agent.to_string().replace('\\', "\\\\").replace(',', "\\,"));
    world.write("claim.json", r#"{"response": "How lovely to see you."}"#);
    let args = ["verify", "--result", "claim.json", "--expect", &expect, "--json"];
    let ran: Ran = world.command(args).env("TEST_KEY", "sk-test").output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    let without = world.command(args).env_remove("TEST_KEY").output().map(Ran::from).unwrap();
    assert_eq!(without.error_code(), "model_key_missing", "{without:?}");

    let asked = json!({"task": "x", "command": HONEST, "id": "it", "expect": [{"agent": agent}]});
    fs::write(world.beside("r.json"), asked.to_string()).unwrap();
    let args = ["run", "--request", "../r.json", "--workspace", ".", "--json"];
    let ran: Ran = world.command(args).env("TEST_KEY", "sk-test").output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(server.received().len(), 2);
    let again = world.command(["recheck", "it"]).env_remove("TEST_KEY").output().unwrap();
    assert_eq!(Ran::from(again).code, 0);
    assert_eq!(server.received().len(), 2, "a recheck asks nobody");
}
