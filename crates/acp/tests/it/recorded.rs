//! What real agents said, said again: `docs/clients.md` tells how it was recorded.

use probity_core::NoteKind;
use probity_delegate::Delegate;
use serde_json::{Value, json};

use crate::World;

const LIE: &str = "Done, I wrote out.txt.";
const TRUTH: &str = "Done: out.txt holds hello.";

/// The agent; its tokens in the two turns; the call of the second, if it is reported; whether it asks
/// for permission.
const AGENTS: [(&str, [u64; 2], Option<&str>, bool); 5] = [
    ("claude", [0, 0], Some("toolu_3"), true),
    ("codex", [0, 0], None, false),
    ("gemini", [110, 220], Some("write_file__call_2"), true),
    ("opencode", [110, 110], Some("call_3"), false),
    ("qwen", [110, 220], Some("call_3"), false),
];

#[tokio::test]
async fn real_agents_are_read_as_they_speak() {
    for (name, tokens, call, asks) in AGENTS {
        let record =
            format!("{}/../../testdata/clients/{name}/acp.jsonl", env!("CARGO_MANIFEST_DIR"));
        let world = World::new(json!({ "play": record }));
        let mut config = world.config();
        let rules =
            json!({ "rules": [{ "kind": "edit", "path": "out.txt", "decision": "allow" }] });
        config.permissions = serde_json::from_value(rules).unwrap();
        let delegate = world.delegate_of(config);
        let first = delegate.attempt(&world.request(1)).await.unwrap();
        assert!(first.claim.response.ends_with(LIE), "{name}: {first:?}");
        assert_eq!((first.usage.tokens, first.usage.tool_calls), (tokens[0], 0), "{name}");

        let second = delegate.attempt(&world.request(2)).await.unwrap();
        assert!(second.claim.response.ends_with(TRUTH), "{name}: {second:?}");
        assert_eq!(second.session, first.session, "{name}");
        assert_eq!(second.usage.tokens, tokens[1], "{name}");
        let calls: Vec<&str> =
            second.claim.tool_calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(calls, Vec::from_iter(call), "{name}");
        assert_eq!(second.usage.tool_calls, u64::from(call.is_some()), "{name}");
        for (call, result) in second.claim.tool_calls.iter().zip(&second.claim.tool_results) {
            assert_eq!((call.name.as_str(), result.is_error), ("edit", false), "{name}");
            assert!(call.arguments.to_string().contains("out.txt"), "{name}: {call:?}");
        }
        assert_eq!(second.claim.tool_results.len(), calls.len(), "{name}");
        let options: Vec<Value> = world
            .notes(NoteKind::Tool)
            .into_iter()
            .map(|note| note["permission"]["option"].clone())
            .collect();
        assert_eq!(options, vec![json!("allow_once"); usize::from(asks)], "{name}");
    }
}
