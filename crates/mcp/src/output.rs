//! What a call came to, as text for the model.

use probity_chat::ToolOutput;
use serde_json::Value;

/// Bytes of a result that the model is given; the end of more is left out, and the gap named.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// The beginning of a text, at most `max_bytes` of it, cut between characters.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or(text)
}

/// The answer to `tools/call`.
pub(crate) fn render(result: &Value) -> Result<ToolOutput, &'static str> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => {}
        Some("input_required") => return Err("it asks for more input, which is refused"),
        Some(_) => return Err("it made a task of it, which is not supported"),
    }
    let blocks = result.get("content").and_then(Value::as_array);
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    if blocks.is_none() && structured.is_none() {
        return Err("its answer has no content");
    }
    let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
    let mut parts: Vec<String> = blocks.iter().map(block).collect();
    // Servers say structured content as text too, for older clients.
    let said = |value: &Value| {
        blocks
            .iter()
            .filter_map(|block| block.get("text")?.as_str())
            .any(|text| serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value))
    };
    if let Some(value) = structured.filter(|value| !said(value)) {
        parts.push(value.to_string());
    }
    let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
    Ok(ToolOutput { content: bounded(parts.join("\n")), is_error })
}

fn bounded(text: String) -> String {
    if text.len() <= MAX_OUTPUT_BYTES {
        return text;
    }
    let head = cut(&text, MAX_OUTPUT_BYTES);
    format!("{head}\n[... {} bytes left out ...]", text.len().saturating_sub(head.len()))
}

/// Text is itself; of anything else the model is told what it is and how long.
fn block(block: &Value) -> String {
    let word = |key| block.get(key).and_then(Value::as_str);
    let kind = word("type").unwrap_or("content");
    match (kind, word("text"), word("data")) {
        ("text", Some(text), _) => text.to_owned(),
        (_, _, Some(data)) => {
            let media = word("mimeType").unwrap_or("unknown type");
            format!("[{kind}, {media}, {} bytes; not shown]", decoded_bytes(data))
        }
        ("resource", _, _) => resource(block.get("resource").unwrap_or(&Value::Null)),
        ("resource_link", _, _) => {
            format!("[resource at {}; not read]", word("uri").unwrap_or("no address"))
        }
        _ => format!("[{}, {} bytes; not shown]", cut(kind, 64), block.to_string().len()),
    }
}

fn resource(resource: &Value) -> String {
    let word = |key| resource.get(key).and_then(Value::as_str);
    let uri = word("uri").unwrap_or("no address");
    let bytes = word("blob").map_or(0, decoded_bytes);
    match word("text") {
        Some(text) => format!("[resource at {uri}]\n{text}"),
        None => format!("[resource at {uri}, {bytes} bytes; not shown]"),
    }
}

/// Length of what base64 stands for.
fn decoded_bytes(base64: &str) -> usize {
    let digits = base64.trim_end_matches('=').len();
    digits.saturating_mul(3) / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_shown_and_the_rest_is_named() {
        for (result, text) in [
            (json!({"content": []}), ""),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                "a\nb",
            ),
            (
                json!({"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]}),
                "[image, image/png, 5 bytes; not shown]",
            ),
            (
                json!({"content": [{"type": "audio", "data": "aGVsbG8h"}]}),
                "[audio, unknown type, 6 bytes; not shown]",
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "t"}}]}),
                "[resource at a:b]\nt",
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": "aGk="}}]}),
                "[resource at a:b, 2 bytes; not shown]",
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "a:b", "name": "n"}]}),
                "[resource at a:b; not read]",
            ),
            (json!({"content": [{"type": "new"}]}), "[new, 14 bytes; not shown]"),
            (json!({"content": [7]}), "[content, 1 bytes; not shown]"),
            (json!({"structuredContent": {"n": 1}}), r#"{"n":1}"#),
            (
                json!({"content": [{"type": "text", "text": "{ \"n\": 1 }"}], "structuredContent": {"n": 1}}),
                "{ \"n\": 1 }",
            ),
            (
                json!({"content": [{"type": "text", "text": "one"}], "structuredContent": {"n": 1}}),
                "one\n{\"n\":1}",
            ),
        ] {
            assert_eq!(render(&result), Ok(ToolOutput::text(text)), "{result}");
        }
    }

    #[test]
    fn a_failure_is_one_and_what_is_no_result_is_none() {
        let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
        assert_eq!(render(&failed), Ok(ToolOutput::error("no")));
        for result in [
            json!({}),
            json!(7),
            json!({"resultType": "input_required"}),
            json!({"resultType": "task"}),
        ] {
            assert!(render(&result).is_err(), "{result}");
        }
    }

    #[test]
    fn a_long_result_is_cut_between_characters() {
        let text = "ä".repeat(MAX_OUTPUT_BYTES / 2);
        let result =
            json!({"content": [{"type": "text", "text": text}, {"type": "text", "text": "xy"}]});
        let content = render(&result).unwrap().content;
        assert_eq!(content, format!("{text}\n[... 3 bytes left out ...]"));
    }
}
