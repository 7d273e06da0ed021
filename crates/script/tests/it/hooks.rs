//! Scripts that answer events.

use probity_script::{HookAnswer, Script, ScriptHook};
use serde_json::{Value as Json, json};

use crate::support::{Setup, World, testdata};

const EVENT: &str = "delegation.post_verify";

fn hook(setup: &Setup, script: Script) -> ScriptHook {
    let (host, execution) = (setup.host.clone(), setup.execution.clone());
    ScriptHook::new(script, setup.args.clone(), host, setup.limits, execution).unwrap()
}

async fn answer(setup: &Setup, body: &str, payload: Json) -> Result<HookAnswer, String> {
    let source = format!("def handle(event, payload):\n    {body}\n");
    let hook = hook(setup, Script::new("hook.star", source).unwrap());
    let answer = hook.handle(&World::new(&[]).ctx, EVENT, payload).await;
    answer.map_err(|fault| fault.code.as_str().to_owned())
}

#[tokio::test]
async fn the_hook_of_the_seed() {
    for setup in Setup::both() {
        let hook = hook(&setup, Script::from_file(&testdata("seed-000/hook.star")).unwrap());
        hook.check().await.unwrap();
        let world = World::new(&[]);
        let answer = hook.handle(&world.ctx, EVENT, json!({"response": "I created it"})).await;
        let reason = "claim made but no file path provided".to_owned();
        assert_eq!(answer.unwrap(), HookAnswer::Block { reason });
        let answer = hook.handle(&world.ctx, EVENT, json!({"response": "Done."})).await;
        assert_eq!(answer.unwrap(), HookAnswer::Allow);
    }
}

#[tokio::test]
async fn every_answer() {
    let stock = "a hook blocked the result and gave no reason";
    let payload = json!({"response": "x"});
    let rows = [
        ("return allow()", Ok(HookAnswer::Allow)),
        ("return {'action': 'allow'}", Ok(HookAnswer::Allow)),
        ("return struct(action = 'allow')", Ok(HookAnswer::Allow)),
        ("return json.encode(allow())", Ok(HookAnswer::Allow)),
        ("return block('no')", Ok(HookAnswer::Block { reason: "no".into() })),
        ("return {'action': 'block'}", Ok(HookAnswer::Block { reason: stock.into() })),
        (
            "return modify(payload)",
            Ok(HookAnswer::Modify { payload: payload.as_object().unwrap().clone() }),
        ),
        ("return None", Err("script_return_none")),
        ("return True", Err("script_return_type")),
        ("return 'nope'", Err("script_return_text")),
        ("return {}", Err("script_return_action")),
        ("return {'action': 'Allow'}", Err("script_return_action")),
        ("return {'action': 1}", Err("script_return_action")),
        ("return {'action': 'block', 'reason': 1}", Err("script_return_reason_type")),
        ("return {'action': 'modify'}", Err("script_return_payload")),
        ("return modify('x')", Err("script_return_payload")),
        ("return block(event + 1)", Err("script_raise")),
        ("fail('no')", Err("script_raise")),
    ];
    for setup in Setup::both() {
        for (body, expected) in &rows {
            let expected = expected.clone().map_err(str::to_owned);
            assert_eq!(answer(&setup, body, payload.clone()).await, expected, "{body}");
        }
    }
}

#[tokio::test]
async fn a_hook_sees_the_event() {
    let body = "return block(event)";
    let answer = answer(&Setup::worker(), body, json!({})).await;
    assert_eq!(answer, Ok(HookAnswer::Block { reason: EVENT.to_owned() }));
}

#[tokio::test]
async fn a_file_without_handle_or_with_examples_is_a_fault() {
    for (source, code) in [
        ("def run(result):\n    return True\n", "script_no_run"),
        ("def handle(event):\n    return allow()\n", "script_no_run"),
        ("accepts = [{}]\ndef handle(event, payload):\n    return allow()\n", "script_example"),
    ] {
        let hook = hook(&Setup::worker(), Script::new("hook.star", source).unwrap());
        assert_eq!(hook.check().await.unwrap_err().code.as_str(), code, "{source}");
    }
}
