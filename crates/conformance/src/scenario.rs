//! A scenario: what it is about, what it needs, what it does.

use std::fmt;
use std::pin::Pin;

use serde::Serialize;
use serde_json::Value;

use crate::probe::{Probe, Stop};

/// What a scenario does.
pub(crate) type Body = for<'a> fn(&'a mut Probe) -> Doing<'a>;
/// The doing of it.
pub(crate) type Doing<'a> = Pin<Box<dyn Future<Output = Result<(), Stop>> + Send + 'a>>;

/// One thing that a host is held to.
#[derive(Clone)]
pub struct Scenario {
    /// Its name: `level/noun`.
    pub id: &'static str,
    /// What must hold, in one sentence.
    pub title: &'static str,
    /// Where the specification says so.
    pub spec: &'static str,
    /// What it is about.
    pub level: Level,
    /// What the host must advertise or serve for it to be run.
    pub needs: &'static [Need],
    pub(crate) body: Body,
}

/// What a scenario is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The floor: discovery, runs, logs, errors, bounds.
    Core,
    /// Waits for people.
    Interrupts,
    /// Events as they happen.
    Streams,
    /// Requests that are sent twice.
    Idempotency,
    /// Supervisors, workers, what is handed over and taken over.
    Orchestration,
    /// Runs of runs.
    Replay,
    /// Turns of a supervisor.
    Loop,
    /// Verdicts, and what they let through.
    Verifier,
    /// Events that are sent out.
    Webhooks,
    /// What the specification leaves to the host's pride.
    Beyond,
}

/// What a scenario needs of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A `true` at this JSON pointer of the discovery document.
    Claim(&'static str),
    /// At least this `multiAgent.executionModel.version`.
    Version(u64),
    /// A workflow: advertised, or one that the host lets the kit register.
    Fixture(&'static str),
    /// A test seam at this path. Whether there is one only the call tells.
    Seam(&'static str),
    /// A route that a host may leave out.
    Route(&'static str),
    /// A key of another tenant.
    OtherTenant,
    /// An address at which the kit may listen for webhooks.
    Receiver,
}

impl Level {
    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::Core,
        Self::Interrupts,
        Self::Streams,
        Self::Idempotency,
        Self::Orchestration,
        Self::Replay,
        Self::Loop,
        Self::Verifier,
        Self::Webhooks,
        Self::Beyond,
    ];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Interrupts => "interrupts",
            Self::Streams => "streams",
            Self::Idempotency => "idempotency",
            Self::Orchestration => "orchestration",
            Self::Replay => "replay",
            Self::Loop => "loop",
            Self::Verifier => "verifier",
            Self::Webhooks => "webhooks",
            Self::Beyond => "beyond",
        }
    }
}

impl Need {
    /// Why the host does not have it, by its discovery document alone.
    pub(crate) fn missing_in(&self, discovery: &Value) -> Option<String> {
        match self {
            Self::Claim(pointer) => (family(discovery, pointer) != Some(&Value::Bool(true)))
                .then(|| format!("{self} is not advertised")),
            Self::Version(level) => {
                let version =
                    family(discovery, VERSION).and_then(Value::as_u64).unwrap_or_default();
                (version < *level)
                    .then(|| format!("{self} is not advertised, version {version} is"))
            }
            Self::Fixture(_)
            | Self::Seam(_)
            | Self::Route(_)
            | Self::OtherTenant
            | Self::Receiver => None,
        }
    }
}

/// Where the level of the execution model stands.
const VERSION: &str = "/multiAgent/executionModel/version";

/// What stands at a place of the discovery document: at its root, or in the wrapper of older hosts.
pub(crate) fn family<'a>(discovery: &'a Value, pointer: &str) -> Option<&'a Value> {
    discovery.pointer(pointer).or_else(|| discovery.get("capabilities")?.pointer(pointer))
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(pointer) => f.write_str(&pointer.trim_start_matches('/').replace('/', ".")),
            Self::Version(level) => write!(f, "multiAgent.executionModel.version >= {level}"),
            Self::Fixture(id) => write!(f, "workflow {id}"),
            Self::Seam(path) => write!(f, "seam {path}"),
            Self::Route(path) => write!(f, "route {path}"),
            Self::OtherTenant => f.write_str("a key of another tenant"),
            Self::Receiver => f.write_str("an address to receive webhooks at"),
        }
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario")
            .field("id", &self.id)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}
