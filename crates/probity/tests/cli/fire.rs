//! `probity hook fire`: hooks, tried without a run.

use crate::world::World;

fn world_with(hooks: &[(&str, &str, &str)]) -> World {
    let world = World::new();
    for (name, event, body) in hooks {
        let text = format!(
            "---\nevent: {event}\nscript: |\n  def handle(event, payload):\n      {body}\n---\n"
        );
        world.write(&format!(".probity/hooks/{name}.md"), &text);
    }
    assert_eq!(world.probity(["trust"]).code, 0);
    world
}

const ALLOW: &str = r#"return {"action": "allow"}"#;
const BLOCK: &str = r#"return {"action": "block", "reason": payload["to"] + " is not ours"}"#;
const MODIFY: &str = r#"return {"action": "modify", "payload": {"to": "prod"}}"#;

#[test]
fn every_hook_answers_in_order_and_sees_what_the_one_before_made() {
    let world = world_with(&[
        ("1_allow", "custom.deploy", ALLOW),
        ("2_modify", "custom.deploy", MODIFY),
        ("3_block", "custom.deploy", BLOCK),
        ("4_other", "custom.other", BLOCK),
    ]);
    world.write("payload.json", r#"{"to": "test"}"#);
    let ran = world.probity(["hook", "fire", "custom.deploy", "--payload", "payload.json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(
        ran.stdout,
        "allow           1_allow\n\
         modify          2_modify  {\"to\":\"prod\"}\n\
         block           3_block  prod is not ours  [hook_blocked]\n"
    );
    let json =
        world.probity(["hook", "fire", "custom.deploy", "--payload", "payload.json", "--json"]);
    let json = json.json();
    assert_eq!(
        (&json["action"], &json["hooks"][1]["payload"]["to"]),
        (&"block".into(), &"prod".into())
    );
}

#[test]
fn the_worst_answer_is_the_exit_code() {
    for (hooks, code, action) in [
        (&[("a", "tool.pre", ALLOW)][..], 0, "allow"),
        (&[("a", "tool.pre", r#"return {"action": "block"}"#)], 1, "block"),
        (
            &[("a", "tool.pre", r#"return {"action": "block"}"#), ("b", "tool.pre", "return None")],
            4,
            "fault",
        ),
        (&[("a", "tool.pre", r#"return payload["absent"]"#)], 4, "fault"),
    ] {
        let world = world_with(hooks);
        let ran = world.probity(["hook", "fire", "tool.pre", "--json"]);
        assert_eq!((ran.code, &ran.json()["action"]), (code, &action.into()), "{hooks:?}: {ran:?}");
    }
}

#[test]
fn a_hook_of_the_seed_is_shown_a_claim_even_if_there_is_none() {
    let body = r#"return {"action": "block" if "I created" in payload["response"] else "allow"}"#;
    let world = world_with(&[("a", "delegation.post_verify", body)]);
    assert_eq!(world.probity(["hook", "fire", "delegation.post_verify"]).code, 0);
    world.write("claim.json", r#"{"response": "I created it"}"#);
    let args = ["hook", "fire", "delegation.post_verify", "--payload", "claim.json"];
    assert_eq!(world.probity(args).code, 1);
}

#[test]
fn what_cannot_be_fired_is_wrong_usage() {
    let world = world_with(&[("a", "tool.pre", ALLOW)]);
    world.write("list.json", "[]");
    for (args, told) in [
        (&["post_verify"][..], "did you mean `delegation.post_verify`?"),
        (&["custom.none"], "no hook of this project listens to `custom.none`"),
        (&["tool.pre", "--payload", "list.json"], "must hold a JSON object"),
        (&["tool.pre", "--payload", "absent.json"], "absent.json"),
    ] {
        let ran = world.probity(["hook", "fire"].iter().chain(args));
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{args:?}: {ran:?}");
    }
    world.write(".probity/hooks/new.md", "---\nevent: tool.pre\nscript: 'x = 1'\n---\n");
    let ran = world.probity(["hook", "fire", "tool.pre", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "project_untrusted".to_owned()));
}
