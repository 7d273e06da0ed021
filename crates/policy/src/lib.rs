//! Policy as data: decision envelopes, policy packs, hook and profile artifacts. Parsing and
//! validation only; no file is opened here.

mod artifact;

pub use artifact::{
    ArtifactError, CommandDelegate, DEFAULT_HOOK_MS, DEFAULT_PRIORITY, FrontMatter, HookArtifact,
    HookEvent, HookRef, MAX_ARTIFACT_BYTES, MAX_HOOKS, MAX_PRIORITY, MAX_WHEN_BYTES, Place,
    Profile, ProfileDelegate, distinct_names, in_order,
};
