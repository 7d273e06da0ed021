//! The request that begins a run.

use probity_workflow::Bounds;
use serde_json::{Map, Value};

use super::object::Fields;
use crate::error::{Failure, Reason};
use crate::idempotency::DIGEST_KEY;

/// Characters of a definition's name.
const MAX_ID_CHARS: usize = 256;
/// Labels of a run.
const MAX_TAGS: usize = 100;
/// Characters of a label.
const MAX_TAG_CHARS: usize = 256;

/// What a run is to begin with.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRun {
    /// The definition.
    pub workflow: String,
    /// Values of its variables.
    pub inputs: Map<String, Value>,
    /// The tenant, where the caller names it: it must be its own.
    pub tenant: Option<String>,
    /// The part of the tenant.
    pub workspace: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// Whatever the caller wants back.
    pub metadata: Map<String, Value>,
    /// Bounds that are asked for.
    pub requested: Requested,
}

/// Bounds that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requested {
    /// `recursionLimit`.
    pub max_node_executions: Option<u64>,
    /// `runTimeoutMs`.
    pub max_run_duration_ms: Option<u64>,
    /// `maxLoopIterations`.
    pub max_loop_iterations: Option<u64>,
}

impl CreateRun {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// The first thing in it that is wrong.
    pub fn parse(body: &Value) -> Result<Self, Failure> {
        let fields = Fields::of(body)?;
        if fields.value("callbackUrl").is_some() {
            let why = "`callbackUrl` is not offered: register a webhook instead";
            return Err(Failure::new(Reason::CapabilityRequired, why)
                .detail("requiredCapability", "callbackUrl"));
        }
        let metadata = fields.object("metadata")?;
        if metadata.contains_key(DIGEST_KEY) {
            let what = format!("must not have the member `{DIGEST_KEY}`, which is the host's");
            return Err(fields.wrong("metadata", what));
        }
        Ok(Self {
            workflow: fields.required_text("workflowId", MAX_ID_CHARS)?,
            inputs: fields.object("inputs")?,
            tenant: fields.text("tenantId", MAX_ID_CHARS)?,
            workspace: fields.text("scopeId", MAX_ID_CHARS)?,
            tags: fields.texts("tags", MAX_TAGS, MAX_TAG_CHARS)?.unwrap_or_default(),
            metadata,
            requested: Requested::parse(&fields)?,
        })
    }
}

impl Requested {
    /// Reads `configurable`, which may hold what other hosts know.
    pub(super) fn parse(fields: &Fields<'_>) -> Result<Self, Failure> {
        let Some(fields) = fields.fields("configurable")? else { return Ok(Self::default()) };
        Ok(Self {
            max_node_executions: fields.whole("recursionLimit", 1)?,
            max_run_duration_ms: fields.whole("runTimeoutMs", 1)?,
            max_loop_iterations: fields.whole("maxLoopIterations", 1)?,
        })
    }

    /// What is asked for, but no more than the ceilings; these where nothing is asked for.
    #[must_use]
    pub fn within(self, ceilings: Bounds) -> Bounds {
        let least = |asked: Option<u64>, most: u64| asked.map_or(most, |asked| asked.min(most));
        Bounds {
            max_node_executions: least(self.max_node_executions, ceilings.max_node_executions),
            max_run_duration_ms: least(self.max_run_duration_ms, ceilings.max_run_duration_ms),
            max_loop_iterations: least(self.max_loop_iterations, ceilings.max_loop_iterations),
        }
    }
}
