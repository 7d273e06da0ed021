//! Hooks in files: policy of the operator that every run keeps to.

use crate::world::{HONEST, Ran, World};

/// Keeps every prompt, says what it is told to.
const KEEPS: [&str; 3] = ["sh", "-c", "n=$(ls | wc -l); cat > prompt.$n; echo I created it."];

fn hook(world: &World, name: &str, event: &str, more: &str, script: &str) {
    let script: String = script.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!("---\nevent: {event}\n{more}script: |\n{script}---\nWhy it is there.\n");
    world.write(&format!(".probity/hooks/{name}.md"), &text);
}

fn blocks(world: &World, name: &str, priority: i32, reason: &str) {
    let script = format!(
        "def handle(event, payload):\n    return {{\"action\": \"block\", \"reason\": \"{reason}\"}}"
    );
    let priority = format!("priority: {priority}\n");
    hook(world, name, "delegation.post_verify", &priority, &script);
}

fn run(world: &World, more: &[&str], delegate: &[&str]) -> Ran {
    assert_eq!(world.probity(["trust"]).code, 0);
    world.probity(["run", "write", "--json"].iter().chain(more).chain(&["--"]).chain(delegate))
}

#[test]
fn the_reasons_of_all_hooks_that_block_go_back_to_the_delegate_in_order() {
    let world = World::new();
    blocks(&world, "a_later", 20, "it says created");
    blocks(&world, "b_first", 10, "it names no path");
    let ran = run(&world, &["--max-retries", "1", "--expect", "text:contains=created"], &KEEPS);
    assert_eq!(ran.code, 1, "{ran:?}");
    let report = ran.json();
    assert_eq!(report["outcome"], "exhausted");
    let checks = report["checks"].as_array().unwrap();
    let said: Vec<_> = checks.iter().map(|it| (&it["verdict"], &it["code"])).collect();
    assert_eq!(checks.len(), 3);
    assert_eq!(checks[1]["id"], "b_first");
    assert_eq!(said[1], (&"revise".into(), &"hook_blocked".into()));
    let prompt = world.read("prompt.1");
    let (first, later) = (prompt.find("it names no path"), prompt.find("it says created"));
    assert!(first.is_some() && first < later, "{prompt}");
}

#[test]
fn a_hook_that_breaks_is_a_fault_whatever_its_event() {
    for event in [
        "delegation.post_verify",
        "delegation.pre",
        "attempt.start",
        "attempt.end",
        "delegation.post",
    ] {
        let world = World::new();
        hook(&world, "broken", event, "", "def handle(event, payload):\n    fail(\"broken here\")");
        let ran = run(&world, &["--expect", "file:out.txt"], &HONEST);
        assert_eq!(ran.code, 4, "{event}: {ran:?}");
        assert!(ran.stdout.contains("broken here"), "{event}: {ran:?}");
        let shown = world.probity(["log", "show", "last"]);
        assert!(shown.stdout.contains("FAULTED"), "{event}: {shown:?}");
        assert!(shown.stdout.contains("broken here"), "{event}: {shown:?}");
    }
}

#[test]
fn seed_000s_hook_runs_as_printed() {
    let world = World::new();
    hook(
        &world,
        "no_bare_claims",
        "delegation.post_verify",
        "priority: 10\n",
        "def handle(event, payload):\n    \
             # payload is the same dict the inline verifier sees\n    \
             claims = payload.get(\"response\", \"\")\n    \
             if \"I created\" in claims:\n        \
                 # cheap heuristic: claim implies a file should exist\n        \
                 return {\"action\": \"block\", \"reason\": \"claim made but no file path provided\"}\n    \
             return {\"action\": \"allow\"}",
    );
    let blocked = run(&world, &["--max-retries", "0"], &KEEPS);
    assert_eq!(blocked.code, 1, "{blocked:?}");
    assert_eq!(blocked.json()["checks"][0]["reason"], "claim made but no file path provided");
    let allowed = run(&world, &[], &["echo", "out.txt is there"]);
    assert_eq!(allowed.code, 0, "a hook that allows is a check that passed: {allowed:?}");
}

#[test]
fn a_hook_rewrites_what_later_checks_see_and_what_is_handed_on_is_what_they_saw() {
    let world = World::new();
    let canonical = "def handle(event, payload):\n    \
                     return {\"action\": \"modify\", \"payload\": {\"response\": \"{}\"}}";
    hook(&world, "a_canonical", "delegation.post_verify", "priority: 1\n", canonical);
    let strict = "def handle(event, payload):\n    \
                  if json.decode(payload[\"response\"], default = None) == None:\n        \
                      return {\"action\": \"block\", \"reason\": \"not JSON\"}\n    \
                  return {\"action\": \"allow\"}";
    hook(&world, "b_strict", "delegation.post_verify", "priority: 2\n", strict);
    let ran = run(&world, &[], &["echo", "I think it is fine"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()["claim"]["response"], "{}");
    assert_eq!(ran.json()["edited"], false, "it was rewritten before it was verified");
    let report = ran.json();
    let attempt = &report["history"][0];
    assert_eq!(attempt["response"], "I think it is fine");
    assert_eq!(attempt["verified_response"], "{}");
    let changed = &attempt["checks"][0]["rewrite"]["delta"]["changed"];
    assert_eq!(changed["response"]["to"], "{}");
    assert!(attempt["checks"][1].get("rewrite").is_none());
    // People are told in brief, and in full from what to what.
    let told = world.probity(["run", "write", "--", "echo", "I think it is fine"]);
    assert!(told.stdout.contains("rewrote the claim: response\n"), "{told:?}");
    assert!(!told.stdout.contains("I think it is fine"), "{told:?}");
    let shown = world.probity(["log", "show", "last"]);
    for part in [
        "rewrote the claim: response\n",
        "response from \"I think it is fine\"\n",
        "response to \"{}\"\n",
        "the delegate said:\n  I think it is fine\n",
        "judged, as hooks rewrote it:\n  {}\n",
    ] {
        assert!(shown.stdout.contains(part), "no {part:?} in {shown:?}");
    }
}

#[test]
fn an_edit_after_the_verdict_is_flagged_for_people_and_scripts() {
    let world = World::new();
    let redacts = "def handle(event, payload):\n    \
                   return {\"action\": \"modify\", \"payload\": {\"response\": \"[redacted]\"}}";
    hook(&world, "redact", "delegation.post", "", redacts);
    let ran = run(&world, &["--expect", "file:out.txt"], &HONEST);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    assert_eq!(
        (&report["edited"], &report["delivered"]["response"]),
        (&true.into(), &"[redacted]".into())
    );
    let shown = world.probity(["log", "show", "last"]);
    assert!(
        shown.stdout.contains("hook  redact at delegation.post modified what it saw"),
        "{shown:?}"
    );
    assert!(shown.stdout.contains("edited after verification by a hook"), "{shown:?}");
}

#[test]
fn a_hook_before_the_run_blocks_it_and_says_why() {
    let world = World::new();
    let script = "def handle(event, payload):\n    \
                  return {\"action\": \"block\", \"reason\": \"not on a Friday\"}";
    hook(&world, "friday", "delegation.pre", "when: '\"write\" in payload[\"task\"]'\n", script);
    let ran = run(&world, &["--expect", "file:out.txt"], &HONEST);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(!world.at("out.txt").exists(), "the delegate was not started");
    let shown = world.probity(["log", "show", "last"]);
    assert!(
        shown.stdout.contains("hook  friday at delegation.pre blocked: not on a Friday"),
        "{shown:?}"
    );
    hook(&world, "friday", "delegation.pre", "when: '\"read\" in payload[\"task\"]'\n", script);
    assert_eq!(run(&world, &["--expect", "file:out.txt"], &HONEST).code, 0, "its `when` is False");
}

#[test]
fn hooks_of_a_request_are_called_behind_the_operators() {
    let world = World::new();
    blocks(&world, "operator", 900, "the operator says no");
    let script = "def handle(event, payload):\\n    return {\\\"action\\\": \\\"block\\\", \\\"reason\\\": \\\"so do I\\\"}\\n";
    world.write(
        "request.json",
        &format!(
            "{{\"task\": \"write\", \"command\": [\"sh\", \"-c\", \"n=$(ls | wc -l); cat > prompt.$n; echo Done.\"],\
             \"max_verify_retries\": 1, \"hooks\": [{{\"name\": \"mine\", \"priority\": -1000,\
             \"event\": \"delegation.post_verify\", \"script\": \"{script}\"}}]}}"
        ),
    );
    assert_eq!(world.probity(["trust"]).code, 0);
    let ran = world.probity(["run", "--request", "request.json", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let report = ran.json();
    let ids: Vec<_> = report["checks"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["operator", "mine"]);
    let prompt = world.read("prompt.2");
    assert!(prompt.contains("the operator says no") && prompt.contains("so do I"), "{prompt}");
}

#[test]
fn a_request_cannot_take_an_operators_check_or_hook_away() {
    let world = World::new();
    world.write(".probity/probity.toml", "[[expect]]\nid = \"tests\"\nfile = \"tested\"\n");
    blocks(&world, "guard", 10, "guarded");
    assert_eq!(world.probity(["trust"]).code, 0);
    for (text, code) in [
        ("task: write\nexpect: []\nverify_files: []\nhooks: []\n", ""),
        ("task: write\nexpect: ['file:out.txt,id=tests']\n", "spec_duplicate_id"),
        (
            "task: write\nhooks: [{name: guard, event: delegation.post_verify, script: 'x = 1'}]\n",
            "hook_name_taken",
        ),
    ] {
        world.write("request.yaml", text);
        let ran = world.probity(["run", "--request", "request.yaml", "--json", "--", "true"]);
        if code.is_empty() {
            assert_eq!(ran.code, 1, "{ran:?}");
            let ids: Vec<String> = ran.json()["checks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["id"].as_str().unwrap().to_owned())
                .collect();
            assert_eq!(ids, ["tests", "guard"]);
        } else {
            assert_eq!((ran.code, ran.error_code().as_str()), (64, code), "{ran:?}");
        }
    }
}

#[test]
fn hooks_in_a_folder_that_nobody_trusts_are_not_run() {
    let world = World::new();
    blocks(&world, "a", 10, "no");
    let ran = world.probity(["run", "x", "--json", "--", "true"]);
    assert_eq!((ran.code, ran.error_code()), (64, "project_untrusted".to_owned()));
    assert_eq!(world.probity(["run", "x", "--no-project", "--", "true"]).code, 3);
    assert_eq!(world.probity(["trust"]).code, 0);
    assert_eq!(world.probity(["run", "x", "--max-retries", "0", "--", "true"]).code, 1);
    blocks(&world, "a", 10, "edited");
    let ran = world.probity(["run", "x", "--json", "--", "true"]);
    assert_eq!(ran.error_code(), "project_untrusted", "an edit takes the trust away");
}

#[test]
fn a_hook_behind_the_checks_that_blocks_is_named_with_its_reason() {
    let script = "def handle(event, payload):\n    \
                  return {\"action\": \"block\", \"reason\": \"not on a Friday\"}";
    for event in ["attempt.start", "attempt.end", "delegation.post"] {
        let world = World::new();
        hook(&world, "friday", event, "", script);
        assert_eq!(world.probity(["trust"]).code, 0);
        let ran = world.gate(&HONEST, &[]);
        assert_eq!(ran.code, 1, "{event}: {ran:?}");
        let told =
            format!(": the hook `friday` at {event} blocked: not on a Friday  [hook_blocked]");
        let headline = ran.stdout.lines().find(|line| line.starts_with("REJECTED")).unwrap();
        assert!(headline.ends_with(&told), "{event}: {ran:?}");
        assert!(ran.stderr.contains("probity explain hook_blocked"), "{event}: {ran:?}");
    }
}
