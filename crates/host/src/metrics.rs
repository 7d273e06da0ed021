//! Figures of this process, for whoever collects them.

use std::fmt;
use std::sync::Arc;

/// Tells the figures in the text format of Prometheus, as they are now.
#[derive(Clone)]
pub struct Metrics(Arc<dyn Fn() -> String + Send + Sync>);

impl Metrics {
    /// Told by that function, which answers at once.
    pub fn new(tell: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn text(&self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}
