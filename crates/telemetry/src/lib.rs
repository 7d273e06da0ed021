//! Traces, metrics and logs of delegations, over OpenTelemetry.
//!
//! Telemetry is a projection of the run log, as the report and the audit are: [`Projection`] folds the
//! recorded entries, with their times, into spans, log events and points of metrics. The engine keeps
//! no second account. Names of traces and spans are drawn from the run's name and the place in its
//! log, so that a worker, another one that takes the run over and whoever sends an old log all give
//! the same trace.
//!
//! [`Telemetry`] follows runs while they are driven: a [`TelemetryWatch`] tells it only that a run
//! has moved, and it reads the log for itself. A receiver that hangs or refuses costs telemetry, which
//! is counted, and never a run.

mod client;
mod content;
mod error;
mod export;
mod follower;
mod id;
pub mod key;
mod options;
mod projection;
mod registry;
mod signal;
mod source;
mod stored;
mod telemetry;
mod verify;

pub use content::Capture;
pub use error::TelemetryError;
pub use id::{SpanId, TraceId, TraceParent, TraceParentError};
pub use options::{Otlp, Protocol, TelemetryOptions};
pub use projection::Projection;
pub use registry::{MAX_KINDS, Registry, prometheus_name};
pub use signal::{
    Attribute, Content, ContentKind, Log, Metric, Point, Severity, Signal, Span, SpanEvent, Status,
    Value,
};
pub use source::{Origin, Source};
pub use stored::{Sent, export_run};
pub use telemetry::{Account, Telemetry, TelemetryWatch, Together};
pub use verify::{Standing, VerifyOutcome};

// Parts of options: nobody who sets them needs the SDK for it.
pub use opentelemetry_sdk::metrics::Temporality;
pub use opentelemetry_sdk::trace::Sampler;
