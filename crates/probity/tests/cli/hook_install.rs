//! `probity hook install`, `status`, `uninstall`: the settings of coding agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::Value;

use crate::world::World;

const FOREIGN: &str = "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n\t}\n}";

const TOOLS: [(&str, &str); 3] = [
    ("claude-code", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
];

/// With `probity` on `PATH`, as it is installed.
fn world() -> World {
    let world = World::new();
    symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin").join("probity")).unwrap();
    world
}

#[test]
fn in_seen_and_out_again_gives_back_every_byte() {
    for (tool, path) in TOOLS {
        for text in [Some(FOREIGN), Some("{\n}\n"), Some(""), None] {
            let world = world();
            if let Some(text) = text {
                world.write(path, text);
            }
            let absent = world.probity(["hook", "status", tool]);
            assert!(absent.code == 1 && absent.stdout.contains("absent"), "{absent:?}");
            let ran = world.probity(["hook", "install", tool, "--yes", "--json"]);
            assert_eq!((ran.code, &ran.json()["result"]), (0, &"changed".into()), "{ran:?}");
            let with = world.read(path);
            if text == Some(FOREIGN) {
                assert!(with.contains("\"command\": \"say done\""), "{with}");
                assert_eq!(world.read(&format!("{path}.probity-backup")), FOREIGN);
            }
            let status = world.probity(["hook", "status", tool]);
            assert!(status.code == 0 && status.stdout.contains("installed"), "{status:?}");
            let again = world.probity(["hook", "install", tool, "--json"]);
            assert_eq!(again.json()["result"], "unchanged", "{again:?}");
            assert_eq!(world.read(path), with);
            let ran = world.probity(["hook", "uninstall", tool, "--yes"]);
            assert_eq!(ran.code, 0, "{ran:?}");
            assert_eq!(fs::read_to_string(world.at(path)).ok().as_deref(), text, "{tool}");
            assert!(!world.at(&format!("{path}.probity-backup")).exists());
        }
    }
}

#[test]
fn what_others_write_meanwhile_stays() {
    let world = world();
    world.write(".claude/settings.json", FOREIGN);
    assert_eq!(world.probity(["hook", "install", "claude-code", "--yes"]).code, 0);
    let with = world.read(".claude/settings.json").replace("opus", "sonnet");
    world.write(".claude/settings.json", &with);
    assert_eq!(world.probity(["hook", "uninstall", "claude-code", "--yes"]).code, 0);
    assert_eq!(world.read(".claude/settings.json"), FOREIGN.replace("opus", "sonnet"));
}

#[test]
fn nothing_is_changed_without_consent() {
    let world = world();
    world.write(".claude/settings.json", FOREIGN);
    let dry = world.probity(["hook", "install", "claude-code", "--dry-run"]);
    assert!(
        dry.code == 0
            && dry.stdout.contains("+ ")
            && dry.stdout.contains("hook run claude-code Stop"),
        "{dry:?}"
    );
    let asked = world.probity(["hook", "install", "claude-code"]);
    assert!(asked.code == 64 && asked.stderr.contains("--yes"), "{asked:?}");
    assert_eq!(world.read(".claude/settings.json"), FOREIGN);
}

#[test]
fn a_link_stays_a_link_and_a_mode_a_mode() {
    let world = world();
    let target = world.beside("dotfiles.json");
    fs::write(&target, FOREIGN).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(world.at(".claude")).unwrap();
    symlink(&target, world.at(".claude/settings.json")).unwrap();
    assert_eq!(world.probity(["hook", "install", "claude-code", "--yes"]).code, 0);
    assert!(world.at(".claude/settings.json").is_symlink());
    assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&target).unwrap().contains("hook run claude-code"));
    assert_eq!(world.probity(["hook", "uninstall", "claude-code", "--yes"]).code, 0);
    assert_eq!(fs::read_to_string(&target).unwrap(), FOREIGN);
    fs::remove_file(&target).unwrap();
    let ran = world.probity(["hook", "install", "claude-code", "--yes"]);
    assert!(ran.code == 64 && ran.stderr.contains("leads nowhere"), "{ran:?}");
}

#[test]
fn a_file_that_is_not_to_be_written_is_not() {
    let world = world();
    world.write(".gemini/settings.json", FOREIGN);
    let path = world.at(".gemini/settings.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let ran = world.probity(["hook", "install", "gemini", "--yes", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (74, "file_write".to_owned()), "{ran:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), FOREIGN);
    let names: Vec<_> = fs::read_dir(world.at(".gemini")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn settings_that_an_edit_could_spoil_are_refused() {
    let world = world();
    for (text, code) in [
        ("{ // mine\n}", "hook_settings_comment"),
        ("{", "hook_settings_json"),
        ("{\"hooks\": 1}", "hook_settings_kind"),
        ("{\"a\":1,\"a\":2}", "hook_settings_twice"),
    ] {
        world.write(".claude/settings.json", text);
        for command in ["install", "uninstall"] {
            let ran = world.probity(["hook", command, "claude-code", "--yes", "--json"]);
            assert_eq!((ran.code, ran.error_code()), (64, code.to_owned()), "{ran:?}");
        }
        assert_eq!(world.read(".claude/settings.json"), text);
        let status = world.probity(["hook", "status", "claude-code"]);
        assert!(status.code == 1 && status.stdout.contains("unreadable"), "{status:?}");
    }
}

#[test]
fn what_was_changed_by_hand_is_told_and_put_right() {
    let world = world();
    assert_eq!(world.probity(["hook", "install", "claude-code", "--yes"]).code, 0);
    let whole = world.read(".claude/settings.json");
    world.write(".claude/settings.json", &whole.replacen("\"timeout\": 315", "\"timeout\": 1", 1));
    let status = world.probity(["hook", "status", "claude-code"]);
    assert!(status.code == 1 && status.stdout.contains("changed"), "{status:?}");
    assert_eq!(world.probity(["hook", "install", "claude-code", "--yes"]).code, 0);
    assert_eq!(world.read(".claude/settings.json"), whole);
}

#[test]
fn each_scope_is_a_file_of_its_own() {
    let world = world();
    for (args, path) in [
        (&["claude-code", "--scope", "local"][..], world.at(".claude/settings.local.json")),
        (&["claude-code", "--scope", "user"], world.beside("home").join(".claude/settings.json")),
        (&["codex", "--scope", "user"], world.beside("home").join(".codex/hooks.json")),
        (&["gemini", "--scope", "user"], world.beside("home").join(".gemini/settings.json")),
    ] {
        let ran = world.probity(["hook", "install", "--yes", "--json"].iter().chain(args));
        assert_eq!(ran.code, 0, "{ran:?}");
        let settings: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let hooks = settings["hooks"].as_object().unwrap();
        let (_, groups) = hooks.iter().next().unwrap();
        let command = groups[0]["hooks"][0]["command"].as_str().unwrap();
        // What is yours alone names this very program.
        assert!(command.starts_with('/'), "{command}");
    }
    let ran = world.probity(["hook", "install", "claude-code", "--yes", "--json"]);
    let notes = ran.json()["notes"].to_string();
    assert!(notes.contains("settings.local.json") && notes.contains("twice"), "{notes}");
    let ran = world.probity(["hook", "install", "codex", "--scope", "local", "--yes"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    let ran = world.probity(["hook", "install", "codex", "--deadline", "59m", "--yes"]);
    assert_eq!(ran.code, 64, "{ran:?}");
}

#[test]
fn the_command_that_is_installed_is_one_that_runs() {
    let world = world();
    world.write(".probity/probity.toml", "[[expect]]\nfile = \"out.txt\"\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    for (tool, path) in TOOLS {
        assert_eq!(
            world
                .probity([
                    "hook",
                    "install",
                    tool,
                    "--guard",
                    "--deadline",
                    "20s",
                    "--unchecked",
                    "note",
                    "--yes"
                ])
                .code,
            0
        );
        let settings: Value = serde_json::from_str(&world.read(path)).unwrap();
        for (event, groups) in settings["hooks"].as_object().unwrap() {
            let line = groups[0]["hooks"][0]["command"].as_str().unwrap();
            let mut shell = std::process::Command::new("sh");
            let like = world.command([""; 0]);
            let envs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
            shell.args(["-c", line]).envs(envs).current_dir(world.at(""));
            let ran: crate::world::Ran = shell.output().unwrap().into();
            assert_eq!(ran.code, 0, "{event}: {ran:?}");
            assert!(
                ran.json()["systemMessage"].as_str().unwrap().contains("NOT VERIFIED"),
                "{event}: {ran:?}"
            );
        }
    }
}

#[test]
fn a_switch_that_keeps_the_hooks_from_being_called_is_seen() {
    for (tool, path, switch) in [
        ("claude-code", ".claude/settings.local.json", "{\"disableAllHooks\": true}"),
        ("gemini", ".gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}"),
        ("gemini", ".gemini/settings.json", "{\"hooksConfig\": {\"disabled\": [\"probity\"]}}"),
    ] {
        let world = world();
        world.write(path, switch);
        assert_eq!(world.probity(["hook", "install", tool, "--yes"]).code, 0);
        let status = world.probity(["hook", "status", tool]);
        assert!(status.code == 1 && status.stdout.contains("keeps"), "{status:?}");
        world.write(
            path,
            &world
                .read(path)
                .replace("true", "false")
                .replace("bled\": false", "bled\": true")
                .replace("[\"probity\"]", "[]"),
        );
        let status = world.probity(["hook", "status", tool]);
        assert_eq!(status.code, 0, "{status:?}");
    }
}

#[test]
fn a_line_that_does_more_than_call_us_is_not_ours_to_take_out() {
    for line in [
        "probity hook run claude-code Stop; /usr/bin/notify",
        "cd /srv && /opt/probity hook run claude-code Stop",
    ] {
        let world = world();
        let text = FOREIGN.replace("say done", line);
        world.write(".claude/settings.json", &text);
        assert_eq!(world.probity(["hook", "install", "claude-code", "--yes"]).code, 0);
        assert!(world.read(".claude/settings.json").contains(line));
        assert_eq!(world.probity(["hook", "uninstall", "claude-code", "--yes"]).code, 0);
        assert_eq!(world.read(".claude/settings.json"), text);
    }
}
