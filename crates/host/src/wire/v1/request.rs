//! The other requests about runs.

use probity_core::RunId;
use serde_json::{Map, Value};

use super::object::Fields;
use crate::error::Failure;

/// Characters of a reason.
const MAX_REASON_CHARS: usize = 1_000;
/// Runs that one request may stop.
const MAX_BULK: usize = 100;

/// A run is to stop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StopRun {
    /// Why.
    pub reason: Option<String>,
}

/// Several runs are to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkCancel {
    /// Which, as they were written.
    pub runs: Vec<String>,
    /// Why.
    pub reason: Option<String>,
}

/// A run is to pause, or to go on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PauseRun {
    /// Why.
    pub reason: Option<String>,
    /// What becomes of what is under way.
    pub drain_policy: Option<String>,
}

/// A run is to be forked.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkRun {
    /// Whether everything that was recorded is told again.
    pub is_replay: bool,
    /// The first event that is not shared.
    pub from_sequence: Option<u64>,
    /// Values in place of those that the source began with.
    pub inputs: Map<String, Value>,
}

/// A wait is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    /// With what.
    pub value: Value,
}

/// Events are to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// Where to.
    pub url: String,
    /// Which types; all of them if there are none, or one is `*`.
    pub events: Vec<String>,
    /// With what they are signed, where the caller says so.
    pub secret: Option<String>,
    /// The tenant, where the caller names it: it must be its own.
    pub tenant: Option<String>,
}

impl NewWebhook {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing in it that is wrong.
    pub fn parse(body: &Value) -> Result<Self, Failure> {
        let fields = Fields::of(body)?;
        Ok(Self {
            url: fields.required_text("url", 2_048)?,
            events: fields.texts("events", 100, 128)?.unwrap_or_default(),
            secret: fields.text("secret", 256)?,
            tenant: fields.text("tenantId", 256)?,
        })
    }
}

impl StopRun {
    /// Reads a body; none is as good as an empty one.
    ///
    /// # Errors
    /// The first thing in it that is wrong.
    pub fn parse(body: Option<&Value>) -> Result<Self, Failure> {
        let Some(body) = body else { return Ok(Self::default()) };
        Ok(Self { reason: Fields::of(body)?.text("reason", MAX_REASON_CHARS)? })
    }
}

impl BulkCancel {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing in it that is wrong.
    pub fn parse(body: &Value) -> Result<Self, Failure> {
        let fields = Fields::of(body)?;
        let runs = fields.texts("runIds", MAX_BULK, 128)?.unwrap_or_default();
        if runs.is_empty() {
            return Err(fields.wrong("runIds", format!("must name 1 to {MAX_BULK} runs")));
        }
        Ok(Self { runs, reason: fields.text("reason", MAX_REASON_CHARS)? })
    }
}

impl PauseRun {
    /// Reads a body; none is as good as an empty one.
    ///
    /// # Errors
    /// The first thing in it that is wrong.
    pub fn parse(body: Option<&Value>) -> Result<Self, Failure> {
        let Some(body) = body else { return Ok(Self::default()) };
        let fields = Fields::of(body)?;
        Ok(Self {
            reason: fields.text("reason", MAX_REASON_CHARS)?,
            drain_policy: fields.text("drainPolicy", 64)?,
        })
    }
}

impl ForkRun {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing in it that is wrong.
    pub fn parse(body: &Value) -> Result<Self, Failure> {
        let fields = Fields::of(body)?;
        fields.only(&["mode", "fromSeq", "runOptionsOverlay"])?;
        let is_replay = match fields.required_text("mode", 16)?.as_str() {
            "replay" => true,
            "branch" => false,
            _ => return Err(fields.wrong("mode", "must be `replay` or `branch`")),
        };
        let overlay = fields.object("runOptionsOverlay")?;
        if is_replay && !overlay.is_empty() {
            let what = "must be empty for a replay: ask for a `branch`";
            return Err(fields.wrong("runOptionsOverlay", what));
        }
        let inputs = match fields.fields("runOptionsOverlay")? {
            None => Map::new(),
            Some(overlay) => {
                overlay.only(&["inputs"])?;
                overlay.object("inputs")?
            }
        };
        Ok(Self { is_replay, from_sequence: fields.whole("fromSeq", 0)?, inputs })
    }
}

impl Resume {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing in it that is wrong.
    pub fn parse(body: &Value) -> Result<Self, Failure> {
        let fields = Fields::of(body)?;
        fields.only(&["resumeValue"])?;
        let value = fields.value("resumeValue").cloned();
        value.map(|value| Self { value }).ok_or_else(|| fields.wrong("resumeValue", "is required"))
    }
}

/// The name of a run, if it is one.
pub(crate) fn run_named(text: &str) -> Result<RunId, Failure> {
    text.parse().map_err(|_| Failure::missing("run", text))
}
