//! What `docs/policy.md` and the README show as policy is policy that this command takes.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::world::{Ran, World, make_executable};

const POLICY: &str = include_str!("../../../../docs/policy.md");
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
