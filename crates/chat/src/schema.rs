//! JSON schemas of arguments and outputs.

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use crate::cut;

/// The most violations that a model is told at once.
const MAX_VIOLATIONS: usize = 20;

/// The longest text about one violation, in bytes.
const MAX_VIOLATION_BYTES: usize = 400;

/// The longest text about all of them, in bytes.
const MAX_TEXT_BYTES: usize = 3 * 1024;

/// The longest text of which all violations are looked for, in bytes: they are found together, and
/// those of a long text take many times its memory.
const MAX_FULLY_TOLD_BYTES: usize = 64 * 1024;

/// Compiles the schema of an object. Patterns run in linear time, and nothing is fetched.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("it does not say `\"type\": \"object\"`".to_owned());
    }
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| cut::at_the_end(&error.to_string(), MAX_VIOLATION_BYTES).into_owned())
}

/// Reads an object as a model wrote it. No text at all stands for an empty object: some providers
/// send that for a call without arguments.
///
/// # Errors
/// What is wrong with it, in words for the model.
pub(crate) fn read(validator: &Validator, text: &str) -> Result<Value, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    if !value.is_object() {
        return Err("not a JSON object".to_owned());
    }
    if text.len() > MAX_FULLY_TOLD_BYTES {
        let first = validator.validate(&value);
        first.map_err(|error| format!("it does not fit the schema, first:{}", line(&error)))?;
    } else {
        check(validator, &value)?;
    }
    Ok(value)
}

/// Holds a value against a schema.
///
/// # Errors
/// At most 20 violations, one per line, in at most 3 KiB.
fn check(validator: &Validator, value: &Value) -> Result<(), String> {
    if validator.is_valid(value) {
        return Ok(());
    }
    let mut text = "it does not fit the schema:".to_owned();
    for (n, error) in validator.iter_errors(value).take(MAX_VIOLATIONS + 1).enumerate() {
        let line = line(&error);
        if n == MAX_VIOLATIONS || text.len() + line.len() > MAX_TEXT_BYTES {
            text.push_str("\n- and more");
            break;
        }
        text.push_str(&line);
    }
    Err(text)
}

/// A violation as a line of a list.
fn line(error: &ValidationError<'_>) -> String {
    let words = error.to_string();
    let words = cut::at_the_end(&words, MAX_VIOLATION_BYTES);
    let place = error.instance_path().to_string();
    let place = cut::at_the_end(&place, MAX_VIOLATION_BYTES);
    let place = if place.is_empty() { "the root" } else { &place };
    format!("\n- at {place}: {words}")
}
