//! What people and scripts are shown, word for word.

use crate::world::World;

/// Checks of every state.
fn shown(more: &[&str]) -> (World, crate::world::Ran) {
    let world = World::new();
    world.write("out.txt", "hello\nworld\n");
    world.write("out.json", "{\"count\": 3}\n");
    let made = std::process::Command::new("mkfifo").arg(world.at("pipe")).status().unwrap();
    assert!(made.success());
    let checks = [
        "file:out.txt,contains=hello",
        "json:out.json,pointer=/count,equals=3,id=count",
        "command:grep -q hello out.txt,id=words",
        "command:true,id=green",
        "command:false,id=red",
        "command:no-such-program-here,id=broken",
        "http:http://127.0.0.1:9/,id=server",
    ];
    let expect = checks.iter().flat_map(|check| ["--expect", check]);
    let args =
        ["quality", "--max-mutants", "5"].into_iter().chain(expect).chain(more.iter().copied());
    let ran = world.probity(args);
    (world, ran)
}

fn with_snapshots(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    // Absolute: the folder that tests run in is not the same under every runner.
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(check);
}

#[test]
fn people_see_a_table_and_what_would_have_caught_it() {
    let (world, ran) = shown(&["--max-missed", "50"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    with_snapshots(|| insta::assert_snapshot!("quality", world.redact(&ran.stdout)));
    assert_eq!(ran.stderr.lines().count(), 6, "{}", ran.stderr);
}

#[test]
fn scripts_get_one_object() {
    let (world, ran) = shown(&["--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let pretty = serde_json::to_string_pretty(&ran.json()).unwrap();
    let text = regex::Regex::new(r#""elapsed_ms": \d+"#)
        .unwrap()
        .replace_all(&pretty, "\"elapsed_ms\": 0")
        .into_owned();
    with_snapshots(|| insta::assert_snapshot!("quality-json", world.redact(&text)));
}
