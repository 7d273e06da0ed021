//! Dead letters: runs that no worker can prepare.

use crate::fleet::{submit, work_off};
use crate::world::{HONEST, World};

/// A run whose workspace is gone by the time that a worker looks.
fn homeless(world: &World, id: &str) {
    std::fs::create_dir(world.at(id)).unwrap();
    assert_eq!(submit(world, id, &["--workspace", id], &HONEST).code, 0);
    std::fs::remove_dir(world.at(id)).unwrap();
}

#[test]
fn a_request_whose_workspace_is_gone_is_a_dead_letter_until_it_is_back() {
    let world = World::new();
    let none = world.probity(["dlq", "list"]);
    assert_eq!(
        (none.code, none.stdout.as_str(), none.stderr.as_str()),
        (0, "", "no dead letters\n")
    );
    homeless(&world, "it");
    let worked = work_off(&world, &[]);
    assert_eq!(worked.code, 1, "{worked:?}");
    assert!(worked.stderr.contains("it  dead letter [workspace_open]"), "{worked:?}");
    let list = world.probity(["dlq", "list"]);
    assert_eq!(world.redact(&list.stdout), "it  TIME  default  workspace_open\n");
    let shown = world.probity(["dlq", "show", "it"]);
    assert!(shown.stdout.contains("cannot use the workspace"), "{shown:?}");
    assert!(shown.stderr.contains("probity explain workspace_open"), "{shown:?}");
    let watched = world.probity(["watch", "it"]);
    assert_eq!(watched.code, 74, "nothing more is to come: {watched:?}");
    assert!(watched.stderr.contains("dead letter"), "{watched:?}");
    assert!(watched.stderr.contains("probity dlq show it"), "{watched:?}");
    let watched = world.probity(["watch", "it", "--json"]);
    assert_eq!((watched.code, &watched.json()["outcome"]), (74, &serde_json::Value::Null));
    let doctor = world.probity(["doctor"]);
    assert!(doctor.stdout.contains("1 dead letters"), "{doctor:?}");
    let again = submit(&world, "it", &["--json"], &HONEST);
    assert_eq!((again.code, again.error_code()), (64, "run_buried".to_owned()), "{again:?}");

    std::fs::create_dir(world.at("it")).unwrap();
    let retried = world.probity(["dlq", "retry", "it"]);
    assert_eq!((retried.code, retried.stdout.as_str()), (0, "retried it\n"));
    assert_eq!(work_off(&world, &[]).code, 0);
    assert_eq!(world.probity(["watch", "it"]).code, 0);
    for deed in ["show", "retry", "drop"] {
        let gone = world.probity(["dlq", deed, "it", "--json"]);
        assert_eq!((gone.code, gone.error_code()), (64, "not_found".to_owned()), "{deed}");
    }
}

#[test]
fn all_of_them_are_retried_or_dropped_with_a_word() {
    let world = World::new();
    for id in ["a", "b"] {
        homeless(&world, id);
    }
    assert_eq!(work_off(&world, &[]).code, 1);
    assert_eq!(world.probity(["dlq", "drop", "--all"]).code, 64);
    let retried = world.probity(["dlq", "retry", "--all", "--yes", "--json"]);
    assert_eq!(retried.json()["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(work_off(&world, &[]).code, 1);
    let dropped = world.probity(["dlq", "drop", "--all", "--yes"]);
    assert_eq!((dropped.code, dropped.stdout.as_str()), (0, "dropped 2 dead letters\n"));
    assert_eq!(world.probity(["dlq", "list", "--json"]).json(), serde_json::json!([]));
    assert_eq!(work_off(&world, &[]).code, 0, "nothing is looked at any more");
    // The run is still there, and can be taken up once its workspace is.
    std::fs::create_dir(world.at("a")).unwrap();
    assert_eq!(world.probity(["resume", "a"]).code, 0);
    assert_eq!(work_off(&world, &[]).code, 0);
    assert_eq!(world.probity(["watch", "a"]).code, 0);
}
