//! What a provider says, made fit for an error.

use serde_json::Value;

use crate::Secret;

/// Longest text of an error, in bytes.
pub(crate) const MAX_WORDS_BYTES: usize = 2 * 1024;
/// Stands where a text was cut.
const CUT: &str = "…";

/// The text without the key, cut to [`MAX_WORDS_BYTES`].
pub(crate) fn fit(text: &str, key: Option<&Secret>) -> String {
    let text = text.trim();
    let mut text = match key {
        Some(key) if !key.expose().is_empty() => text.replace(key.expose(), "[key]"),
        _ => text.to_owned(),
    };
    if text.len() > MAX_WORDS_BYTES {
        text.truncate(text.floor_char_boundary(MAX_WORDS_BYTES - CUT.len()));
        text.push_str(CUT);
    }
    text
}

/// The message inside the body of an error, in the shapes that servers use; else the body itself.
pub(crate) fn of_body(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let Ok(value) = serde_json::from_str::<Value>(&text) else {
        return text.into_owned();
    };
    let found = ["/error/message", "/message", "/error", "/detail"].iter();
    let found = found.filter_map(|path| value.pointer(path)).find_map(Value::as_str);
    found.map_or_else(|| text.clone().into_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_cut_out_before_the_text_is_cut_off() {
        let key = Secret::new("sk-abc");
        let text = format!("{} sk-abc {}", "x".repeat(MAX_WORDS_BYTES - 10), "é".repeat(99));
        let fitted = fit(&text, Some(&key));
        assert!(!fitted.contains("sk-"), "{fitted}");
        assert!(fitted.len() <= MAX_WORDS_BYTES && fitted.ends_with(CUT));
    }

    #[test]
    fn the_message_is_found_in_each_shape() {
        for (body, message) in [
            (r#"{"error":{"message":"no","type":"t"}}"#, "no"),
            (r#"{"type":"error","error":{"type":"t","message":"no"}}"#, "no"),
            (r#"{"error":"no"}"#, "no"),
            (r#"{"message":"no"}"#, "no"),
            (r#"{"detail":"no"}"#, "no"),
            (r#"{"other":1}"#, r#"{"other":1}"#),
            ("<h1>no</h1>", "<h1>no</h1>"),
        ] {
            assert_eq!(of_body(body.as_bytes()), message);
        }
    }
}
