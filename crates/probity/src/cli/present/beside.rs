//! What a run's report does not say of it.

use serde::Serialize;

use super::{Asks, StoppedBy};

/// People who have to do with a run.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Beside<'a> {
    /// Whom it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asks: Option<&'a Asks>,
    /// Who asked for it to be stopped.
    #[serde(rename = "cancel_requested", skip_serializing_if = "Option::is_none")]
    pub(crate) stopped_by: Option<&'a StoppedBy>,
}
