//! What `docs/ci.md`, `docs/install.md` and `examples/ci/` show is what this command takes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::world::{Ran, World, make_executable};

const CI: &str = include_str!("../../../../docs/ci.md");
const INSTALL: &str = include_str!("../../../../docs/install.md");

/// The code blocks of a document with a mark, one behind the other.
fn script(document: &str, mark: &str) -> String {
    let fence = format!("```{mark}\n");
    let blocks: Vec<&str> =
        document.split(&fence).skip(1).map(|part| part.split("\n```").next().unwrap()).collect();
    assert!(!blocks.is_empty(), "no block of `{mark}`");
    blocks.join("\n")
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci").canonicalize().unwrap()
}

/// A place with the command on its path, and an agent.
fn place() -> World {
    let world = World::new();
    symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin").join("probity")).unwrap();
    make_executable(&world.at("my-agent"), "#!/bin/sh\ncat > /dev/null\necho hello > out.txt\n");
    world
}

/// Runs a program as the command itself is run: away from the user's own folders.
fn run(world: &World, words: &[&str], envs: &[(&str, &str)]) -> Ran {
    let like = world.command([""; 0]);
    let theirs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(world.at("")).envs(theirs);
    command.envs(envs.iter().copied()).output().unwrap().into()
}

#[test]
fn the_documented_commands_report_a_run_and_prove_it() {
    let world = place();
    let ran = run(&world, &["sh", "-euc", &script(CI, "sh ci")], &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for report in ["summary.md", "junit.xml", "codequality.json", "run.probity"] {
        assert!(world.at(report).exists(), "{report}");
    }
}

#[test]
fn the_documented_hook_refuses_a_commit_that_the_checks_refuse() {
    let world = place();
    fs::create_dir_all(world.at("examples")).unwrap();
    symlink(examples(), world.at("examples/ci")).unwrap();
    world.write(".probity/probity.toml", "expect = [\"file:answer.txt,contains=42\"]\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    let git = |words: &[&str]| {
        let name = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"];
        run(&world, &[&name[..], words].concat(), &[])
    };
    assert_eq!(git(&["init", "--quiet"]).code, 0);
    let ran = run(&world, &["sh", "-euc", &script(CI, "sh hook")], &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.write("answer.txt", "41\n");
    assert_eq!(git(&["add", ".probity", "answer.txt"]).code, 0);
    let refused = git(&["commit", "--quiet", "--message", "x"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    world.write("answer.txt", "42\n");
    assert_eq!(git(&["add", "answer.txt"]).code, 0);
    let taken = git(&["commit", "--quiet", "--message", "x"]);
    assert_eq!(taken.code, 0, "{taken:?}");
}

#[test]
fn the_documented_installation_works_from_an_archive() {
    let world = World::new();
    let release = world.beside("release/probity-0.0.0-test");
    fs::create_dir_all(release.join("bin")).unwrap();
    fs::create_dir_all(release.join("man/man1")).unwrap();
    fs::write(release.join("man/man1/probity.1"), ".TH probity 1\n").unwrap();
    let binary = env!("CARGO_BIN_EXE_probity");
    make_executable(&release.join("bin/probity"), &format!("#!/bin/sh\nexec {binary} \"$@\"\n"));
    let pack = "tar -C ../release -czf probity-0.0.0-test.tar.gz probity-0.0.0-test\n\
                sha256sum *.tar.gz > SHA256SUMS; rm -r ../release\n\
                PATH=\"$HOME/.local/bin:$PATH\"\n";
    let ran =
        run(&world, &["sh", "-euc", &format!("{pack}{}", script(INSTALL, "sh install"))], &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("VERIFIED after 2 attempts"), "{ran:?}");
    let home = world.beside("home");
    for file in [".local/bin/probity", ".local/share/man/man1/probity.1"] {
        assert!(home.join(file).exists(), "{file}");
    }
    let completions =
        fs::read_to_string(home.join(".config/fish/completions/probity.fish")).unwrap();
    assert!(completions.contains("junit"));
}

#[test]
fn the_image_is_built_from_every_member_of_the_workspace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ignored = fs::read_to_string(root.join("packaging/Dockerfile.dockerignore")).unwrap();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    let members: Vec<&str> =
        members.split(',').map(|member| member.trim().trim_matches('"')).collect();
    assert!(members.contains(&"bench") && members.contains(&"crates/*"), "{members:?}");
    for pattern in ignored.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // Nothing but names from the root is there, so none matches deeper than it says.
        assert!(!pattern.contains('*'), "{pattern}");
        let is_above =
            |member: &&&str| *member == &pattern || member.starts_with(&format!("{pattern}/"));
        assert_eq!(members.iter().find(is_above), None, "{pattern}");
    }
    let dockerfile = fs::read_to_string(root.join("packaging/Dockerfile")).unwrap();
    assert!(dockerfile.contains("\nCOPY . .\n"), "{dockerfile}");
}

/// What a step of the action would have in its environment.
fn step(world: &World) -> Vec<(&'static str, String)> {
    let at = |name: &str| world.beside(name).display().to_string();
    vec![
        ("RUNNER_TEMP", at("temp")),
        ("GITHUB_PATH", at("path")),
        ("GITHUB_OUTPUT", at("output")),
        ("GITHUB_STEP_SUMMARY", at("summary.md")),
        ("GITHUB_ACTIONS", "true".to_owned()),
    ]
}

fn run_step(world: &World, name: &str, more: &[(&str, &str)]) -> Ran {
    fs::create_dir_all(world.beside("temp")).unwrap();
    let script = examples().join("action").join(name).display().to_string();
    let step = step(world);
    let envs: Vec<_> = step.iter().map(|(name, value)| (*name, value.as_str())).collect();
    run(world, &["bash", &script], &[&envs[..], more].concat())
}

#[test]
fn the_action_gates_a_delegation_and_leaves_its_proof() {
    let world = place();
    // A delegate that would write a summary of its own, and variables of later steps.
    let agent = "#!/bin/sh\nset -u\ncat > /dev/null\necho hello > out.txt\n\
                 env | grep -E '^GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)=' > seen.txt; true\n";
    make_executable(&world.at("my-agent"), agent);
    let request = "task: write hello\ncommand: [./my-agent]\nexpect: [\"file:out.txt,created\"]\n";
    world.write("request.yaml", request);
    let ran = run_step(&world, "gate.sh", &[("REQUEST", "request.yaml")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.read("seen.txt"), "");
    let output = fs::read_to_string(world.beside("output")).unwrap();
    let bundle = output.lines().find_map(|line| line.strip_prefix("bundle=")).unwrap();
    assert_eq!(world.probity(["audit", bundle]).code, 0);
    assert!(fs::read_to_string(world.beside("summary.md")).unwrap().contains("VERIFIED after 1"));
    // The exit code is that of the run, and its proof is kept all the same.
    make_executable(&world.at("my-agent"), "#!/bin/sh\nrm -f out.txt\n");
    let ran = run_step(&world, "gate.sh", &[("REQUEST", "request.yaml")]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let output = fs::read_to_string(world.beside("output")).unwrap();
    assert_eq!(output.matches("bundle=").count(), 2, "{output}");
    // Without a run there is nothing to prove.
    let ran = run_step(&world, "gate.sh", &[("REQUEST", "absent.yaml")]);
    assert_eq!(ran.code, 64, "{ran:?}");
}

#[test]
fn the_action_runs_only_what_was_reviewed() {
    let world = place();
    world.write(".probity/probity.toml", "expect = [\"file:out.txt,created\"]\n");
    world.write("request.yaml", "task: write hello\ncommand: [./my-agent]\n");
    let git = |words: &[&str]| {
        let name = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"];
        let ran = run(&world, &[&name[..], words].concat(), &[]);
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "reviewed"]);
    let step = [("REQUEST", "request.yaml"), ("TRUSTED_REF", "main")];
    let ran = run_step(&world, "gate.sh", &step);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.write(".probity/probity.toml", "expect = [\"file:out.txt\"]\n");
    let ran = run_step(&world, "gate.sh", &step);
    assert_eq!(ran.code, 64, "{ran:?}");
    assert!(ran.stderr.contains("came with this folder"), "{ran:?}");
}

#[test]
fn the_action_takes_a_release_by_its_checksum_alone() {
    // As `cargo xtask dist` names its archive where musl is installed, and where it is not.
    for libc in ["musl", "gnu"] {
        let world = World::new();
        let machine = run(&world, &["uname", "-m"], &[]).stdout.trim().to_owned();
        let name = format!("probity-9.9.9-{machine}-unknown-linux-{libc}");
        let release = world.beside("releases/v9.9.9");
        fs::create_dir_all(release.join(&name).join("bin")).unwrap();
        let program = release.join(&name).join("bin/probity");
        make_executable(&program, "#!/bin/sh\necho probity 9.9.9\n");
        let pack =
            format!("cd ../releases/v9.9.9; tar -czf {name}.tar.gz {name}; sha256sum *.tar.gz");
        let sum = run(&world, &["sh", "-euc", &pack], &[]).stdout;
        let sum = sum.split_whitespace().next().unwrap();
        let from = format!("file://{}", world.beside("releases").display());
        let step =
            |sum| [("VERSION", "9.9.9"), ("SHA256", sum), ("PROBITY_RELEASES", from.as_str())];
        let ran = run_step(&world, "install.sh", &step(sum));
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "probity 9.9.9\n"), "{ran:?}");
        let path = fs::read_to_string(world.beside("path")).unwrap();
        assert!(Path::new(path.trim()).join("probity").exists());
        let other = "0".repeat(64);
        let ran = run_step(&world, "install.sh", &step(&other));
        assert!(ran.code != 0 && !ran.stdout.contains("9.9.9\n"), "{ran:?}");
        assert_eq!(run_step(&world, "install.sh", &step("")).code, 64);
    }
}

#[test]
fn the_examples_are_yaml_and_hand_on_what_the_scripts_read() {
    let read = |name: &str| -> Value {
        serde_saphyr::from_str(&fs::read_to_string(examples().join(name)).unwrap()).unwrap()
    };
    let action = read("action/action.yml");
    let workflow = read("github-workflow.yml");
    let step = &workflow["jobs"]["delegate"]["steps"][1];
    for input in step["with"].as_object().unwrap().keys() {
        assert!(action["inputs"][input].is_object(), "{input}");
    }
    let steps = action["runs"]["steps"].as_array().unwrap();
    for (step, script) in steps.iter().zip(["install.sh", "gate.sh"]) {
        let text = fs::read_to_string(examples().join("action").join(script)).unwrap();
        assert_eq!(step["run"], format!("\"$GITHUB_ACTION_PATH/{script}\""));
        for name in step["env"].as_object().unwrap().keys() {
            assert!(
                text.contains(&format!("${{{name}:-")) || text.contains(&format!("\"${name}\""))
            );
        }
    }
    // Nothing that a caller writes becomes part of a script.
    assert!(steps.iter().all(|step| !step["run"].as_str().unwrap_or_default().contains("${{")));
    assert_eq!(read("gitlab-ci.yml")["delegate"]["artifacts"]["when"], "always");
}
