//! One command at a time: status, streams, environment, directory, errors.

use probity_sandbox::{
    Containment, Ended, Launcher, Limits, MAX_STDIN_BYTES, SandboxError, Spawn, Status,
};

use crate::{both, helper, run, sh};

#[tokio::test]
async fn a_status_is_told_as_it_was() {
    for launcher in both() {
        for (script, status) in [
            ("exit 0", Status::Code(0)),
            ("exit 7", Status::Code(7)),
            ("exit 127", Status::Code(127)),
            ("exit 255", Status::Code(255)),
            ("kill -9 $$", Status::Signal(9)),
            ("kill -15 $$", Status::Signal(15)),
        ] {
            let finished = sh(script).run(&launcher).await.unwrap();
            assert_eq!(finished.ended, Ended::Exited(status), "{script}");
            assert_eq!(finished.status(), Some(status));
            assert_eq!(finished.success(), status == Status::Code(0));
            assert_eq!(finished.containment, launcher.containment());
            assert_eq!((finished.strays, finished.survivors), (0, 0));
        }
    }
    assert_eq!(helper().containment(), Containment::Tree);
    assert_eq!(Launcher::InProcess.containment(), Containment::Group);
}

#[tokio::test]
async fn streams_are_kept_apart_and_as_written() {
    for launcher in both() {
        let finished = sh(r"printf 'a\000\377\n'; printf 'err' >&2").run(&launcher).await.unwrap();
        assert_eq!(finished.stdout.head, b"a\0\xff\n");
        assert_eq!(finished.stderr.head, b"err");
        assert_eq!(finished.stderr.total_bytes, 3);
        assert!(!finished.stdout.truncated());
    }
}

#[tokio::test]
async fn standard_input_arrives_whole_or_is_empty() {
    let big: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    for launcher in both() {
        let cat = Spawn::new("cat").max_output_bytes(4_000_000);
        assert_eq!(cat.clone().run(&launcher).await.unwrap().stdout.head, b"");
        assert_eq!(cat.clone().stdin("x\0y").run(&launcher).await.unwrap().stdout.head, b"x\0y");
        let finished = cat.stdin(big.clone()).run(&launcher).await.unwrap();
        assert!(finished.stdout.head == big);
        // A command that does not read what it is given.
        assert!(sh("exit 0").stdin(big.clone()).run(&launcher).await.unwrap().success());
        assert!(
            sh("exec <&-; sleep 0.05").stdin(big.clone()).run(&launcher).await.unwrap().success()
        );
    }
}

#[tokio::test]
async fn a_command_sees_only_what_it_is_given() {
    // Cargo sets this one for every test process, so it stands for a secret of the caller.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    for launcher in both() {
        let env = Spawn::new("env").env("GIVEN", "yes").env("HOME", "/nowhere");
        let finished = env.clone().run(&launcher).await.unwrap();
        let text = finished.stdout.text().into_owned();
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "{text}");
        assert!(
            names.iter().all(|n| probity_sandbox::CLEAN_ENV.contains(n) || *n == "GIVEN"),
            "{text}"
        );
        assert!(text.contains("GIVEN=yes\n") && text.contains("HOME=/nowhere\n"), "{text}");

        let kept = env.clone().keep_env("CARGO_MANIFEST_DIR").keep_env("PROBITY_NO_SUCH");
        assert!(kept.run(&launcher).await.unwrap().stdout.text().contains("CARGO_MANIFEST_DIR="));
        let all = env.inherit_env().run(&launcher).await.unwrap().stdout.text().into_owned();
        assert!(all.contains("CARGO_MANIFEST_DIR=") && all.contains("HOME=/nowhere\n"), "{all}");
    }
}

#[tokio::test]
async fn the_working_directory_is_the_one_named() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    std::fs::write(dir.join("tool"), "#!/bin/sh\npwd\n").unwrap();
    std::process::Command::new("chmod").arg("+x").arg(dir.join("tool")).status().unwrap();
    for launcher in both() {
        let finished = Spawn::new("./tool").cwd(&dir).run(&launcher).await.unwrap();
        assert_eq!(finished.stdout.text().trim_end(), dir.to_str().unwrap());
        let missing = Spawn::new("true").cwd(dir.join("missing")).run(&launcher).await;
        assert!(matches!(missing, Err(SandboxError::Cwd { .. })), "{missing:?}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_start_is_an_error_that_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let not_executable = dir.path().join("plain.txt");
    std::fs::write(&not_executable, "hello").unwrap();
    let limits = Limits { open_files: Some(64), ..Limits::default() };
    for launcher in both() {
        for limits in [Limits::default(), limits] {
            if limits != Limits::default() && launcher == Launcher::InProcess {
                continue;
            }
            for (program, kind) in [
                ("probity-no-such-program".into(), std::io::ErrorKind::NotFound),
                (not_executable.clone().into_os_string(), std::io::ErrorKind::PermissionDenied),
            ] {
                // A directory on the path that may not be read would be an error of its own.
                let spawn = Spawn::new(program).env("PATH", "/usr/bin:/bin").limits(limits);
                let result = spawn.run(&launcher).await;
                let Err(SandboxError::Start { source, .. }) = result else {
                    panic!("{result:?}");
                };
                assert_eq!(source.kind(), kind);
            }
        }
    }
}

#[tokio::test]
async fn what_no_system_call_can_pass_is_refused_before_anything_starts() {
    for launcher in both() {
        let nul = Spawn::new("echo").arg("a\0b").run(&launcher).await;
        assert!(matches!(nul, Err(SandboxError::Nul { .. })), "{nul:?}");
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0")] {
            let env = Spawn::new("echo").env(name, value).run(&launcher).await;
            assert!(matches!(env, Err(SandboxError::Env { .. })), "{name:?} {env:?}");
        }
        let long = Spawn::new("cat").stdin(vec![0; MAX_STDIN_BYTES + 1]).run(&launcher).await;
        assert!(matches!(long, Err(SandboxError::StdinTooLong { .. })), "{long:?}");
    }
}

#[tokio::test]
async fn arguments_arrive_as_bytes() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let odd = OsString::from_vec(b"\xff -- --help \n".to_vec());
    for launcher in both() {
        let finished =
            Spawn::new("printf").args(["%s"]).arg(odd.clone()).run(&launcher).await.unwrap();
        assert_eq!(finished.stdout.head, b"\xff -- --help \n");
    }
}

#[tokio::test]
async fn a_missing_helper_and_a_helper_that_is_none_are_errors_of_their_own() {
    let missing = Launcher::helper("/nonexistent/helper", Vec::<String>::new());
    let result = Spawn::new("true").run(&missing).await;
    assert!(matches!(result, Err(SandboxError::HelperStart { .. })), "{result:?}");
    // `true` answers nothing, `echo` answers on a stream that is the command's.
    for program in ["true", "echo"] {
        let result = Spawn::new("true").run(&Launcher::helper(program, ["x"])).await;
        assert!(matches!(result, Err(SandboxError::Helper { .. })), "{result:?}");
    }
}

#[tokio::test]
async fn a_helper_that_cannot_learn_a_status_says_so() {
    let real = env!("CARGO_BIN_EXE_probity-sandbox-exec");
    let deaf = ["-c", "trap '' CHLD; exec \"$@\"", "sh", real];
    let result = sh("exit 3").run(&Launcher::helper("sh", deaf)).await;
    match result {
        Err(SandboxError::Helper { .. }) => {}
        // A shell may refuse to ignore this signal; then nothing is lost.
        Ok(finished) => assert_eq!(finished.status(), Some(Status::Code(3))),
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_prefix_leads_to_the_helper_also_through_the_limiting_step() {
    let real = env!("CARGO_BIN_EXE_probity-sandbox-exec");
    let launcher = Launcher::helper(real, ["sandbox-exec"]);
    let limits = Limits { open_files: Some(64), ..Limits::default() };
    for limits in [Limits::default(), limits] {
        let finished = sh("echo $0 $#").args(["name", "x"]).limits(limits).run(&launcher).await;
        assert_eq!(finished.unwrap().stdout.text(), "name 1\n");
    }
}

#[tokio::test]
async fn the_command_has_no_terminal_to_ask() {
    let finished = run(&sh("(exec 3</dev/tty) 2>/dev/null && echo tty || echo none")).await;
    assert_eq!(finished.stdout.text(), "none\n");
}
