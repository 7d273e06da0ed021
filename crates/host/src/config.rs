//! What a host offers, allows and says of itself.

use probity_workflow::{Bounds, Terms};

use crate::courier::Courier;
use crate::keys::Keys;
use crate::metrics::Metrics;

/// The settings of a host.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// Who may ask.
    pub keys: Keys,
    /// The name under which it presents itself.
    pub name: String,
    /// Whose it is.
    pub vendor: String,
    /// Its own name among hosts: part of causes that cross hosts.
    pub host_id: String,
    /// The highest bounds of a run, and those of a run that asks for none.
    pub ceilings: Bounds,
    /// The rules that runs begin under.
    pub terms: Terms,
    /// Whether verifiers are offered at all.
    pub has_verifiers: bool,
    /// Whether delegations are taken and told of. [`crate::Host::new`] and
    /// [`crate::Host::with_delegations`] decide it, whatever stands here.
    pub has_delegations: bool,
    /// Whether there is a board of delegations, and pages that show it. [`crate::Host::with_board`] alone
    /// decides it.
    pub has_board: bool,
    /// What tells the figures of this process; `None` tells none.
    pub metrics: Option<Metrics>,
    /// Whether events are sent to whoever registers for them.
    pub has_webhooks: bool,
    /// Who takes them there.
    pub courier: Courier,
    /// Whether the seams of the conformance suite and its fixtures are offered. Never in production.
    pub has_conformance_seams: bool,
    /// With what tokens for answers are signed. Those of another secret are worth nothing here.
    pub token_secret: [u8; 32],
    /// How long such a token holds, in milliseconds.
    pub token_ttl_ms: u64,
    /// What connections and requests may take.
    pub limits: Limits,
}

/// What connections and requests may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub max_body_bytes: usize,
    /// Bytes of a request's head.
    pub max_head_bytes: usize,
    /// Connections that are open at a time.
    pub max_connections: usize,
    /// Requests that are worked on at a time. Streams do not count.
    pub max_requests: usize,
    /// Streams that are open at a time.
    pub max_streams: usize,
    /// How long the head of a request may take, in milliseconds.
    pub head_timeout_ms: u64,
    /// How long its body may take, in milliseconds.
    pub body_timeout_ms: u64,
    /// How long an answer may take, in milliseconds. A long poll takes what it asks for besides.
    pub answer_timeout_ms: u64,
    /// How long whoever is answered may take nothing before it is let go, in milliseconds.
    pub stall_timeout_ms: u64,
    /// How often a stream that has nothing to say says so, in milliseconds.
    pub keep_alive_ms: u64,
    /// How long what is under way may take once the host is to end, in milliseconds.
    pub drain_timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 1024 * 1024,
            max_head_bytes: 64 * 1024,
            max_connections: 4_096,
            max_requests: 256,
            max_streams: 1_024,
            head_timeout_ms: 10_000,
            body_timeout_ms: 30_000,
            answer_timeout_ms: 30_000,
            stall_timeout_ms: 60_000,
            keep_alive_ms: 15_000,
            drain_timeout_ms: 10_000,
        }
    }
}

impl HostConfig {
    /// Usual settings: verifiers that gate, no seams.
    #[must_use]
    pub fn new(keys: Keys, token_secret: [u8; 32]) -> Self {
        Self {
            keys,
            name: "probity".to_owned(),
            vendor: "probity".to_owned(),
            host_id: "probity.local".to_owned(),
            ceilings: Bounds {
                max_node_executions: 1_000,
                max_run_duration_ms: 3_600_000,
                max_loop_iterations: 100,
            },
            terms: Terms {
                is_gating: true,
                confidence_floor: 0.5,
                escalation_threshold: 0.7,
                max_revisions: 3,
            },
            has_verifiers: true,
            has_delegations: false,
            has_board: false,
            metrics: None,
            has_webhooks: true,
            courier: Courier::new(Vec::new()),
            has_conformance_seams: false,
            token_secret,
            token_ttl_ms: 24 * 3_600_000,
            limits: Limits::default(),
        }
    }
}
