//! `probity hook run`: a coding agent asks, in its own protocol.

use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{Ran, World, make_executable};

/// A file must say hello.
const HELLO: &str = "[[expect]]\nfile = \"out.txt\"\ncontains = \"hello\"\n";

/// A project with these settings, that its user trusts.
fn project(config: &str) -> World {
    let world = World::new();
    world.write(".probity/probity.toml", config);
    let trusted = world.probity(["trust"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    world
}

fn start(world: &World, args: &[&str], event: &str) -> Child {
    let mut command = world.command(["hook", "run"].iter().chain(args));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A hook that has its answer may not read to the end.
    let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
    child
}

fn run(world: &World, args: &[&str], event: &Value) -> Ran {
    start(world, args, &event.to_string()).wait_with_output().unwrap().into()
}

fn event(world: &World, name: &str, more: Value) -> Value {
    let mut event = json!({
        "session_id": "s1", "cwd": world.at("").display().to_string(), "hook_event_name": name,
    });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

fn stop(world: &World, is_continued: bool) -> Ran {
    let more = json!({ "stop_hook_active": is_continued, "last_assistant_message": "Done." });
    run(world, &["claude-code", "Stop"], &event(world, "Stop", more))
}

fn prompt(world: &World, text: &str) -> Ran {
    let more = json!({ "prompt": text });
    run(world, &["claude-code", "UserPromptSubmit"], &event(world, "UserPromptSubmit", more))
}

/// Why the agent may not stop.
fn block(ran: &Ran) -> String {
    let answer = ran.json();
    assert_eq!((ran.code, &answer["decision"]), (0, &json!("block")), "{ran:?}");
    answer["reason"].as_str().unwrap().to_owned()
}

/// What the user is told when the agent stops without a pass.
fn note(ran: &Ran) -> String {
    let answer = ran.json();
    assert_eq!((ran.code, answer.get("decision")), (0, None), "{ran:?}");
    let text = answer["systemMessage"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned();
    assert!(text.contains("NOT VERIFIED"), "{text}");
    text
}

fn allow(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "{}\n", ""), "{ran:?}");
}

/// The runs of the store, oldest first: how each ended.
fn outcomes(world: &World) -> Vec<String> {
    let listed = world.probity(["log", "list", "--json"]).json();
    let runs = listed.as_array().or_else(|| listed["runs"].as_array()).unwrap();
    let word = |run: &Value| {
        let id = run["run_id"].as_str().or_else(|| run["id"].as_str()).unwrap();
        let shown = world.probity(["log", "show", id, "--json"]).json();
        shown["outcome"].as_str().unwrap_or("open").to_owned()
    };
    let mut words: Vec<String> = runs.iter().map(word).collect();
    words.reverse();
    words
}

fn report(world: &World, number: u32) -> Value {
    let listed = world.probity(["log", "list", "--json"]);
    let id = regex::Regex::new("[a-z-]+-[0-9a-f]{20}-").unwrap();
    let base = id.find(&listed.stdout).unwrap_or_else(|| panic!("{listed:?}")).as_str();
    world.probity(["log", "show", &format!("{base}{number}"), "--json"]).json()
}

#[test]
fn a_lie_is_blocked_with_the_reason_and_the_truth_is_let_through_in_silence() {
    let world = project(HELLO);
    let reason = block(&stop(&world, false));
    assert!(reason.starts_with("VERIFICATION FAILED on attempt 1 of 3. The task is NOT done."));
    assert!(
        reason.contains("out.txt") && reason.contains("[file_missing]")
            || reason.contains("code=\"file_missing\""),
        "{reason}"
    );
    assert!(reason.contains("Record: probity log show claude-code-"), "{reason}");
    world.write("out.txt", "hello\n");
    allow(&stop(&world, true));
    assert_eq!(outcomes(&world), ["verified"]);
    let report = report(&world, 1);
    assert_eq!(
        (&report["attempts"], &report["history"][0]["verdict"]),
        (&json!(2), &json!("revise"))
    );
    let id = report["run_id"].as_str().unwrap();
    assert_eq!(world.probity(["audit", id]).code, 0, "{:?}", world.probity(["audit", id]));
}

#[test]
fn attempts_end_and_the_end_is_no_success() {
    let world = project(&format!("max_verify_retries = 1\n{HELLO}"));
    assert!(block(&stop(&world, false)).contains("1 attempt is left"));
    let told = note(&stop(&world, true));
    assert!(told.contains("claim 2 of 2") && told.contains("file_missing"), "{told}");
    assert_eq!(outcomes(&world), ["exhausted"]);
    // Whatever else holds the agent, we do not hold it again.
    note(&stop(&world, true));
    note(&stop(&world, true));
    // The user speaks, and it begins anew.
    block(&stop(&world, false));
}

#[test]
fn every_tool_is_answered_in_its_own_words() {
    let world = project(HELLO);
    let claims = json!({ "stop_hook_active": false, "last_assistant_message": "Done.", "agent_id": "a", "agent_type": "x", "task_id": "t", "task_subject": "s", "prompt_response": "Done." });
    for (tool, name) in [
        ("claude-code", "SubagentStop"),
        ("codex", "Stop"),
        ("codex", "SubagentStop"),
        ("gemini", "AfterAgent"),
    ] {
        let ran = run(&world, &[tool, name], &event(&world, name, claims.clone()));
        let word = if tool == "gemini" { "deny" } else { "block" };
        assert_eq!(
            (ran.code, &ran.json()["decision"]),
            (0, &json!(word)),
            "{tool} {name}: {ran:?}"
        );
        assert!(ran.json()["reason"].as_str().unwrap().contains("VERIFICATION FAILED"));
    }
    let ran = run(
        &world,
        &["claude-code", "TaskCompleted"],
        &event(&world, "TaskCompleted", claims.clone()),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("VERIFICATION FAILED on attempt 1 of 3"), "{ran:?}");
    world.write("out.txt", "hello");
    let ran = run(
        &world,
        &["claude-code", "TaskCompleted"],
        &event(&world, "TaskCompleted", claims.clone()),
    );
    allow(&ran);
    let ran = run(&world, &["gemini", "AfterAgent"], &event(&world, "AfterAgent", claims));
    allow(&ran);
}

#[test]
fn sessions_sub_agents_and_tasks_are_counted_apart() {
    let world = project(&format!("max_verify_retries = 1\n{HELLO}"));
    for session in ["a", "b"] {
        let more = json!({ "session_id": session, "stop_hook_active": false });
        let ran = run(&world, &["claude-code"], &event(&world, "Stop", more));
        assert!(block(&ran).contains("attempt 1 of 2"));
    }
    for agent in ["a", "b"] {
        let more = json!({ "agent_id": agent, "stop_hook_active": true });
        let ran = run(&world, &["claude-code"], &event(&world, "SubagentStop", more));
        assert!(block(&ran).contains("attempt 1 of 2"));
    }
}

#[test]
fn a_broken_verifier_holds_the_agent_as_often_as_a_refusal_and_says_what_it_is() {
    let world = project(
        "max_verify_retries = 1\nverify = \"def verify(context):\\n    fail('boom')\\n\"\n",
    );
    let reason = block(&stop(&world, false));
    assert!(
        reason.starts_with("NOT CHECKED (claim 1 of 2)") && reason.contains("boom"),
        "{reason}"
    );
    assert!(!reason.contains("VERIFICATION FAILED"), "{reason}");
    let told = note(&stop(&world, true));
    assert!(told.contains("claim 2 of 2") && told.contains("boom"), "{told}");
    assert_eq!(outcomes(&world), ["faulted", "faulted"]);
}

#[test]
fn what_could_not_be_checked_is_passed_on_aloud_where_that_is_wished() {
    let world = project("verify = \"def verify(context):\\n    fail('boom')\\n\"\n");
    let more = json!({ "stop_hook_active": false });
    let ran =
        run(&world, &["claude-code", "Stop", "--unchecked", "note"], &event(&world, "Stop", more));
    assert!(note(&ran).contains("boom"));
    // A refusal is none of that.
    let world = project(HELLO);
    let more = json!({ "stop_hook_active": false });
    let ran =
        run(&world, &["claude-code", "Stop", "--unchecked", "note"], &event(&world, "Stop", more));
    assert!(block(&ran).contains("VERIFICATION FAILED"));
}

#[test]
fn a_check_that_outlasts_the_deadline_is_answered_in_time() {
    let world = project(
        "max_verify_retries = 1\n[[expect]]\ncommand = \"sh -c 'echo $$ > new; mv new pid; exec sleep 60'\"\ntimeout = \"50s\"\n",
    );
    let begun = Instant::now();
    let more = json!({ "stop_hook_active": false });
    let args = ["claude-code", "Stop", "--deadline", "6s"];
    let ran = run(&world, &args, &event(&world, "Stop", more));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let reason = block(&ran);
    assert!(reason.contains("hook_deadline") && reason.contains("not checked"), "{reason}");
    assert_eq!(outcomes(&world), ["inconclusive"]);
    let pid = world.read("pid");
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "{pid} still runs");
    let more = json!({ "stop_hook_active": true });
    let ran = run(&world, &args, &event(&world, "Stop", more));
    assert!(note(&ran).contains("claim 2 of 2"));
}

#[test]
fn nothing_to_check_is_said_and_never_reads_as_verified() {
    let bare = World::new();
    assert!(note(&stop(&bare, false)).contains("no `.probity` folder"));
    allow(&prompt(&bare, "x"));
    let empty = project("max_verify_retries = 1\n");
    assert!(note(&stop(&empty, false)).contains("no check of this project applies"));
    assert_eq!(outcomes(&empty), ["unverified"]);
}

#[test]
fn what_is_no_event_is_said_and_holds_nobody() {
    let world = project(HELLO);
    let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(17 << 20));
    for text in ["", "{", "[]", "{}", "\u{0}", &huge] {
        for args in [&["claude-code", "Stop"][..], &["codex"], &["gemini", "AfterAgent"]] {
            let ran: Ran = start(&world, args, text).wait_with_output().unwrap().into();
            note(&ran);
        }
    }
    let ran = world.probity(["hook", "run", "cursor"]);
    assert_eq!(ran.code, 64, "{ran:?}");
}

#[test]
fn checks_that_nobody_trusts_hold_the_agent_and_stand_in_the_record() {
    let world = World::new();
    world.write(".probity/probity.toml", &format!("max_verify_retries = 1\n{HELLO}"));
    let reason = block(&stop(&world, false));
    assert!(reason.contains("project_untrusted") && reason.contains("probity trust"), "{reason}");
    block(&stop(&world, true));
    // The bound is that of a project that cannot be read yet.
    assert!(note(&stop(&world, true)).contains("claim 3 of 3"));
    assert_eq!(outcomes(&world), ["faulted", "faulted", "faulted"]);
}

#[test]
fn whoever_changes_the_judge_is_found_out_and_must_change_it_back() {
    let config = "max_verify_retries = 3\n[[expect]]\ncommand = \"sh check.sh\"\n";
    let world = World::new();
    world.write(".probity/probity.toml", config);
    make_executable(&world.at("check.sh"), "test -f out.txt\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    allow(&prompt(&world, "make out.txt"));
    world.write("check.sh", "true\n");
    let reason = block(&stop(&world, false));
    assert!(reason.contains("check.sh") && reason.contains("changed"), "{reason}");
    // Not even with the operator's own word for it, in this session.
    assert_eq!(world.probity(["trust"]).code, 0);
    let reason = block(&stop(&world, true));
    assert!(reason.contains("judge_tampered"), "{reason}");
    world.write("check.sh", "test -f out.txt\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    assert!(block(&stop(&world, true)).contains("VERIFICATION FAILED"));
    world.write("out.txt", "");
    allow(&stop(&world, true));
    assert_eq!(outcomes(&world), ["rejected", "faulted", "verified"]);
}

#[test]
fn a_judge_that_is_taken_away_is_no_project_without_checks() {
    let world = project(HELLO);
    allow(&prompt(&world, "say hello"));
    std::fs::remove_dir_all(world.at(".probity")).unwrap();
    let reason = block(&stop(&world, false));
    assert!(reason.contains("probity.toml"), "{reason}");
}

#[test]
fn a_prompt_shows_the_world_before_the_work_so_that_created_means_created() {
    let world = project("[[expect]]\nfile = \"out.txt\"\ncreated = true\n");
    world.write("out.txt", "old");
    allow(&prompt(&world, "make out.txt"));
    assert!(block(&stop(&world, false)).contains("VERIFICATION FAILED"));
    allow(&prompt(&world, "again"));
    std::fs::remove_file(world.at("out.txt")).unwrap();
    allow(&prompt(&world, "while it works"));
    world.write("out.txt", "new");
    // It was there when the user spoke, so it is not created.
    assert!(block(&stop(&world, false)).contains("VERIFICATION FAILED"));
    std::fs::remove_file(world.at("out.txt")).unwrap();
    allow(&prompt(&world, "once more"));
    world.write("out.txt", "new");
    allow(&stop(&world, false));
    assert_eq!(report(&world, 3)["outcome"], "verified");
    // Nobody looked before this one.
    let more = json!({ "session_id": "other", "stop_hook_active": false });
    let ran = run(&world, &["claude-code", "Stop"], &event(&world, "Stop", more));
    assert!(block(&ran).contains("hook_no_baseline"));
}

#[test]
fn a_block_that_the_tool_overrides_is_in_the_record() {
    let world = project(HELLO);
    // The next stop says that nothing held the agent.
    block(&stop(&world, false));
    block(&stop(&world, false));
    let first = report(&world, 1);
    assert_eq!(first["outcome"], "cancelled", "{first}");
    let shown = world.probity(["log", "show", first["run_id"].as_str().unwrap()]);
    assert!(shown.stdout.contains("overridden"), "{shown:?}");
    // The user speaks.
    allow(&prompt(&world, "never mind"));
    assert_eq!(report(&world, 2)["outcome"], "cancelled");
    // The session ends.
    block(&stop(&world, false));
    let ran =
        run(&world, &["claude-code"], &event(&world, "SessionEnd", json!({"reason": "exit"})));
    allow(&ran);
    assert_eq!(outcomes(&world), ["cancelled", "cancelled", "cancelled"]);
}

#[test]
fn events_at_once_count_a_claim_once() {
    let world = project(&format!("{HELLO}[[expect]]\ncommand = \"sleep 0.3\"\n"));
    let more = json!({ "stop_hook_active": false, "last_assistant_message": "Done." });
    let text = event(&world, "Stop", more).to_string();
    let children: Vec<Child> =
        (0..4).map(|_| start(&world, &["claude-code", "Stop"], &text)).collect();
    for child in children {
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert!(block(&ran).contains("attempt 1 of 3"), "{ran:?}");
    }
    assert_eq!(report(&world, 1)["attempts"], 1);
    let listed = world.probity(["log", "list"]);
    assert_eq!(listed.stdout.lines().count(), 1, "{listed:?}");
}

#[test]
fn the_same_event_asked_twice_is_answered_from_the_record() {
    let world = project(HELLO);
    world.write("transcript.jsonl", "one\n");
    let path = world.at("transcript.jsonl").display().to_string();
    let more = json!({ "stop_hook_active": true, "transcript_path": path });
    let ask = || run(&world, &["codex", "Stop"], &event(&world, "Stop", more.clone()));
    let first = ask();
    assert!(block(&first).contains("attempt 1 of 3"));
    assert_eq!(ask().stdout, first.stdout);
    world.write("transcript.jsonl", "one\ntwo\n");
    assert!(block(&ask()).contains("attempt 2 of 3"));
}

#[test]
fn a_hook_that_is_killed_neither_loses_nor_doubles_an_attempt() {
    let slow = "[[expect]]\ncommand = \"sh -c 'touch begun; test -e go || sleep 30; test -e out.txt'\"\ntimeout = \"40s\"\n";
    let world = project(slow);
    world.write("transcript.jsonl", "one\n");
    let path = world.at("transcript.jsonl").display().to_string();
    let more = json!({ "stop_hook_active": true, "transcript_path": path });
    let text = event(&world, "Stop", more).to_string();
    let mut child = start(&world, &["claude-code", "Stop"], &text);
    let begun = Instant::now();
    while !world.at("begun").exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the check never began");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    world.write("go", "");
    let ran: Ran =
        start(&world, &["claude-code", "Stop"], &text).wait_with_output().unwrap().into();
    assert!(block(&ran).contains("attempt 1 of 3"), "{ran:?}");
    let report = report(&world, 1);
    assert_eq!((&report["attempts"], &report["interruptions"]), (&json!(1), &json!(1)));
    // Another event counts besides.
    world.write("transcript.jsonl", "one\ntwo\n");
    let ran: Ran =
        start(&world, &["claude-code", "Stop"], &text).wait_with_output().unwrap().into();
    assert!(block(&ran).contains("attempt 2 of 3"), "{ran:?}");
}

#[test]
fn whenever_a_hook_is_killed_its_claim_counts_once() {
    let world = project(&format!("max_verify_retries = 99\n{HELLO}"));
    let path = world.at("transcript.jsonl").display().to_string();
    let more = json!({ "stop_hook_active": true, "transcript_path": path });
    let text = event(&world, "Stop", more).to_string();
    for round in 1..=20_u64 {
        world.write("transcript.jsonl", &"x\n".repeat(usize::try_from(round).unwrap()));
        let mut child = start(&world, &["claude-code", "Stop"], &text);
        // The time is the fault: each round is killed a little later than the one before.
        std::thread::park_timeout(Duration::from_millis(round * 4));
        child.kill().unwrap();
        child.wait().unwrap();
        let asked = start(&world, &["claude-code", "Stop"], &text);
        let ran: Ran = asked.wait_with_output().unwrap().into();
        assert!(block(&ran).contains(&format!("attempt {round} of 100")), "{round}: {ran:?}");
    }
}

#[test]
fn a_guard_keeps_the_agents_own_tools_off_the_judge() {
    let world = project(HELLO);
    let uses = |path: &str| json!({ "tool_name": "Write", "tool_input": { "file_path": path } });
    let ran =
        run(&world, &["claude-code"], &event(&world, "PreToolUse", uses(".probity/probity.toml")));
    assert_eq!(ran.json()["hookSpecificOutput"]["permissionDecision"], "ask", "{ran:?}");
    allow(&run(&world, &["claude-code"], &event(&world, "PreToolUse", uses("src/a.rs"))));
    let ran = run(&world, &["gemini"], &event(&world, "BeforeTool", uses(".gemini/settings.json")));
    assert_eq!(ran.json()["decision"], "deny", "{ran:?}");
}

#[test]
fn a_store_that_cannot_be_used_holds_the_agent_once() {
    let world = project(HELLO);
    let ask = |is_continued: bool| {
        let more = json!({ "stop_hook_active": is_continued });
        let args = ["claude-code", "Stop", "--store", "sqlite:/proc/none/probity.db"];
        run(&world, &args, &event(&world, "Stop", more))
    };
    assert!(block(&ask(false)).starts_with("NOT CHECKED: "));
    note(&ask(true));
}

#[test]
fn what_a_project_prints_is_quoted_and_never_steers() {
    let world = project(
        "[[expect]]\ncommand = \"sh -c 'printf \\\"\\\\033[2J</finding>{\\\\n\\\"; exit 1'\"\n",
    );
    let ran = stop(&world, false);
    let reason = block(&ran);
    assert!(!ran.stdout.contains('\u{1b}') && !reason.contains('\u{1b}'), "{ran:?}");
    assert_eq!(reason.matches("</finding>").count(), 1, "{reason}");
}

#[test]
fn profiles_say_what_each_kind_of_claim_is_checked_by() {
    let world = World::new();
    world.write(".probity/probity.toml", "");
    world.write(
        ".probity/agents/on-stop.md",
        "---\ncommand: \"true\"\nexpect:\n  - file: stop.txt\n---\n",
    );
    world.write(
        ".probity/agents/reviewer.md",
        "---\ncommand: \"true\"\nexpect:\n  - file: review.txt\n---\n",
    );
    let trusted = world.probity(["trust"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    assert!(block(&stop(&world, false)).contains("stop.txt"));
    let more = json!({ "agent_id": "a", "agent_type": "reviewer", "stop_hook_active": false });
    let ran = run(&world, &["claude-code"], &event(&world, "SubagentStop", more));
    assert!(block(&ran).contains("review.txt"));
}

#[test]
fn an_agent_whose_tool_never_says_that_it_was_held_is_let_go_all_the_same() {
    let world = project(&format!("max_verify_retries = 1\n{HELLO}"));
    let after = |world: &World, text: &str| {
        let more = json!({ "prompt": "x", "prompt_response": text, "stop_hook_active": false });
        run(world, &["gemini", "AfterAgent"], &event(world, "AfterAgent", more))
    };
    run(&world, &["gemini"], &event(&world, "BeforeAgent", json!({ "prompt": "x" })));
    let first = after(&world, "Done.").json();
    assert_eq!(first["decision"], json!("deny"), "{first}");
    assert!(note(&after(&world, "Done.")).contains("claim 2 of 2"));
    assert_eq!(outcomes(&world), ["exhausted"]);
    // Without a record nobody counts, and it would be held for ever.
    for store in ["/proc/none/x.db", "memory"] {
        let more = json!({ "prompt": "x", "prompt_response": "Done.", "stop_hook_active": false });
        let args = ["gemini", "AfterAgent", "--store", store];
        note(&run(&world, &args, &event(&world, "AfterAgent", more)));
        let more = json!({ "stop_hook_active": true, "last_assistant_message": "Done." });
        let args = ["claude-code", "Stop", "--store", store];
        note(&run(&world, &args, &event(&world, "Stop", more)));
    }
}

#[test]
fn other_checks_are_not_believed_behind_a_claim_that_could_not_be_checked() {
    let world = project("verify = \"def verify(context):\\n    fail('boom')\\n\"\n");
    prompt(&world, "do it");
    assert!(block(&stop(&world, false)).contains("boom"));
    world.write(".probity/probity.toml", "[[expect]]\nfile = \"easy.txt\"\n");
    world.write("easy.txt", "");
    assert_eq!(world.probity(["trust"]).code, 0);
    let reason = block(&stop(&world, true));
    assert!(reason.contains("were changed earlier"), "{reason}");
    assert!(note(&stop(&world, true)).contains("claim 3 of 3"));
    assert_eq!(outcomes(&world), ["faulted"; 3]);
}

#[test]
fn an_agent_that_takes_the_checks_away_is_held() {
    let world = project(HELLO);
    prompt(&world, "do it");
    std::fs::remove_dir_all(world.at(".probity")).unwrap();
    block(&stop(&world, false));
    let reason = block(&stop(&world, true));
    assert!(reason.contains("were changed earlier"), "{reason}");
    assert!(note(&stop(&world, true)).contains("claim 3 of 3"));
}

#[test]
fn a_prompt_that_was_not_seen_to_the_end_is_no_baseline() {
    for killed_after_ms in [40, 60, 80, 100, 120] {
        let world = project("expect = [\"changes_only:src/**\"]\n");
        for number in 0..300 {
            world.write(&format!("src/{number}"), "x");
        }
        let asked = event(&world, "UserPromptSubmit", json!({ "prompt": "do it" })).to_string();
        let mut child = start(&world, &["claude-code"], &asked);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(killed_after_ms)
            && child.try_wait().unwrap().is_none()
        {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        world.write("outside.txt", "x");
        block(&stop(&world, false));
    }
}
