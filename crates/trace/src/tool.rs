//! Tools: every call has one result, and evidence comes from results.

use probity_report::Failures;

use crate::model::Event;
use crate::scene::{Family, Scene};

/// Calls and results.
#[derive(Debug, Default)]
pub(crate) struct Tools {}

impl Family for Tools {
    fn event(&mut self, _scene: &Scene, _event: &Event, _failures: &mut Failures) {}

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}
