//! What every rule may look at besides the event at hand, and the shape of a family of rules.

use probity_report::Failures;

use crate::model::Event;
use crate::plan::Plan;
use crate::spec::Spec;
use crate::{RunFiles, TracePolicy};

/// What stands around the events.
pub(crate) struct Scene<'r> {
    pub(crate) policy: &'r TracePolicy,
    pub(crate) files: &'r dyn RunFiles,
    pub(crate) header: &'r Header,
    /// `None` where the plan cannot be read.
    pub(crate) plan: Option<&'r Plan>,
    /// `None` where the problem cannot be read.
    pub(crate) spec: Option<&'r Spec>,
}

/// The first record of the trace. What is absent or of another shape was found when it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(crate) id: String,
    pub(crate) spec_id: String,
    pub(crate) plan_id: String,
    /// The metadata as it stands in the file: canonical text of an object.
    pub(crate) metadata: String,
    /// The whole line.
    pub(crate) line: String,
}

/// A family of rules over the events of one trace. It sees every event that has a shape, in order,
/// and keeps what it needs.
pub(crate) trait Family {
    /// Holds one event against the rules.
    fn event(&mut self, scene: &Scene, event: &Event, failures: &mut Failures);

    /// Holds the trace as a whole against them, when there are no more events.
    fn finish(&mut self, scene: &Scene, failures: &mut Failures);
}
