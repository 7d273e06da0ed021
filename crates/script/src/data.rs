//! Starlark values as JSON, with a bound on depth and size. The interpreter's own conversion
//! recurses without a bound and takes the process down on a deeply nested list.

use std::io::{self, Write};

use serde_json::{Map, Number, Value as Json};
use starlark::values::dict::DictRef;
use starlark::values::float::UnpackFloat;
use starlark::values::list::ListRef;
use starlark::values::set::SetRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue as _, Value};

use crate::fault;
use crate::session::{Session, raise};

/// The deepest value that is converted; that of the JSON parser in the other direction.
pub(crate) const MAX_DEPTH: u32 = 120;

/// What is too much about an object that a script is to be given, if anything: more than
/// `max_bytes` as JSON text, or nested more than [`MAX_DEPTH`] deep.
pub(crate) fn excess(fields: &Map<String, Json>, max_bytes: u64) -> Option<String> {
    if !fields.values().all(|value| is_within_depth(value, 1)) {
        return Some(format!("it is nested more than {MAX_DEPTH} deep"));
    }
    let mut bytes = Counted(0);
    let is_counted = serde_json::to_writer(&mut bytes, fields).is_ok();
    (!is_counted || bytes.0 > max_bytes)
        .then(|| format!("it has {} bytes as JSON, the limit is {max_bytes}", bytes.0))
}

fn is_within_depth(value: &Json, depth: u32) -> bool {
    let deeper = |value| is_within_depth(value, depth + 1);
    match value {
        _ if depth > MAX_DEPTH => false,
        Json::Array(items) => items.iter().all(deeper),
        Json::Object(fields) => fields.values().all(deeper),
        _ => true,
    }
}

/// Counts what is written.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Converts a value: lists, tuples and sets become arrays, dicts and structs objects. Keys that are
/// not strings are spelled as the script would print them.
pub(crate) fn to_json<'v>(
    value: Value<'v>,
    heap: Heap<'v>,
    session: &Session,
) -> starlark::Result<Json> {
    let mut budget = usize::try_from(session.limits().output_bytes).unwrap_or(usize::MAX);
    convert(value, 0, &mut budget, heap, session)
}

fn convert<'v>(
    value: Value<'v>,
    depth: u32,
    budget: &mut usize,
    heap: Heap<'v>,
    session: &Session,
) -> starlark::Result<Json> {
    if depth > MAX_DEPTH {
        let message = format!("the value is nested more than {MAX_DEPTH} deep");
        return Err(session.end(fault::DEPTH, message));
    }
    let text = value.unpack_str();
    *budget = budget
        .checked_sub(text.map_or(1, |text| text.len().saturating_add(1)))
        .ok_or_else(|| session.fits(usize::MAX).err().unwrap_or_else(|| raise("too long")))?;
    if let Some(text) = text {
        return Ok(Json::String(text.to_owned()));
    }
    if value.is_none() {
        return Ok(Json::Null);
    }
    if let Some(flag) = value.unpack_bool() {
        return Ok(Json::Bool(flag));
    }
    let mut array = |items: &mut dyn Iterator<Item = Value<'v>>| {
        let items: starlark::Result<Vec<Json>> =
            items.map(|item| convert(item, depth + 1, budget, heap, session)).collect();
        items.map(Json::Array)
    };
    if let Some(list) = ListRef::from_value(value) {
        return array(&mut list.iter());
    }
    if let Some(tuple) = TupleRef::from_value(value) {
        return array(&mut tuple.iter());
    }
    if SetRef::unpack_value_opt(value).is_some() {
        return array(&mut value.iterate(heap)?);
    }
    if let Some(dict) = DictRef::from_value(value) {
        return object(
            dict.iter().map(|(key, item)| (key_text(key), item)),
            depth,
            budget,
            heap,
            session,
        );
    }
    if let Some(fields) = StructRef::from_value(value) {
        let pairs = fields.iter().map(|(key, item)| (key.as_str().to_owned(), item));
        return object(pairs, depth, budget, heap, session);
    }
    number(value, budget, session)
}

fn object<'v>(
    pairs: impl Iterator<Item = (String, Value<'v>)>,
    depth: u32,
    budget: &mut usize,
    heap: Heap<'v>,
    session: &Session,
) -> starlark::Result<Json> {
    let mut map = Map::new();
    for (key, item) in pairs {
        *budget = budget.saturating_sub(key.len());
        map.insert(key, convert(item, depth + 1, budget, heap, session)?);
    }
    // Scripts can compare the text: it must not hang on the order in which a dict was filled.
    map.sort_keys();
    Ok(Json::Object(map))
}

/// Keys are hashable, so they are short and flat except for tuples; those are cut by depth when
/// they are values and are rare enough here to be refused.
fn key_text(key: Value<'_>) -> String {
    key.unpack_str().map_or_else(|| key.to_str(), str::to_owned)
}

fn number(value: Value<'_>, budget: &mut usize, session: &Session) -> starlark::Result<Json> {
    match value.get_type() {
        "int" => {
            let text = value.to_str();
            *budget = budget.saturating_sub(text.len());
            session.fits(text.len())?;
            let number: Result<Number, _> = serde_json::from_str(&text);
            number.map(Json::Number).map_err(|_| raise("an integer too large for JSON"))
        }
        "float" => UnpackFloat::unpack_value_opt(value)
            .and_then(|float| Number::from_f64(float.0))
            .map(Json::Number)
            .ok_or_else(|| raise("NaN and infinity have no JSON form")),
        other => Err(raise(format!("a value of type `{other}` has no JSON form"))),
    }
}
