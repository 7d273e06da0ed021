//! Commands that serve: talked to over their standard streams, and killed whole.

use std::time::Duration;

use probity_sandbox::{Child, Ended, Launcher, Limits, SandboxError, Spawn, Status};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, both, daemon_script, helper, marked, marker, sh, until};

async fn start(spawn: &Spawn, launcher: &Launcher) -> Child {
    spawn.start(launcher).await.unwrap()
}

#[tokio::test]
async fn lines_go_back_and_forth_until_the_input_ends() {
    for launcher in both() {
        let serve = sh("while read -r line; do echo \"got $line\"; done; echo bye; exit 3");
        let mut child = start(&serve, &launcher).await;
        let mut stdin = child.take_stdin().unwrap();
        let mut stdout = BufReader::new(child.take_stdout().unwrap()).lines();
        assert!(child.take_stdin().is_none() && child.take_stdout().is_none());
        for n in 0..100 {
            stdin.write_all(format!("{n}\n").as_bytes()).await.unwrap();
            assert_eq!(stdout.next_line().await.unwrap(), Some(format!("got {n}")));
        }
        assert!(!child.is_over());
        drop(stdin);
        assert_eq!(stdout.next_line().await.unwrap().as_deref(), Some("bye"));
        assert_eq!(stdout.next_line().await.unwrap(), None);
        for _ in 0..2 {
            let finished = child.wait().await.unwrap();
            assert_eq!(finished.ended, Ended::Exited(Status::Code(3)));
            assert_eq!(finished.containment, launcher.containment());
            assert_eq!((finished.strays, finished.survivors), (0, 0));
        }
        assert!(child.is_over());
        assert_eq!(child.kill().await.unwrap().ended, Ended::Exited(Status::Code(3)));
    }
}

#[tokio::test]
async fn much_goes_both_ways_at_once() {
    const MANY: usize = 8 * 1024 * 1024;
    for launcher in both() {
        let mut child = start(&Spawn::new("cat"), &launcher).await;
        let (mut stdin, mut stdout) = (child.take_stdin().unwrap(), child.take_stdout().unwrap());
        let sent: Vec<u8> = (0..=250).cycle().take(MANY).collect();
        let mut read = Vec::new();
        let (_, whole) = tokio::join!(
            async {
                stdin.write_all(&sent).await.unwrap();
                stdin.shutdown().await.unwrap();
            },
            stdout.read_to_end(&mut read)
        );
        assert_eq!(whole.unwrap(), MANY);
        assert!(read == sent);
        assert!(child.wait().await.unwrap().success());
    }
}

#[tokio::test]
async fn a_child_that_ends_early_is_told_and_its_last_words_are_read() {
    for launcher in both() {
        let mut child = start(&sh("echo first; echo why >&2; exit 7"), &launcher).await;
        let (mut stdin, mut stdout) = (child.take_stdin().unwrap(), child.take_stdout().unwrap());
        // Left unread by the child.
        let _ = stdin.write_all(b"unread\n").await;
        let mut text = String::new();
        stdout.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "first\n");
        let finished = child.wait().await.unwrap();
        assert_eq!(finished.ended, Ended::Exited(Status::Code(7)));
        assert_eq!(finished.stderr.text(), "why\n");
        assert_eq!(child.stderr_tail(100), "why");
        assert_eq!(child.stderr_tail(2), "y");
        assert!(stdin.write_all(b"late").await.is_err());
    }
}

#[tokio::test]
async fn a_daemon_is_dead_when_its_child_has_ended_or_was_killed() {
    for (test, last) in [("served", "exit 5"), ("slain", "sleep 600")] {
        let (dir, marker) = (tempfile::tempdir().unwrap(), marker(test));
        let ready = dir.path().join("ready");
        let child =
            start(&sh(&format!("{}; {last}", daemon_script(&marker, &ready))), &helper()).await;
        until("the daemon to start", || ready.exists()).await;
        let finished =
            if last == "exit 5" { child.wait().await } else { child.kill().await }.unwrap();
        let expected =
            if last == "exit 5" { Ended::Exited(Status::Code(5)) } else { Ended::Cancelled };
        assert_eq!(finished.ended, expected);
        assert_eq!(marked(&marker), Vec::<String>::new());
        assert!(finished.strays >= 1 && finished.survivors == 0, "{finished:?}");
    }
}

#[tokio::test]
async fn a_kill_is_polite_for_a_while_and_then_is_not() {
    for launcher in both() {
        for (script, grace, word) in [
            ("trap 'echo bye; exit 0' TERM", PATIENCE, "ready\nbye\n"),
            ("trap '' TERM", Duration::from_millis(100), "ready\n"),
        ] {
            let serve = sh(&format!("{script}; echo ready; while :; do sleep 0.05; done"));
            let mut child = start(&serve.term_grace(grace), &launcher).await;
            let mut stdout = BufReader::new(child.take_stdout().unwrap());
            let mut text = String::new();
            stdout.read_line(&mut text).await.unwrap();
            let killed = timeout(PATIENCE, child.kill()).await.unwrap().unwrap();
            assert_eq!(killed.ended, Ended::Cancelled);
            stdout.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, word, "{script}");
        }
    }
}

#[tokio::test]
async fn a_dropped_child_and_a_cancelled_one_are_killed_whole() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("dropped"));
    let ready = dir.path().join("ready");
    let token = CancellationToken::new();
    let spawn = sh(&format!("{}; sleep 600", daemon_script(&marker, &ready))).cancel(token.clone());
    let child = start(&spawn, &helper()).await;
    until("the daemon to start", || ready.exists() && !marked(&marker).is_empty()).await;
    drop(child);
    until("the daemon to die", || marked(&marker).is_empty()).await;

    std::fs::remove_file(&ready).unwrap();
    let child = start(&spawn, &helper()).await;
    until("the daemon to start", || ready.exists()).await;
    token.cancel();
    assert_eq!(child.wait().await.unwrap().ended, Ended::Cancelled);
    assert_eq!(marked(&marker), Vec::<String>::new());
    assert!(matches!(spawn.start(&helper()).await, Err(SandboxError::Start { .. })));
}

#[test]
fn a_child_dies_with_its_runtime() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("runtime"));
    let ready = dir.path().join("ready");
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let child = first.block_on(async {
        let script = format!("{}; sleep 600", daemon_script(&marker, &ready));
        let child = start(&sh(&script), &helper()).await;
        until("the daemon to start", || ready.exists()).await;
        child
    });
    drop(first);
    runtime().block_on(async {
        assert!(matches!(child.wait().await, Err(SandboxError::Helper { .. })));
        until("the daemon to die", || marked(&marker).is_empty()).await;
    });
}

#[tokio::test]
async fn a_flood_of_errors_is_read_and_its_end_is_kept() {
    for launcher in both() {
        let flood = sh("head -c 20000000 /dev/zero >&2; printf last >&2").max_stderr_bytes(1000);
        let child = start(&flood, &launcher).await;
        let finished = child.wait().await.unwrap();
        assert_eq!(finished.stderr.total_bytes, 20_000_004);
        assert_eq!(finished.stderr.head.len() + finished.stderr.tail.len(), 1000);
        assert_eq!(child.stderr_tail(4), "last");
    }
}

#[tokio::test]
async fn what_cannot_start_is_an_error_at_once() {
    for launcher in both() {
        let result = Spawn::new("probity-no-such-program").start(&launcher).await;
        let Err(SandboxError::Start { source, .. }) = result else { panic!("{result:?}") };
        assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
        let result = Spawn::new("cat").cwd("/nonexistent").start(&launcher).await;
        assert!(matches!(result, Err(SandboxError::Cwd { .. })), "{result:?}");
    }
    let result = Spawn::new("cat").start(&Launcher::helper("true", ["x"])).await;
    assert!(matches!(result, Err(SandboxError::Helper { .. })), "{result:?}");
    let limits = Limits { open_files: Some(64), ..Limits::default() };
    let result = Spawn::new("cat").limits(limits).start(&Launcher::InProcess).await;
    assert!(matches!(result, Err(SandboxError::Unsupported { .. })), "{result:?}");
    // The step that sets the limits has started by then; its failure is the end of the child.
    let child = start(&Spawn::new("probity-no-such-program").limits(limits), &helper()).await;
    assert!(matches!(child.wait().await, Err(SandboxError::Start { .. })));
    assert!(matches!(child.wait().await, Err(SandboxError::Start { .. })));
}

#[tokio::test]
async fn limits_and_a_clean_environment_hold_for_it_too() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let limits = Limits { open_files: Some(64), ..Limits::default() };
    let spawn = sh("ulimit -n; echo ${CARGO_MANIFEST_DIR-none} $GIVEN").env("GIVEN", "yes");
    let mut child = start(&spawn.limits(limits), &helper()).await;
    let mut text = String::new();
    child.take_stdout().unwrap().read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "64\nnone yes\n");
}

#[tokio::test]
async fn a_child_that_kills_its_helper_is_an_error_and_is_dead() {
    let marker = marker("matricide");
    let mut child =
        start(&sh(&format!("read -r go; kill -9 $PPID; : {marker}; sleep 600")), &helper()).await;
    let mut stdout = child.take_stdout().unwrap();
    child.take_stdin().unwrap().write_all(b"go\n").await.unwrap();
    let result = child.wait().await;
    assert!(matches!(result, Err(SandboxError::Helper { .. })), "{result:?}");
    assert_eq!(marked(&marker), Vec::<String>::new());
    assert_eq!(stdout.read_to_end(&mut Vec::new()).await.unwrap(), 0);
}
