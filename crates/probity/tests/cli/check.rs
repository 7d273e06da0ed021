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
    let all = all["findings"].as_array().unwrap();
    assert_eq!(all.iter().filter(|it| it["state"] == "error").count(), 3, "{all:?}");
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

const HOOK: &str = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return {\"action\": \"allow\"}\n---\n";

#[test]
fn a_whole_project_is_checked_file_by_file() {
    let world = crate::decision::project(|envelope| {
        envelope.replace("requireRollbackAbove: medium", "requireRollbackAbove: small")
    });
    world.write(".probity/hooks/guard.md", HOOK);
    world.write(
        ".probity/agents/scribe.md",
        "---\ncommand: [sh, -c, 'true']\nexpect: ['file:out.txt,created']\n---\nWrite.\n",
    );
    world.write(".probity/verifiers/more.py", "def verify(context):\n    return True\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    let ran = world.probity(["check"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        world.redact(&ran.stdout).lines().map(str::trim_end).collect::<Vec<_>>(),
        [
            "ok       .probity/probity.toml: trust  trusted, sha256 HEAD",
            "ok       .probity/hooks/guard.md  compiles; called at tool.pre",
            "ok       .probity/agents/scribe.md: file_out.txt  file out.txt",
            "ok       .probity/agents/scribe.md  a profile of kind scribe",
            "ok       .probity/envelopes/quarantine.yaml  the envelope of AccountQuarantine, version 1.0.0",
            "ok       .probity/verifiers/more.py  is Python",
            "ok       .probity/verifiers/status_check.star  compiles, and its examples hold",
        ]
    );
}

#[test]
fn every_file_of_a_broken_project_is_told() {
    let world = crate::decision::as_is();
    let envelope = world.read(".probity/envelopes/quarantine.yaml");
    for (name, text, code, place) in [
        ("hooks/a.md", "no front matter", "artifact_no_front_matter", ""),
        ("hooks/b.md", "---\nevent: post_verify\nscript: x\n---\n", "hook_event_unknown", ""),
        ("hooks/c.md", &*HOOK.replace("handle", "hanlde"), "script_no_run", ""),
        ("hooks/d.md", &*HOOK.replace("script:", "when: 'x y'\nscript:"), "hook_when_syntax", ""),
        ("agents/e.md", "---\nkind: x\n---\n", "profile_delegate", ""),
        ("agents/f.md", "---\ncommand: sh\ntools: [x]\n---\n", "artifact_value", ""),
        (
            "envelopes/g.yaml",
            &*envelope.replace("deadlineMs: 20000", "deadlineMs: 2"),
            "envelope_stage_sum",
            "",
        ),
        ("envelopes/h.json", "{\"deadline_ms\": 5}", "policy_snake_case", ": /deadline_ms"),
        ("verifiers/i.star", "def run(result)\n", "script_syntax", ""),
        ("verifiers/j.py", "def verify(context)\n", "verifier_python_syntax", ""),
    ] {
        world.write(&format!(".probity/{name}"), text);
        let one = world.probity(["check", &format!(".probity/{name}"), "--json"]);
        assert_eq!(one.code, 64, "{name}: {one:?}");
        let all = world.probity(["check", "--json"]).json();
        for findings in [&one.json()["findings"], &all["findings"]] {
            let is_it = |it: &&serde_json::Value| {
                let named = it["name"].as_str().unwrap();
                it["code"] == code && named.starts_with(&format!(".probity/{name}{place}"))
            };
            assert!(
                findings.as_array().unwrap().iter().any(|it| is_it(&it)),
                "{name}: {findings:#}"
            );
        }
    }
    let all = world.probity(["check", "--json"]).json();
    let names: std::collections::BTreeSet<&str> = all["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["state"] == "error")
        .map(|it| it["name"].as_str().unwrap().split(':').next().unwrap())
        .collect();
    assert_eq!(names.len(), 10, "{all:#}");
}

#[test]
fn a_method_that_nobody_registered_is_an_error_of_the_envelope() {
    let world = crate::decision::project(|envelope| {
        envelope.replace("[status_check]", "[status_check, absent]")
    });
    let ran = world.probity(["check"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    assert!(
        ran.stdout.contains(
            "envelope AccountQuarantine: /verification/methods/1  there is no verifier `absent`"
        ),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("[method_unknown]"), "{ran:?}");
}

#[test]
fn a_file_is_known_by_its_folder_its_ending_or_its_keys() {
    let world = World::new();
    world.write("guard.md", HOOK);
    world.write("scribe.md", "---\ncommand: sh\nexpect: ['file:a,b=c']\n---\n");
    world.write("drift.json", "{\"driftId\": \"d\"}");
    world.write("lines.jsonl", "{\"episodeId\": \"e\"}\n");
    world.write("task.yaml", "task: x\n");
    for (file, code, told) in [
        ("guard.md", 0, "compiles; called at tool.pre"),
        ("drift.json", 64, "[shape_missing]"),
        ("lines.jsonl", 64, "lines.jsonl:1"),
        ("task.yaml", 0, ""),
    ] {
        let ran = world.probity(["check", file]);
        assert_eq!(ran.code, code, "{file}: {ran:?}");
        assert!(ran.stdout.contains(told), "{file}: {ran:?}");
    }
}
