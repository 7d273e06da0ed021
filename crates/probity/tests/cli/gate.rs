//! `probity run` and `probity demo`: what is let through, and what is said about the rest.

use std::fs;

use crate::world::{CREATED, HONEST, LIAR, REPENTANT, Ran, World};

#[test]
fn a_liar_is_told_three_times_and_exhausted() {
    let world = World::new();
    let ran = world.gate(&LIAR, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(
        world.redact(&ran.stdout),
        "attempt 1  revise  file_out.txt  file `out.txt` does not exist  [file_missing]\n\
         attempt 2  revise  file_out.txt  file `out.txt` does not exist  [file_missing]\n\
         attempt 3  revise  file_out.txt  file `out.txt` does not exist  [file_missing]\n\
         EXHAUSTED after 3 attempts: file_out.txt: file `out.txt` does not exist  [file_missing]\n\
         run RUN · sealed, 24 events, head HEAD…\n"
    );
    assert!(ran.stderr.contains("next: probity explain file_missing; probity log show "));
}

#[test]
fn a_liar_that_repents_is_verified_on_the_second_attempt() {
    let world = World::new();
    let ran = world.gate(&REPENTANT, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        world.redact(&ran.stdout),
        "attempt 1  revise  file_out.txt  file `out.txt` does not exist  [file_missing]\n\
         attempt 2  pass    file_out.txt\n\
         VERIFIED after 2 attempts · run RUN · sealed, 18 events, head HEAD…\n"
    );
}

#[test]
fn a_file_that_was_there_proves_nothing_and_created_refuses_it() {
    let world = World::new();
    world.write("out.txt", "hello\n");
    let warned = world.probity(["run", "x", "--expect", "file:out.txt", "--", "true"]);
    assert_eq!(warned.code, 0, "{warned:?}");
    assert!(
        warned.stdout.contains(
            "note  file_out.txt passed before the delegate started: its pass proves nothing"
        ),
        "{warned:?}"
    );
    let refused = world.gate(&LIAR, &["--max-retries", "0"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let required = world.probity([
        "run",
        "x",
        "--expect",
        "file:out.txt",
        "--red-first",
        "require",
        "--",
        "true",
    ]);
    assert_eq!(required.code, 3, "{required:?}");
    assert!(required.stdout.contains("UNVERIFIED: nothing that checked this result could tell it"));
}

#[test]
fn nothing_checked_is_unverified_unless_that_is_allowed() {
    let world = World::new();
    let ran = world.probity(["run", "x", "--", "echo", "Done."]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(
        world.redact(&ran.stdout),
        "claim 1 (not counted)  unverified\n\
         UNVERIFIED: nothing checked this result\n\
         run RUN · sealed, 7 events, head HEAD…\n"
    );
    let allowed = world.probity(["run", "x", "--allow-unverified", "--", "echo", "Done."]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert!(allowed.stdout.contains("UNVERIFIED"));
}

#[test]
fn a_broken_verifier_is_a_fault_with_its_own_code_and_no_attempt() {
    let world = World::new();
    for (source, code) in [
        ("def run(result)\n    return True\n", "script_syntax"),
        ("def run(result):\n    return None\n", "script_return_none"),
        ("def run(result):\n    fail(\"broken\")\n", "script_raise"),
        ("def run(result):\n    for _ in range(1000000000): pass\n", "script_ticks"),
    ] {
        world.write("judge.star", source);
        let ran = world.probity(["run", "x", "--verify", "judge.star", "--json", "--", "true"]);
        assert_eq!(ran.code, 4, "{ran:?}");
        let report = ran.json();
        assert_eq!(report["outcome"], "faulted");
        assert_eq!(report["attempts"], 0, "{code}");
        assert_eq!(report["checks"][0]["code"], code);
        assert!(report["checks"][0]["reason"].as_str().unwrap().contains("judge.star"), "{report}");
        let ran = world.probity(["run", "x", "--verify", "judge.star", "--", "true"]);
        assert!(ran.stdout.contains("FAULTED: the verifier `judge.star` broke: "), "{ran:?}");
    }
}

#[test]
fn a_delegate_that_cannot_be_started_is_not_a_lie() {
    let world = World::new();
    let ran = world.gate(&["./absent"], &[]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stdout.starts_with("DELEGATE FAILED: cannot start the delegate"), "{ran:?}");
    assert!(ran.stdout.contains("[delegate_start]"));
}

#[test]
fn what_the_world_says_cannot_steer_the_terminal() {
    let world = World::new();
    let hostile = "printf 'ok\\033[2J\\033]0;title\\007\\n'; exit 3";
    world.probity(["run", "x", "--expect", &format!("command:sh -c \"{hostile}\""), "--", "true"]);
    world.probity(["run", "a\u{1b}[2Jb", "--", "printf", "\\033[31mred\\r"]);
    for args in [["log", "show", "last"], ["log", "list", "--limit=9"], ["log", "tail", "last"]] {
        let ran = world.probity(args);
        assert_eq!(ran.code, 0, "{ran:?}");
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stdout.contains(steers), "{ran:?}");
        assert!(!ran.stderr.contains(steers), "{ran:?}");
    }
}

#[test]
fn retries_and_requests_are_read_from_a_file_and_keys_of_another_delegate_are_refused() {
    let world = World::new();
    let request = format!(
        "task: write hello\nmax_verify_retries: 1\nexpect: ['{CREATED}']\n\
         command: [sh, -c, 'cat > /dev/null; echo Done.']\n"
    );
    fs::write(world.beside("r.yaml"), format!("{request}workspace: workspace\n")).unwrap();
    let ran = world.probity(["run", "--request", "../r.yaml", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.json()["attempts"], 2);
    fs::write(world.beside("r.yaml"), format!("{request}model: small\n")).unwrap();
    let ran = world.probity(["run", "--request", "../r.yaml", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "request_chat_key".to_owned()));
    fs::write(world.beside("r.yaml"), format!("{request}retrys: 3\n")).unwrap();
    let ran = world.probity(["run", "--request", "../r.yaml", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "request_parse".to_owned()));
}

#[test]
fn an_untrusted_configuration_runs_nothing() {
    let world = World::new();
    world.write(".probity/probity.toml", "[[expect]]\ncommand = \"touch ran\"\n");
    let ran = world.probity(["run", "x", "--json", "--", "true"]);
    assert_eq!((ran.code, ran.error_code()), (64, "project_untrusted".to_owned()));
    assert!(!world.at("ran").exists());
    assert_eq!(world.probity(["run", "x", "--no-project", "--", "true"]).code, 3);
    assert_eq!(world.probity(["trust"]).code, 0);
    assert_eq!(world.probity(["run", "x", "--", "true"]).code, 0);
    assert!(world.at("ran").exists());
}

#[test]
fn an_escalated_run_waits_for_a_name_and_an_answer() {
    let world = World::new();
    let asked = world.gate(&LIAR, &["--max-retries", "0", "--on-failure", "escalate"]);
    assert_eq!(asked.code, 7, "{asked:?}");
    assert!(asked.stdout.contains("ESCALATED after 1 attempt: a human is asked; file_out.txt: "));
    assert!(asked.stderr.contains("--by NAME --waive (or --continue N, --reject)"), "{asked:?}");
    let unsigned = world.probity(["run", "--resume", "last", "--answer", "waive"]);
    assert_eq!(unsigned.code, 64, "{unsigned:?}");
    let waived = world.probity(["run", "--resume", "last", "--answer", "waive", "--by", "Ada"]);
    assert_eq!(waived.code, 1, "{waived:?}");
    assert!(waived.stdout.contains("EXHAUSTED (waived by a human) after 1 attempt"), "{waived:?}");
    assert_eq!(world.probity(["recheck", "last"]).code, 3);
}

#[test]
fn the_demo_ends_verified_and_sealed_in_the_users_store() {
    let world = World::new();
    let ran = world.probity(["demo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("VERIFIED after 2 attempts"), "{ran:?}");
    assert!(world.beside("state/probity/probity.db").exists());
    let json = world.probity(["demo", "--json"]).json();
    assert_eq!((&json["outcome"], &json["attempts"]), (&"verified".into(), &2.into()));
    assert!(json["seal"]["events"].as_u64().unwrap() > 10);
}

#[test]
fn a_named_run_cannot_be_run_twice() {
    let world = World::new();
    assert_eq!(world.gate(&HONEST, &["--id", "nightly"]).code, 0);
    let again = world.gate(&HONEST, &["--id", "nightly", "--json"]);
    assert_eq!((again.code, again.error_code()), (64, "run_exists".to_owned()));
}

#[test]
fn what_a_check_writes_before_the_delegate_is_not_the_delegates_work() {
    let world = World::new();
    let args = [
        "run",
        "write hello",
        "--expect",
        "command:echo hello > out.txt",
        "--expect",
        "file:out.txt,created,contains=hello",
        "--max-retries",
        "0",
        "--json",
        "--",
        "echo",
        "Done.",
    ];
    let ran = world.probity(args);
    assert_eq!((ran.code, &ran.json()["outcome"]), (1, &"exhausted".into()), "{ran:?}");
    assert_eq!(ran.json()["checks"][1]["code"], "file_not_created");
}

#[test]
fn verify_refuses_checks_that_compare_with_before_the_work() {
    let world = World::new();
    world.write("claim.txt", "Done.\n");
    for check in ["changes_only:src/**", "file:out.txt,created", "git:HEAD,created"] {
        let ran = world.probity(["verify", "--result", "claim.txt", "--expect", check, "--json"]);
        assert_eq!((ran.code, ran.error_code()), (64, "usage".to_owned()), "{check}: {ran:?}");
    }
    world.write("claim.json", "{\"foo\": 1}");
    let ran = world.probity(["verify", "--result", "claim.json", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "usage".to_owned()), "{ran:?}");
}

/// With the key of the server a delegate could answer in the name of those who watch it.
#[test]
fn a_delegate_has_the_users_environment_without_the_keys_of_the_server() {
    let world = World::new();
    let line = "env > seen.txt; echo hello > out.txt";
    let args = ["run", "write hello to out.txt", "--expect", CREATED, "--", "sh", "-c", line];
    let mut command = world.command(args);
    command.env("PROBITY_API_KEY", "canary-key").env("PROBITY_TOKEN_SECRET", "canary-secret");
    let ran: Ran = command.env("OF_THE_USER", "kept").output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    let seen = world.read("seen.txt");
    assert!(seen.contains("OF_THE_USER=kept") && !seen.contains("canary"), "{seen}");
}

/// With one of these files a delegate could tell the job that its work was verified.
#[test]
fn a_delegate_cannot_write_what_a_ci_job_believes() {
    const FILES: [&str; 5] =
        ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];
    let world = World::new();
    let line = "for file in \"$GITHUB_ENV\" \"$GITHUB_OUTPUT\" \"$GITHUB_PATH\" \"$GITHUB_STATE\" \
                \"$GITHUB_STEP_SUMMARY\"; do [ -z \"$file\" ] || echo forged >> \"$file\"; done; \
                env > seen.txt; echo hello > out.txt";
    let args = ["run", "write hello to out.txt", "--expect", CREATED, "--", "sh", "-c", line];
    let mut command = world.command(args);
    for name in FILES {
        world.write(name, "");
        command.env(name, world.at(name));
    }
    let ran: Ran = command.env("GITHUB_ACTIONS", "true").output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    for name in FILES {
        assert_eq!(world.read(name), "", "{name}");
    }
    let seen = world.read("seen.txt");
    assert!(seen.contains("GITHUB_ACTIONS=true"), "{seen}");
}

#[test]
fn what_is_offered_next_is_said_of_the_store_that_was_named() {
    let world = World::new();
    let store = world.beside("other runs.db");
    let named = format!("sqlite:{}", store.display());
    let run = ["run", "x", "--id", "it", "--expect", "file:absent.txt", "--store", &named];
    let ran = world.probity(run.into_iter().chain(["--", "true"]));
    assert_eq!(ran.code, 1, "{ran:?}");
    let (_, next) = ran.stderr.split_once("next: ").unwrap();
    let shown = next.trim().split("; ").find(|it| it.starts_with("probity log show")).unwrap();
    let words = shlex::split(shown).unwrap();
    assert_eq!(words, ["probity", "log", "show", "it", "--store", &named]);
    assert_eq!(world.probity(&words[1..]).code, 0);

    // Of what was in memory nothing is left to be shown.
    let ran =
        world.probity(["run", "x", "--expect", "file:y", "--store", "memory", "--", "touch", "y"]);
    assert_eq!((ran.code, ran.stderr.contains("next: ")), (0, false), "{ran:?}");
}
