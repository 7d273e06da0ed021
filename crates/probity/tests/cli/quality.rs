//! `probity quality`: which changes of the world checks would miss.

mod copies;
mod docs;
mod effects;
mod shown;

use serde_json::Value;

use crate::world::{Ran, World};

/// The object of the only check.
fn only(ran: &Ran) -> Value {
    let checks = ran.json()["checks"].as_array().unwrap().clone();
    assert_eq!(checks.len(), 1, "{ran:?}");
    checks[0].clone()
}

/// The operators of the mutants with this fate.
fn fated(check: &Value, fate: &str) -> Vec<String> {
    let mutants = check["mutants"].as_array().unwrap().iter();
    let mut found: Vec<String> = mutants
        .filter(|it| it["fate"] == fate)
        .map(|it| it["operator"].as_str().unwrap().to_owned())
        .collect();
    found.sort();
    found.dedup();
    found
}

fn tried(world: &World, expect: &str, more: &[&str]) -> Ran {
    let args = ["quality", "--json", "--max-mutants", "60", "--expect", expect];
    world.probity(args.iter().chain(more))
}

/// A calculator, and a test of it.
fn calculator(world: &World) {
    world.write("add.sh", "sum=$(($1 + $2))\necho \"$sum\"\n");
    world.write("test.sh", "test \"$(sh add.sh 2 3)\" = 5\n");
}

#[test]
fn a_check_that_only_asks_whether_a_file_is_there_misses_what_is_in_it() {
    let world = World::new();
    world.write("out.txt", "one\ntwo\nthree\nfour\n");
    let ran = tried(&world, "file:out.txt", &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let check = only(&ran);
    assert_eq!(check["state"], "scored");
    let content =
        ["cut_half", "cut_last_line", "empty", "flip_byte", "mode", "same_size", "swap_lines"];
    assert_eq!(fated(&check, "missed"), content);
    assert_eq!(fated(&check, "caught"), ["delete", "folder", "link", "rename_case"]);
    assert_eq!(
        (&check["faults"], &check["controls"], &check["false_alarms"]),
        (&0.into(), &2.into(), &0.into())
    );
    let miss = &check["misses"][0];
    assert_eq!(miss["sentence"], "emptying `out.txt` still passes");
    assert!(miss["suggestion"].as_str().unwrap().contains("contains="), "{miss}");
    // Said more, it catches more.
    let digest = "sha256=".to_owned() + &sha256("one\ntwo\nthree\nfour\n");
    let check = only(&tried(&world, &format!("file:out.txt,{digest},mode=0644"), &[]));
    assert_eq!((fated(&check, "missed"), &check["score_percent"]), (vec![], &100.into()));
}

fn sha256(text: &str) -> String {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let mut sum =
        Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    sum.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = sum.wait_with_output().unwrap();
    String::from_utf8(out.stdout).unwrap()[..64].to_owned()
}

#[test]
fn a_test_that_tests_catches_everything_and_one_that_is_always_green_nothing() {
    let world = World::new();
    calculator(&world);
    let ran = tried(&world, "command:sh test.sh,inputs=test.sh", &[]);
    let check = only(&ran);
    assert_eq!(
        (ran.code, &check["missed"], &check["score_percent"]),
        (0, &0.into(), &100.into()),
        "{check:#}"
    );
    for operator in ["arithmetic", "comment_out", "delete", "early_exit", "empty"] {
        assert!(fated(&check, "caught").contains(&operator.to_owned()), "{operator}: {check:#}");
    }
    let sealed =
        check["mutants"].as_array().unwrap().iter().find(|it| it["path"] == "test.sh").unwrap();
    assert_eq!(sealed["code"], "judge_tampered");

    let ran = tried(&world, "command:true", &["--max-missed", "99"]);
    let check = only(&ran);
    assert_eq!(
        (ran.code, &check["caught"], &check["blind"]),
        (1, &0.into(), &true.into()),
        "{check:#}"
    );
    assert!(check["tried"].as_u64().unwrap() > 5);
    assert_eq!(ran.json()["over"], serde_json::json!(["command_true"]));
    // Who did not ask for a bound is told, and not failed.
    assert_eq!(tried(&world, "command:true", &[]).code, 0);
}

#[test]
fn tests_that_anybody_may_edit_are_a_miss_and_the_suggestion_says_which() {
    let world = World::new();
    world.write("tests/test_it.py", "assert open('out.txt').read()\n");
    world.write("out.txt", "x\n");
    // A runner that the seal does not see through: the tests are found by their names.
    world.write(
        "run",
        "for test in tests/*.py; do grep -q assert $test || exit 0; done; test -s out.txt\n",
    );
    let loose =
        only(&tried(&world, "command:sh -c '. ./run',may_change=run", &["--files", "tests/**"]));
    assert!(fated(&loose, "missed").contains(&"empty".to_owned()), "{loose:#}");
    assert!(
        loose["misses"][0]["suggestion"].as_str().unwrap().contains("inputs=tests/test_it.py"),
        "{loose:#}"
    );
    let strict = "command:sh -c '. ./run',may_change=run,inputs=tests/**";
    let strict = only(&tried(&world, strict, &["--files", "tests/**"]));
    assert_eq!(
        (&strict["missed"], &strict["score_percent"]),
        (&0.into(), &100.into()),
        "{strict:#}"
    );
}

#[test]
fn what_is_red_or_broken_as_it_is_is_not_scored() {
    let world = World::new();
    world.write("a.txt", "a\n");
    for (expect, state, code) in [
        ("file:absent.txt", "red", "file_missing"),
        ("command:no-such-program-here", "broken", "command_not_found"),
        ("command:false", "red", "command_exit"),
    ] {
        let ran = tried(&world, expect, &[]);
        let check = only(&ran);
        assert_eq!(
            (ran.code, &check["state"], &check["code"]),
            (4, &state.into(), &code.into()),
            "{check:#}"
        );
        assert_eq!(
            (&check["tried"], &check["score_percent"]),
            (&0.into(), &Value::Null),
            "{check:#}"
        );
    }
    // One that is scored is good news; one that is not makes a bound unmet.
    let both = ["--expect", "file:a.txt", "--expect", "command:false"];
    let ran = world.probity(["quality", "--json"].iter().chain(&both));
    assert_eq!(
        (ran.code, &ran.json()["unscored"]),
        (0, &serde_json::json!(["command_false"])),
        "{ran:?}"
    );
    let bound = ["quality", "--json", "--max-missed", "100"];
    assert_eq!(world.probity(bound.iter().chain(&both)).code, 4);
}

#[test]
fn a_check_that_breaks_on_a_change_has_not_caught_it() {
    let world = World::new();
    world.write("out.json", "{\"a\": 1}\n");
    let script = "def run(result):\n    return json.decode(fs.read(\"out.json\"))[\"a\"] == 1\n";
    std::fs::write(world.beside("a.star"), script).unwrap();
    let verify = world.beside("a.star").display().to_string();
    let ran = world.probity(["quality", "--json", "--max-mutants", "60", "--verify", &verify]);
    let check = only(&ran);
    assert_eq!(
        (ran.code, &check["state"], &check["id"]),
        (0, &"scored".into(), &"a.star".into()),
        "{check:#}"
    );
    assert!(fated(&check, "fault").contains(&"delete".to_owned()), "{check:#}");
    assert_eq!(fated(&check, "caught"), ["change_number", "change_type"], "{check:#}");
    let faults = check["faults"].as_u64().unwrap();
    assert!(faults >= 3, "{check:#}");
    // Where every change breaks it, nobody knows anything.
    let script = "def run(result):\n    return fs.read(\"out.json\") == \"{\\\"a\\\": 1}\\n\" or fail(\"no\")\n";
    std::fs::write(world.beside("a.star"), script).unwrap();
    let args = ["quality", "--json", "--verify", &verify, "--files", "out.json"];
    let ran = world.probity(args);
    assert_eq!((ran.code, &only(&ran)["state"]), (4, &"unscored".into()), "{ran:?}");
}

#[test]
fn a_flaky_check_is_told_and_not_scored() {
    let world = World::new();
    world.write("out.txt", "x\n");
    let once =
        format!("command:mkdir {0} || test -s out.txt -a ! -e {0}", world.beside("once").display());
    let ran = tried(&world, &once, &["--files", "out.txt"]);
    let check = only(&ran);
    assert_eq!((ran.code, &check["state"]), (4, &"unreliable".into()), "{check:#}");
    assert!(check["false_alarms"].as_u64().unwrap() > 0, "{check:#}");
    assert_eq!(check["score_percent"], Value::Null);
}

#[test]
fn what_no_copy_can_change_is_not_tried_and_never_counted() {
    let world = World::new();
    for expect in [
        "http:http://127.0.0.1:9/",
        "port:127.0.0.1:9",
        "process:no-such-process-here,absent",
        "text:contains=Done",
        "human:alice",
        "git:HEAD,created",
        "invariant_check:http:http://127.0.0.1:9/",
    ] {
        let ran = tried(&world, expect, &["--max-missed", "100"]);
        let check = only(&ran);
        assert_eq!(
            (ran.code, &check["state"], &check["tried"]),
            (4, &"not_tried".into(), &0.into()),
            "{check:#}"
        );
        assert!(!check["reason"].as_str().unwrap().is_empty());
    }
    let none = world.probity(["quality"]);
    assert_eq!(none.code, 4, "{none:?}");
    assert!(none.stdout.contains("NOTHING SCORED"), "{none:?}");
    // A program with nothing to look at.
    let ran = tried(&world, "command:true", &[]);
    assert_eq!((ran.code, &only(&ran)["state"]), (4, &"not_tried".into()), "{ran:?}");
}

#[test]
fn seeds_decide_and_the_number_of_copies_does_not() {
    let world = World::new();
    calculator(&world);
    world.write("more.sh", &"test $1 = 1 && echo 1 + 2\n".repeat(9));
    let mutants = |more: &[&str]| {
        let args = ["quality", "--json", "--max-mutants", "6", "--expect", "command:sh test.sh"];
        let check = only(&world.probity(args.iter().chain(more)));
        check["mutants"].clone()
    };
    let first = mutants(&["--seed", "1"]);
    assert_eq!(first, mutants(&["--seed", "1"]));
    assert_eq!(first, mutants(&["--seed", "1", "--jobs", "3"]));
    assert_ne!(first, mutants(&["--seed", "2"]));
    assert_eq!(first.as_array().unwrap().len(), 6);
}

#[test]
fn one_check_may_be_chosen_and_an_unknown_one_is_told() {
    let world = World::new();
    world.write("a.txt", "a\n");
    let all = [
        "quality",
        "--json",
        "--expect",
        "file:a.txt",
        "--expect",
        "file:a.txt,contains=a,id=words",
    ];
    let ran = world.probity(all.iter().chain(&["--check", "words"]));
    assert_eq!(only(&ran)["id"], "words");
    let ran = world.probity(all.iter().chain(&["--check", "nothing"]));
    assert_eq!((ran.code, ran.error_code().as_str()), (64, "usage"));
    assert!(ran.stderr.contains("file_a.txt, words"), "{ran:?}");
    for wrong in [
        &["--max-mutants", "0"][..],
        &["--jobs", "9"],
        &["--max-missed", "101"],
        &["--timeout", "2"],
        &["--files", "a["],
        &["--allow-unverified"],
    ] {
        let ran = world.probity(["quality", "--expect", "file:a.txt"].iter().chain(wrong));
        assert_eq!(ran.code, 64, "{wrong:?}: {ran:?}");
    }
}

#[test]
fn a_project_is_tried_once_it_is_trusted() {
    let world = World::new();
    world.write("out.txt", "hello\n");
    world.write(
        ".probity/probity.toml",
        "expect = [\"file:out.txt,contains=hello\", \"command:grep -q hello out.txt\"]\n",
    );
    let refused = world.probity(["quality", "--json"]);
    assert_eq!(
        (refused.code, refused.error_code().as_str()),
        (64, "project_untrusted"),
        "{refused:?}"
    );
    assert_eq!(world.probity(["trust"]).code, 0);
    let ran = world.probity(["quality", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let states: Vec<Value> =
        ran.json()["checks"].as_array().unwrap().iter().map(|it| it["state"].clone()).collect();
    assert_eq!(states, ["scored", "scored"], "{ran:?}");
    assert_eq!(
        world.probity(["quality", "--json", "--no-project", "--expect", "file:out.txt"]).json()["scored"],
        1
    );
}

#[test]
fn the_checks_of_a_run_are_tried_on_what_it_changed() {
    let world = World::new();
    world.write("other.py", "a = 1 + 1\n");
    let expect = [
        "--expect",
        "file:out.txt,created,contains=hello",
        "--expect",
        "command:grep -q hello *.txt",
    ];
    let head = ["run", "write"];
    let delegate = ["--", "sh", "-c", "cat > /dev/null; echo hello > out.txt; echo Done."];
    let ran = world.probity(head.iter().chain(&expect).chain(&delegate));
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = world.probity(["quality", "--json", "--run", "last", "--max-mutants", "60"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let checks = ran.json()["checks"].clone();
    assert_eq!(
        (&checks[0]["state"], &checks[1]["state"]),
        (&"scored".into(), &"scored".into()),
        "{checks:#}"
    );
    let paths = |check: &Value| {
        let mutants = check["mutants"].as_array().unwrap().iter();
        mutants
            .filter_map(|it| it["path"].as_str().map(str::to_owned))
            .filter(|it| !it.is_empty())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(paths(&checks[1]), ["out.txt".to_owned()].into());
    // Made anew by each trial, and empty: `created` alone would not have seen it.
    assert!(fated(&checks[0], "caught").contains(&"empty".to_owned()), "{checks:#}");
    let args = ["quality", "--run", "last", "--expect", "file:a"];
    assert_eq!(world.probity(args).code, 64);
}
