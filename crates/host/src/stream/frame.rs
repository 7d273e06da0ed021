//! One event, ready to be sent.

use axum::body::Bytes;
use probity_core::RunId;
use probity_workflow::{Entry, Event};

use crate::wire::v1::{event_type, render};

/// An event in the words of the wire.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) sequence: u64,
    /// Whether it is told to who wants no details.
    pub(crate) is_update: bool,
    /// Whether nothing follows.
    pub(crate) is_terminal: bool,
    /// Whether somebody is waited for now.
    pub(crate) is_suspension: bool,
    /// As a frame of a stream.
    pub(crate) sse: Bytes,
    /// The event alone.
    pub(crate) json: Bytes,
}

impl Frame {
    pub(crate) fn new(run: &RunId, entry: &Entry) -> Self {
        let kind = event_type(&entry.event);
        let head = format!("id: {}\nevent: {kind}\ndata: ", entry.sequence);
        let json = render(run, entry).to_string();
        let sse = Bytes::from(format!("{head}{json}\n\n"));
        let json = sse.slice(head.len()..head.len() + json.len());
        Self {
            sequence: entry.sequence,
            is_update: is_update(&entry.event),
            is_terminal: entry.event.is_terminal(),
            is_suspension: matches!(entry.event, Event::NodeSuspended { .. }),
            sse,
            json,
        }
    }
}

/// What the mode `updates` tells. What agents, supervisors and bounds do is for `debug`.
const fn is_update(event: &Event) -> bool {
    matches!(
        event,
        Event::RunStarted { .. }
            | Event::RunCompleted { .. }
            | Event::RunFailed { .. }
            | Event::RunCancelled { .. }
            | Event::RunPaused { .. }
            | Event::RunResumed { .. }
            | Event::NodeCompleted { .. }
            | Event::NodeFailed { .. }
            | Event::NodeSuspended { .. }
            | Event::NodeDispatched { .. }
            | Event::InterruptRequested(_)
            | Event::InterruptResolved { .. }
            | Event::ApprovalReceived { .. }
            | Event::ClarificationRequested { .. }
            | Event::ClarificationResolved { .. }
    )
}
