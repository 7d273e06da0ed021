//! A recorded run, sent now.

use probity_core::RunId;
use probity_engine::read_entries;
use probity_store::Store;

use crate::content::ContentReader;
use crate::export::{Exporters, span_data};
use crate::signal::{Log, Signal};
use crate::source::Opened;
use crate::{Capture, Origin, Projection, Source, TelemetryError, TelemetryOptions, TraceId};

/// The most spans, and the most log events, of one batch.
const MAX_BATCH: usize = 512;

/// What was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The trace to look for.
    pub trace: TraceId,
    /// Spans that the receiver took.
    pub spans: u64,
    /// Log events that it took.
    pub logs: u64,
}

/// Sends what the log of a run says: the same trace as whoever drove it sent, or would have. Metrics
/// are not sent, since they would be counted twice. A run that is not over is sent as far as it is.
///
/// # Errors
/// [`TelemetryError::Run`] if the run cannot be read; [`TelemetryError::NoEndpoint`] and
/// [`TelemetryError::Exporter`] if it cannot be sent, [`TelemetryError::Unsent`] if some of it was not
/// taken.
pub async fn export_run(
    store: &dyn Store,
    run: &RunId,
    options: &TelemetryOptions,
) -> Result<Sent, TelemetryError> {
    let otlp = options.otlp.as_ref().ok_or(TelemetryError::NoEndpoint)?;
    let exporters = Exporters::new(options, otlp)?;
    let entries = read_entries(store, run).await?;
    let opened = Opened::read(store, run).await?;
    let source = Source::read(store, &opened).await;
    let origin = Origin::read(store, run, &opened, options.caller).await;
    let (trace, kind) = (origin.trace, source.kind.clone());
    let mut content = ContentReader::default();
    let (mut spans, mut logs) = (Vec::new(), Vec::<Log>::new());
    for mut signal in Projection::whole(run.clone(), source, origin, &entries) {
        if options.capture != Capture::Nothing {
            content.fill(store, options.capture, &kind, &mut signal).await;
        }
        match signal {
            Signal::Span(span) if exporters.wants_spans() => spans.push(span_data(*span)),
            Signal::Log(log) if exporters.wants_logs() => logs.push(*log),
            Signal::Span(_) | Signal::Log(_) | Signal::Point(_) => {}
        }
    }
    let all = u64::try_from(spans.len() + logs.len()).unwrap_or(u64::MAX);
    let mut sent = Sent { trace, spans: 0, logs: 0 };
    let mut why = None;
    for batch in spans.chunks(MAX_BATCH) {
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        match exporters.spans(batch.to_vec()).await {
            Ok(()) => sent.spans += count,
            Err(error) => why = Some(error),
        }
    }
    for batch in logs.chunks(MAX_BATCH) {
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        match exporters.logs(batch).await {
            Ok(()) => sent.logs += count,
            Err(error) => why = Some(error),
        }
    }
    let refused = exporters.refused();
    if refused > 0 {
        why = Some("the receiver refused a part of what it took".to_owned());
    }
    let lost = all.saturating_sub(sent.spans + sent.logs).saturating_add(refused);
    match why {
        Some(why) => Err(TelemetryError::Unsent { lost, all, why }),
        None => Ok(sent),
    }
}
