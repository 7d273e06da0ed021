//! Closed pipes and redirected streams: a quiet end, never a panic.

use std::process::Stdio;

use crate::world::{CREATED, HONEST, World};

/// A pipe whose reader is gone.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let world = World::new();
    assert_eq!(world.gate(&HONEST, &[]).code, 0);
    for args in [
        &["explain"][..],
        &["log", "list"],
        &["log", "show", "last"],
        &["log", "show", "last", "--json"],
        &["log", "tail", "last"],
        &["log", "export", "last"],
        &["completions", "bash"],
        &["recheck", "last"],
        &["--help"],
    ] {
        let output = world.command(args).stdout(closed()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("error"), "{args:?}: {stderr}");
    }
}

#[test]
fn a_run_keeps_its_exit_code_when_nobody_listens() {
    let world = World::new();
    let args = ["run", "x", "--expect", CREATED, "--max-retries", "0", "--", "true"];
    let status = world.command(args).stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(status.code(), Some(1));
    world.write("x.jsonl", &"{}\n".repeat(5000));
    let audit = ["episode", "verify", "x.jsonl"];
    let status = world.command(audit).stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(status.code(), Some(1), "every document is audited, whoever reads on");
    let status = world.command(["demo"]).stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    let status = world.command(["explain", "no"]).stdout(closed()).stderr(closed()).status();
    assert_eq!(status.unwrap().code(), Some(64));
}

#[test]
fn progress_in_a_pipe_is_plain_lines_on_standard_error() {
    let world = World::new();
    let ran = world.gate(&HONEST, &[]);
    let progress = world.redact(&ran.stderr);
    let lines: Vec<&str> = progress.lines().collect();
    assert_eq!(
        lines,
        [
            "run RUN: 1 check, at most 3 attempts",
            "attempt 1 of 3: the delegate works",
            "attempt 1 of 3: claim received",
            "attempt 1 of 3: file_out.txt pass, T ms",
            "verified [ok]",
            "next: probity log show RUN; probity recheck RUN",
        ]
    );
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));
}
