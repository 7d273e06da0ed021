//! Commands that turn on their helper, which runs as the same user as they do.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use probity_sandbox::{Finished, SandboxError, Spawn};
use rustix::process::{
    PidfdFlags, PidfdGetfdFlags, Signal, getppid, kill_process, pidfd_getfd, pidfd_open,
};

use crate::{PATIENCE, daemon_script, helper, marked, marker, sh, until};

/// Tells the forger what to do after its answer is in the socket.
const THEN: &str = "PROBITY_TEST_FORGER_THEN";

/// The command of the test below: answers in the helper's name that all went well, and fails.
#[test]
#[ignore = "the command that another test runs"]
fn forger() {
    let Ok(then) = std::env::var(THEN) else { return };
    let helper = getppid().unwrap();
    let held = pidfd_open(helper, PidfdFlags::empty()).unwrap();
    // Refused to an ordinary user; what follows is tried all the same.
    if let Ok(socket) = pidfd_getfd(held, 0, PidfdGetfdFlags::empty()) {
        let mut socket = UnixStream::from(socket);
        socket.write_all(b"done code 0 0 0\n").unwrap();
        if then == "close" {
            socket.shutdown(Shutdown::Write).unwrap();
        }
    }
    if then == "kill" {
        kill_process(helper, Signal::KILL).unwrap();
    }
    std::process::exit(1);
}

fn is_helper_error(result: &Result<Finished, SandboxError>) -> bool {
    matches!(result, Err(SandboxError::Helper { .. }))
}

#[tokio::test]
async fn an_answer_in_the_helpers_name_is_not_believed() {
    for then in ["kill", "close", "leave"] {
        let forger = Spawn::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "hostile::forger"])
            .env(THEN, then)
            .timeout(PATIENCE);
        let result = forger.run(&helper()).await;
        let honest = result.as_ref().is_ok_and(|finished| !finished.success());
        assert!(is_helper_error(&result) || (honest && then != "kill"), "{then}: {result:?}");
    }
}

#[tokio::test]
async fn what_a_killed_helper_leaves_is_dead_when_the_run_is_over() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("orphan"));
    let daemon = daemon_script(&marker, &dir.path().join("ready"));
    // Without the command's environment, in a session inside a session: nothing to know it by.
    let hidden = "(env -i setsid -f sh -c 'setsid -f sleep 600; exec sleep 600' &)";
    let result = sh(&format!("{hidden}; {daemon}; kill -9 $PPID; : {marker}; sleep 600"))
        .run(&helper())
        .await;
    assert!(is_helper_error(&result), "{result:?}");
    assert_eq!(marked(&marker), Vec::<String>::new());
    assert_eq!(children(), Vec::<String>::new());
}

#[tokio::test]
async fn a_stopped_helper_is_killed_with_its_tree_long_before_the_timeout() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("halt"));
    let daemon = daemon_script(&marker, &dir.path().join("ready"));
    let began = Instant::now();
    let spawn = sh(&format!("{daemon}; kill -STOP $PPID; : {marker}; sleep 600"));
    let result = spawn.timeout(PATIENCE * 4).run(&helper()).await;
    assert!(is_helper_error(&result), "{result:?}");
    assert_eq!(marked(&marker), Vec::<String>::new());
    assert_eq!(children(), Vec::<String>::new());
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_stopped_helper_does_not_outlive_a_dropped_run() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("drop"));
    let ready = dir.path().join("stopped");
    let script = format!("kill -STOP $PPID; touch {}; : {marker}; sleep 600", ready.display());
    let (spawn, launcher) = (sh(&script), helper());
    tokio::select! {
        biased;
        () = until("the helper to stop", || ready.exists()) => {}
        result = spawn.run(&launcher) => assert!(is_helper_error(&result), "{result:?}"),
    }
    until("the command to die", || marked(&marker).is_empty()).await;
    until("the helper to die", || children().is_empty()).await;
}

#[tokio::test]
async fn a_killed_helper_takes_neither_another_run_nor_another_child_with_it() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("other"));
    let ready = dir.path().join("ready");
    // Its daemon goes on for as long as the other run takes to be over, and ends by itself.
    let other = sh(&format!(
        "(setsid sh -c 'touch {ready}; \
         while [ ! -e {ready}.go ]; do sleep 0.01; done; echo whole' &)",
        ready = ready.display()
    ));
    let other = other.linger(PATIENCE);
    // Started first, so that by its age the other could be what this one left.
    let hostile = async {
        let script = format!(
            "while [ ! -e {} ]; do sleep 0.01; done; kill -9 $PPID; : {marker}; sleep 600",
            ready.display()
        );
        let result = sh(&script).run(&helper()).await;
        std::fs::write(ready.with_extension("go"), "").unwrap();
        result
    };
    let plain = async {
        until("the daemon to start", || ready.exists()).await;
        std::process::Command::new("sleep").arg("600").spawn().unwrap()
    };
    let launcher = helper();
    let (result, finished, mut child) = tokio::join!(hostile, other.run(&launcher), plain);
    assert_eq!(child.try_wait().unwrap(), None, "a child of this process was taken for an orphan");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_helper_error(&result), "{result:?}");
    let finished = finished.unwrap();
    assert!(finished.success() && finished.strays == 0, "{finished:?}");
    assert_eq!(finished.stdout.text(), "whole\n");
}

/// Children of this process in sessions other than its own: helpers and adopted orphans. Only under
/// a runner that gives each test a process of its own are they this test's alone.
fn children() -> Vec<String> {
    if std::env::var_os("NEXTEST").is_none() {
        return Vec::new();
    }
    let session = |stat: &str| {
        let rest = stat.rsplit_once(')').unwrap().1.to_owned();
        let mut fields = rest.split_whitespace().skip(1).map(str::to_owned);
        (fields.next(), fields.nth(1))
    };
    let own = std::process::id().to_string();
    let ours = session(&std::fs::read_to_string("/proc/self/stat").unwrap()).1;
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| {
            let (parent, session) = session(stat);
            parent.as_deref() == Some(&own) && session != ours
        })
        .collect()
}
