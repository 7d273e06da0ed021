//! What others are told of a log, whatever the log: telemetry, and the index of runs.

use std::sync::LazyLock;

use probity_core::{Event, RunId};
use probity_projection::{Filter, Index, Wanted, delegate_of};
use probity_store::{Batch, MemoryStore, RunLog as _};
use probity_telemetry::{Origin, Projection, Signal, Source, TraceParent};
use tokio::runtime::{Builder, Runtime};

use super::{Target, record};
use crate::seed;

pub(super) const TARGETS: [Target; 3] = [
    Target::new("otlp", otlp, record::entry_logs),
    Target::new("index", index, record::entry_logs),
    Target::new("origin", origin, || {
        seed::texts(&[
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            r#"{"task":"t","command":["x"],"kind":"coder","agent":"a"}"#,
            r#"{"job":"verify","request":{"chat":{"api":"anthropic","model":"m"}}}"#,
        ])
    }),
];

/// Signals of a log: each entry taken alone gives what the whole gives, spans end behind their beginning,
/// and each has a name of its own.
fn otlp(bytes: &[u8]) {
    let (log, _) = record::written(bytes);
    let run = RunId::from_uuid(1);
    let (source, origin) = (Source::of_request(b"{}"), Origin::of(&run, None));
    let whole = Projection::whole(run.clone(), source.clone(), origin.clone(), &log);
    let mut projection = Projection::new(run, source, origin);
    let single: Vec<Signal> = log.iter().flat_map(|entry| projection.apply(entry)).collect();
    assert_eq!(whole, single, "folded twice, it differs");
    let mut names = Vec::new();
    for signal in &whole {
        match signal {
            Signal::Span(span) => {
                assert!(span.end_ms >= span.start_ms, "{} ends before it begins", span.name);
                assert!(span.events.len() <= 128, "{} events", span.events.len());
                assert!(span.parent != Some(span.id), "{} hangs on itself", span.name);
                names.push(span.id.to_bytes());
            }
            Signal::Point(point) => {
                assert!(point.value.is_finite() && point.value >= 0.0, "{point:?}");
            }
            Signal::Log(_) => {}
        }
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two spans of one name");
}

static RUNTIME: LazyLock<Option<Runtime>> =
    LazyLock::new(|| Builder::new_current_thread().build().ok());

/// A log in a store, and the index of that store: the run is there once, as its own events say, and
/// filled again nothing changes.
fn index(bytes: &[u8]) {
    let (log, export) = record::written(bytes);
    let (Some(runtime), Some(first)) = (&*RUNTIME, log.first()) else { return };
    let Event::RunOpened { run, .. } = &first.event else { return };
    let records: Vec<Vec<u8>> = export
        .split(|byte| *byte == b'\n')
        .filter(|it| !it.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    let seal = log.last().is_some_and(|entry| matches!(entry.event, Event::Sealed { .. }));
    runtime.block_on(async {
        let store = MemoryStore::new();
        let batch = Batch { records, seal, ..Batch::default() };
        if store.append(run, 0, batch).await.is_err() {
            return;
        }
        let Ok(mut index) = Index::in_memory("memory") else { return };
        let filled = index.update(&store).await;
        assert!(filled.is_ok(), "{filled:?}");
        let filter = Filter { limit: 10, ..Filter::default() };
        let runs = index.runs(&filter).unwrap_or_default();
        assert_eq!(runs.len(), 1, "{runs:?}");
        assert_eq!(runs.first().map(|it| it.run_id.as_str()), Some(run.as_str()));
        let again = index.update(&store).await;
        assert!(again.is_ok_and(|again| again.new == 0), "a run of its own each time");
        assert_eq!(index.runs(&filter).unwrap_or_default(), runs, "filled again, it differs");
        let wanted = Wanted::default();
        assert!(index.counts(&wanted).is_ok() && index.words(&wanted).is_ok());
        assert!(index.claims(&wanted, 1_000).is_ok() && index.drifts(&wanted).is_ok());
        assert!(index.page(&wanted, None, 10).is_ok());
    });
}

/// `traceparent` of a caller, and a request as labels are taken from it: closed words and bounded ones.
fn origin(bytes: &[u8]) {
    let source = Source::of_request(bytes);
    assert!(!source.kind.is_empty() && source.kind.len() <= 64, "{source:?}");
    assert!(source.kind.parse::<probity_core::Code>().is_ok(), "{:?} is no word", source.kind);
    let delegate = delegate_of(bytes);
    assert!(delegate.parse::<probity_core::Code>().is_ok(), "{delegate:?} is no word");
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(caller) = text.parse::<TraceParent>() else { return };
    assert!(caller.trace.to_bytes() != [0; 16] && caller.span.to_bytes() != [0; 8]);
    assert_eq!(caller.to_string().parse::<TraceParent>().ok(), Some(caller), "{text:?}");
}
