//! What `docs/policy.md` and the README show as policy is policy that this command takes.

use std::os::unix::fs::symlink;
use std::process::Command;

use probity_sandbox::CLEAN_ENV;
use probity_verifier::spec::{COMMON, KINDS};

use crate::world::{Ran, World, make_executable};

const POLICY: &str = include_str!("../../../../docs/policy.md");
const CHECKS: &str = include_str!("../../../../docs/checks.md");
const REQUESTS: &str = include_str!("../../../../docs/requests.md");
/// The keys of a request are the fields of a type.
const REQUEST: &str = include_str!("../../src/request.rs");
const README: &str = include_str!("../../../../README.md");

/// The code blocks of a document in a language, in order.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let parts = document.split(&fence).skip(1);
    parts.map(|part| part.split("\n```").next().unwrap().to_owned() + "\n").collect()
}

fn only(blocks: Vec<String>, start: &str) -> String {
    let mut found = blocks.into_iter().filter(|block| block.contains(start));
    let block = found.next().unwrap_or_else(|| panic!("no block with `{start}`"));
    assert!(found.next().is_none(), "two blocks with `{start}`");
    block
}

#[test]
fn the_documented_hooks_profile_and_envelope_are_in_order() {
    let world = World::new();
    world.write(".probity/probity.toml", "");
    world.write(".probity/hooks/created.md", &only(blocks(POLICY, "markdown"), "event:"));
    world.write(".probity/hooks/readme.md", &only(blocks(README, "markdown"), "event:"));
    let profile = only(blocks(POLICY, "markdown"), "description:");
    let rungs = only(blocks(POLICY, "yaml"), "rungs:");
    let profile = profile.replacen("---\n", &format!("---\n{rungs}"), 1);
    world.write(".probity/agents/coder.md", &profile);
    let envelope = only(blocks(POLICY, "yaml"), "deadlineMs");
    world.write(".probity/envelopes/quarantine.yaml", &envelope);
    world.write(
        ".probity/verifiers/status_check.star",
        "def verify(context):\n    return fs.stat('svc-demo') != None\n",
    );
    assert_eq!(world.probity(["trust"]).code, 0);
    let checked = world.probity(["check", "--json"]);
    let findings = checked.json()["findings"].clone();
    let is_error = |finding: &&serde_json::Value| finding["state"] == "error";
    let errors: Vec<_> = findings.as_array().unwrap().iter().filter(is_error).cloned().collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_documented_request_runs_under_the_documented_envelope() {
    let world = World::new();
    world.write(".probity/probity.toml", "");
    let envelope = only(blocks(POLICY, "yaml"), "deadlineMs");
    world.write(".probity/envelopes/quarantine.yaml", &envelope);
    world.write(
        ".probity/verifiers/status_check.star",
        "def verify(context):\n    return fs.stat('svc-demo') != None\n",
    );
    world.write(".probity/agents/operator.md", "---\ncommand: touch svc-demo\n---\n");
    world.write("request.yaml", &only(blocks(POLICY, "yaml"), "decision_type"));
    assert_eq!(world.probity(["trust"]).code, 0);
    let ran = world.probity(["run", "--request", "request.yaml", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn the_hook_of_the_readme_blocks_a_claim_that_nothing_bears_out() {
    let world = World::new();
    world.write(".probity/hooks/readme.md", &only(blocks(README, "markdown"), "event:"));
    world.write(".probity/probity.toml", "max_verify_retries = 0\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    let run = |script: &str| world.probity(["run", "x", "--json", "--", "sh", "-c", script]);
    let lie = run("echo I created it");
    assert_eq!(lie.code, 1, "{lie:?}");
    assert_eq!(
        lie.json()["checks"][0]["reason"],
        "the answer says that something was created; nothing was"
    );
    let honest = run("touch it; echo I created it");
    assert_eq!(honest.code, 0, "{honest:?}");
}

#[test]
fn the_commands_of_the_readme_leave_a_run_for_a_worker() {
    let world = World::new();
    symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin").join("probity")).unwrap();
    make_executable(&world.at("my-agent"), "#!/bin/sh\ncat > /dev/null\necho hello > out.txt\n");
    let script = only(blocks(README, "sh fleet"), "probity worker");
    // As the command itself is run: away from the user's own folders.
    let like = world.command([""; 0]);
    let envs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
    let ran: Ran = Command::new("sh")
        .args(["-euc", &script])
        .current_dir(world.at(""))
        .envs(envs)
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("greet\n") && ran.stdout.contains("VERIFIED"), "{ran:?}");
    assert!(ran.stderr.contains("no dead letters"), "{ran:?}");
    assert!(ran.stdout.contains("runs        1 run\n"), "{ran:?}");
}

/// The parts of a text that tell of each kind of check: from one of `starts` to the next line that begins as
/// one.
fn told_of(text: &str, kind: &str, is_start: impl Fn(&str, &str) -> bool) -> String {
    let any = |line: &str| KINDS.iter().any(|kind| is_start(line, kind.name));
    let mut lines = text.lines().skip_while(|line| !is_start(line, kind));
    let first = lines.next().unwrap_or_else(|| panic!("nothing tells of `{kind}`"));
    let rest = lines.take_while(|line| !any(line) && !line.is_empty());
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_key_of_every_check_stands_in_the_help_and_on_its_page() {
    let help = World::new().probity(["run", "--help"]).stdout;
    let (_, help) = help.split_once("Checks:\n").unwrap();
    for kind in KINDS {
        let in_help =
            told_of(help, kind.name, |line, kind| line.starts_with(&format!("  {kind}:")));
        let on_page =
            told_of(CHECKS, kind.name, |line, kind| line.starts_with(&format!("| `{kind}:")));
        for key in kind.keys.iter().filter(|key| key.name != "timeout") {
            let is_word = |word: &str| word.split('=').next() == Some(key.name);
            assert!(
                in_help.split_whitespace().any(is_word),
                "{} {}: {in_help}",
                kind.name,
                key.name
            );
            let mut codes = on_page.split('`');
            assert!(codes.any(is_word), "{} {}: {on_page}", kind.name, key.name);
        }
    }
    for key in COMMON {
        assert!(help.contains(&format!("{}=", key.name)), "{}", key.name);
        assert!(CHECKS.contains(&format!("| `{}=` |", key.name)), "{}", key.name);
    }
    for name in CLEAN_ENV {
        assert!(help.contains(name) && CHECKS.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_commands_and_the_file_of_the_page_on_checks_do_the_same() {
    let world = World::new();
    symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin").join("probity")).unwrap();
    make_executable(
        &world.at("my-agent"),
        "#!/bin/sh\ncat > /dev/null\necho it is all here > SUMMARY.md\n",
    );
    let script = only(blocks(CHECKS, "sh checks"), "probity run");
    let like = world.command([""; 0]);
    let envs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
    let ran: Ran = Command::new("sh")
        .args(["-euc", &script])
        .current_dir(world.at(""))
        .envs(envs)
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{ran:?}");
    std::fs::remove_file(world.at("SUMMARY.md")).unwrap();
    world.write(".probity/probity.toml", &only(blocks(CHECKS, "toml"), "[[expect]]"));
    assert_eq!(world.probity(["trust"]).code, 0);
    let ran = world.probity(["run", "x", "--", "./my-agent"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn every_key_of_a_request_stands_on_its_page() {
    let (_, fields) = REQUEST.split_once("pub struct Request {\n").unwrap();
    let (fields, _) = fields.split_once("\n}\n").unwrap();
    let fields = fields.lines().filter_map(|line| line.trim().strip_prefix("pub "));
    let keys: Vec<&str> = fields.filter_map(|field| Some(field.split_once(':')?.0)).collect();
    assert!(keys.len() > 40, "{keys:?}");
    // These two are set by the project, whatever a request says.
    for key in keys.iter().filter(|key| !["project", "callers_hooks"].contains(key)) {
        assert!(REQUESTS.contains(&format!("`{key}`")), "{key}");
    }
}
