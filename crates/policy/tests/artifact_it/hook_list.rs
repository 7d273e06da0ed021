use probity_core::Code;
use probity_policy::{
    ArtifactError, HookArtifact, HookEvent, HookRef, MAX_HOOKS, Place, distinct_names, in_order,
};
use serde_json::{Value, json};

fn at() -> Place {
    Place::file("request.yaml")
}

fn list(value: &Value) -> Result<Vec<HookRef>, ArtifactError> {
    HookRef::list(value, &Code::slug("coder"), &at())
}

fn hook(name: &str, priority: i32) -> HookArtifact {
    HookArtifact {
        name: Code::slug(name),
        event: HookEvent::PostVerify,
        priority,
        when: None,
        script: "x".to_owned(),
        timeout_ms: 1,
        description: String::new(),
    }
}

#[test]
fn a_list_holds_names_and_hooks() {
    let hooks = list(&json!([
        "audit",
        {"event": "tool.pre", "script": "x"},
        {"event": "tool.post", "script": "y", "handler": "mine"},
    ]))
    .unwrap();
    let names: Vec<&str> = hooks.iter().map(|hook| hook.name().as_str()).collect();
    assert_eq!(names, ["audit", "coder.hook-2", "mine"]);
    assert!(matches!(&hooks[0], HookRef::Named(name) if name.as_str() == "audit"));
    assert!(matches!(&hooks[1], HookRef::Inline(hook) if hook.event == HookEvent::ToolPre));
    let value = serde_json::to_value(&hooks).unwrap();
    assert_eq!(value[0], "audit");
    assert_eq!(serde_json::from_value::<Vec<HookRef>>(value).unwrap(), hooks);
}

#[test]
fn given_names_stay_apart_however_long_the_owner_is() {
    let hooks = vec![json!({"event": "tool.pre", "script": "x"}); MAX_HOOKS];
    let owner = Code::slug(&"o".repeat(64));
    assert_eq!(HookRef::list(&json!(hooks), &owner, &at()).unwrap().len(), MAX_HOOKS);
    let mut hooks = hooks;
    hooks.push(json!("one-more"));
    let error = HookRef::list(&json!(hooks), &owner, &at()).unwrap_err();
    assert_eq!(error.code(), "artifact_value");
}

#[test]
fn two_hooks_of_one_name_are_refused() {
    let inline = json!({"event": "tool.pre", "script": "x", "name": "a"});
    for hooks in [json!(["a", "a"]), json!(["a", inline]), json!([inline, inline])] {
        let error = list(&hooks).unwrap_err();
        assert_eq!(error.code(), "hook_name_taken", "{hooks}");
        assert!(error.to_string().contains("`request.yaml`"), "{error}");
    }
    let error = distinct_names(&[hook("a", 1), hook("b", 1), hook("a", 2)], &at()).unwrap_err();
    assert_eq!(error.code(), "hook_name_taken");
    assert!(error.to_string().contains("`a`"), "{error}");
    assert_eq!(distinct_names(&[hook("a", 1), hook("b", 1)], &at()), Ok(()));
}

#[test]
fn what_is_neither_name_nor_hook_is_refused() {
    for (value, code) in [
        (json!("a"), "artifact_value"),
        (json!(null), "artifact_value"),
        (json!({"a": 1}), "artifact_value"),
        (json!([1]), "artifact_value"),
        (json!([null]), "artifact_value"),
        (json!([["a"]]), "artifact_value"),
        (json!([""]), "artifact_value"),
        (json!(["../escape"]), "artifact_name"),
        (json!([{}]), "artifact_missing_key"),
        (json!([{"event": "tool.pre"}]), "hook_script_missing"),
    ] {
        assert_eq!(list(&value).unwrap_err().code(), code, "{value}");
    }
    assert_eq!(list(&json!([])), Ok(Vec::new()));
}

#[test]
fn hooks_are_called_by_ascending_priority_then_as_declared() {
    let declared = [("a", 100), ("b", 0), ("c", 100), ("d", -1000), ("e", 0), ("f", 1000)];
    let hooks = in_order(declared.iter().map(|(name, priority)| hook(name, *priority)).collect());
    let names: Vec<&str> = hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(names, ["d", "b", "e", "a", "c", "f"]);
}
