//! Names that are computed: recomputed here.

use probity_report::Failures;

use crate::model::Event;
use crate::scene::{Family, Scene};

/// Content ids of calls, evidence and claims.
#[derive(Debug, Default)]
pub(crate) struct Identity {}

impl Family for Identity {
    fn event(&mut self, _scene: &Scene, _event: &Event, _failures: &mut Failures) {}

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}
