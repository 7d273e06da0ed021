//! openwop v1: its names, its shapes, what it takes.

mod create;
mod event;
mod instant;
mod interrupt;
mod object;
mod payload;
mod request;
mod snapshot;

pub use create::{CreateRun, Requested};
pub use event::{event_id, event_type, render};
pub use instant::rfc3339;
pub use interrupt::suspend_request;
pub use request::{BulkCancel, ForkRun, NewWebhook, PauseRun, Resume, StopRun};
pub use snapshot::{run_snapshot, run_summary, status_word};

pub(crate) use object::Fields;
pub(crate) use request::run_named;
