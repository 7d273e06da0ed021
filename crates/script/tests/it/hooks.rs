//! Scripts that answer events.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::Code;
use probity_script::{
    GateError, HookAnswer, Host, HttpGate, HttpRequest, HttpResponse, Limits, MAX_PAYLOAD_BYTES,
    Script, ScriptHook,
};
use serde_json::{Map, Value as Json, json};
use tokio::sync::Notify;

use crate::support::{Setup, World, table, testdata};

const EVENT: &str = "delegation.post_verify";

fn hook(setup: &Setup, script: Script, when: Option<&str>) -> ScriptHook {
    let (host, execution) = (setup.host.clone(), setup.execution.clone());
    ScriptHook::new(script, when.map(str::to_owned), host, setup.limits, execution).unwrap()
}

fn object(value: Json) -> Map<String, Json> {
    value.as_object().unwrap().clone()
}

async fn asked(hook: &ScriptHook, payload: Json) -> Result<HookAnswer, String> {
    let answer = hook.handle(&World::new(&[]).ctx, EVENT, object(payload)).await;
    answer.map_err(|fault| fault.code.as_str().to_owned())
}

async fn answer(setup: &Setup, body: &str, payload: Json) -> Result<HookAnswer, String> {
    let source = format!("def handle(event, payload):\n    {body}\n");
    asked(&hook(setup, Script::new("hook.star", source).unwrap(), None), payload).await
}

#[tokio::test]
async fn the_hook_of_the_seed() {
    for setup in Setup::both() {
        let hook = hook(&setup, Script::from_file(&testdata("seed-000/hook.star")).unwrap(), None);
        hook.check().await.unwrap();
        let reason = "claim made but no file path provided".to_owned();
        let lying = asked(&hook, json!({"response": "I created it"})).await;
        assert_eq!(lying, Ok(HookAnswer::Block { reason }));
        let honest = asked(&hook, json!({"response": "Done."})).await;
        assert_eq!(honest, Ok(HookAnswer::Allow));
    }
}

#[tokio::test]
async fn every_answer_that_is_one() {
    let stock = "a hook blocked the result and gave no reason";
    let block = |reason: &str| HookAnswer::Block { reason: reason.into() };
    let modify = |payload: Json| HookAnswer::Modify { payload: object(payload) };
    let rows = [
        ("return allow()", HookAnswer::Allow),
        ("return {'action': 'allow'}", HookAnswer::Allow),
        ("return struct(action = 'allow')", HookAnswer::Allow),
        ("return json.encode(allow())", HookAnswer::Allow),
        ("return {'action': 'allow', 'reason': 'fine', 'other': 1}", HookAnswer::Allow),
        ("return block('no')", block("no")),
        ("return block(reason = 'no')", block("no")),
        ("return {'action': 'block', 'reason': 'x'}", block("x")),
        ("return struct(action = 'block', reason = 'x')", block("x")),
        ("return json.encode(block('x'))", block("x")),
        ("return {'action': 'block'}", block(stock)),
        ("return {'action': 'block', 'reason': ''}", block(stock)),
        ("return modify(payload)", modify(json!({"response": "x", "tool_calls": [1]}))),
        ("return modify({})", modify(json!({"response": "x", "tool_calls": [1]}))),
        (
            "return modify({'response': {'a': 1}})",
            modify(json!({"response": {"a": 1}, "tool_calls": [1]})),
        ),
        (
            "return modify(payload = {'more': None})",
            modify(json!({"response": "x", "tool_calls": [1], "more": null})),
        ),
        (
            "return modify(struct(response = 'y'))",
            modify(json!({"response": "y", "tool_calls": [1]})),
        ),
        (
            "return {'action': 'modify', 'payload': {'response': 'y'}}",
            modify(json!({"response": "y", "tool_calls": [1]})),
        ),
        (
            "return json.encode(modify({'tool_calls': []}))",
            modify(json!({"response": "x", "tool_calls": []})),
        ),
    ];
    for setup in Setup::both() {
        for (body, expected) in &rows {
            let payload = json!({"response": "x", "tool_calls": [1]});
            assert_eq!(answer(&setup, body, payload).await, Ok(expected.clone()), "{body}");
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_is_a_fault() {
    let rows = [
        ("return None", "script_return_none"),
        ("pass", "script_return_none"),
        ("return True", "script_return_type"),
        ("return False", "script_return_type"),
        ("return 0", "script_return_type"),
        ("return 1.5", "script_return_type"),
        ("return []", "script_return_type"),
        ("return [allow()]", "script_return_type"),
        ("return (allow(),)", "script_return_type"),
        ("return set(['allow'])", "script_return_type"),
        ("return allow", "script_return_type"),
        ("return handle", "script_return_type"),
        ("return json.encode([allow()])", "script_return_type"),
        ("return 'true'", "script_return_text"),
        ("return '1'", "script_return_type"),
        ("return ''", "script_return_text"),
        ("return 'allow'", "script_return_text"),
        ("return 'block'", "script_return_text"),
        ("return json.encode(allow()) + ' and more'", "script_return_text"),
        ("return json.encode(None)", "script_return_null"),
        ("return '{\"action\": \"allow\", \"action\": \"block\"}'", "script_return_duplicate_key"),
        ("return {}", "script_return_action"),
        ("return '{}'", "script_return_action"),
        ("return struct()", "script_return_action"),
        ("return {'Action': 'allow'}", "script_return_action"),
        ("return {'action': 'Allow'}", "script_return_action"),
        ("return {'action': 'deny'}", "script_return_action"),
        ("return {'action': 'continue'}", "script_return_action"),
        ("return {'action': 'delegate'}", "script_return_action"),
        ("return {'action': ''}", "script_return_action"),
        ("return {'action': None}", "script_return_action"),
        ("return {'action': True}", "script_return_action"),
        ("return {'action': 1}", "script_return_action"),
        ("return {'action': ['allow']}", "script_return_action"),
        ("return {'verified': True}", "script_return_action"),
        ("return {'action': 'block', 'reason': 1}", "script_return_reason_type"),
        ("return {'action': 'block', 'reason': None}", "script_return_reason_type"),
        ("return {'action': 'allow', 'reason': []}", "script_return_reason_type"),
        ("return {'action': 'modify'}", "script_return_payload"),
        ("return {'action': 'modify', 'payload': None}", "script_return_payload"),
        ("return {'action': 'modify', 'response': 'y'}", "script_return_payload"),
        ("return modify(None)", "script_return_payload"),
        ("return modify('x')", "script_return_payload"),
        ("return modify([payload])", "script_return_payload"),
        ("return modify(json.encode(payload))", "script_return_payload"),
        ("return modify({'f': handle})", "script_raise"),
        ("return modify()", "script_raise"),
        ("return block()", "script_raise"),
        ("return block(1)", "script_raise"),
        ("return block(event + 1)", "script_raise"),
        ("return payload['absent']", "script_raise"),
        ("return payload.response", "script_raise"),
        ("return args['x']", "script_raise"),
        ("fail('no')", "script_raise"),
        ("return handle(event, payload)", "script_depth"),
        ("return modify({'x': 'x' * 2000000})", "script_output"),
        ("return fs.read('/etc/passwd')", "path_outside"),
        ("return http.get('http://x.test/')", "egress_denied"),
    ];
    for setup in Setup::both() {
        for (body, code) in &rows {
            let payload = json!({"response": "x"});
            assert_eq!(answer(&setup, body, payload).await, Err((*code).to_owned()), "{body}");
        }
    }
}

#[tokio::test]
async fn a_hook_that_does_not_end_is_a_fault() {
    for mut setup in Setup::both() {
        setup.limits = Limits { ticks: 1_000_000_000, wall_ms: 100, ..Limits::default() };
        let body = "for i in range(1000000000):\n        pass";
        let late = answer(&setup, body, json!({})).await;
        assert_eq!(late, Err("script_timeout".to_owned()));
        setup.limits = Limits { ticks: 5_000, ..Limits::default() };
        assert_eq!(answer(&setup, body, json!({})).await, Err("script_ticks".to_owned()));
        let script = Script::new("hook.star", "def handle(event, payload):\n    return allow()\n");
        let when = "[i for i in range(100000)] == []";
        let answer = asked(&hook(&setup, script.unwrap(), Some(when)), json!({})).await;
        assert_eq!(answer, Err("script_ticks".to_owned()));
    }
}

/// Says when it was asked and when nobody waits for it any more.
struct Silent {
    asked: Notify,
    left: Arc<Notify>,
}

struct Left(Arc<Notify>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[async_trait]
impl HttpGate for Silent {
    async fn fetch(&self, _: &HttpRequest) -> Result<HttpResponse, GateError> {
        let _left = Left(Arc::clone(&self.left));
        self.asked.notify_one();
        std::future::pending().await
    }
}

const ASKING: &str =
    "def handle(event, payload):\n    http.get('http://x.test/')\n    return allow()\n";

fn silent(setup: &mut Setup) -> Arc<Silent> {
    let gate = Arc::new(Silent { asked: Notify::new(), left: Arc::default() });
    setup.host = Host { http: Some(Arc::clone(&gate) as Arc<dyn HttpGate>), ..Host::default() };
    gate
}

#[tokio::test]
async fn a_cancelled_hook_is_a_fault() {
    for mut setup in Setup::both() {
        let gate = silent(&mut setup);
        let hook = hook(&setup, Script::new("hook.star", ASKING).unwrap(), None);
        let world = World::new(&[]);
        let (answer, ()) = tokio::join!(hook.handle(&world.ctx, EVENT, Map::new()), async {
            gate.asked.notified().await;
            world.ctx.cancel.cancel();
        });
        assert_eq!(answer.unwrap_err().code.as_str(), "script_cancelled");
    }
}

#[tokio::test]
async fn a_dropped_hook_ends_and_leaves_the_next_call_alone() {
    for mut setup in Setup::both() {
        let gate = silent(&mut setup);
        let hook = hook(&setup, Script::new("hook.star", ASKING).unwrap(), Some("payload['ask']"));
        let world = World::new(&[]);
        let ask = |yes: bool| Map::from_iter([("ask".to_owned(), json!(yes))]);
        tokio::select! {
            answer = hook.handle(&world.ctx, EVENT, ask(true)) => panic!("{answer:?}"),
            () = gate.asked.notified() => {}
        }
        // Far less than the script would be given if nobody had told it.
        tokio::time::timeout(Duration::from_secs(10), gate.left.notified()).await.unwrap();
        let answer = hook.handle(&world.ctx, EVENT, ask(false)).await.unwrap();
        assert_eq!(answer, HookAnswer::NotApplicable);
        assert!(!world.ctx.cancel.is_cancelled());
    }
}

#[tokio::test]
async fn ground_truth_out_of_reach_is_no_answer_either_way() {
    for mut setup in Setup::both() {
        setup.host = table([("http://down.test/", Err(GateError::Unreachable("gone".into())))]);
        let body = "return block(http.get('http://down.test/')['body'])";
        let answer = answer(&setup, body, json!({})).await;
        let code = Code::slug("hook_unreachable");
        assert_eq!(answer, Ok(HookAnswer::Inconclusive { code, reason: "gone".to_owned() }));
    }
}

#[tokio::test]
async fn when_decides_whether_handle_is_called() {
    let rows = [
        ("True", Ok(true)),
        ("False", Ok(false)),
        ("event == 'delegation.post_verify'", Ok(true)),
        ("event == 'tool.pre'", Ok(false)),
        ("  'created' in payload.get('response', '')  # a claim of a file", Ok(true)),
        ("payload['n'] > 3 and\n  event != ''", Ok(false)),
        ("any([call['name'] == 'shell' for call in payload['calls']])", Ok(true)),
        ("(lambda n: n == 3)(payload['n'])", Ok(true)),
        ("re.match('I .*', payload['response']) != None", Ok(true)),
        ("payload.pop('response') == 'I created it'", Ok(true)),
        ("payload", Err("hook_when_type")),
        ("payload.get('absent')", Err("hook_when_type")),
        ("payload['n']", Err("hook_when_type")),
        ("1", Err("hook_when_type")),
        ("0", Err("hook_when_type")),
        ("'True'", Err("hook_when_type")),
        ("None", Err("hook_when_type")),
        ("[True]", Err("hook_when_type")),
        ("True,", Err("hook_when_type")),
        ("lambda: True", Err("hook_when_type")),
        ("payload['absent']", Err("hook_when_raise")),
        ("payload.response == 'x'", Err("hook_when_raise")),
        ("payload['n'] > 'x'", Err("hook_when_raise")),
        ("1 // 0 == 0", Err("hook_when_raise")),
        ("fail('no')", Err("hook_when_raise")),
        ("", Err("hook_when_syntax")),
        ("# nothing", Err("hook_when_syntax")),
        ("event ==", Err("hook_when_syntax")),
        ("event = 'x'", Err("hook_when_syntax")),
        ("return True", Err("hook_when_syntax")),
        ("True, False", Err("hook_when_syntax")),
        ("True; True", Err("hook_when_syntax")),
        ("True\nx = 1", Err("hook_when_syntax")),
        ("True) or (False", Err("hook_when_syntax")),
        ("True] + [False", Err("hook_when_syntax")),
        ("x for x in payload", Err("hook_when_syntax")),
        ("*payload", Err("hook_when_syntax")),
        ("def f(): pass", Err("hook_when_syntax")),
        ("load('x', 'y')", Err("hook_when_syntax")),
        ("nothing == 1", Err("hook_when_syntax")),
        ("args == {}", Err("hook_when_syntax")),
        ("OF_THE_FILE", Err("hook_when_syntax")),
        ("fs.exists('x')", Err("script_top_level")),
        ("changes.created() == []", Err("script_top_level")),
        ("http.get('http://x.test/')['ok']", Err("script_top_level")),
        ("time.now() == ''", Err("script_top_level")),
        ("len([str(i) for i in range(10000000)]) == 0", Err("script_heap")),
        ("len(print('x' * 2000000)) == 0", Err("script_output")),
    ];
    let payload = json!({"response": "I created it", "n": 3, "calls": [{"name": "shell"}]});
    let source =
        "OF_THE_FILE = True\ndef handle(event, payload):\n    return block(payload['response'])\n";
    for setup in Setup::both() {
        for (when, expected) in &rows {
            let hook = hook(&setup, Script::new("hook.star", source).unwrap(), Some(when));
            let expected = expected.map_err(str::to_owned).map(|holds| {
                let reason = "I created it".to_owned();
                if holds { HookAnswer::Block { reason } } else { HookAnswer::NotApplicable }
            });
            assert_eq!(asked(&hook, payload.clone()).await, expected, "{when}");
            let is_found_early = expected == Err("hook_when_syntax".to_owned());
            assert_eq!(hook.check().await.is_err(), is_found_early, "{when}");
        }
    }
}

#[tokio::test]
async fn the_longest_when() {
    let text = |bytes: usize| format!("True{}", " ".repeat(bytes - 4));
    for (when, expected) in [(text(4096), None), (text(4097), Some("hook_when_syntax"))] {
        let script = Script::new("hook.star", ASKING).unwrap();
        let fault = hook(&Setup::in_process(), script, Some(&when)).check().await.err();
        assert_eq!(fault.as_ref().map(|fault| fault.code.as_str()), expected);
    }
}

#[tokio::test]
async fn a_fault_of_when_says_so_and_a_hook_that_is_not_meant_is_not_run() {
    for setup in Setup::both() {
        let script = || Script::new("hook.star", "def handle(event, payload):\n    fail('no')\n");
        let silent = hook(&setup, script().unwrap(), Some("False"));
        assert_eq!(asked(&silent, json!({})).await, Ok(HookAnswer::NotApplicable));
        let broken = hook(&setup, script().unwrap(), Some("payload['x'] == 1"));
        let fault = broken.handle(&World::new(&[]).ctx, EVENT, Map::new()).await.unwrap_err();
        assert_eq!(fault.location.as_deref(), Some("hook.star: when"));
        assert!(fault.message.contains('x'), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_payload_that_is_too_large_or_too_deep_is_a_fault() {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let large = "x".repeat(usize::try_from(MAX_PAYLOAD_BYTES).unwrap() - 8);
    for setup in Setup::both() {
        let rows = [
            (json!({"k": deep(119)}), Ok(HookAnswer::Allow)),
            (json!({"k": deep(120)}), Err("hook_payload_too_large".to_owned())),
            (json!({"k": deep(1_000)}), Err("hook_payload_too_large".to_owned())),
            (json!({"k": large}), Ok(HookAnswer::Allow)),
            (json!({"kk": large}), Err("hook_payload_too_large".to_owned())),
        ];
        for (payload, expected) in rows {
            assert_eq!(answer(&setup, "return allow()", payload).await, expected);
        }
        let merged = answer(&setup, "return modify({'y': 'x'})", json!({"k": large})).await;
        assert_eq!(merged, Err("hook_payload_too_large".to_owned()));
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
        let hook = hook(&Setup::worker(), Script::new("hook.star", source).unwrap(), None);
        assert_eq!(hook.check().await.unwrap_err().code.as_str(), code, "{source}");
    }
}
