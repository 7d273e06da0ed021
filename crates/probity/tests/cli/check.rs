//! `probity check`: all problems, not only the first.

use crate::world::World;

#[test]
fn everything_in_order_is_a_line_each() {
    let world = World::new();
    world.write(
        ".probity/probity.toml",
        "verify_files = [\".probity/verifiers/a.star\"]\n\
         [[expect]]\nfile = \"out.txt\"\nmatches = \"a+\"\n",
    );
    world.write(
        ".probity/verifiers/a.star",
        "def run(result):\n    return \"x\" in result[\"response\"]\n\
         accepts = [{\"response\": \"x\"}]\nrejects = [{\"response\": \"y\"}]\n",
    );
    assert_eq!(world.probity(["trust"]).code, 0);
    let ran = world.probity(["check"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        world.redact(&ran.stdout).lines().map(|line| line.trim_end()).collect::<Vec<_>>(),
        [
            "ok       .probity/probity.toml: trust  trusted, sha256 HEAD",
            "ok       .probity/probity.toml: file_out.txt  file out.txt",
            "ok       .probity/verifiers/a.star  compiles, and its examples hold",
        ]
    );
}

#[test]
fn every_problem_of_a_file_is_told_at_once() {
    let world = World::new();
    world.write(
        "request.toml",
        "task = \"a\"\nretrys = 3\nhooks = [\"x\"]\ntimeout = \"soon\"\n\
         [[expect]]\nfile = \"a\"\n\
         [[expect]]\nfile = \"b\"\nmatches = \"(\"\n\
         [[expect]]\nfiel = \"c\"\n\
         [[expect]]\njson = \"d.json\"\nschema = { type = 5 }\n",
    );
    let ran = world.probity(["check", "request.toml"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    for piece in ["retrys", "hooks", "timeout", "expect 2", "expect 3", "expect 4"] {
        let said = format!("error    request.toml: {piece}  ");
        assert!(ran.stdout.contains(&said), "{piece}: {ran:?}");
    }
    assert!(!ran.stdout.contains("expect 1"), "{ran:?}");
}

#[test]
fn scripts_are_compiled_and_their_examples_run() {
    let world = World::new();
    for (name, source, code) in [
        ("syntax.star", "def run(result)\n", "script_syntax"),
        ("no_run.star", "x = 1\n", "script_no_run"),
        (
            "example.star",
            "def run(result):\n    return True\nrejects = [{\"response\": \"\"}]\n",
            "script_example",
        ),
    ] {
        world.write(&format!(".probity/verifiers/{name}"), source);
        let ran = world.probity(["check", &format!(".probity/verifiers/{name}"), "--json"]);
        assert_eq!(ran.code, 64, "{name}: {ran:?}");
        let checked = ran.json();
        assert_eq!(checked["ok"], false);
        assert_eq!(checked["findings"][0]["code"], code, "{checked}");
    }
    let all = world.probity(["check", "--json"]).json();
    assert_eq!(all["findings"].as_array().map(Vec::len), Some(3), "{all}");
}

#[test]
fn weaknesses_are_warnings_and_no_failure() {
    let world = World::new();
    world.write(
        ".probity/probity.toml",
        "command = [\"no-such-agent\"]\n[[expect]]\ncommand = \"make test\"\n",
    );
    let ran = world.probity(["check", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let checked = ran.json();
    let warnings: Vec<&str> = checked["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["state"] == "warning")
        .map(|finding| finding["message"].as_str().unwrap())
        .collect();
    assert_eq!(warnings.len(), 3, "{checked}");
    assert!(warnings[0].contains("probity trust"), "{checked}");
    assert!(warnings[1].contains("`no-such-agent` is not on PATH"), "{checked}");
    assert!(warnings[2].contains("Makefile"), "{checked}");
}

#[test]
fn bounds_hosts_and_duplicate_names_are_found_too() {
    let world = World::new();
    for (text, code) in [
        ("max_verify_retries = -1\n", "request_bound"),
        ("allow_hosts = [\"http://\"]\n", "request_host"),
        ("expect = [\"file:a,id=x\", \"file:b,id=x\"]\n", "spec_duplicate_id"),
        ("ignore = [\"a[\"]\n", "pattern_invalid"),
        ("verify_files = [\"absent.star\"]\n", "script_read"),
        ("task = \n", "request_parse"),
    ] {
        world.write("request.toml", text);
        let ran = world.probity(["check", "request.toml", "--json"]);
        assert_eq!(ran.code, 64, "{text}: {ran:?}");
        let checked = ran.json();
        let errors: Vec<_> = checked["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["state"] == "error")
            .map(|finding| finding["code"].clone())
            .collect();
        assert_eq!(errors, [code], "{text}: {checked}");
    }
}

#[test]
fn patterns_that_seal_nothing_at_all_are_a_warning() {
    let world = World::new();
    world.write("Makefile", "test:\n");
    for (inputs, warnings) in [
        ("[\"Makefile\", \"conftest.py\"]", 0),
        ("[\"Makefile|conftest.py\"]", 1),
        ("[\"absent\"]", 1),
    ] {
        world.write(
            "request.toml",
            &format!("[[expect]]\ncommand = \"make test\"\ninputs = {inputs}\n"),
        );
        let ran = world.probity(["check", "request.toml"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.stdout.matches("seals no file").count(), warnings, "{inputs}: {ran:?}");
    }
}
