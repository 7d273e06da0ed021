//! Toolboxes and tools of closures.

use std::sync::Arc;

use probity_chat::{FunctionTool, Interrupted, Tool, ToolOutput, ToolReply, ToolSpec, Toolbox};
use serde_json::json;

use crate::stage::{Echo, echo};

fn named(name: &str, parameters: serde_json::Value) -> Arc<dyn Tool> {
    let spec = ToolSpec { name: name.into(), description: String::new(), parameters };
    Arc::new(FunctionTool::raw(spec, |_, _| async { Ok(ToolReply::Done(ToolOutput::text(""))) }))
}

#[test]
fn names_are_legal_and_unique_and_schemas_are_of_objects() {
    let object = || json!({ "type": "object" });
    for (tools, code) in [
        (vec![named("", object())], "tool_name"),
        (vec![named(&"x".repeat(65), object())], "tool_name"),
        (vec![named("a b", object())], "tool_name"),
        (vec![named("ä", object())], "tool_name"),
        (vec![named("final_output", object())], "tool_name_taken"),
        (vec![echo(), echo()], "tool_name_taken"),
        (vec![named("a", json!({ "type": "array" }))], "tool_schema"),
        (vec![named("a", json!({ "type": "object", "properties": 7 }))], "tool_schema"),
        (
            vec![named("a", json!({ "type": "object", "$ref": "http://127.0.0.1:1/x" }))],
            "tool_schema",
        ),
    ] {
        let error = Toolbox::new(tools).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    let toolbox = Toolbox::new([echo(), named(&"x-_9".repeat(16), object())]).unwrap();
    assert_eq!(toolbox.specs().len(), 2);
    assert!(toolbox.get("echo").is_some() && toolbox.get("other").is_none());
}

#[test]
fn a_closure_s_schema_comes_from_its_arguments() {
    let tool = FunctionTool::new("echo", "Says it back.", |echo: Echo, _| async move {
        Ok::<_, String>(echo.text)
    });
    assert_eq!(
        tool.spec().parameters,
        json!({
            "type": "object",
            "properties": { "text": { "type": "string", "description": "What to say." } },
            "required": ["text"],
            "additionalProperties": false,
        })
    );
    assert_eq!(tool.interrupted(), Interrupted::Tell);
    assert_eq!(tool.idempotent().interrupted(), Interrupted::Repeat);
}
