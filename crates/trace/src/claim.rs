//! Claims: what each cites is there, to the byte.

use probity_report::Failures;

use crate::model::Event;
use crate::scene::{Family, Scene};

/// What was claimed.
#[derive(Debug, Default)]
pub(crate) struct Claims {}

impl Family for Claims {
    fn event(&mut self, _scene: &Scene, _event: &Event, _failures: &mut Failures) {}

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}
