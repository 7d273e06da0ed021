//! Every block of `docs/verifier-language.md` is run, and every fault code is on the page.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use probity_core::VerdictKind;
use probity_script::{
    CommandGate, CommandOutput, CommandRequest, FAULT_CODES, GateError, GitGate, GitRequest,
    HookAnswer, Host, Script, ScriptHook, ScriptTool,
};
use probity_verifier::{SnapshotRules, Verifier as _, snapshot};
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Setup, World, page, table};

const EVENT: &str = "delegation.post_verify";
const PAGE: &str = include_str!("../../../../docs/verifier-language.md");

/// What follows `python` on the fence, and the code.
fn blocks() -> Vec<(&'static str, &'static str)> {
    PAGE.split("```python ")
        .skip(1)
        .map(|block| {
            let (sort, rest) = block.split_once('\n').unwrap();
            (sort, rest.split_once("```").unwrap().0)
        })
        .collect()
}

struct FixedGates;

#[async_trait]
impl GitGate for FixedGates {
    async fn ask(&self, _: &Path, request: &GitRequest) -> Result<Json, GateError> {
        Ok(match request {
            GitRequest::RevParse { rev } if rev == "HEAD" => json!("1".repeat(40)),
            GitRequest::RevParse { .. } => Json::Null,
            GitRequest::IsAncestor { .. } => json!(true),
            GitRequest::IsClean => json!(false),
        })
    }
}

#[async_trait]
impl CommandGate for FixedGates {
    async fn run(&self, _: &Path, request: &CommandRequest) -> Result<CommandOutput, GateError> {
        if request.command == "tests" {
            return Ok(CommandOutput::default());
        }
        Err(GateError::Denied("not named".to_owned()))
    }
}

fn setup() -> Setup {
    let unreachable = Err(GateError::Unreachable("no route".to_owned()));
    Setup {
        args: json!({"path": "report.md"}),
        host: Host {
            git: Some(Arc::new(FixedGates)),
            commands: Some(Arc::new(FixedGates)),
            env: BTreeMap::from([("MODE".to_owned(), "strict".to_owned())]),
            ..table([
                ("https://status.example.com/", page(200, "up")),
                ("https://down.example.com/", unreachable),
            ])
        },
        ..Setup::worker()
    }
}

fn world() -> World {
    let mut world = World::new(&[
        ("report.md", "# Summary\n\nAll tests are green.\n"),
        ("data/users.json", "[]"),
        ("accounts/acc-7.json", "{\"status\": \"active\"}"),
    ]);
    rusqlite::Connection::open(world.dir.path().join("shop.db"))
        .unwrap()
        .execute_batch(
            "CREATE TABLE orders (cents INTEGER); INSERT INTO orders VALUES (100), (250)",
        )
        .unwrap();
    world.ctx.decision = Arc::new(json!({"action": {"targetRefs": [{"id": "acc-7"}]}}));
    let cancel = CancellationToken::new();
    let after = snapshot(&world.ctx.workspace, &SnapshotRules::default(), &cancel).unwrap();
    world.ctx.after = Arc::new(after);
    world
}

fn hook(setup: &Setup, code: &str, when: Option<&str>) -> ScriptHook {
    let script = Script::new("hook.star", code).unwrap();
    let (host, execution) = (setup.host.clone(), setup.execution.clone());
    ScriptHook::new(script, when.map(str::to_owned), host, setup.limits, execution).unwrap()
}

/// How a tool's call ends, as the fence of its block says it.
async fn tool(setup: &Setup, world: &World, code: &str) -> &'static str {
    let script = Script::new("tool.star", code).unwrap();
    let (host, execution) = (setup.host.clone(), setup.execution.clone());
    let workspace = Arc::clone(&world.ctx.workspace);
    let tool = ScriptTool::new(script, host, setup.limits, execution, workspace).unwrap();
    let (args, cancel) = (json!({"path": "report.md"}), CancellationToken::new());
    let (now, timeout) = (SystemTime::UNIX_EPOCH, Duration::from_secs(30));
    let output = tool.call(args.clone(), now, timeout, &cancel).await.unwrap();
    if output.is_error {
        return "tool=error";
    }
    match tool.verify(&args, &output.content, now, timeout, &cancel).await.unwrap() {
        Ok(()) => "tool",
        Err(_) => "tool=rejected",
    }
}

#[tokio::test]
async fn every_block_does_what_it_says() {
    let (setup, world) = (setup(), world());
    let mut run = 0;
    for (sort, code) in blocks() {
        match sort {
            "true" => {
                for line in code.lines() {
                    let source = format!("def run(result):\n    return bool({line})\n");
                    let verdict = setup.run(&source, &world).await;
                    let verdict = verdict.unwrap_or_else(|fault| panic!("{line}: {fault}"));
                    assert_eq!(verdict.kind, VerdictKind::Pass, "{line}");
                    run += 1;
                }
            }
            "hook" => {
                hook(&setup, code, None).handle(&world.ctx, EVENT, Map::new()).await.unwrap();
                run += 1;
            }
            "when" => {
                let allow = "def handle(event, payload):\n    return allow()\n";
                let hook = hook(&setup, allow, Some(code));
                for (response, expected) in
                    [("I created it", HookAnswer::Allow), ("Done.", HookAnswer::NotApplicable)]
                {
                    let payload = Map::from_iter([("response".to_owned(), json!(response))]);
                    let answer = hook.handle(&world.ctx, EVENT, payload).await.unwrap();
                    assert_eq!(answer, expected, "{code}");
                }
                run += 1;
            }
            "tool" | "tool=error" | "tool=rejected" => {
                assert_eq!(tool(&setup, &world, code).await, sort, "{code}");
                run += 1;
            }
            _ => {
                let got = match setup.verifier(code).verify(&world.ctx).await {
                    Ok(verdict) => format!("{:?}", verdict.kind).to_lowercase(),
                    Err(fault) => format!("fault={}", fault.code),
                };
                assert_eq!(got, sort, "{code}");
                run += 1;
            }
        }
    }
    assert!(run >= 50, "only {run} snippets were found");
}

#[test]
fn every_code_is_on_the_page_with_its_meaning() {
    for fault in FAULT_CODES {
        let row = format!(
            "| [`{0}`](codes/{0}.md) | {1} | {2} |\n",
            fault.code, fault.meaning, fault.fix
        );
        assert!(PAGE.contains(&row), "{}", fault.code);
    }
}
