//! Changes of JSON documents, by pointer.

use serde_json::{Value, json};

use crate::draw::Draw;
use crate::operator::Operator;

/// Values that are looked at.
const MAX_VALUES: usize = 10_000;

/// The pointers where an operator can be applied; at most `max`, chosen by the draw.
pub(crate) fn pointers(
    operator: Operator,
    bytes: &[u8],
    draw: &mut Draw,
    max: usize,
) -> Vec<String> {
    let Ok(document) = serde_json::from_slice::<Value>(bytes) else { return Vec::new() };
    let mut all = Vec::new();
    let mut stack = vec![(String::new(), false, &document)];
    let mut seen = 0_usize;
    while let Some((pointer, is_member, value)) = stack.pop() {
        seen = seen.saturating_add(1);
        if seen > MAX_VALUES {
            break;
        }
        match value {
            Value::Object(members) => stack.extend(
                members.iter().map(|(key, value)| (below(&pointer, &escaped(key)), true, value)),
            ),
            Value::Array(items) => stack.extend(
                items
                    .iter()
                    .zip(0_usize..)
                    .map(|(value, index)| (below(&pointer, &index.to_string()), false, value)),
            ),
            _ => {}
        }
        let fits = match operator {
            Operator::DropKey => is_member,
            Operator::ChangeNumber => value.is_number(),
            Operator::ChangeText => value.is_string(),
            Operator::ChangeType => !pointer.is_empty(),
            _ => false,
        };
        if fits {
            all.push(pointer);
        }
    }
    all.sort();
    draw.shuffle(&mut all);
    all.truncate(max);
    all
}

/// The document with the change in it; none where the pointer leads nowhere. Indented where it was.
pub(crate) fn edit(operator: Operator, pointer: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(bytes).ok()?;
    if operator == Operator::DropKey {
        let (parent, key) = pointer.rsplit_once('/')?;
        let key = key.replace("~1", "/").replace("~0", "~");
        document.pointer_mut(parent)?.as_object_mut()?.shift_remove(&key)?;
    } else {
        let value = document.pointer_mut(pointer)?;
        *value = match (operator, &*value) {
            (Operator::ChangeNumber, Value::Number(number)) => other_number(number),
            (Operator::ChangeText, Value::String(text)) => json!(format!("{text}x")),
            (Operator::ChangeType, Value::String(_)) => json!(0),
            (Operator::ChangeType, Value::Number(number)) => json!(number.to_string()),
            (Operator::ChangeType, Value::Null) => json!(false),
            (Operator::ChangeType, _) => Value::Null,
            _ => return None,
        };
    }
    let is_indented = bytes.trim_ascii().contains(&b'\n');
    let text = match is_indented {
        true => serde_json::to_vec_pretty(&document),
        false => serde_json::to_vec(&document),
    };
    let mut text = text.ok()?;
    if bytes.ends_with(b"\n") {
        text.push(b'\n');
    }
    Some(text)
}

pub(crate) fn what(operator: Operator, pointer: &str, path: &str) -> String {
    match operator {
        Operator::DropKey => format!("dropping `{pointer}` from {path}"),
        Operator::ChangeNumber => format!("another number at `{pointer}` of {path}"),
        Operator::ChangeText => format!("another text at `{pointer}` of {path}"),
        _ => format!("a value of another type at `{pointer}` of {path}"),
    }
}

fn other_number(number: &serde_json::Number) -> Value {
    match number.as_i64() {
        Some(whole) => json!(if whole == 0 { 1 } else { whole.wrapping_sub(1) }),
        None => match number.as_f64().map(|value| value + 1.0) {
            // So large that one more is no other number.
            Some(more) if more.is_finite() && Some(more) != number.as_f64() => json!(more),
            _ => json!(0),
        },
    }
}

fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{key}")
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
