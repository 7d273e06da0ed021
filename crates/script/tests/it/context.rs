//! Scripts that define `verify(context)`, the form of seed 001.

use std::sync::Arc;

use probity_core::VerdictKind::{Inconclusive, Pass, Revise};
use probity_script::{HookAnswer, Script, ScriptHook};
use probity_verifier::Verifier as _;
use serde_json::{Map, Value as Json, json};

use crate::support::{Setup, World, data};

fn decision() -> Json {
    let action = json!({"type": "set_status", "targetRefs": [{"type": "account", "id": "acc-7"}]});
    json!({
        "decisionType": "AccountActivation",
        "actor": {"id": "agent-1"},
        "action": action,
        "actions": [action],
        "context": {"region": "eu"},
        "plan": null,
    })
}

fn deciding(mut world: World, decision: Json) -> World {
    world.ctx.decision = Arc::new(decision);
    world
}

#[tokio::test]
async fn the_verifier_of_the_seed() {
    let script = || Script::from_file(&data("seed-001/my_verifier.star")).unwrap();
    for setup in Setup::both() {
        let verifier = setup.of(script());
        verifier.check().await.unwrap();
        for (status, kind, code, detail) in [
            ("active", Pass, "ok", "Status check for acc-7: ok"),
            ("frozen", Revise, "verify_failed", "Status check for acc-7: failed"),
        ] {
            let account = json!({"status": status}).to_string();
            let world = deciding(World::new(&[("accounts/acc-7.json", &account)]), decision());
            let verdict = verifier.verify(&world.ctx).await.unwrap();
            assert_eq!(verdict.kind, kind);
            assert_eq!((verdict.code.as_str(), verdict.reason.as_str()), (code, detail));
        }
        let absent = deciding(World::new(&[]), decision());
        assert_eq!(verifier.verify(&absent.ctx).await.unwrap().kind, Revise);
    }
}

#[tokio::test]
async fn the_hook_of_the_other_seed_as_its_file_holds_it() {
    let text = std::fs::read_to_string(data("seed-000/hook.md")).unwrap();
    let (head, body) = text.split_once("script: |\n").unwrap();
    let (_, event) = head.split_once("event: ").unwrap();
    let event = event.lines().next().unwrap();
    let lines = body.lines().take_while(|line| *line != "---");
    let source: String = lines.map(|line| format!("{}\n", &line[2..])).collect();
    for setup in Setup::both() {
        let script = Script::new("hook.md", source.clone()).unwrap();
        let (host, execution) = (setup.host.clone(), setup.execution.clone());
        let hook = ScriptHook::new(script, None, host, setup.limits, execution).unwrap();
        let world = World::new(&[]);
        let answer = async |response: &str| {
            let payload = Map::from_iter([("response".to_owned(), json!(response))]);
            hook.handle(&world.ctx, event, payload).await.unwrap()
        };
        let reason = "claim made but no file path provided".to_owned();
        assert_eq!(answer("I created a file").await, HookAnswer::Block { reason });
        assert_eq!(answer("Looked around.").await, HookAnswer::Allow);
    }
}

#[tokio::test]
async fn the_context_holds_the_decision_the_claim_and_the_rest() {
    let source = r#"
def verify(context):
    seen = dict(context)
    result = seen.pop("result")
    return struct(outcome = "fail", detail = json.encode([seen, result["response"]]))
"#;
    let always = json!({"task": "do it", "attempt": 3, "args": {"k": [1, None::<u8>]}});
    let with = |mut fields: Json| {
        fields.as_object_mut().unwrap().extend(always.as_object().unwrap().clone());
        fields
    };
    let own = json!({"result": 1, "task": 2, "attempt": 4, "args": 5, "more": 6});
    let rows = [
        (Json::Null, with(json!({}))),
        (json!({}), with(json!({}))),
        (decision(), with(decision())),
        (own, with(json!({"more": 6}))),
    ];
    for mut setup in Setup::both() {
        setup.args = json!({"k": [1, null]});
        for (decision, expected) in &rows {
            let mut world = deciding(World::new(&[]), decision.clone()).claiming("done");
            (world.ctx.task, world.ctx.attempt) = ("do it".into(), 3);
            let verdict = setup.run(source, &world).await.unwrap();
            let seen: Json = serde_json::from_str(&verdict.reason).unwrap();
            assert_eq!(seen, json!([expected, "done"]));
        }
    }
}

#[tokio::test]
async fn without_a_decision_its_keys_are_missing_and_to_ask_for_them_is_a_fault() {
    let source = "def verify(context):\n    return context['action']['id'] == 1\n";
    for setup in Setup::both() {
        let fault = setup.run(source, &World::new(&[])).await.unwrap_err();
        assert_eq!(fault.code.as_str(), "script_raise");
        assert!(fault.location.unwrap().starts_with("check.star:2:"));
    }
}

#[tokio::test]
async fn nothing_a_call_does_to_its_context_is_seen_by_the_next() {
    let source = r#"
def verify(context):
    fresh = "mark" not in context and "mark" not in context["args"]
    context["mark"] = 1
    context["args"]["mark"] = 1
    return fresh
"#;
    for setup in Setup::both() {
        let verifier = setup.verifier(source);
        for _ in 0..3 {
            assert_eq!(verifier.verify(&World::new(&[]).ctx).await.unwrap().kind, Pass);
        }
    }
}

#[tokio::test]
async fn what_cannot_be_given_to_a_script_is_a_fault() {
    let source = "def verify(context):\n    return True\n";
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let large = json!({"k": "x".repeat(17 << 20)});
    for setup in Setup::both() {
        for decision in [json!([]), json!("x"), json!(1), json!({"k": deep}), large.clone()] {
            let fault = setup.run(source, &deciding(World::new(&[]), decision)).await.unwrap_err();
            assert_eq!(fault.code.as_str(), "script_input");
        }
        let mut world = World::new(&[]);
        let mut claim = probity_core::Claim::text("x");
        claim.output = Some(deep.clone());
        world.ctx.claim = Arc::new(claim);
        let fault = setup.run("def run(result):\n    return True\n", &world).await.unwrap_err();
        assert_eq!(fault.code.as_str(), "script_input");
    }
}

#[tokio::test]
async fn ground_truth_out_of_reach_is_inconclusive_here_too() {
    let source = "def verify(context):\n    http.get('http://hang.test/')\n    return True\n";
    for mut setup in Setup::both() {
        setup.host = crate::support::table([]);
        let world = World::new(&[]).within(std::time::Duration::from_secs(1));
        let verdict = setup.run(source, &world).await.unwrap();
        assert_eq!((verdict.kind, verdict.code.as_str()), (Inconclusive, "verify_timeout"));
    }
}

#[tokio::test]
async fn examples_bring_their_own_context() {
    let examples = r#"
accepts = [
    {"context": {"action": {"id": "a"}}, "files": {"a.txt": ""}, "task": "t", "attempt": 2},
    {"result": {"response": "x"}, "context": {"action": {"id": "b"}}, "files": {"b.txt": ""}},
]
rejects = [{"context": {"action": {"id": "a"}}}]

def verify(context):
    return fs.exists(context["action"]["id"] + ".txt") and context["attempt"] > 0
"#;
    for setup in Setup::both() {
        setup.verifier(examples).check().await.unwrap();
        let wrong =
            format!("{examples}\naccepts.append({{'context': {{'action': {{'id': 'z'}}}}}})\n");
        let fault = setup.verifier(&wrong).check().await.unwrap_err();
        assert!(fault.message.contains("`accepts[2]` must be pass, it is revise"), "{fault}");
    }
}
