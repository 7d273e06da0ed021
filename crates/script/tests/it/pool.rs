//! The pool: bounded, reused, and back after a kill.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Code, VerdictKind};
use probity_script::{
    Execution, HookAnswer, Host, Limits, PoolConfig, Script, ScriptHook, WorkerPool, WorkerProgram,
};
use probity_verifier::Verifier as _;
use serde_json::json;

use crate::support::{Setup, World, config, page, pool, table};

fn on(pool: &Arc<WorkerPool>) -> Setup {
    Setup { execution: Execution::Worker(Arc::clone(pool)), ..Setup::in_process() }
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// True while the process exists, as a zombie too.
fn exists(pid: u32) -> bool {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_calls_at_once_share_two_workers() {
    let pool = pool();
    let setup = on(&pool);
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..100 {
        let mut setup = setup.clone();
        setup.args = json!({"n": index % 7});
        calls.spawn(async move {
            let world = World::new(&[("n.txt", &format!("{}", index % 7))]);
            let source = "def run(result):\n    return fs.read('n.txt') == str(args['n'])\n";
            setup.run(source, &world).await
        });
    }
    while let Some(result) = calls.join_next().await {
        assert_eq!(result.unwrap().unwrap().kind, VerdictKind::Pass);
    }
    assert!((1..=2).contains(&pool.idle_pids().len()));
}

#[tokio::test]
async fn a_worker_is_reused_by_calls_and_scripts() {
    let pool = pool();
    let setup = on(&pool);
    let world = World::new(&[]);
    setup.run("def run(result):\n    return True\n", &world).await.unwrap();
    let first = pool.idle_pids();
    assert_eq!(first.len(), 1);
    for index in 0..200 {
        let source = format!("def run(result):\n    return {index} >= 0\n");
        setup.run(&source, &world).await.unwrap();
    }
    assert_eq!(pool.idle_pids(), first);
}

#[tokio::test]
async fn a_worker_killed_while_it_runs_is_a_fault_and_the_pool_recovers() {
    let pool = pool();
    let setup = on(&pool);
    let world = World::new(&[]);
    setup.run("def run(result):\n    return True\n", &world).await.unwrap();
    let pid = pool.idle_pids()[0];
    // The script asks the host, so that the test knows that it runs when it is killed.
    let gate = Arc::new(KillGate(pid));
    let host = Host { http: Some(gate), ..Host::default() };
    let source = "def run(result):\n    http.get('http://x.test/')\n    return True\n";
    let fault = Setup { host, ..setup.clone() }.run(source, &world).await.unwrap_err();
    assert_eq!(fault.code.as_str(), "script_crash");
    assert!(fault.message.contains("signal 9"), "{fault}");
    let next = setup.run("def run(result):\n    return True\n", &world).await.unwrap();
    assert_eq!(next.kind, VerdictKind::Pass);
    assert_ne!(pool.idle_pids(), [pid]);
}

struct KillGate(u32);

#[async_trait::async_trait]
impl probity_script::HttpGate for KillGate {
    async fn fetch(
        &self,
        _: &probity_script::HttpRequest,
    ) -> Result<probity_script::HttpResponse, probity_script::GateError> {
        kill(self.0);
        page(200, "")
    }
}

#[tokio::test]
async fn a_worker_killed_while_idle_costs_nothing() {
    let pool = pool();
    let setup = on(&pool);
    let world = World::new(&[]);
    let source = "def run(result):\n    return True\n";
    setup.run(source, &world).await.unwrap();
    let pid = pool.idle_pids()[0];
    kill(pid);
    // A killed process is a zombie, and so noticed, once its pipes are closed.
    while !std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.contains(") Z"))
    {
        tokio::task::yield_now().await;
    }
    assert_eq!(setup.run(source, &world).await.unwrap().kind, VerdictKind::Pass);
}

#[tokio::test]
async fn dropping_the_pool_ends_its_workers() {
    let pool = pool();
    on(&pool).run("def run(result):\n    return True\n", &World::new(&[])).await.unwrap();
    let pid = pool.idle_pids()[0];
    drop(pool);
    tokio::time::timeout(Duration::from_secs(10), async {
        while exists(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_dropped_call_kills_its_worker() {
    let pool = pool();
    let setup = Setup { host: table([]), ..on(&pool) };
    let world = World::new(&[]);
    setup.run("def run(result):\n    return True\n", &world).await.unwrap();
    let source = "def run(result):\n    http.get('http://hang.test/')\n    return True\n";
    let verifier = setup.verifier(source);
    let call = tokio::time::timeout(Duration::from_millis(300), verifier.verify(&world.ctx));
    assert!(call.await.is_err());
    assert!(pool.idle_pids().is_empty());
    assert!(setup.run("def run(result):\n    return True\n", &world).await.is_ok());
}

#[tokio::test]
async fn a_full_pool_is_inconclusive_not_a_fault() {
    let pool = Arc::new(WorkerPool::new(PoolConfig { workers: 1, ..config() }).unwrap());
    let setup = Setup { host: table([]), ..on(&pool) };
    let slow =
        setup.verifier("def run(result):\n    http.get('http://hang.test/')\n    return True\n");
    let fast = setup.verifier("def run(result):\n    return True\n");
    let text = "def handle(event, payload):\n    return allow()\n";
    let script = Script::new("hook.star", text).unwrap();
    let (host, execution) = (setup.host.clone(), setup.execution.clone());
    let hook = ScriptHook::new(script, None, host, Limits::default(), execution).unwrap();
    let long = World::new(&[]).within(Duration::from_secs(5));
    let short = World::new(&[]).within(Duration::from_millis(200));
    let (first, (second, third)) = tokio::join!(slow.verify(&long.ctx), async {
        tokio::task::yield_now().await;
        let payload = serde_json::Map::new();
        tokio::join!(fast.verify(&short.ctx), hook.handle(&short.ctx, "tool.pre", payload))
    });
    assert_eq!(first.unwrap().kind, VerdictKind::Inconclusive);
    let second = second.unwrap();
    assert_eq!((second.kind, second.code.as_str()), (VerdictKind::Inconclusive, "verifier_busy"));
    let reason = "no script worker was free in time".to_owned();
    let busy = HookAnswer::Inconclusive { code: Code::slug("hook_busy"), reason };
    assert_eq!(third.unwrap(), busy);
}

#[tokio::test]
async fn a_worker_that_cannot_start_is_a_fault() {
    let program = WorkerProgram { program: "/nonexistent/worker".into(), args: Vec::new() };
    let pool = Arc::new(WorkerPool::new(PoolConfig::new(program)).unwrap());
    let fault =
        on(&pool).run("def run(result):\n    return True\n", &World::new(&[])).await.unwrap_err();
    assert_eq!(fault.code.as_str(), "script_worker");
    assert!(fault.message.contains("/nonexistent/worker"));
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_a_fault() {
    let program = WorkerProgram {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "echo hello; sleep 60".into()],
    };
    let pool = Arc::new(WorkerPool::new(PoolConfig::new(program)).unwrap());
    let setup = on(&pool);
    let fault =
        setup.run("def run(result):\n    return True\n", &World::new(&[])).await.unwrap_err();
    assert_eq!(fault.code.as_str(), "script_worker", "{fault}");
}

#[test]
fn sizes_out_of_range_are_refused() {
    for (config, field) in [
        (PoolConfig { workers: 0, ..config() }, "workers"),
        (PoolConfig { workers: 65, ..config() }, "workers"),
        (PoolConfig { memory_bytes: 1, ..config() }, "memory_bytes"),
        (PoolConfig { max_waiting: 0, ..config() }, "max_waiting"),
    ] {
        assert_eq!(WorkerPool::new(config).unwrap_err().field, field);
    }
}

#[tokio::test]
async fn the_judge_is_named_by_its_digest() {
    let world = World::new(&[("check.star", "def run(result):\n    return True\n")]);
    let path = world.dir.path().join("check.star");
    let verifier = Setup::worker().of(Script::from_file(&path).unwrap());
    assert_eq!(verifier.source_path(), Some(path.as_path()));
    let verdict = verifier.verify(&world.ctx).await.unwrap();
    let evidence = verdict.evidence.last().unwrap();
    assert_eq!(evidence.source, format!("script:{}", path.display()));
    assert_eq!(evidence.digest, Some(verifier.digest()));
}

#[test]
fn a_script_that_asks_the_network_gets_little_time_before_the_delegate() {
    let setup = Setup::in_process();
    let minute = Duration::from_secs(60);
    let asks = setup.verifier("def run(result):\n    return http.get('https://x.test/')['ok']\n");
    assert_eq!(asks.red_timeout(minute), Duration::from_secs(1));
    let reads = setup.verifier("def run(result):\n    return fs.exists('x')\n");
    assert_eq!(reads.red_timeout(minute), minute);
}
