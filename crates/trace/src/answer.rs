//! The answer: it is what was claimed and validated, or there is none.

use probity_report::Failures;

use crate::model::Event;
use crate::scene::{Family, Scene};

/// What the run ended with.
#[derive(Debug, Default)]
pub(crate) struct Answers {}

impl Family for Answers {
    fn event(&mut self, _scene: &Scene, _event: &Event, _failures: &mut Failures) {}

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}
