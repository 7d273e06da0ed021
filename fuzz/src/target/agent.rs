//! What command-line agents write.

use probity_delegate::Format;
use probity_sandbox::Captured;

use super::Target;
use crate::seed;

pub(super) const TARGETS: [Target; 1] = [Target::new("agent_output", output, outputs)];

const FORMATS: [Format; 5] =
    [Format::Text, Format::Claude, Format::Codex, Format::Gemini, Format::Opencode];

/// The output of an agent, in every format: a result bears the name of its call, each call is there
/// once, and where the format is found by itself the claim is that of one of the formats.
fn output(bytes: &[u8]) {
    let stdout =
        Captured { head: bytes.to_vec(), tail: Vec::new(), total_bytes: bytes.len() as u64 };
    let claims = FORMATS.map(|format| format.claim(&stdout).ok());
    for claim in claims.iter().flatten() {
        let calls = &claim.tool_calls;
        for (place, call) in calls.iter().enumerate() {
            let is_again =
                |other: &probity_core::ToolCall| !other.id.is_empty() && other.id == call.id;
            assert!(!calls.iter().skip(place + 1).any(is_again), "{} twice", call.id);
        }
        for result in &claim.tool_results {
            let is_named = calls.iter().any(|it| it.id == result.call_id && it.name == result.name);
            assert!(result.name.is_empty() || is_named, "the result of no call: {result:?}");
        }
    }
    let text = String::from_utf8_lossy(bytes);
    let plain = claims.first().and_then(Option::as_ref).map(|claim| claim.response.as_str());
    assert_eq!(plain, Some(text.trim_end()), "plain text is the response");
    let found = Format::Auto.claim(&stdout).ok();
    assert!(claims.contains(&found), "read as none of the formats");
}

fn outputs() -> Vec<Vec<u8>> {
    let mut seeds = seed::files_named("crates/delegate/testdata", "");
    seeds.extend(seed::files_named("testdata/clients", ".jsonl"));
    seeds.retain(|seed| seed.len() < 32_768);
    seeds
}
