//! What agents tell of the tokens they spend. Each says it in a place of its own.

use agent_client_protocol::v1::schema::ContentChunk;
use serde_json::Value;

/// The tokens of a turn that its answer tells of; `None` where it tells of none.
///
/// `usage` is of the protocol, `_meta.quota` of Gemini CLI.
pub(crate) fn answer_tokens(response: &Value) -> Option<u64> {
    let usage = response.get("usage").and_then(total);
    usage.or_else(|| response.pointer("/_meta/quota/token_count").and_then(total))
}

/// The tokens of one call of a model, that Qwen Code tells of beside an empty chunk.
pub(crate) fn chunk_tokens(chunk: &ContentChunk) -> u64 {
    let usage = chunk.meta.as_ref().and_then(|meta| meta.get("usage"));
    usage.and_then(total).unwrap_or_default()
}

/// The total; where only its parts are told, their sum.
fn total(usage: &Value) -> Option<u64> {
    let count = |keys: [&str; 2]| keys.iter().find_map(|key| usage.get(key)?.as_u64());
    count(["totalTokens", "total_tokens"]).or_else(|| {
        let parts = [["inputTokens", "input_tokens"], ["outputTokens", "output_tokens"]];
        parts.into_iter().filter_map(count).reduce(u64::saturating_add)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_found_where_each_agent_tells_them() {
        let quota = |count: Value| json!({ "_meta": { "quota": { "token_count": count } } });
        for (response, tokens) in [
            (json!({ "usage": { "inputTokens": 1, "totalTokens": 7 } }), Some(7)),
            (json!({ "usage": { "inputTokens": 1, "outputTokens": 2 } }), Some(3)),
            (quota(json!({ "input_tokens": 100, "output_tokens": 10 })), Some(110)),
            (quota(json!({ "input_tokens": u64::MAX, "output_tokens": 10 })), Some(u64::MAX)),
            (quota(json!(null)), None),
            (json!({ "usage": { "totalTokens": -1 } }), None),
            (json!({}), None),
            (json!(null), None),
        ] {
            assert_eq!(answer_tokens(&response), tokens, "{response}");
        }
    }
}
