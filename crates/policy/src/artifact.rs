//! Hooks and profiles: what an operator writes down once, as Markdown files with YAML front matter
//! or inline in a request.
//!
//! A hook file is seed 000's surface 2, a profile is a delegate under a name. Both are read
//! strictly: an unknown key, a value of the wrong kind, or a hook that could never run is an error
//! with a stable code, never ignored.

mod error;
mod event;
mod front_matter;
mod hook;
mod hook_ref;
mod keys;
mod length;
mod nearest;
mod profile;
mod yaml;

pub use error::{ArtifactError, Place};
pub use event::HookEvent;
pub use front_matter::{FrontMatter, MAX_ARTIFACT_BYTES};
pub use hook::{DEFAULT_HOOK_MS, DEFAULT_PRIORITY, HookArtifact, MAX_PRIORITY, MAX_WHEN_BYTES};
pub use hook_ref::{HookRef, MAX_HOOKS, distinct_names, in_order};
pub use profile::{CommandDelegate, Profile, ProfileDelegate};
