//! Evidence: every registered piece has its file, whole and alone.

use probity_report::Failures;

use crate::model::Event;
use crate::scene::{Family, Scene};

/// What was registered.
#[derive(Debug, Default)]
pub(crate) struct Evidences {}

impl Family for Evidences {
    fn event(&mut self, _scene: &Scene, _event: &Event, _failures: &mut Failures) {}

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}
