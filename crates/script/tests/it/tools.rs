//! Tools: what goes in, what comes out, and what a broken one does to the next.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use probity_core::Fault;
use probity_script::{
    Execution, GateError, Host, Limits, Script, ScriptHook, ScriptTool, ScriptToolOutput,
};
use probity_verifier::Workspace;
use serde_json::{Map, Value as Json, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::{Setup, World, page, pool, table};

const MINUTE: Duration = Duration::from_secs(60);

/// A temporary workspace and what tools in it are built from.
pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) host: Host,
    pub(crate) limits: Limits,
    pub(crate) execution: Execution,
}

impl Bench {
    pub(crate) fn on(execution: Execution) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Arc::new(Workspace::open(dir.path()).unwrap());
        let (host, limits) = (Host::default(), Limits::default());
        Self { dir, workspace, host, limits, execution }
    }

    pub(crate) fn worker() -> Self {
        Self::on(Execution::Worker(pool()))
    }

    /// Both ways to run a script: they must agree.
    pub(crate) fn both() -> [Self; 2] {
        [Self::worker(), Self::on(Execution::InProcess)]
    }

    pub(crate) fn tool(&self, source: &str) -> ScriptTool {
        let script = Script::new("tool.star", source).unwrap();
        let (host, execution) = (self.host.clone(), self.execution.clone());
        ScriptTool::new(script, host, self.limits, execution, Arc::clone(&self.workspace)).unwrap()
    }

    pub(crate) async fn call(&self, source: &str, args: Json) -> Result<ScriptToolOutput, Fault> {
        call(&self.tool(source), args).await
    }

    /// The result of `run(args)` with this body.
    pub(crate) async fn run(&self, body: &str) -> ScriptToolOutput {
        let source = format!("def run(args):\n    {body}\n");
        self.call(&source, json!({})).await.unwrap_or_else(|fault| panic!("{body}: {fault}"))
    }

    pub(crate) async fn done(&self, body: &str) -> Json {
        let output = self.run(body).await;
        assert!(!output.is_error, "{body}: {}", output.content);
        output.content
    }

    /// The error of `run(args)` with this body.
    pub(crate) async fn error(&self, body: &str) -> String {
        let output = self.run(body).await;
        assert!(output.is_error, "{body}: {}", output.content);
        output.content.as_str().unwrap().to_owned()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(path)).unwrap()
    }
}

pub(crate) async fn call(tool: &ScriptTool, args: Json) -> Result<ScriptToolOutput, Fault> {
    tool.call(args, SystemTime::UNIX_EPOCH, MINUTE, &CancellationToken::new()).await
}

async fn verify(tool: &ScriptTool, result: &Json) -> Result<Result<(), String>, Fault> {
    let (args, now) = (json!({"want": 1}), SystemTime::UNIX_EPOCH);
    tool.verify(&args, result, now, MINUTE, &CancellationToken::new()).await
}

#[tokio::test]
async fn every_value_is_a_result() {
    let rows = [
        ("return None", json!(null)),
        ("pass", json!(null)),
        ("return True", json!(true)),
        ("return False", json!(false)),
        ("return 7", json!(7)),
        ("return 'text'", json!("text")),
        ("return ''", json!("")),
        ("return 'null'", json!("null")),
        ("return [1, 'a', None]", json!([1, "a", null])),
        ("return (1, 2)", json!([1, 2])),
        ("return {}", json!({})),
        ("return {'a': {'b': []}}", json!({"a": {"b": []}})),
        ("return struct(a = 1)", json!({"a": 1})),
        ("return json.encode({'error': 'x'})", json!("{\"error\":\"x\"}")),
        ("return {'error': None, 'n': 1}", json!({"error": null, "n": 1})),
        ("return {'error': ''}", json!({"error": ""})),
        ("return {'error': 3}", json!({"error": 3})),
        ("return [{'error': 'x'}]", json!([{"error": "x"}])),
    ];
    for bench in Bench::both() {
        for (body, expected) in &rows {
            let content = bench.done(body).await;
            // By text: whether `1` equals `1.0` depends on how serde_json was built.
            assert_eq!(content.to_string(), expected.to_string(), "{body}");
        }
    }
}

#[tokio::test]
async fn every_error_of_a_call_is_told() {
    let rows = [
        ("fail('no such user')", json!("no such user")),
        ("return {'error': 'no such user'}", json!("no such user")),
        ("return struct(error = 'no such user')", json!("no such user")),
        ("return {'error': 'late', 'tries': 3}", json!({"error": "late", "tries": 3})),
        ("return fs.read('absent.txt')", json!("`absent.txt` does not exist")),
        ("return run", json!("a value of type `function` has no JSON form")),
        ("return env('HOME')", json!("variable `HOME` is not allowed")),
        ("return exec.run('rm')['ok']", json!("command `rm` is not allowed: none is")),
        ("return changes.created()", json!("no snapshot was taken for this check")),
    ];
    for bench in Bench::both() {
        for (body, expected) in &rows {
            let output = bench.run(body).await;
            assert!(output.is_error, "{body}");
            assert_eq!(output.content.to_string(), expected.to_string(), "{body}");
        }
        for body in ["return {}['k']", "return [1][2]", "return 1 + 'a'", "return fs.stat('/etc')"]
        {
            assert!(!bench.error(body).await.is_empty(), "{body}");
        }
    }
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_an_error_of_the_call_and_a_denied_one_too() {
    for mut bench in Bench::both() {
        bench.host = table([
            ("http://up.test/", page(200, "up")),
            ("http://down.test/", Err(GateError::Unreachable("no route".to_owned()))),
        ]);
        assert_eq!(bench.done("return http.get('http://up.test/')['body']").await, "up");
        assert_eq!(bench.error("return http.get('http://down.test/')").await, "no route");
        let denied = bench.error("return http.get('http://other.test/')").await;
        assert!(denied.contains("not allowed"), "{denied}");
    }
}

#[tokio::test]
async fn the_arguments_and_the_time_are_those_of_the_call() {
    for bench in Bench::both() {
        let tool = bench.tool("def run(args):\n    return [args, time.now()]\n");
        for args in [json!({}), json!({"a": {"b": [1, null]}}), json!({"text": "ä\u{0}"})] {
            let now = SystemTime::UNIX_EPOCH + MINUTE;
            let output = tool.call(args.clone(), now, MINUTE, &CancellationToken::new()).await;
            let expected = json!([args, "1970-01-01T00:01:00Z"]);
            assert_eq!(output.unwrap().content.to_string(), expected.to_string());
        }
        for args in [json!(null), json!([1]), json!("a")] {
            assert_eq!(call(&tool, args).await.unwrap_err().code.as_str(), "script_input");
        }
        let huge = json!({"text": "a".repeat(16 << 20)});
        assert_eq!(call(&tool, huge).await.unwrap_err().code.as_str(), "script_input");
    }
}

#[tokio::test]
async fn nothing_survives_a_call() {
    let source = "SEEN = []\ndef run(args):\n    SEEN.append(1)\n    return len(SEEN)\n";
    for bench in Bench::both() {
        let tool = bench.tool(source);
        for _ in 0..2 {
            assert!(call(&tool, json!({})).await.unwrap().is_error);
        }
    }
}

#[tokio::test]
async fn every_opinion_on_a_result() {
    let (stock, fine) = ("the tool's own check rejects the result and gave no reason", Ok(()));
    let says = |text: &str| Err(text.to_owned());
    let rows = [
        ("return None", fine.clone()),
        ("pass", fine.clone()),
        ("return True", fine.clone()),
        ("return str(True)", fine.clone()),
        ("return {'ok': True, 'reason': 'unused'}", fine.clone()),
        ("return {'verified': True}", fine.clone()),
        ("return json.encode({'ok': True})", fine.clone()),
        ("return struct(ok = True)", fine.clone()),
        ("return args['want'] == 1 and result['id'] == 7", fine),
        ("return False", says(stock)),
        ("return 'False'", says(stock)),
        ("return {'ok': False}", says(stock)),
        ("return {'ok': False, 'reason': ''}", says(stock)),
        ("return 'the id is gone'", says("the id is gone")),
        ("return {'ok': False, 'reason': 'gone'}", says("gone")),
        ("return struct(verified = False, reason = 'gone')", says("gone")),
        ("return json.encode({'ok': False, 'reason': 'gone'})", says("gone")),
        ("return 'id %d' % result['id']", says("id 7")),
    ];
    for bench in Bench::both() {
        for (body, expected) in &rows {
            let source =
                format!("def run(args):\n    pass\ndef verify(args, result):\n    {body}\n");
            let tool = bench.tool(&source);
            assert!(tool.defines_verify());
            assert_eq!(verify(&tool, &json!({"id": 7})).await.unwrap(), *expected, "{body}");
        }
    }
}

#[tokio::test]
async fn an_opinion_that_is_none_is_a_fault() {
    let rows = [
        ("return 3", "script_return_type"),
        ("return []", "script_return_type"),
        ("return ''", "script_return_text"),
        ("return '{'", "script_return_text"),
        ("return 'null'", "script_return_null"),
        ("return {}", "script_return_verified_missing"),
        ("return {'ok': 1}", "script_return_verified_type"),
        ("return {'ok': False, 'reason': 1}", "script_return_reason_type"),
        ("return {'ok': False, 'reason': None}", "script_return_reason_type"),
        ("fail('broken')", "script_raise"),
        ("return fs.write('x.txt', 'x')", "write_denied"),
        ("return fs.remove('keep.txt')", "write_denied"),
        ("return http.get('http://down.test/')", "unreachable"),
    ];
    for mut bench in Bench::both() {
        std::fs::write(bench.dir.path().join("keep.txt"), "kept").unwrap();
        let down = Err(GateError::Unreachable("no route".to_owned()));
        bench.host = table([("http://down.test/", down)]);
        for (body, code) in rows {
            let source =
                format!("def run(args):\n    pass\ndef verify(args, result):\n    {body}\n");
            let fault = verify(&bench.tool(&source), &json!(null)).await.unwrap_err();
            assert_eq!(fault.code.as_str(), code, "{body}: {fault}");
            assert!(fault.location.unwrap().contains("tool.star"), "{body}");
        }
        assert_eq!(bench.read("keep.txt"), "kept");
        assert!(!bench.dir.path().join("x.txt").exists());
    }
}

#[tokio::test]
async fn a_tool_without_an_opinion_has_nothing_against_a_result() {
    for bench in Bench::both() {
        for source in ["def run(args):\n    pass\n", "def run(args):\n    return 'verify it'\n"] {
            let tool = bench.tool(source);
            assert_eq!(tool.defines_verify(), source.contains("verify"));
            assert_eq!(verify(&tool, &json!("any")).await.unwrap(), Ok(()));
        }
        let tool = bench.tool("def run(args):\n    pass\nverify = lambda args, result: 'bad'\n");
        assert_eq!(verify(&tool, &json!(null)).await.unwrap(), Err("bad".to_owned()));
    }
}

#[tokio::test]
async fn a_file_that_is_no_tool_is_a_fault_with_its_place() {
    let rows = [
        ("x = \n", "script_syntax", "tool.star:1"),
        ("def run(args):\n    return nope\n", "script_name", "tool.star:2"),
        ("x = 1\n", "script_no_run", "tool.star"),
        ("def verify(args, result):\n    pass\n", "script_no_run", "tool.star"),
        ("\ndef run():\n    pass\n", "script_no_run", "tool.star:2"),
        (
            "def run(args):\n    pass\ndef verify(result):\n    pass\n",
            "script_no_run",
            "tool.star:3",
        ),
        ("def run(args):\n    pass\nverify = 1\n", "script_no_run", "tool.star"),
        ("def run(args):\n    pass\nfs.write('a', 'b')\n", "script_top_level", "tool.star"),
        ("accepts = [{}]\ndef run(args):\n    pass\n", "script_example", "tool.star"),
    ];
    for bench in Bench::both() {
        for (source, code, place) in rows {
            let tool = bench.tool(source);
            let fault = tool.check().await.unwrap_err();
            assert_eq!(fault.code.as_str(), code, "{source}: {fault}");
            assert!(fault.location.clone().unwrap().starts_with(place), "{source}: {fault}");
            assert_eq!(call(&tool, json!({})).await.unwrap_err().code, fault.code, "{source}");
        }
        bench.tool("def run(args):\n    pass\n").check().await.unwrap();
        assert!(!bench.dir.path().join("a").exists());
    }
}

#[tokio::test]
async fn every_limit_is_a_fault_and_the_next_call_works() {
    let tight = Limits { ticks: 1_000_000_000, wall_ms: 200, ..Limits::default() };
    // So that on a busy machine the clock is not faster than the other walls.
    let slow = Limits { wall_ms: 60_000, ..Limits::default() };
    let small = Limits { output_bytes: 64, ..slow };
    let rows = [
        ("for i in range(1000000000): pass", slow, "script_ticks"),
        ("for i in range(1000000000): pass", tight, "script_timeout"),
        ("return [list(range(1000)) for i in range(100000)]", slow, "script_heap"),
        ("return run(args)", slow, "script_depth"),
        ("return 'a' * 65", small, "script_output"),
    ];
    let mut bench = Bench::worker();
    for (body, limits, code) in rows {
        bench.limits = limits;
        let source = format!("def run(args):\n    {body}\n");
        let fault = bench.call(&source, json!({})).await.unwrap_err();
        assert_eq!(fault.code.as_str(), code, "{body}: {fault}");
        assert_eq!(bench.done("return 1").await.to_string(), "1", "after {body}");
    }
}

#[tokio::test]
async fn a_worker_that_dies_is_a_fault_and_the_next_call_works() {
    let bench = Bench::worker();
    let Execution::Worker(pool) = &bench.execution else { panic!("no pool") };
    bench.done("return 1").await;
    let pid = i32::try_from(pool.idle_pids()[0]).unwrap();
    let gate = Arc::new(KillGate(rustix::process::Pid::from_raw(pid).unwrap()));
    let deadly = Bench { host: Host { http: Some(gate), ..Host::default() }, ..Bench::worker() };
    let deadly = Bench { execution: bench.execution.clone(), ..deadly };
    let source = "def run(args):\n    fs.write('before.txt', 'x')\n    \
                  return http.get('http://x.test/')\n";
    let fault = deadly.call(source, json!({})).await.unwrap_err();
    assert_eq!(fault.code.as_str(), "script_crash");
    assert_eq!(deadly.read("before.txt"), "x");
    assert_eq!(bench.done("return fs.write('after.txt', 'y')").await, "wrote 1 bytes to after.txt");
}

struct KillGate(rustix::process::Pid);

#[async_trait::async_trait]
impl probity_script::HttpGate for KillGate {
    async fn fetch(
        &self,
        _: &probity_script::HttpRequest,
    ) -> Result<probity_script::HttpResponse, GateError> {
        rustix::process::kill_process(self.0, rustix::process::Signal::KILL).unwrap();
        page(200, "")
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_and_a_late_host_is_told() {
    for mut bench in Bench::both() {
        bench.host = table([]);
        let tool = bench.tool("def run(args):\n    return http.get('http://hang.test/')\n");
        let now = SystemTime::UNIX_EPOCH;
        let cancel = CancellationToken::new();
        cancel.cancel();
        let ended = tool.call(json!({}), now, MINUTE, &cancel).await;
        assert!(ended.is_err() || ended.unwrap().is_error);
        let short = Duration::from_millis(300);
        let late = tool.call(json!({}), now, short, &CancellationToken::new()).await.unwrap();
        assert!(late.is_error, "{late:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beside_each_other_keep_to_themselves_and_lose_nothing() {
    let bench = Bench::worker();
    let source = "def run(args):\n    fs.write('%d.txt' % args['n'], str(args['n']))\n    \
                  fs.append('all.txt', '%d\\n' % args['n'])\n    return args['n']\n";
    let tool = Arc::new(bench.tool(source));
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..50_u64 {
        let tool = Arc::clone(&tool);
        calls.spawn(async move { (n, call(&tool, json!({"n": n})).await.unwrap()) });
    }
    while let Some(done) = calls.join_next().await {
        let (n, output) = done.unwrap();
        assert_eq!(output.content.to_string(), n.to_string());
    }
    let mut all: Vec<u64> = bench.read("all.txt").lines().map(|n| n.parse().unwrap()).collect();
    all.sort_unstable();
    assert_eq!(all, (0..50).collect::<Vec<u64>>());
    assert!((0..50).all(|n| bench.read(&format!("{n}.txt")) == n.to_string()));
}

#[tokio::test]
async fn a_judge_has_no_name_that_writes() {
    for setup in Setup::both() {
        let world = World::new(&[("a.txt", "a")]);
        for name in ["write", "append", "mkdir", "remove"] {
            let args = if matches!(name, "write" | "append") { "'a.txt', 'b'" } else { "'a.txt'" };
            let source = format!("def run(result):\n    fs.{name}({args})\n    return True\n");
            let fault = setup.run(&source, &world).await.unwrap_err();
            assert_eq!(fault.code.as_str(), "script_raise", "{name}: {fault}");
            assert!(fault.message.contains(name), "{fault}");
            let source = format!("def handle(event, payload):\n    fs.{name}({args})\n");
            let script = Script::new("hook.star", source).unwrap();
            let (host, execution) = (Host::default(), setup.execution.clone());
            let hook = ScriptHook::new(script, None, host, setup.limits, execution).unwrap();
            let fault = hook.handle(&world.ctx, "tool.pre", Map::new()).await.unwrap_err();
            assert_eq!(fault.code.as_str(), "script_raise", "{name}: {fault}");
        }
        assert_eq!(std::fs::read_to_string(world.dir.path().join("a.txt")).unwrap(), "a");
    }
}

#[tokio::test]
async fn a_tool_has_a_digest_of_its_text() {
    let bench = Bench::worker();
    let one = bench.tool("def run(args):\n    return 1\n");
    let two = bench.tool("def run(args):\n    return 2\n");
    assert_eq!(one.digest(), bench.tool(one.script().source()).digest());
    assert_ne!(one.digest(), two.digest());
}

#[tokio::test]
async fn a_tool_without_a_workspace_reads_and_writes_nothing() {
    for mut bench in Bench::both() {
        bench.workspace = Arc::new(Workspace::none());
        assert_eq!(bench.done("return 1").await.to_string(), "1");
        for body in ["fs.write('a', 'b')", "fs.mkdir('a')", "fs.remove('a')", "fs.exists('a')"] {
            bench.error(body).await;
        }
    }
}
