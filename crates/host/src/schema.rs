//! The shapes of this face, as JSON Schema.

use serde_json::{Map, Value};

const EVENTS: &str = include_str!("../schemas/events.json");
const REQUESTS: &str = include_str!("../schemas/requests.json");
const VERDICTS: &str = include_str!("../schemas/verdicts.json");
const BOARD: &str = include_str!("../schemas/board.json");
/// How the files refer to each other's shapes.
const HERE: &str = "#/$defs/";

/// Every shape by its name; a shape is referred to by its name behind `place`.
#[must_use]
pub fn shapes(place: &str) -> Value {
    let mut shapes = Map::new();
    for text in [EVENTS, REQUESTS, VERDICTS, BOARD] {
        let file: Value = serde_json::from_str(text).unwrap_or_default();
        let shapes_of = file.get("$defs").and_then(Value::as_object).cloned();
        shapes.extend(shapes_of.unwrap_or_default());
    }
    let mut shapes = Value::Object(shapes);
    moved(&mut shapes, place);
    shapes
}

/// One document with every shape under `$defs`, for the shape of that name.
#[must_use]
pub fn schema(name: &str) -> Value {
    serde_json::json!({"$ref": format!("{HERE}{name}"), "$defs": shapes(HERE)})
}

/// The types of events that there are.
#[must_use]
pub fn event_types() -> Vec<String> {
    let shapes = shapes(HERE);
    let types = shapes.pointer("/RunEventType/enum").and_then(Value::as_array);
    let types = types.into_iter().flatten().filter_map(Value::as_str);
    types.map(str::to_owned).collect()
}

fn moved(value: &mut Value, place: &str) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == "$ref" => {
                        *text = text.replace(HERE, place);
                    }
                    member => moved(member, place),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| moved(item, place)),
        _ => {}
    }
}
