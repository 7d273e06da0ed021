//! `probity recheck`: fresh, stale, or never verified.

use std::fs;

use crate::world::{HONEST, LIAR, World};

#[test]
fn a_verdict_is_fresh_until_the_world_moves() {
    let world = World::new();
    world.write("kept.txt", "a");
    world.write("gone.txt", "a");
    assert_eq!(world.gate(&HONEST, &[]).code, 0);
    let fresh = world.probity(["recheck", "last"]);
    assert_eq!(fresh.code, 0, "{fresh:?}");
    assert_eq!(
        world.redact(&fresh.stdout),
        "FRESH: run RUN is verified, and what it was judged on is unchanged\n"
    );
    // The same content written again is the same world.
    world.write("out.txt", "hello\n");
    assert_eq!(world.probity(["recheck", "last"]).code, 0);
    world.write("out.txt", "bye\n");
    world.write("new.txt", "");
    fs::remove_file(world.at("gone.txt")).unwrap();
    let stale = world.probity(["recheck", "last"]);
    assert_eq!(stale.code, 1, "{stale:?}");
    assert_eq!(
        world.redact(&stale.stdout),
        "STALE: 3 paths changed since run RUN was verified\n\
         \x20 created       new.txt\n\
         \x20 modified      out.txt\n\
         \x20 deleted       gone.txt\n"
    );
    let json = world.probity(["recheck", "last", "--json"]).json();
    assert_eq!(json["state"], "stale");
    assert_eq!(json["outcome"], "verified");
    assert_eq!(json["changed"][0]["path"], "new.txt");
    assert_eq!(json["changed"][0]["change"], "created");
    assert_eq!(json["judge"].as_array().map(Vec::len), Some(0));
}

#[test]
fn what_the_run_ignored_does_not_make_it_stale() {
    let world = World::new();
    assert_eq!(world.gate(&HONEST, &["--ignore", "*.log"]).code, 0);
    world.write("a.log", "");
    world.write("node_modules/a.js", "");
    assert_eq!(world.probity(["recheck", "last"]).code, 0);
}

#[test]
fn a_judge_that_was_edited_or_removed_makes_it_stale() {
    let world = World::new();
    let judge = world.beside("judge.star");
    fs::write(&judge, "def run(result):\n    return fs.stat(\"out.txt\") != None\n").unwrap();
    assert_eq!(world.gate(&HONEST, &["--verify", "../judge.star"]).code, 0);
    assert_eq!(world.probity(["recheck", "last"]).code, 0);
    fs::write(&judge, "def run(result):\n    return True\n").unwrap();
    let edited = world.probity(["recheck", "last", "--json"]);
    assert_eq!(edited.code, 1, "{edited:?}");
    assert!(edited.json()["judge"][0]["path"].as_str().unwrap().ends_with("judge.star"));
    fs::remove_file(&judge).unwrap();
    let removed = world.probity(["recheck", "last", "--json"]);
    assert_eq!(removed.code, 1, "{removed:?}");
    assert_eq!(removed.json()["judge"][0]["is"], "absent");
}

#[test]
fn a_run_that_was_not_verified_is_never_fresh() {
    let world = World::new();
    world.gate(&LIAR, &[]);
    let ran = world.probity(["recheck", "last"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(
        world.redact(&ran.stdout),
        "NOT VERIFIED: run RUN ended exhausted; there is no verdict to go stale\n"
    );
    world.probity(["run", "x", "--allow-unverified", "--", "true"]);
    let json = world.probity(["recheck", "last", "--json"]);
    assert_eq!((json.code, &json.json()["state"]), (3, &"not_verified".into()));
}

#[test]
fn a_workspace_that_is_gone_is_stale() {
    let world = World::new();
    assert_eq!(world.probity(["demo"]).code, 0);
    let ran = world.probity(["recheck", "last", "--json"]);
    assert_eq!((ran.code, &ran.json()["state"]), (1, &"stale".into()), "{ran:?}");
}

#[test]
fn a_projects_configuration_is_part_of_the_judge() {
    let world = World::new();
    world.write("Makefile", "test:\n\ttest -f out.txt\n");
    assert_eq!(world.probity(["init"]).code, 0);
    assert_eq!(world.probity(["run", "write", "--", "touch", "out.txt"]).code, 0);
    assert_eq!(world.probity(["recheck", "last"]).code, 0);
    world.write(".probity/probity.toml", "max_verify_retries = 0\n");
    let stale = world.probity(["recheck", "last", "--json"]).json();
    assert_eq!(stale["state"], "stale");
    assert_eq!(stale["judge"][0]["path"], ".probity/probity.toml");
}
