//! The worker process on its own: it ends with its parent.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

fn start() -> (Child, ChildStdin) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_probity-script-worker"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

fn send(to: &mut ChildStdin, frame: &Json) {
    let bytes = serde_json::to_vec(frame).unwrap();
    to.write_all(&u32::try_from(bytes.len()).unwrap().to_le_bytes()).unwrap();
    to.write_all(&bytes).unwrap();
    to.flush().unwrap();
}

fn receive(child: &mut Child) -> Json {
    let out = child.stdout.as_mut().unwrap();
    let mut length = [0; 4];
    out.read_exact(&mut length).unwrap();
    let mut bytes = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap()];
    out.read_exact(&mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let started = Instant::now();
    while started.elapsed() < limit {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    false
}

#[test]
fn an_idle_worker_ends_when_its_input_closes() {
    let (mut child, stdin) = start();
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_running_worker_ends_when_its_input_closes() {
    let (mut child, mut stdin) = start();
    let limits = json!({
        "ticks": 1_000_000_000_u64, "heap_bytes": 1 << 30, "callstack": 50,
        "output_bytes": 1000, "wall_ms": 600_000
    });
    let text = "def run(result):\n    for i in range(1000000000):\n        pass\n    return True\n";
    let source = json!({"role": "verifier", "name": "x.star", "text": text, "args": {}});
    send(&mut stdin, &json!({"frame": "hello", "memory_bytes": 1_u64 << 30}));
    send(&mut stdin, &json!({"frame": "load", "key": "k", "source": source, "limits": limits}));
    assert_eq!(receive(&mut child)["frame"], "loaded");
    let input = json!({"claim": {}, "workspace": null, "now": ""});
    send(
        &mut stdin,
        &json!({"frame": "call", "key": "k", "input": input, "limits": limits, "left_ms": 600_000}),
    );
    drop(stdin);
    assert!(ends_within(&mut child, Duration::from_secs(20)));
}

#[test]
fn a_worker_refuses_a_frame_without_end() {
    let (mut child, mut stdin) = start();
    stdin.write_all(&u32::MAX.to_le_bytes()).unwrap();
    assert!(!child.wait().unwrap().success());
}
