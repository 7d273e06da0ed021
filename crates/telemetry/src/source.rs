//! What a log does not say of its run: who works, and whose trace it is part of.

use probity_core::{Code, Event, RunId};
use probity_engine::{EngineError, read_blob};
use probity_record::Record;
use probity_store::Store;
use serde_json::Value;

use crate::{SpanId, TraceId, TraceParent};

/// How far up the runs that wait for each other are followed.
const MAX_ANCESTORS: usize = 64;
/// The longest name that is taken from a request, in characters.
const MAX_NAME_CHARS: usize = 128;

/// The keys of a request that bring a delegate.
const BRINGS: [&str; 3] = ["command", "acp", "chat"];
/// The kind where nobody can tell.
const UNKNOWN: &str = "unknown";

/// Who works on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What kind of delegate it is: `kind` of the request, else what brings it (`command`, `acp`,
    /// `chat`), else `unknown`; `critic` for a look at what a worker of a workflow left.
    pub kind: String,
    /// The profile's name.
    pub agent: Option<String>,
    /// The model, where the request names one.
    pub model: Option<String>,
    /// Whose protocol the model's endpoint speaks, in the convention's words.
    pub provider: Option<&'static str>,
}

/// Which trace a run is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The trace.
    pub trace: TraceId,
    /// The span above the run's first, if there is one.
    pub parent: Option<SpanId>,
    /// The run that waits for this one.
    pub parent_run: Option<RunId>,
    /// What the caller's trace says about being recorded; `None` where there is none.
    pub is_sampled: Option<bool>,
}

impl Source {
    /// Who works, by the request.
    #[must_use]
    pub fn of_request(request: &[u8]) -> Self {
        let read = serde_json::from_slice::<Value>(request).unwrap_or_default();
        // A job of a workflow holds the request of its delegation.
        let job = read.get("job").and_then(Value::as_str);
        let request =
            if job.is_some() { read.get("request").unwrap_or(&Value::Null) } else { &read };
        let text = |key: &str| request.get(key).and_then(Value::as_str).map(cut);
        let said = text("kind").filter(|kind| kind.parse::<Code>().is_ok());
        let brings = BRINGS.into_iter().find(|key| match request.get(key) {
            None | Some(Value::Null) => false,
            Some(Value::Array(words)) => !words.is_empty(),
            Some(_) => true,
        });
        let kind = match (job, said) {
            (Some("verify"), _) => "critic".to_owned(),
            (_, Some(said)) => said,
            (_, None) => brings.unwrap_or(UNKNOWN).to_owned(),
        };
        let agent = text("agent");
        let chat = request.get("chat");
        let of_chat = |key: &str| chat.and_then(|chat| chat.get(key)).and_then(Value::as_str);
        let provider = match of_chat("api") {
            Some("openai" | "open_ai") => Some("openai"),
            Some("anthropic") => Some("anthropic"),
            _ => None,
        };
        Self { kind, agent, model: of_chat("model").map(cut), provider }
    }

    /// Who works on a recorded run.
    pub(crate) async fn read(store: &dyn Store, opened: &Opened) -> Self {
        match read_blob(store, opened.request).await {
            Ok(request) => Self::of_request(&request),
            // What cannot be read is not worth losing the run's trace for.
            Err(_) => Self::of_request(b"{}"),
        }
    }
}

impl Origin {
    /// The trace of a run that is nobody's child, below the caller's span where there is one.
    #[must_use]
    pub fn of(run: &RunId, caller: Option<TraceParent>) -> Self {
        match caller {
            Some(caller) => Self {
                trace: caller.trace,
                parent: Some(caller.span),
                parent_run: None,
                is_sampled: Some(caller.is_sampled),
            },
            None => {
                let trace = TraceId::of(run);
                Self { trace, parent: None, parent_run: None, is_sampled: None }
            }
        }
    }

    /// The trace of a recorded run: that of the run which waits for it, all the way up; there the
    /// caller's, by `traceparent` of the request or else as given here.
    pub(crate) async fn read(
        store: &dyn Store,
        run: &RunId,
        opened: &Opened,
        caller: Option<TraceParent>,
    ) -> Self {
        let (mut top, mut above) = (run.clone(), opened.clone());
        for _ in 0..MAX_ANCESTORS {
            let Some(parent) = above.parent.clone() else { break };
            let Ok(found) = Opened::read(store, &parent).await else { break };
            (top, above) = (parent, found);
        }
        let request = read_blob(store, above.request).await.ok();
        let named = request.as_deref().and_then(traceparent).or(caller);
        let origin = Self::of(&top, named);
        match &opened.parent {
            // The parent's log says when it asked, in words that only its delegate knows; the span
            // of the delegation itself is there in any case.
            Some(parent) => Self {
                parent: Some(SpanId::of(parent, "execute", 0)),
                parent_run: Some(parent.clone()),
                ..origin
            },
            None => origin,
        }
    }
}

/// What the first record of a run says.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    request: probity_core::Digest,
    parent: Option<RunId>,
}

impl Opened {
    pub(crate) async fn read(store: &dyn Store, run: &RunId) -> Result<Self, EngineError> {
        let missing = || EngineError::Missing { run: run.clone() };
        let records = store.read(run, 0, 1).await?;
        let first = records.first().and_then(|first| Record::parse(first).ok());
        match first.ok_or_else(missing)?.entry.event {
            Event::RunOpened { request, parent, .. } => Ok(Self { request, parent }),
            _ => Err(missing()),
        }
    }
}

fn traceparent(request: &[u8]) -> Option<TraceParent> {
    let request = serde_json::from_slice::<Value>(request).ok()?;
    request.get("traceparent")?.as_str()?.parse().ok()
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_NAME_CHARS).collect()
}
