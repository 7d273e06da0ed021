//! Hooks, profiles, envelopes, packs and decisions: documents that others bring into a project.

use probity_policy::sorted_json::python_canonical;
use probity_policy::{
    Decision, Envelope, Format, FrontMatter, HookArtifact, MAX_PRIORITY, Pack, Profile, pack_hash,
};
use probity_record::read_step;

use super::Target;
use crate::seed;

pub(super) const TARGETS: [Target; 3] = [
    Target::new("hook_file", hook_file, || seed::texts(&HOOKS)),
    Target::new("profile", profile, || seed::texts(&PROFILES)),
    Target::new("policy", policy, || seed::texts(&POLICIES)),
];

const HOOKS: [&str; 3] = [
    "---\nevent: delegation.post_verify\nscript: |\n  def handle(event, payload):\n    return allow()\n---\n",
    "---\nevent: delegation.pre\npriority: -5\nwhen: \"payload.attempt > 1\"\nscript: \"x = 1\"\ntimeout: 3s\ndescription: Say no.\n---\nA body.\n",
    "\u{feff}---\r\nevent: delegation.post\r\nscript: {a: &b 1, c: *b}\r\n---\r\n",
];

const PROFILES: [&str; 3] = [
    "---\ncommand: [claude, -p]\nformat: claude\nexpect: [\"file:out.txt,created\"]\nhooks: [guard]\n---\nYou fix tests.\n",
    "---\nkind: coder\nchat: {endpoint: \"http://localhost:1/v1\", model: m}\nmax_retries: 2\ndecision_type: refund\n---\n",
    "---\nacp: {command: [gemini, --acp]}\nrungs: {small_model: {command: [x]}}\n---\n",
];

const POLICIES: [&str; 3] = [
    "{\"decisionType\":\"refund\",\"deadlineMs\":1000,\"stageBudgetsMs\":{\"context\":100,\"plan\":100,\"act\":300,\"verify\":500},\"freshness\":{\"defaultTtlMs\":1000,\"featureTtls\":{},\"allowStaleIfSoft\":true},\"limits\":{\"maxFanout\":1},\"degradeLadder\":[{\"step\":\"abstain\"}],\"safeAction\":{\"type\":\"abstain\"},\"verification\":{\"requiredAbove\":\"small\",\"methods\":[\"read_after_write\"],\"verifyTimeoutMs\":300}}",
    "decisionType: refund\ndeadlineMs: 120.0\nstageBudgetsMs:\n  context: 1\n",
    "{\"policyPackId\":\"p\",\"version\":\"1\",\"policyPackHash\":\"sha256:0\",\"rules\":{}}",
];

/// A hook file: what is taken is within its bounds, has a script, and is taken again as it is kept.
fn hook_file(bytes: &[u8]) {
    let Ok(text) = FrontMatter::decode("hooks/a.md", bytes) else { return };
    let Ok(hook) = HookArtifact::parse("hooks/a.md", text) else { return };
    assert_eq!(hook.name.as_str(), "a", "a hook in a file is named by its file");
    assert!(!hook.script.trim().is_empty(), "a hook that does nothing");
    assert!(hook.priority.abs() <= MAX_PRIORITY);
    assert!((1..=probity_core::MAX_CHECK_MS).contains(&hook.timeout_ms));
    let kept = serde_json::to_value(&hook).unwrap_or_default();
    let again = serde_json::from_value::<HookArtifact>(kept);
    assert_eq!(again.ok(), Some(hook), "kept in a request, it is another hook");
}

/// A profile, and the request that it leaves unsaid.
fn profile(bytes: &[u8]) {
    let Ok(text) = FrontMatter::decode("agents/a.md", bytes) else { return };
    let front = FrontMatter::parse("agents/a.md", text);
    if let Ok(front) = &front {
        for key in front.keys() {
            assert!(front.get(key).is_some(), "a key without a value");
            assert_eq!(front.keys().filter(|other| *other == key).count(), 1, "{key} twice");
        }
    }
    let Ok(profile) = Profile::parse("agents/a.md", text) else { return };
    assert!(front.is_ok());
    assert_eq!(profile.name.as_str(), "a");
    let brings = ["command", "chat", "acp"];
    let defaults = profile.request_defaults();
    let brought = brings.iter().filter(|key| defaults.contains_key(**key)).count();
    assert_eq!(brought, 1, "a profile is one delegate");
}

/// An envelope, a pack or a decision, in JSON or YAML. A pack that is taken has the hash that it says,
/// and what is written of an envelope reads as the same.
fn policy(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for format in [Format::Json, Format::Yaml] {
        if let Ok(envelope) = Envelope::parse(text, format) {
            let written = serde_json::to_string(&envelope).unwrap_or_default();
            let again = Envelope::parse(&written, Format::Json);
            assert_eq!(again.ok(), Some(envelope), "written, it is another envelope");
        }
        let _ = Pack::parse(text, format);
    }
    let Ok(value) = read_step(bytes) else { return };
    let _ = Decision::parse(&value);
    let Ok(canonical) = python_canonical(&value) else { return };
    let again = read_step(&canonical).ok().and_then(|value| python_canonical(&value).ok());
    assert_eq!(again.as_deref(), Some(&*canonical), "not what Python would write twice");
    if Pack::parse(text, Format::Json).is_ok() {
        let said = value.get("policyPackHash").and_then(serde_json::Value::as_str);
        assert_eq!(pack_hash(&value).ok().as_deref(), said, "a pack with another hash");
    }
}
