//! The bars, each with the figure that its program gave.

mod audit;
mod fleet;
mod local;

use serde_json::Value;

use super::{Row, Told};

/// All bars, in the order of the page.
#[must_use]
pub fn rows(told: &Told) -> Vec<Row> {
    let groups = [local::rows(told), fleet::rows(told), audit::rows(told)];
    groups.into_iter().flatten().collect()
}

/// A number of a value by its path.
fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer).and_then(Value::as_f64)
}

/// A word of a value by its name.
fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The least and the greatest; `None` of nothing.
fn range(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |range, it| match range {
        None => Some((it, it)),
        Some((least, most)) => Some((least.min(it), most.max(it))),
    })
}

/// The peer that took the least of something, and how much.
fn least<'a>(peers: &'a [Value], name: &str) -> Option<(&'a Value, f64)> {
    let pointer = format!("/{name}");
    let figures = peers.iter().filter_map(|peer| Some((peer, number(peer, &pointer)?)));
    figures.min_by(|(_, one), (_, other)| one.total_cmp(other))
}
