//! Why a command did not do what it was asked, and how that is said.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use probity_audit::attest::KeyError;
use probity_audit::bundle::BundleError;
use probity_conductor::DefinitionDiffers;
use probity_conformance::KitError;
use probity_core::{Digest, NameError, PolicyError, RunId};
use probity_engine::EngineError;
use probity_host::KeysError;
use probity_lies::LiesError;
use probity_projection::IndexError;
use probity_quality::TreeError;
use probity_store_nats::ConnectError;
use probity_telemetry::TelemetryError;
use probity_verifier::SnapshotError;
use probity_verifier::expect::ExpectError;
use probity_worker::FleetError;
use probity_workflow::DefinitionError;
use serde_json::json;

use super::remote::RemoteError;
use super::workflow_log::WorkflowLogError;
use super::{EXIT_STOPPED, EXIT_UNREACHABLE, EXIT_USAGE, present};
use crate::location::StoreError;
use crate::own_store::StoreUnnamed;
use crate::request::RequestError;
use crate::{EpisodeError, PrepareError, ProjectError};

/// A command failed. Outcomes of runs are not errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// The arguments do not fit together.
    #[error("{0}")]
    Usage(String),
    /// A `--expect`.
    #[error("--expect {0}")]
    Expect(#[from] ExpectError),
    /// A name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A request file.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The project's configuration.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The request cannot be carried out.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A bound.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Telemetry.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The run stopped.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A run was not submitted, or not told.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The local index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The workspace.
    #[error("cannot read the workspace: {0}")]
    Snapshot(#[from] SnapshotError),
    /// The copies that checks are tried on.
    #[error(transparent)]
    Copy(TreeError),
    /// A file.
    #[error("cannot read `{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that was to be written.
    #[error("cannot write `{path}`: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A coding agent's settings are not what can be edited.
    #[error(
        "`{path}` cannot be edited: {source}; put it right, or wire the hook by hand (docs/hooks.md)"
    )]
    HookSettings {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: probity_harness::JsonTextError,
    },
    /// A key.
    #[error("`{path}`: {source}")]
    Key {
        /// Its file.
        path: PathBuf,
        /// Why it is none.
        source: KeyError,
    },
    /// A bundle cannot be made.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// Content that is to be left out of a bundle is not in it.
    #[error(
        "nothing in the bundle has the digest `{digest}`, so nothing was left out for it; \
         its content is named by SHA-256 in the records"
    )]
    NotOmitted {
        /// What was named.
        digest: Digest,
    },
    /// Nobody could ask the host that was to be.
    #[error("{0}; any secret text will do: PROBITY_API_KEY=$(openssl rand -hex 32)")]
    NoKeys(KeysError),
    /// The keys of a host.
    #[error("`{path}`: {source}")]
    Keys {
        /// Their file.
        path: PathBuf,
        /// Why they are none.
        source: KeysError,
    },
    /// A secret that others can read.
    #[error(
        "`{path}` can be read by others (mode {mode:o}), and whoever reads it can pass for somebody \
         else; make it yours alone: chmod 600"
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A workflow's definition.
    #[error("`{path}`: {source}")]
    Definition {
        /// Its file.
        path: PathBuf,
        /// Why it is none.
        source: DefinitionError,
    },
    /// Two definitions of one name and version.
    #[error("`{path}`: {source}")]
    DefinitionDiffers {
        /// The file of the second.
        path: PathBuf,
        /// Which.
        source: DefinitionDiffers,
    },
    /// Nobody can be listened to there.
    #[error("cannot listen on {address}: {source}; give another one with --addr")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A host was not asked, or refused.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A host was not held to anything.
    #[error(transparent)]
    Kit(#[from] KitError),
    /// The log of a workflow run.
    #[error("the log of the workflow run cannot be used: {0}")]
    WorkflowLog(#[from] WorkflowLogError),
    /// A row of the Lie Matrix could not be played.
    #[error(transparent)]
    Lies(#[from] LiesError),
    /// A run has no episode.
    #[error(transparent)]
    Episode(#[from] EpisodeError),
    /// The operating system.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A run does not take a human's answer.
    #[error("{0}")]
    Answer(String),
    /// A run waits on a human check, and takes the answer as little as one that comes too late.
    #[error(
        "run {run} waits on a human check, or its time to answer is over; answer with `probity log \
         answer {run}` and --approve, --revise or --reject, or take it up with `probity run --resume \
         {run}`"
    )]
    Late {
        /// The run.
        run: RunId,
    },
    /// A run asks somebody else.
    #[error("{asked} {who} was asked, not {by}")]
    NotAsked {
        /// What the run asks.
        asked: String,
        /// Whom.
        who: String,
        /// Who answered.
        by: String,
    },
    /// A code that no page explains.
    #[error("{0}")]
    NotFound(String),
}

impl CliError {
    /// The stable machine word.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Expect(_) => "expect_syntax",
            Self::Name(_) => "name",
            Self::Request(error) => error.code(),
            Self::Project(error) => error.code(),
            Self::Prepare(error) => error.code(),
            Self::Policy(_) => "request_bound",
            Self::Store(error) => error.code(),
            Self::Telemetry(error) => error.code(),
            Self::Engine(error) => error.code(),
            Self::Fleet(error) => error.code(),
            Self::Index(error) => error.code(),
            Self::Snapshot(error) => error.code(),
            Self::Copy(error) => error.code(),
            Self::File { .. } => "file_read",
            Self::Write { .. } => "file_write",
            Self::HookSettings { source, .. } => source.code(),
            Self::Key { source, .. } => source.code(),
            Self::Bundle(error) => error.code(),
            Self::NotOmitted { .. } => "bundle_not_omitted",
            Self::NoKeys(error) | Self::Keys { source: error, .. } => error.code(),
            Self::Exposed { .. } => "secret_exposed",
            Self::Definition { source, .. } => source.code(),
            Self::DefinitionDiffers { source, .. } => source.code(),
            Self::Listen { .. } => "host_address",
            Self::Remote(error) => error.code(),
            Self::Kit(error) => error.code(),
            Self::WorkflowLog(error) => error.code(),
            Self::Lies(error) => error.code(),
            Self::Episode(error) => error.code(),
            Self::Io { .. } => "io",
            Self::Answer(_) | Self::Late { .. } => "answer_refused",
            Self::NotAsked { .. } => "answer_not_asked",
            Self::NotFound(_) => "not_found",
        }
    }

    /// The process exit code.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Store(
                StoreError::Url { .. }
                | StoreError::NoHome
                | StoreError::Connect(ConnectError::Url { .. }),
            ) => EXIT_USAGE,
            Self::Fleet(FleetError::Engine(error)) => of_engine(error),
            Self::Fleet(FleetError::Buried { .. }) => EXIT_USAGE,
            Self::Index(
                IndexError::Missing { .. }
                | IndexError::Foreign { .. }
                | IndexError::OtherStore { .. },
            ) => EXIT_USAGE,
            Self::Kit(KitError::Unreachable { .. }) => EXIT_UNREACHABLE,
            Self::Remote(error) => error.exit_code(),
            Self::WorkflowLog(_) | Self::Telemetry(TelemetryError::Unsent { .. }) => EXIT_STOPPED,
            Self::Telemetry(TelemetryError::Run(error)) => of_engine(error),
            Self::Store(_)
            | Self::Fleet(_)
            | Self::Index(_)
            | Self::Snapshot(_)
            | Self::Copy(TreeError::Io { .. })
            | Self::Io { .. }
            | Self::Lies(_)
            | Self::Write { .. }
            | Self::Bundle(BundleError::Sink(_)) => EXIT_STOPPED,
            Self::Engine(error) | Self::Episode(EpisodeError::Run(error)) => of_engine(error),
            _ => EXIT_USAGE,
        }
    }
}

impl From<StoreUnnamed> for CliError {
    fn from(error: StoreUnnamed) -> Self {
        Self::Usage(error.to_string())
    }
}

const fn of_engine(error: &EngineError) -> u8 {
    match error {
        EngineError::Open(_)
        | EngineError::Exists { .. }
        | EngineError::Missing { .. }
        | EngineError::Answer(_)
        | EngineError::NotAsked { .. }
        | EngineError::NotParked { .. }
        | EngineError::PlanIncomplete { .. }
        | EngineError::PlanDiffers { .. } => EXIT_USAGE,
        _ => EXIT_STOPPED,
    }
}

/// Says what went wrong: on standard error, and as an object where JSON was asked for.
pub(super) fn report(error: &CliError, json: bool, exit_code: u8) -> ExitCode {
    if json {
        let object = json!({"error": {"code": error.code(), "message": error.to_string()}});
        let _ = writeln!(io::stdout(), "{object}");
    }
    // A message may quote what nobody trusted yet: names of files, keys, values.
    let text = present::block(&error.to_string()).join("\n");
    let _ = writeln!(io::stderr(), "error: {text}");
    ExitCode::from(exit_code)
}
