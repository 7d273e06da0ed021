//! Unknown keys of maps inside a request, with what was likely meant.

use serde_json::{Map, Value};

/// Refuses a key that is none of these.
///
/// # Errors
/// Which key, and the nearest one or all of them.
pub(crate) fn known_keys(
    what: &str,
    map: &Map<String, Value>,
    legal: &[&str],
) -> Result<(), String> {
    let Some(key) = map.keys().find(|key| !legal.contains(&key.as_str())) else { return Ok(()) };
    let shown: String = key.chars().take(80).collect();
    let near = legal
        .iter()
        .map(|word| (strsim::damerau_levenshtein(&shown, word), *word))
        .min()
        .filter(|(distance, word)| *distance <= (word.len() / 3).max(1));
    Err(match near {
        Some((_, word)) => format!("`{shown}` is no key of `{what}`; did you mean `{word}`?"),
        None => format!("`{shown}` is no key of `{what}`; it has {}", legal.join(", ")),
    })
}
