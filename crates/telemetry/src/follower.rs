//! The task that reads what runs have come to and sends it. Everything it holds is bounded, and
//! nobody waits for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use opentelemetry::trace::{SpanContext, SpanKind, TraceContextExt as _, TraceFlags, TraceState};
use opentelemetry_sdk::trace::{SamplingDecision, ShouldSample as _, SpanData};
use probity_core::{Entry, Event, RunId};
use probity_record::Record;
use probity_store::Store;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::content::ContentReader;
use crate::export::{Exporters, span_data};
use crate::signal::{Log, Signal};
use crate::source::Opened;
use crate::telemetry::{Mark, Shared};
use crate::{Capture, Origin, Projection, Source, TelemetryOptions};

/// The pause before a run that has moved is read: what moves meanwhile is read with it.
const READ_PAUSE: Duration = Duration::from_millis(100);
/// How long spans and log events wait for others to be sent with.
const SEND_PAUSE: Duration = Duration::from_secs(1);
/// The most spans, and the most log events, of one batch.
const MAX_BATCH: usize = 512;
/// How many records are read at a time.
const MAX_READ: usize = 512;
/// The most runs that are followed at a time. The one that moved longest ago makes room.
const MAX_FOLLOWED: usize = 1024;

/// The task's own things.
pub(crate) struct Follower {
    shared: Arc<Shared>,
    store: Arc<dyn Store>,
    exporters: Option<Exporters>,
    options: TelemetryOptions,
    followed: BTreeMap<RunId, Followed>,
    /// Rises with every look at a run.
    looks: u64,
    spans: Vec<SpanData>,
    logs: Vec<Log>,
    /// What was refused of batches that were taken, as far as it was told.
    refused: u64,
}

/// A run that is followed.
struct Followed {
    projection: Projection,
    kind: String,
    is_sampled: bool,
    content: ContentReader,
    /// Whether what comes next was done here. What another worker did is for that one to tell: it would
    /// be counted twice.
    is_own: bool,
    looked: u64,
}

enum Wake {
    Moved,
    Due,
    Flush(oneshot::Sender<()>),
    Closed,
}

impl Follower {
    pub(crate) const fn new(
        shared: Arc<Shared>,
        store: Arc<dyn Store>,
        exporters: Option<Exporters>,
        options: TelemetryOptions,
    ) -> Self {
        Self {
            shared,
            store,
            exporters,
            options,
            followed: BTreeMap::new(),
            looks: 0,
            spans: Vec::new(),
            logs: Vec::new(),
            refused: 0,
        }
    }

    pub(crate) async fn follow(mut self, mut asked: mpsc::Receiver<oneshot::Sender<()>>) {
        let interval = self.options.otlp.as_ref().map(|otlp| otlp.metric_interval);
        let mut metrics_due = interval.map(|interval| Instant::now() + interval);
        let (mut read_due, mut send_due) = (None, None);
        loop {
            let due = [read_due, send_due, metrics_due].into_iter().flatten().min();
            match self.wait(&mut asked, due, read_due.is_none()).await {
                Wake::Closed => return,
                Wake::Moved => read_due = Some(Instant::now() + READ_PAUSE),
                Wake::Flush(done) => {
                    self.read_all().await;
                    self.send().await;
                    self.send_metrics().await;
                    (read_due, send_due) = (None, None);
                    // Whoever asked may not have waited.
                    done.send(()).unwrap_or_default();
                }
                Wake::Due => {
                    let now = Instant::now();
                    let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
                    if is_due(read_due) {
                        read_due = None;
                        self.read_all().await;
                        let is_any = !self.spans.is_empty() || !self.logs.is_empty();
                        send_due = send_due.or(is_any.then(|| now + SEND_PAUSE));
                    }
                    if is_due(send_due) {
                        send_due = None;
                        self.send().await;
                    }
                    if is_due(metrics_due) {
                        self.send_metrics().await;
                        metrics_due = interval.map(|interval| Instant::now() + interval);
                    }
                }
            }
        }
    }

    async fn wait(
        &self,
        asked: &mut mpsc::Receiver<oneshot::Sender<()>>,
        due: Option<Instant>,
        listens: bool,
    ) -> Wake {
        let timer = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            asked = asked.recv() => asked.map_or(Wake::Closed, Wake::Flush),
            () = timer => Wake::Due,
            () = self.shared.bell.notified(), if listens => Wake::Moved,
        }
    }

    async fn read_all(&mut self) {
        for (run, mark) in self.shared.take_marks() {
            self.read(&run, mark).await;
        }
    }

    /// Reads what a run has come to since it was read last.
    async fn read(&mut self, run: &RunId, mark: Mark) {
        let mut followed = match self.followed.remove(run) {
            Some(followed) => followed,
            // Left, and nothing was done here since it was looked at last.
            None if mark.first.is_none() => return,
            None => match self.begin(run).await {
                Some(followed) => followed,
                None => return,
            },
        };
        self.looks = self.looks.saturating_add(1);
        followed.looked = self.looks;
        if let Err(why) = self.read_tail(run, &mut followed, mark.first.as_ref()).await {
            self.shared.lost("run", 1, &why);
        }
        if mark.is_left {
            for signal in followed.projection.left("interrupted") {
                self.take(&mut followed, signal).await;
            }
        }
        if !mark.is_left && !followed.projection.is_sealed() {
            self.make_room();
            self.followed.insert(run.clone(), followed);
        }
    }

    /// Reads on to the end of the log. `first` is the first entry that was told of since the last look.
    async fn read_tail(
        &mut self,
        run: &RunId,
        followed: &mut Followed,
        first: Option<&Entry>,
    ) -> Result<(), String> {
        loop {
            let from = followed.projection.seq();
            let records = self.store.read(run, from, MAX_READ).await;
            let records = records.map_err(|error| error.to_string())?;
            if records.is_empty() {
                return Ok(());
            }
            for line in records {
                let record = Record::parse(&line).map_err(|error| error.to_string())?;
                let entry = record.entry;
                if let Event::LeaseTaken { worker, .. } = &entry.event {
                    followed.is_own = self.shared.is_own(worker);
                }
                followed.is_own |= first == Some(&entry);
                let signals = followed.projection.apply(&entry);
                if followed.is_own {
                    for signal in signals {
                        self.take(followed, signal).await;
                    }
                }
            }
        }
    }

    /// Begins to follow a run.
    async fn begin(&self, run: &RunId) -> Option<Followed> {
        let store = self.store.as_ref();
        let opened = match Opened::read(store, run).await {
            Ok(opened) => opened,
            Err(error) => {
                self.shared.lost("run", 1, &error.to_string());
                return None;
            }
        };
        let source = Source::read(store, &opened).await;
        let origin = Origin::read(store, run, &opened, self.options.caller).await;
        Some(Followed {
            kind: source.kind.clone(),
            is_sampled: self.samples(&origin),
            projection: Projection::new(run.clone(), source, origin),
            content: ContentReader::default(),
            is_own: false,
            looked: 0,
        })
    }

    fn samples(&self, origin: &Origin) -> bool {
        let trace = opentelemetry::TraceId::from_bytes(origin.trace.to_bytes());
        let above = origin.is_sampled.zip(origin.parent).map(|(is_sampled, parent)| {
            let flags = if is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
            let span = opentelemetry::SpanId::from_bytes(parent.to_bytes());
            let above = SpanContext::new(trace, span, flags, true, TraceState::NONE);
            opentelemetry::Context::new().with_remote_span_context(above)
        });
        let (name, kind) = ("delegation.execute", SpanKind::Internal);
        let sampler = &self.options.sampler;
        let sampled = sampler.should_sample(above.as_ref(), trace, name, &kind, &[], &[]);
        sampled.decision == SamplingDecision::RecordAndSample
    }

    /// Takes a signal on its way.
    async fn take(&mut self, followed: &mut Followed, mut signal: Signal) {
        let capture = self.options.capture;
        let mut behind = Vec::new();
        if capture != Capture::Nothing {
            let store = self.store.as_ref();
            behind = followed.content.fill(store, capture, &followed.kind, &mut signal).await;
        }
        for signal in std::iter::once(signal).chain(behind) {
            let exporters = self.exporters.as_ref();
            match signal {
                Signal::Point(point) => {
                    let point = self.shared.registry.bound(point);
                    self.shared.registry.add(&point);
                    exporters.iter().for_each(|exporters| exporters.record(&point));
                }
                Signal::Span(span) => {
                    if followed.is_sampled && exporters.is_some_and(Exporters::wants_spans) {
                        self.shared.unsent.fetch_add(1, Ordering::Relaxed);
                        self.spans.push(span_data(*span));
                    }
                }
                Signal::Log(log) => {
                    if exporters.is_some_and(Exporters::wants_logs) {
                        self.shared.unsent.fetch_add(1, Ordering::Relaxed);
                        self.logs.push(*log);
                    }
                }
            }
        }
        if self.spans.len() >= MAX_BATCH || self.logs.len() >= MAX_BATCH {
            self.send().await;
        }
    }

    async fn send(&mut self) {
        let (spans, logs) = (std::mem::take(&mut self.spans), std::mem::take(&mut self.logs));
        let Some(exporters) = &self.exporters else { return };
        if !spans.is_empty() {
            let count = u64::try_from(spans.len()).unwrap_or(u64::MAX);
            match exporters.spans(spans).await {
                Ok(()) => self.shared.account().spans_sent += count,
                Err(why) => self.shared.lost("trace", count, &why),
            }
            self.shared.unsent.fetch_sub(count, Ordering::Relaxed);
        }
        if !logs.is_empty() {
            let count = u64::try_from(logs.len()).unwrap_or(u64::MAX);
            match exporters.logs(&logs).await {
                Ok(()) => self.shared.account().logs_sent += count,
                Err(why) => self.shared.lost("log", count, &why),
            }
            self.shared.unsent.fetch_sub(count, Ordering::Relaxed);
        }
        self.note_refused();
    }

    async fn send_metrics(&mut self) {
        let Some(exporters) = &self.exporters else { return };
        // Metrics that do not get through are not lost: the next time has them too.
        if let Err(why) = exporters.metrics().await {
            self.shared.account().last_error = Some(why);
        }
        self.note_refused();
    }

    fn note_refused(&mut self) {
        let refused = self.exporters.as_ref().map_or(0, Exporters::refused);
        if refused > self.refused {
            self.refused = refused;
            let mut account = self.shared.account();
            account.refused = refused;
            account.last_error = Some("the receiver refused a part of what it took".to_owned());
        }
    }

    fn make_room(&mut self) {
        if self.followed.len() < MAX_FOLLOWED {
            return;
        }
        let oldest = self.followed.iter().min_by_key(|(_, followed)| followed.looked);
        if let Some(run) = oldest.map(|(run, _)| run.clone()) {
            self.followed.remove(&run);
        }
    }
}
