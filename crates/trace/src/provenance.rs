//! Provenance: every piece of evidence is the stated slice of the stated document.

use probity_report::Failures;

use crate::model::Event;
use crate::scene::{Family, Scene};

/// Corpus, index, chunks and what the trace says of them.
#[derive(Debug, Default)]
pub(crate) struct Provenance {}

impl Family for Provenance {
    fn event(&mut self, _scene: &Scene, _event: &Event, _failures: &mut Failures) {}

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}
