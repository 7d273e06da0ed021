//! Nothing that a command starts is alive when `run` returns.

use std::time::Duration;

use probity_sandbox::{Ended, Launcher, SandboxError, Status};
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, daemon_script, helper, marked, marker, run, sh, until};

#[tokio::test]
async fn a_daemon_is_dead_after_its_command_exits() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("exit"));
    let script = format!("{}; exit 5", daemon_script(&marker, &dir.path().join("ready")));
    let finished = run(&sh(&script)).await;
    assert_eq!(finished.ended, Ended::Exited(Status::Code(5)));
    assert_eq!(marked(&marker), Vec::<String>::new());
    assert!(finished.strays >= 1, "{}", finished.strays);
    assert_eq!(finished.survivors, 0);
    assert!(finished.elapsed < PATIENCE);
}

#[tokio::test]
async fn a_daemon_is_dead_after_a_timeout() {
    for grace in [Duration::ZERO, Duration::from_millis(50)] {
        let (dir, marker) = (tempfile::tempdir().unwrap(), marker("timeout"));
        let ready = dir.path().join("ready");
        let script = format!("{}; sleep 600", daemon_script(&marker, &ready));
        let finished = run(&sh(&script).timeout(Duration::from_secs(2)).term_grace(grace)).await;
        assert!(ready.exists(), "the machine is too slow for this test");
        assert_eq!(finished.ended, Ended::TimedOut);
        assert_eq!(marked(&marker), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_daemon_is_dead_after_a_cancel_and_after_the_future_is_dropped() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("cancel"));
    let ready = dir.path().join("ready");
    let token = CancellationToken::new();
    let spawn = sh(&format!("{}; sleep 600", daemon_script(&marker, &ready))).cancel(token.clone());
    let cancel = async {
        until("the daemon to start", || ready.exists()).await;
        token.cancel();
    };
    let (finished, ()) = tokio::join!(run(&spawn), cancel);
    assert_eq!(finished.ended, Ended::Cancelled);
    assert_eq!(marked(&marker), Vec::<String>::new());

    std::fs::remove_file(&ready).unwrap();
    let spawn = spawn.cancel(CancellationToken::new());
    let running = until("the daemon to start", || ready.exists() && !marked(&marker).is_empty());
    tokio::select! {
        finished = run(&spawn) => panic!("{finished:?}"),
        () = running => {}
    }
    until("the daemon to die", || marked(&marker).is_empty()).await;
}

#[tokio::test]
async fn a_tree_that_keeps_forking_dies() {
    let marker = marker("forks");
    // Each link starts the next in a session of its own and goes; six chains at a time.
    let script = format!(
        "chain() {{ setsid sh -c \"$LINK\" {marker} & }}; \
         for i in 1 2 3 4 5 6; do chain; done; sleep 0.2; exit 0"
    );
    let link = format!("setsid sh -c \"$LINK\" {marker} & sleep 0.02");
    let finished = run(&sh(&script).env("LINK", link).linger(Duration::ZERO)).await;
    assert_eq!(finished.ended, Ended::Exited(Status::Code(0)), "{}", finished.stderr.text());
    assert!(finished.strays >= 1, "{}", finished.strays);
    assert_eq!(finished.survivors, 0);
    assert_eq!(marked(&marker), Vec::<String>::new());
}

#[tokio::test]
async fn a_stopped_process_dies() {
    let marker = marker("stopped");
    let finished = run(&sh(&format!("sh -c 'kill -STOP $$' {marker} & sleep 0.1"))).await;
    assert!(finished.success());
    assert_eq!(marked(&marker), Vec::<String>::new());
}

#[tokio::test]
async fn what_ends_by_itself_in_time_is_let_finish() {
    let finished = run(&sh("(sleep 0.2; echo late) & echo early").linger(PATIENCE)).await;
    assert_eq!(finished.stdout.text(), "early\nlate\n");
    assert_eq!(finished.strays, 0);
    assert!(finished.elapsed < PATIENCE);
}

#[tokio::test]
async fn the_weak_launcher_kills_its_group_and_does_not_hang_on_the_rest() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("group"));
    let finished =
        sh(&format!("sh -c 'trap \"\" TERM; : {marker}; while :; do sleep 1; done' & exit 4"))
            .run(&Launcher::InProcess)
            .await
            .unwrap();
    assert_eq!(finished.ended, Ended::Exited(Status::Code(4)));
    until("the group to die", || marked(&marker).is_empty()).await;

    // A daemon that left the group holds the streams: the result is there anyway.
    let script = format!("{}; echo done", daemon_script(&marker, &dir.path().join("ready")));
    let finished = sh(&script).run(&Launcher::InProcess).await.unwrap();
    assert_eq!(finished.stdout.text(), "done\n");
    // It is out of reach for this launcher, which is why there is the other one.
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(&marker) {
            let pid = entry.file_name().into_string().unwrap();
            std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
        }
    }
}

#[tokio::test]
async fn a_command_that_kills_its_helper_is_an_error_never_a_result() {
    let marker = marker("patricide");
    let spawn = sh(&format!("echo ok; kill -9 $PPID; : {marker}; sleep 600"));
    let result = spawn.run(&helper()).await;
    assert!(matches!(result, Err(SandboxError::Helper { .. })), "{result:?}");
    until("the command to die", || marked(&marker).is_empty()).await;
}

#[tokio::test]
async fn many_at_once_do_not_mix() {
    let runs = (0..24).map(|n| async move {
        let spawn = sh(&format!("read x; echo $x-{n}; exit {n}")).stdin(format!("in{n}\n"));
        (n, run(&spawn).await)
    });
    let tasks: Vec<_> = runs.map(tokio::spawn).collect();
    for task in tasks {
        let (n, finished) = task.await.unwrap();
        assert_eq!(finished.ended, Ended::Exited(Status::Code(n)));
        assert_eq!(finished.stdout.text(), format!("in{n}-{n}\n"));
    }
}
