//! Steps: each starts once, when it may, and finishes before the next.

use probity_report::Failures;

use crate::model::Event;
use crate::scene::{Family, Scene};

/// The order of the events.
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {}

impl Family for Lifecycle {
    fn event(&mut self, _scene: &Scene, _event: &Event, _failures: &mut Failures) {}

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}
