//! Bounds on output, time and resources.

use std::time::{Duration, Instant};

use probity_sandbox::{Ended, Launcher, Limits, SandboxError, Spawn, Status};
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, both, run, sh};

/// Peak resident memory of this process, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn output_beyond_the_bound_is_counted_and_dropped() {
    const MANY: u64 = 100 * 1024 * 1024;
    let script =
        "printf begin; head -c 104857600 /dev/zero; printf end; head -c 104857600 /dev/zero >&2";
    for launcher in both() {
        let before = peak_kib();
        let finished = sh(script).max_output_bytes(1000).run(&launcher).await.unwrap();
        assert!(finished.success());
        assert_eq!(finished.stdout.total_bytes, MANY + 8);
        assert_eq!(finished.stderr.total_bytes, MANY);
        assert_eq!((finished.stdout.head.len(), finished.stdout.tail.len()), (500, 500));
        assert!(finished.stdout.head.starts_with(b"begin\0"));
        assert!(finished.stdout.tail.ends_with(b"\0end"));
        assert_eq!(finished.stdout.dropped_bytes(), MANY + 8 - 1000);
        assert!(peak_kib() - before < 20 * 1024, "{} KiB more", peak_kib() - before);
    }
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_still_waited_for() {
    for launcher in both() {
        let finished =
            sh("echo said; exec >&- 2>&-; sleep 0.2; exit 3").run(&launcher).await.unwrap();
        assert_eq!(finished.ended, Ended::Exited(Status::Code(3)));
        assert_eq!(finished.stdout.text(), "said\n");
        assert!(finished.elapsed >= Duration::from_millis(200));
    }
}

#[tokio::test]
async fn a_command_that_is_late_is_killed_and_what_it_said_is_kept() {
    for launcher in both() {
        let finished = sh("echo first; sleep 600")
            .timeout(Duration::from_millis(300))
            .run(&launcher)
            .await
            .unwrap();
        assert_eq!((finished.ended, finished.status()), (Ended::TimedOut, None));
        assert_eq!(finished.stdout.text(), "first\n");
        assert!(!finished.success() && finished.elapsed < PATIENCE);
    }
}

#[tokio::test]
async fn a_cancelled_command_is_killed_or_never_started() {
    let dir = tempfile::tempdir().unwrap();
    for (n, launcher) in both().into_iter().enumerate() {
        let ready = dir.path().join(format!("ready{n}"));
        let token = CancellationToken::new();
        let spawn = sh("touch \"$READY\"; sleep 600").env("READY", &ready).cancel(token.clone());
        let cancel = async {
            crate::until("the command to start", || ready.exists()).await;
            token.cancel();
        };
        let (finished, ()) = tokio::join!(spawn.run(&launcher), cancel);
        assert_eq!(finished.unwrap().ended, Ended::Cancelled);

        std::fs::remove_file(&ready).unwrap();
        assert_eq!(spawn.run(&launcher).await.unwrap().ended, Ended::Cancelled);
        assert!(!ready.exists());
    }
}

#[tokio::test]
async fn a_grace_lets_a_command_say_good_bye() {
    let dir = tempfile::tempdir().unwrap();
    for (n, launcher) in both().into_iter().enumerate() {
        let ready = dir.path().join(format!("ready{n}"));
        let token = CancellationToken::new();
        let spawn =
            sh("trap 'echo bye; exit 0' TERM; touch \"$READY\"; while :; do sleep 0.05; done")
                .env("READY", &ready)
                .term_grace(PATIENCE)
                .cancel(token.clone());
        let cancel = async {
            crate::until("the command to start", || ready.exists()).await;
            token.cancel();
        };
        let (finished, ()) = tokio::join!(spawn.run(&launcher), cancel);
        let finished = finished.unwrap();
        assert_eq!(finished.ended, Ended::Cancelled);
        assert_eq!(finished.stdout.text(), "bye\n");
        assert!(finished.elapsed < PATIENCE);
    }
}

#[tokio::test]
async fn limits_hold_and_cannot_be_raised() {
    let limits = Limits {
        address_space_bytes: Some(512 * 1024 * 1024),
        cpu_seconds: Some(1),
        file_size_bytes: Some(4096),
        open_files: Some(40),
        ..Limits::default()
    };
    let finished =
        run(&sh("ulimit -v; ulimit -t; ulimit -n; ulimit -n 50 2>/dev/null || echo no")
            .limits(limits))
        .await;
    assert_eq!(finished.stdout.text(), "524288\n1\n40\nno\n");

    let dir = tempfile::tempdir().unwrap();
    let write = Spawn::new("head").args(["-c", "100000", "/dev/zero"]).limits(limits);
    assert!(run(&write).await.success(), "a pipe is not a file");
    let write = sh("head -c 100000 /dev/zero > big").cwd(dir.path()).limits(limits);
    assert!(!run(&write).await.success());
    assert_eq!(std::fs::metadata(dir.path().join("big")).unwrap().len(), 4096);

    let began = Instant::now();
    let burn = run(&sh("while :; do :; done").limits(limits)).await;
    assert!(matches!(burn.ended, Ended::Exited(Status::Signal(9 | 24))), "{:?}", burn.ended);
    assert!(began.elapsed() < PATIENCE);
}

#[tokio::test]
async fn limits_that_cannot_be_held_are_refused() {
    let limits = Limits { cpu_seconds: Some(1), ..Limits::default() };
    let result = Spawn::new("true").limits(limits).run(&Launcher::InProcess).await;
    assert!(matches!(result, Err(SandboxError::Unsupported { .. })), "{result:?}");
}
