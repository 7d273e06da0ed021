//! A delegate that is kept off the judge, and checks that are kept off everything: through the command itself.
//! Every deed is done without a sandbox too, where it must succeed.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use crate::world::{Ran, World};

const PAGE: &str = include_str!("../../../../docs/sandbox.md");

/// A world with a check whose script is under seal.
fn world() -> World {
    let world = World::new();
    world.write("checks/judge.sh", "grep -q hello out.txt");
    world
}

const CHECK: &str = "command:sh checks/judge.sh,inputs=checks/**";

fn run(world: &World, delegate: &str, more: &[&str]) -> Ran {
    let head = ["run", "write hello to out.txt", "--max-retries", "0", "--json", "--expect", CHECK];
    let delegate = ["--", "sh", "-c", delegate];
    world.probity(head.iter().chain(more).chain(&delegate))
}

/// Whether this machine holds all that a sandbox asks for; where not, that it is refused.
fn can_hold(world: &World, about: &str) -> bool {
    let ran = run(world, "true", &["--sandbox", "delegate"]);
    if ran.code != 64 {
        return true;
    }
    eprintln!("NOT SHOWN HERE: {about}; only the refusal is: {ran:?}");
    assert_eq!(ran.error_code(), "sandbox_unavailable");
    false
}

fn held(json: &Value, whose: &str) -> String {
    json["sandbox"][whose].as_str().unwrap_or_default().to_owned()
}

#[test]
fn honest_work_in_a_sandbox_is_verified() {
    let world = world();
    if !can_hold(&world, "a sandboxed delegate") {
        return;
    }
    let honest = "mkdir -p a/b && echo hello > a/b/out && mv a/b/out out.txt && mktemp";
    let ran = run(&world, honest, &["--sandbox", "delegate,checks"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let json = ran.json();
    assert_eq!(json["outcome"], "verified");
    for whose in ["delegate", "checks"] {
        let held = held(&json, whose);
        assert!(held.contains("files") && held.contains("protected"), "{whose}: {held}");
        assert!(!held.contains(':'), "{held}");
    }
    // The record says the same, and each check what it was held to.
    let shown = world.probity(["log", "show", "last", "--json"]);
    assert!(shown.stdout.contains("\"sandbox\""), "{shown:?}");
}

type IsDone = fn(&World) -> bool;

/// What a delegate may try, and what in the world shows that it was done.
fn deeds() -> [(&'static str, IsDone); 8] {
    let sealed: IsDone = |world| !world.read_if_there("checks/judge.sh").contains("grep");
    [
        ("echo true > checks/judge.sh", sealed),
        ("rm -rf checks; mkdir checks; echo true > checks/judge.sh", sealed),
        ("mv checks old; mkdir checks; echo true > checks/judge.sh", sealed),
        ("ln checks/judge.sh twin; echo true > twin", sealed),
        ("echo true > checks/new.sh", |world| world.at("checks/new.sh").exists()),
        ("mkdir ../outside; echo x > ../outside/x", |world| world.beside("outside/x").exists()),
        ("echo '# x' > .probity/probity.toml", |world| {
            !world.read_if_there(".probity/probity.toml").is_empty()
        }),
        ("mv runs.db gone", |world| world.at("gone").exists()),
    ]
}

#[test]
fn a_sandboxed_delegate_changes_neither_judge_nor_policy_nor_store() {
    let first = world();
    if !can_hold(&first, "a judge that is kept") {
        return;
    }
    let store = |world: &World| format!("sqlite:{}", world.at("runs.db").display());
    for (deed, is_done) in deeds() {
        for is_sandboxed in [false, true] {
            let world = world();
            fs::create_dir(world.at(".probity")).unwrap();
            world.write(".probity/probity.toml", "");
            let trusted = world.probity(["trust"]);
            assert_eq!(trusted.code, 0, "{trusted:?}");
            let store = store(&world);
            let mut more = vec!["--store", store.as_str()];
            if is_sandboxed {
                more.extend(["--sandbox", "delegate"]);
            }
            let delegate = format!("{deed}; echo hello > out.txt");
            let ran = run(&world, &delegate, &more);
            assert_eq!(is_done(&world), !is_sandboxed, "{deed}: {ran:?}");
            if is_sandboxed {
                assert_eq!(ran.code, 0, "the honest part of it is verified: {deed}: {ran:?}");
            }
        }
    }
}

#[test]
fn a_check_that_runs_the_delegates_code_writes_nowhere_else() {
    let world = world();
    if !can_hold(&world, "a sandboxed check") {
        return;
    }
    // The judge runs what the delegate left.
    world.write("checks/judge.sh", "sh ./made.sh; grep -q hello out.txt");
    let delegate = "echo hello > out.txt; echo 'echo x > ../escaped' > made.sh";
    let ran = run(&world, delegate, &["--sandbox", "checks"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!world.beside("escaped").exists());
    let ran = run(&world, delegate, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(world.beside("escaped").exists(), "it proves nothing");
}

#[test]
fn the_network_of_a_delegate_is_denied_where_it_is_asked() {
    let world = world();
    if !can_hold(&world, "a network that is denied") {
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let delegate = format!(
        "bash -c 'echo > /dev/tcp/127.0.0.1/{port}' 2> /dev/null && echo hello > out.txt; true"
    );
    let denied = run(&world, &delegate, &["--sandbox", "delegate", "--network", "deny"]);
    assert_eq!(denied.code, 1, "{denied:?}");
    assert!(held(&denied.json(), "delegate").contains("network"));
    let allowed = run(&world, &delegate, &["--sandbox", "delegate"]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
}

/// A link in the place of the policy can be kept by nobody, so every machine lacks this.
#[test]
fn what_cannot_be_held_is_refused_or_told_loudly() {
    let world = world();
    fs::create_dir(world.beside("elsewhere")).unwrap();
    symlink(world.beside("elsewhere"), world.at(".probity")).unwrap();
    let refused = run(&world, "echo hello > out.txt", &["--sandbox", "delegate"]);
    assert_eq!((refused.code, refused.error_code().as_str()), (64, "sandbox_unavailable"));
    assert!(!world.at("out.txt").exists(), "nothing is started");
    let lenient = run(&world, "echo hello > out.txt", &["--sandbox", "delegate=best-effort"]);
    assert_eq!(lenient.code, 0, "{lenient:?}");
    let json = lenient.json();
    assert!(held(&json, "delegate").contains("protected:"), "{json}");
    let warned = json["warnings"].as_array().unwrap();
    let is_loud = |it: &Value| it.as_str().unwrap().contains("DEGRADED");
    assert!(warned.iter().any(is_loud), "{json}");
    let args = ["run", "x", "--sandbox", "delegate=best-effort", "--expect", CHECK, "--", "true"];
    let told = world.probity(args);
    assert!(told.stderr.contains("DEGRADED") || told.stdout.contains("DEGRADED"), "{told:?}");
}

#[test]
fn a_check_is_guarded_unless_the_operator_says_otherwise() {
    let world = World::new();
    world.write("said", "done");
    let check = "command:grep NoNewPrivs /proc/self/status,stdout_contains=";
    for (more, seen) in [(&[][..], '1'), (&["--sandbox", "checks=off"][..], '0')] {
        let check = format!("{check}{seen}");
        let args = ["verify", "--json", "--result", "said", "--expect", &check];
        let ran = world.probity(args.iter().chain(more));
        assert_eq!(ran.code, 0, "{more:?}: {ran:?}");
    }
    let sudo = "command:echo 'sudo: The \"no new privileges\" flag is set' >&2; exit 1";
    let args = ["verify", "--json", "--result", "said", "--expect", sudo];
    let ran = world.probity(args);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stdout.contains("sandbox_no_new_privs"), "{ran:?}");
    let ran = world.probity(args.iter().chain(&["--sandbox", "checks=off"]));
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn a_caller_opens_nothing_that_the_project_closed() {
    let world = world();
    world.write(".probity/probity.toml", "[sandbox]\ndelegate = \"best-effort\"\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    let opened = run(&world, "true", &["--writable", "/"]);
    assert_eq!(opened.error_code(), "request_weakens", "{opened:?}");
    let weaker = run(&world, "echo hello > out.txt", &["--sandbox", "delegate=off"]);
    assert!(!held(&weaker.json(), "delegate").is_empty(), "{weaker:?}");
}

#[test]
fn doctor_tells_of_every_part() {
    let json = World::new().probity(["doctor", "--json"]).json();
    let parts: Vec<&str> =
        json["sandbox"].as_array().unwrap().iter().map(|it| it["part"].as_str().unwrap()).collect();
    for part in ["privileges", "tracing", "signals", "files", "protected", "network", "processes"] {
        assert!(parts.contains(&part), "{json}");
        assert!(PAGE.contains(&format!("`{part}`")), "{part}");
    }
    let text = World::new().probity(["doctor"]).stdout;
    assert!(text.contains("\nsandbox\n"), "{text}");
}

/// The blocks of the page in a language, or those that are named.
fn blocks(begin: &str) -> Vec<&'static str> {
    let begin = format!("```{begin}\n");
    PAGE.split(begin.as_str()).skip(1).map(|block| block.split("\n```").next().unwrap()).collect()
}

#[test]
fn every_command_of_the_page_runs() {
    let (scripts, configs) = (blocks("sh"), blocks("toml"));
    assert_eq!((scripts.len(), configs.len()), (2, 1));
    for script in scripts {
        let world = world();
        if !can_hold(&world, "the page") {
            return;
        }
        symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin/probity")).unwrap();
        let agent = "#!/bin/sh\ncat > /dev/null; echo hello > out.txt; echo Done.\n";
        crate::world::make_executable(&world.beside("bin/my-agent"), agent);
        let like = world.command([""; 0]);
        let envs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
        let mut shell = Command::new("sh");
        let ran: Ran = shell
            .args(["-euc", script])
            .current_dir(world.at(""))
            .envs(envs)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
    }
    for config in configs {
        let world = World::new();
        world.write(".probity/probity.toml", config);
        let checked = world.probity(["check"]);
        assert_eq!(checked.code, 0, "{checked:?}");
    }
}
