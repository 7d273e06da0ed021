//! Each kind of check on what it looks at.

use std::process::Command;

use serde_json::Value;

use super::{fated, only, tried};
use crate::world::World;

fn check(world: &World, expect: &str) -> Value {
    let ran = tried(world, expect, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    only(&ran)
}

#[test]
fn a_document_is_asked_for_its_values() {
    let world = World::new();
    world.write("out.json", "{\n  \"count\": 3,\n  \"name\": \"x\"\n}\n");
    let weak = check(&world, "json:out.json");
    for operator in ["drop_key", "change_number", "change_text", "change_type"] {
        assert!(fated(&weak, "missed").contains(&operator.to_owned()), "{weak:#}");
    }
    assert!(fated(&weak, "caught").contains(&"empty".to_owned()), "{weak:#}");
    let asked = check(&world, "json:out.json,pointer=/count,equals=3");
    let caught = |operator: &str, pointer: &str| {
        let mutants = asked["mutants"].as_array().unwrap().iter();
        let what = format!("`{pointer}`");
        let hit = mutants
            .clone()
            .find(|it| it["operator"] == operator && it["what"].as_str().unwrap().contains(&what));
        hit.unwrap()["fate"] == "caught"
    };
    assert!(caught("change_number", "/count") && caught("drop_key", "/count"), "{asked:#}");
    assert!(!caught("change_text", "/name"), "{asked:#}");
}

#[test]
fn a_database_is_asked_for_its_rows() {
    let world = World::new();
    let database = rusqlite::Connection::open(world.at("data.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE t (n INTEGER, s TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        )
        .unwrap();
    database.close().unwrap();
    let count = check(&world, "sqlite:data.db,query=SELECT count(*) FROM t,equals=2");
    assert!(fated(&count, "caught").contains(&"drop_row".to_owned()), "{count:#}");
    assert!(fated(&count, "missed").contains(&"change_value".to_owned()), "{count:#}");
    let query = "SELECT sum(n) * 100 + sum(length(s)) FROM t";
    let sum = check(&world, &format!("sqlite:data.db,query={query},equals=302"));
    for operator in ["drop_row", "change_value"] {
        assert!(!fated(&sum, "missed").contains(&operator.to_owned()), "{sum:#}");
    }
    // A table that is gone is no answer either way.
    assert!(!fated(&sum, "missed").contains(&"drop_table".to_owned()), "{sum:#}");
}

#[test]
fn what_must_not_be_there_appears_and_a_folder_is_changed() {
    let world = World::new();
    world.write("build/a.txt", "a\n");
    let absent = check(&world, "file:lock,absent");
    assert_eq!(
        (fated(&absent, "caught"), &absent["missed"]),
        (vec!["create".into(), "folder".into()], &0.into())
    );
    let weak = check(&world, "dir:build");
    assert!(fated(&weak, "missed").contains(&"create".to_owned()), "{weak:#}");
    let counted = check(&world, "dir:build,entries=1");
    for operator in ["create", "delete", "file"] {
        assert!(fated(&counted, "caught").contains(&operator.to_owned()), "{counted:#}");
    }
}

#[test]
fn a_check_that_compares_sees_the_file_made_anew() {
    let world = World::new();
    world.write("deep/out.txt", "hello\n");
    let weak = check(&world, "file:deep/out.txt,created");
    assert!(fated(&weak, "missed").contains(&"empty".to_owned()), "{weak:#}");
    let changed = check(&world, "file:deep/out.txt,changed,contains=hello");
    assert!(!fated(&changed, "missed").contains(&"empty".to_owned()), "{changed:#}");
    // Installed or built: the snapshot leaves the folder out, the check names what is in it.
    world.write("target/out.txt", "hello\n");
    world.write("target/other.txt", "hello\n");
    assert_eq!(check(&world, "file:target/out.txt,created")["state"], "scored");
}

#[test]
fn nobody_was_to_touch_the_others() {
    let world = World::new();
    world.write("CHANGELOG.md", "a\n");
    world.write("src/a.py", "a = 1\n");
    let only_log = check(&world, "changes_only:CHANGELOG.md");
    assert_eq!(
        (&only_log["missed"], &only_log["score_percent"]),
        (&0.into(), &100.into()),
        "{only_log:#}"
    );
    let caught = ["create", "delete", "empty", "flip_byte", "mode"];
    assert_eq!(fated(&only_log, "caught"), caught);
    let all = tried(&world, "changes_only:**", &[]);
    assert_eq!((all.code, &only(&all)["state"]), (4, &"not_tried".into()), "{all:?}");
}

fn git(world: &World, folder: &str, args: &[&str]) {
    let own =
        ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
    let ran =
        Command::new("git").args(own).args(args).current_dir(world.at(folder)).output().unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
}

/// Two commits, the second one pushed.
fn repository(world: &World) {
    git(world, "", &["init", "-q", "--bare", "../remote.git"]);
    git(world, "", &["init", "-q"]);
    for text in ["one", "two"] {
        world.write("a.txt", text);
        git(world, "", &["add", "."]);
        git(world, "", &["commit", "-q", "-m", text]);
    }
    git(world, "", &["remote", "add", "origin", "../remote.git"]);
    git(world, "", &["push", "-q", "origin", "main"]);
}

#[test]
fn a_repository_is_moved_back_dirtied_and_unpushed() {
    let world = World::new();
    repository(&world);
    let remote = |world: &World| {
        let args = ["rev-parse", "refs/heads/main"];
        let ran = Command::new("git")
            .args(args)
            .current_dir(world.beside("remote.git"))
            .output()
            .unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    let before = remote(&world);
    let weak = check(&world, "git:refs/heads/main");
    assert_eq!(fated(&weak, "missed"), ["dirty", "move_back", "untracked"], "{weak:#}");
    assert!(weak["blind"].as_bool().unwrap());
    let strong = check(&world, "git:refs/heads/main,clean,pushed=origin");
    assert_eq!(
        fated(&strong, "caught"),
        ["dirty", "move_back", "unpush", "untracked"],
        "{strong:#}"
    );
    assert_eq!((&strong["missed"], &strong["false_alarms"]), (&0.into(), &0.into()));
    let pushed = check(&world, "git:refs/heads/main,pushed=origin");
    assert_eq!(
        (fated(&pushed, "caught"), fated(&pushed, "missed")),
        (
            vec!["unpush".to_owned()],
            vec!["dirty".to_owned(), "move_back".to_owned(), "untracked".to_owned()]
        ),
        "{pushed:#}"
    );
    assert_eq!(remote(&world), before);
    assert_eq!(world.read("a.txt"), "two");
}
