//! `command:CMDLINE`, key by key, and commands that misbehave.

use std::time::{Duration, Instant};

use super::bed::{Bed, PATIENCE, brief, helper};
use probity_core::Phase;

#[test]
fn exit_and_output_pass_and_fail_each_in_its_own_way() {
    let mut bed = Bed::new();
    bed.start();
    bed.write("ok.sh", "echo 4 passed\n").write("plain.sh", "exit 0").write("data.txt", "x\ny\n");
    bed.write("inner.sh", "no-such-program-here\n").write("run.sh", "#!/bin/sh\nexit 0\n");
    bed.chmod("run.sh", 0o755).chmod("plain.sh", 0o644);
    bed.table(&[
        ("command:true", "pass"),
        ("command:false", "revise command_exit"),
        ("command:exit 3,exit=3", "pass"),
        ("command:exit 3,exit=4", "revise command_exit"),
        ("command:true,exit=1", "revise command_exit"),
        ("command:sh ok.sh,stdout_contains=4 passed", "pass"),
        ("command:sh ok.sh,stdout_contains=5 passed", "revise command_stdout"),
        (r"command:sh ok.sh,stdout_matches=^\d passed\n$", "pass"),
        (r"command:sh ok.sh,stdout_matches=failed", "revise command_stdout"),
        ("command:wc -l < data.txt | tr -d ' ',stdout_contains=2", "pass"),
        ("command:echo on stderr >&2,stdout_contains=on", "revise command_stdout"),
        ("command:kill -9 $$", "revise command_signal"),
        ("command:no-such-program-here --all", "fault command_not_found"),
        ("command:no-such-program-here,exit=127", "pass"),
        ("command:/no/such/program", "fault command_not_found"),
        ("command:cd . && ./no-such-script", "revise command_exit"),
        ("command:exit 127", "revise command_exit"),
        ("command:/dev/null", "fault command_not_executable"),
        // The delegate's own files are the delegate's to provide.
        ("command:./gone.sh", "revise command_exit"),
        ("command:./plain.sh", "revise command_exit"),
        ("command:./run.sh", "pass"),
        ("command:sh inner.sh", "revise command_exit"),
        ("command:exit 127,exit=127", "pass"),
    ]);
    let verdict = bed.verify("command:sh ok.sh; echo 1 failed >&2; exit 1").unwrap();
    assert_eq!(
        verdict.reason,
        "`sh ok.sh; echo 1 failed >&2; exit 1` ended with exit code 1, expected 0; it said: 1 failed"
    );
    assert_eq!(verdict.evidence[0].observed, "exit status 1, 9 bytes out, 9 bytes err");
    assert!(verdict.evidence[0].digest.is_some());
    assert_eq!(bed.red("command:false"), "revise command_exit");
    assert_eq!(bed.red("command:true"), "pass");
}

#[test]
fn the_command_sees_the_workspace_and_a_clean_environment() {
    let mut bed = Bed::new();
    bed.start();
    let root = bed.path("").display().to_string();
    let root = root.trim_end_matches('/');
    // Cargo sets this one for tests; it stands for every secret of the caller.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    bed.table(&[
        (&format!("command:pwd -P,stdout_contains={root}"), "pass"),
        ("command:test -z \"$CARGO_MANIFEST_DIR\"", "pass"),
        ("command:test -n \"$CARGO_MANIFEST_DIR\",env=CARGO_MANIFEST_DIR", "pass"),
        ("command:test -n \"$PATH\"", "pass"),
        ("command:read line; test $? -ne 0", "pass"),
    ]);
}

/// The compiled form says of itself which source it was made of; whoever can write it can say so falsely.
#[test]
fn a_forged_compiled_test_is_not_taken_for_the_test() {
    const FORGE: &str = "import importlib._bootstrap_external as b, importlib.util as u, os; \
        p = 'tests/test_it.py'; s = os.stat(p); c = u.cache_from_source(p); os.makedirs(os.path.dirname(c)); \
        open(c, 'wb').write(b._code_to_timestamp_pyc(compile('pass', p, 'exec'), int(s.st_mtime), s.st_size))";
    let mut bed = Bed::new();
    bed.write("tests/test_it.py", "raise SystemExit(1)").write("tests/__init__.py", "");
    let forged = std::process::Command::new("python3")
        .args(["-c", FORGE])
        .env_remove("PYTHONPYCACHEPREFIX")
        .current_dir(bed.path(""))
        .status()
        .unwrap();
    assert!(forged.success());
    bed.start();
    bed.table(&[
        ("command:env -u PYTHONPYCACHEPREFIX python3 -c 'import tests.test_it'", "pass"),
        ("command:python3 -c 'import tests.test_it'", "revise command_exit"),
        ("command:test \"$PYTHONPYCACHEPREFIX\" = /dev/null", "pass"),
    ]);
}

#[test]
fn a_reason_holds_at_most_200_characters_of_output() {
    let mut bed = Bed::new();
    bed.start();
    let reason = bed.reason("command:yes secret | head -c 100000 >&2; echo the end >&2; exit 1");
    let said = reason.split_once("it said: ").unwrap().1;
    assert_eq!(said.chars().count(), 200);
    assert!(said.ends_with("the end"), "{said}");
    assert!(!reason.contains('\n'));
}

#[test]
fn a_hundred_megabytes_are_bounded_and_what_was_left_out_is_not_called_missing() {
    let mut bed = Bed::new();
    bed.start();
    let flood = "(echo first; head -c 100000000 /dev/zero; echo last)";
    bed.table(&[
        (&format!("command:{flood}"), "pass"),
        (&format!("command:{flood},stdout_contains=first,stdout_contains=last"), "pass"),
        (&format!("command:{flood},stdout_contains=middle"), "inconclusive content_cut"),
        (&format!("command:{flood}; exit 1,stdout_contains=middle"), "revise command_exit"),
    ]);
    let verdict = bed.verify(&format!("command:{flood}")).unwrap();
    assert!(verdict.evidence[0].observed.contains("100000011 bytes out"), "{verdict:?}");
}

#[test]
fn a_command_without_end_is_inconclusive_in_time_and_leaves_no_process() {
    let mut bed = Bed::new();
    bed.timeout = Duration::from_millis(700);
    bed.start();
    let started = Instant::now();
    let line = "trap '' TERM; echo $$ > pids; while :; do sleep 0.1; done";
    assert_eq!(bed.says(&format!("command:{line}")), "inconclusive command_timeout");
    assert!(started.elapsed() < bed.timeout + PATIENCE, "{:?}", started.elapsed());
    assert_dead(&bed);
}

#[test]
fn a_daemon_that_forks_twice_and_ignores_sigterm_is_dead_when_the_verdict_is_there() {
    let mut bed = Bed::new();
    bed.start();
    let daemon = "(setsid sh -c 'trap \"\" TERM HUP; echo $$ > pids; while :; do sleep 0.1; done' &) ; while [ ! -s pids ]; do :; done; echo ready";
    assert!(matches!(helper(), probity_sandbox::Launcher::Helper { .. }));
    let started = Instant::now();
    let verdict = bed.verify(&format!("command:{daemon},stdout_contains=ready"));
    assert_eq!(brief(&verdict), "pass");
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    let observed = &verdict.unwrap().evidence[0].observed;
    assert!(observed.contains("left behind and killed"), "{observed}");
    assert_dead(&bed);
}

#[test]
fn a_cancelled_command_is_killed_and_not_judged() {
    let mut bed = Bed::new();
    bed.start();
    let ctx = bed.context(Phase::After);
    let cancel = ctx.cancel.clone();
    let pids = bed.path("pids");
    let waiter = std::thread::spawn(move || {
        super::bed::until("the command starts", || {
            std::fs::read_to_string(&pids).is_ok_and(|text| text.ends_with('\n'))
        });
        cancel.cancel();
    });
    let verdict = bed.judge("command:echo $$ > pids; sleep 60", &ctx);
    waiter.join().unwrap();
    assert_eq!(brief(&verdict), "inconclusive cancelled");
    assert_dead(&bed);
}

/// The process whose id is in `pids` is gone.
fn assert_dead(bed: &Bed) {
    let pid = std::fs::read_to_string(bed.path("pids")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    let dead = stat.as_ref().map_or(true, |stat| stat.contains(") Z"));
    assert!(dead, "process {} lives: {stat:?}", pid.trim());
}
