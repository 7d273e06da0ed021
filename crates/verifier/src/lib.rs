//! Reads ground truth and returns a verdict or a fault.

mod changes;
pub mod compare;
mod context;
pub mod expect;
pub mod external;
mod facts;
mod hash;
mod judge;
mod manifest;
mod method;
mod python;
mod reason;
mod snapshot;
pub mod spec;
pub mod stock;
mod target;
mod trust;
mod verifier;
mod workspace;

pub use changes::Changes;
pub use context::CheckContext;
pub use external::External;
pub use facts::{Facts, GitFacts, NoFacts};
pub use judge::{
    CommandLine, JudgeError, JudgeFiles, JudgeManifest, JudgeManifestError, NamedFile, Role, Seen,
    Tampered, known_inputs, undeclared_inputs,
};
pub use manifest::{Entry, Manifest, ManifestError};
pub use method::Method;
pub use python::PYTHON_SHIM;
pub use reason::reason_code;
pub use snapshot::{IGNORED, SnapshotError, SnapshotLimits, SnapshotRules, snapshot};
pub use trust::{TrustError, TrustKind, TrustStore, Trusted, command_digest};
pub use verifier::Verifier;
pub use workspace::{
    Kind, Listed, MAX_WRITE_BYTES, PathError, Stat, Workspace, WorkspaceError, WorkspaceWriter,
    WriteError, compile_glob, key_of, path_of,
};
