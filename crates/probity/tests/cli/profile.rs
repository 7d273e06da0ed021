//! Profiles: a delegate under a name, with its own checks and hooks.

use crate::world::World;

const PROFILE: &str = r#"---
kind: writer
command: [sh, -c, 'cat > prompt.txt; echo hello > out.txt; echo Done.']
expect: ['file:out.txt,created']
hooks:
  - event: delegation.post_verify
    script: |
      def handle(event, payload):
          if payload["agent"] != "scribe":
              return {"action": "block", "reason": "agent is " + payload["agent"]}
          return {"action": "allow"}
---
You write short files.
"#;

fn world() -> World {
    let world = World::new();
    world.write(".probity/agents/scribe.md", PROFILE);
    assert_eq!(world.probity(["trust"]).code, 0);
    world
}

#[test]
fn a_run_by_a_profile_has_its_command_prompt_checks_and_hooks() {
    let world = world();
    let ran = world.probity(["run", "write hello", "--agent", "scribe", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    let ids: Vec<_> = report["checks"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["file_out.txt", "scribe.hook-1"]);
    let prompt = world.read("prompt.txt");
    assert!(
        prompt.contains("You write short files.") && prompt.contains("write hello"),
        "{prompt}"
    );
}

#[test]
fn a_callers_checks_add_to_the_profiles() {
    let world = world();
    let args = ["run", "x", "--agent", "scribe", "--expect", "file:absent", "--max-retries", "0"];
    let ran = world.probity(args.iter().chain(&["--json"]));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.json()["checks"].as_array().map(Vec::len), Some(3));
    // Another command does the work; the profile's checks still look at it.
    let other = ["run", "x", "--agent", "scribe", "--max-retries", "0", "--json", "--", "true"];
    assert_eq!(world.probity(other).code, 1, "out.txt was there, so this one has not created it");
}

#[test]
fn a_profile_that_is_not_there_is_named_with_those_that_are() {
    let world = world();
    let ran = world.probity(["run", "x", "--agent", "scribbler", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "profile_missing".to_owned()));
    assert!(ran.stderr.contains("there are scribe"), "{ran:?}");
    let none = world.probity(["run", "x", "--agent", "scribe", "--no-project", "--json"]);
    assert_eq!((none.code, none.error_code()), (64, "profile_missing".to_owned()));
}

#[test]
fn a_decision_may_come_in_a_file_and_its_class_on_the_command_line() {
    let world = crate::decision::as_is();
    assert_eq!(world.probity(["trust"]).code, 0);
    world.write(
        "decision.yaml",
        "context: {features: {login_rate: {ageMs: 100}}}\n\
         actions:\n\
         \x20 - {actionId: a1, actionType: quarantine, blastRadiusTier: medium,\n\
         \x20    targetRefs: [{type: account, id: svc-demo}], constraints: {},\n\
         \x20    authorization: {mode: auto}, idempotencyKey: k1, rollbackPlan: {type: revert}}\n",
    );
    let run = |decision: &str| {
        let args = ["run", "x", "--decision-type", "AccountQuarantine", "--decision", decision];
        world.probity(args.iter().chain(&["--json", "--", "touch", "svc-demo"]))
    };
    let ran = run("decision.yaml");
    assert_eq!(
        (ran.code, &ran.json()["checks"][0]["id"]),
        (0, &"method.status_check".into()),
        "{ran:?}"
    );
    world.write("decision.json", "{\"actions\": [], \"actions\": []}");
    world.write("decision.txt", "");
    for (file, code) in
        [("decision.json", "usage"), ("decision.txt", "usage"), ("absent.json", "file_read")]
    {
        let ran = run(file);
        assert_eq!((ran.code, ran.error_code().as_str()), (64, code), "{file}: {ran:?}");
    }
    world.write("decision.json", "{\"actions\": [{\"actionId\": \"a\"}]}");
    let ran = run("decision.json");
    assert_eq!((ran.code, ran.error_code().as_str()), (64, "policy_missing_member"), "{ran:?}");
    assert!(ran.stderr.contains("/actions/0/targetRefs"), "every finding has its place: {ran:?}");
}
