//! What a server offers, as the model is told of it.

use std::collections::BTreeSet;

use jsonschema::PatternOptions;
use probity_chat::{FINAL_OUTPUT, ToolSpec};
use serde_json::Value;

use crate::output::cut;
use crate::weight::weight;

/// Tools of one server that are offered.
pub(crate) const MAX_TOOLS: usize = 256;

/// Bytes of a description; more is cut.
const MAX_DESCRIPTION_BYTES: usize = 4096;

/// Bytes of a schema; a tool with more is left out.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// Values of a schema with every reference written out; a tool with more is left out.
const MAX_SCHEMA_WEIGHT: u64 = 100_000;

/// What is said of tools that are left out, at most; more is counted.
const MAX_WARNINGS: usize = 50;

/// Bytes of a tool's own name; one with more is left out.
const MAX_REMOTE_NAME_BYTES: usize = 256;

/// A tool that is offered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offer {
    /// The server's own name of it.
    pub(crate) remote: String,
    pub(crate) spec: ToolSpec,
    /// The server says that a repeated call does no harm.
    pub(crate) repeatable: bool,
}

/// The tools that can be offered, and what is to be said of the others.
pub(crate) fn offers(
    listed: &[Value],
    prefix: &str,
    only: Option<&[String]>,
) -> (Vec<Offer>, Vec<String>) {
    let mut warnings = Vec::new();
    let mut taken = BTreeSet::from([FINAL_OUTPUT.to_owned()]);
    let mut remotes = BTreeSet::new();
    let mut offers: Vec<Offer> = Vec::new();
    for tool in listed {
        let Some(remote) = remote_name(tool) else {
            warnings.push("a tool without a usable name is left out".to_owned());
            continue;
        };
        if only.is_some_and(|only| !only.iter().any(|name| name == remote)) {
            remotes.insert(remote);
            continue;
        }
        if !remotes.insert(remote) {
            warnings.push(format!("the tool `{remote}` is listed twice; the second is left out"));
            continue;
        }
        if offers.len() == MAX_TOOLS {
            warnings.push(format!("there are more than {MAX_TOOLS} tools; the rest is left out"));
            break;
        }
        match parameters(tool) {
            Ok(parameters) => {
                let name = legal_name(prefix, remote, &mut taken);
                let spec = ToolSpec { name, description: description(tool), parameters };
                let remote = remote.to_owned();
                offers.push(Offer { remote, spec, repeatable: repeatable(tool) });
            }
            Err(why) => warnings.push(format!("the tool `{remote}` is left out: {why}")),
        }
    }
    let absent = only.unwrap_or_default().iter().filter(|name| !remotes.contains(name.as_str()));
    warnings.extend(absent.map(|name| format!("the server has no tool `{name}`")));
    let more = warnings.len().saturating_sub(MAX_WARNINGS);
    if more > 0 {
        warnings.truncate(MAX_WARNINGS);
        warnings.push(format!("and {more} more"));
    }
    (offers, warnings)
}

fn remote_name(tool: &Value) -> Option<&str> {
    let name = tool.get("name")?.as_str()?;
    (1..=MAX_REMOTE_NAME_BYTES).contains(&name.len()).then_some(name)
}

fn description(tool: &Value) -> String {
    let text = |key| tool.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let text = text("description").or_else(|| text("title")).unwrap_or_default();
    cut(text, MAX_DESCRIPTION_BYTES).to_owned()
}

fn repeatable(tool: &Value) -> bool {
    ["readOnlyHint", "idempotentHint"]
        .iter()
        .filter_map(|hint| tool.get("annotations")?.get(hint)?.as_bool())
        .any(|hint| hint)
}

/// The schema as given, if it is one that arguments can be held to.
fn parameters(tool: &Value) -> Result<Value, String> {
    let schema = tool.get("inputSchema").and_then(Value::as_object);
    let schema = schema.ok_or("its schema is not an object")?;
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err("its schema does not describe an object".to_owned());
    }
    // Models are told so, and those who hold arguments to it ask for it.
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| "object".into());
    let schema = Value::Object(schema);
    let bytes = schema.to_string().len();
    if bytes > MAX_SCHEMA_BYTES {
        return Err(format!("its schema is {bytes} bytes, more than {MAX_SCHEMA_BYTES}"));
    }
    match weight(&schema) {
        None => return Err("its schema refers to what is not in it".to_owned()),
        Some(weight) if weight > MAX_SCHEMA_WEIGHT => {
            return Err("its schema repeats itself too often".to_owned());
        }
        Some(_) => {}
    }
    // Patterns as the toolbox reads them: in linear time, or not at all.
    let patterns = PatternOptions::regex();
    match jsonschema::options().with_pattern_options(patterns).build(&schema) {
        Ok(_) => Ok(schema),
        Err(error) => Err(format!("its schema is none: {}", cut(&error.to_string(), 200))),
    }
}

/// A name that models accept and no other tool has: other characters become `_`, what is too long is
/// cut, and what is taken gets a number.
fn legal_name(prefix: &str, remote: &str, taken: &mut BTreeSet<String>) -> String {
    let whole = if prefix.is_empty() { remote.to_owned() } else { format!("{prefix}_{remote}") };
    let legal = |c: char| if ToolSpec::may_name(c) { c } else { '_' };
    let whole: String = whole.chars().map(legal).collect();
    let mut name: String = whole.chars().take(ToolSpec::MAX_NAME_CHARS).collect();
    // Ends: of one number more than there are names, one is free.
    let mut number = 2_usize;
    while !taken.insert(name.clone()) {
        let suffix = format!("_{number}");
        let room = ToolSpec::MAX_NAME_CHARS.saturating_sub(suffix.len());
        name = whole.chars().take(room).chain(suffix.chars()).collect();
        number = number.saturating_add(1);
    }
    name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(prefix: &str, remotes: &[&str]) -> Vec<String> {
        let tools: Vec<Value> =
            remotes.iter().map(|name| json!({"name": name, "inputSchema": {}})).collect();
        offers(&tools, prefix, None).0.into_iter().map(|offer| offer.spec.name).collect()
    }

    /// Each level twice in the one above.
    fn doubling(levels: usize) -> Value {
        let mut schema = json!({"type": "object", "$ref": "#/$defs/0", "$defs": {}});
        for n in 0..levels {
            let next = json!({"$ref": format!("#/$defs/{}", n + 1)});
            schema["$defs"][n.to_string()] = json!({"allOf": [next, next]});
        }
        schema["$defs"][levels.to_string()] = json!({});
        schema
    }

    #[test]
    fn warnings_are_told_up_to_a_bound() {
        let bad = vec![json!({}); 60];
        let warnings = offers(&bad, "", None).1;
        assert_eq!((warnings.len(), warnings[50].as_str()), (51, "and 10 more"));
    }

    #[test]
    fn names_are_legal_and_no_two_alike() {
        assert_eq!(
            names("git", &["log", "a.b", "a/b", "ä"]),
            ["git_log", "git_a_b", "git_a_b_2", "git__"]
        );
        assert_eq!(names("", &["final_output", "x"]), ["final_output_2", "x"]);
        let long = ["n".repeat(80), "n".repeat(81)];
        let long = names("p q", &[&long[0], &long[1]]);
        assert_eq!(long[0], format!("p_q_{}", "n".repeat(60)));
        assert_eq!(long[1], format!("p_q_{}_2", "n".repeat(58)));
    }

    #[test]
    fn a_tool_is_left_out_for_what_is_wrong_with_it_alone() {
        for (tool, why) in [
            (json!({"inputSchema": {}}), "name"),
            (json!({"name": "", "inputSchema": {}}), "name"),
            (json!({"name": 7, "inputSchema": {}}), "name"),
            (json!({"name": "x".repeat(257), "inputSchema": {}}), "name"),
            (json!({"name": "ok", "inputSchema": {}}), "twice"),
            (json!({"name": "x"}), "object"),
            (json!({"name": "x", "inputSchema": true}), "object"),
            (json!({"name": "x", "inputSchema": {"type": "string"}}), "object"),
            (json!({"name": "x", "inputSchema": {"type": "object", "properties": 5}}), "none"),
            (json!({"name": "x", "inputSchema": {"title": "x".repeat(65_536)}}), "bytes"),
            (json!({"name": "x", "inputSchema": {"$ref": "file:///etc/passwd"}}), "not in it"),
            (json!({"name": "x", "inputSchema": doubling(30)}), "too often"),
            // What only a reader that goes back over a text could match.
            (json!({"name": "x", "inputSchema": {"propertyNames": {"pattern": "(a)\\1"}}}), "none"),
        ] {
            let ok = json!({"name": "ok", "inputSchema": {"type": "object"}});
            let (offers, warnings) = offers(&[ok, tool.clone()], "", None);
            assert_eq!(offers.len(), 1, "{tool}");
            assert!(warnings.len() == 1 && warnings[0].contains(why), "{tool} {warnings:?}");
        }
    }

    #[test]
    fn hints_and_long_descriptions_are_heeded() {
        for (annotations, repeatable) in [
            (json!(null), false),
            (json!({}), false),
            (json!({"readOnlyHint": true}), true),
            (json!({"readOnlyHint": false, "idempotentHint": true}), true),
            (json!({"readOnlyHint": "yes"}), false),
        ] {
            let tool = json!({"name": "x", "description": "ä".repeat(4096), "inputSchema": {}, "annotations": annotations});
            let offer = offers(&[tool], "", None).0.remove(0);
            assert_eq!(offer.repeatable, repeatable, "{annotations}");
            assert_eq!(offer.spec.description, "ä".repeat(2048));
        }
    }

    #[test]
    fn only_the_allowed_are_offered_and_the_missing_are_named() {
        let tools = ["a", "b", "c"].map(|name| json!({"name": name, "inputSchema": {}}));
        let only = ["b".to_owned(), "z".to_owned()];
        let (offers, warnings) = offers(&tools, "", Some(&only));
        assert_eq!(offers.iter().map(|offer| offer.remote.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(warnings, ["the server has no tool `z`"]);
    }
}
