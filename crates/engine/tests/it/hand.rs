//! A hook's code that is a closure, and remembers how it was called.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use probity_core::{CheckDecl, Event, Fault, HookDecision, HookDecl, HookPoint, Subject};
use probity_engine::{Check, Decider, Handler, Hook, Reply, VerifyEvent, VerifyHook};
use probity_verifier::CheckContext;
use serde_json::{Map, Value};

use crate::rig::{Account, Rig};

type Replying = Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send>>;

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) event: String,
    pub(crate) payload: Value,
    pub(crate) attempt: u32,
    pub(crate) is_replay: bool,
}

/// A handler that is a closure.
pub(crate) struct Hand {
    act: Box<dyn Fn(CheckContext, Map<String, Value>) -> Replying + Send + Sync>,
    calls: Mutex<Vec<Call>>,
    account: Account,
}

impl Hand {
    pub(crate) fn new<F, R>(rig: &Rig, act: F) -> Arc<Self>
    where
        F: Fn(CheckContext, Map<String, Value>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Reply, Fault>> + Send + 'static,
    {
        let act = Box::new(move |ctx, payload| Box::pin(act(ctx, payload)) as Replying);
        Arc::new(Self { act, calls: Mutex::default(), account: rig.account.clone() })
    }

    /// Says the same every time.
    pub(crate) fn says(rig: &Rig, reply: Result<Reply, Fault>) -> Arc<Self> {
        Self::new(rig, move |_, _| std::future::ready(reply.clone()))
    }

    pub(crate) fn allows(rig: &Rig) -> Arc<Self> {
        Self::says(rig, Ok(Reply::Allow))
    }

    pub(crate) fn blocks(rig: &Rig, reason: &str) -> Arc<Self> {
        Self::says(rig, Ok(Reply::Block { reason: reason.to_owned() }))
    }

    /// Gives back what it saw, changed.
    pub(crate) fn edits(
        rig: &Rig,
        edit: impl Fn(&mut Map<String, Value>) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::new(rig, move |_, mut payload| {
            edit(&mut payload);
            std::future::ready(Ok(Reply::Modify { payload }))
        })
    }

    /// Puts a text behind one that it saw.
    pub(crate) fn appends(rig: &Rig, key: &'static str, text: &'static str) -> Arc<Self> {
        Self::edits(rig, move |payload| {
            let was = payload.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            payload.insert(key.to_owned(), format!("{was}{text}").into());
        })
    }

    /// Never answers, and heeds no token.
    pub(crate) fn hangs(rig: &Rig) -> Arc<Self> {
        Self::new(rig, |_, _| std::future::pending())
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// What it was shown the last time.
    pub(crate) fn shown(&self) -> Value {
        self.calls().last().expect("the hook was not called").payload.clone()
    }

    /// As a hook at a point, with ten seconds.
    pub(crate) fn at(self: &Arc<Self>, point: HookPoint, id: &str) -> Hook {
        self.timed(point, id, 10_000)
    }

    pub(crate) fn timed(self: &Arc<Self>, point: HookPoint, id: &str, timeout_ms: u64) -> Hook {
        let decl = HookDecl { id: id.parse().unwrap(), point, timeout_ms };
        Hook { decl, handler: Arc::clone(self) as Arc<dyn Handler> }
    }

    /// As a check, with ten seconds.
    pub(crate) fn check(self: &Arc<Self>, event: VerifyEvent, id: &str) -> Check {
        self.checks(event, id, 10_000)
    }

    pub(crate) fn checks(self: &Arc<Self>, event: VerifyEvent, id: &str, timeout_ms: u64) -> Check {
        let decl = CheckDecl { id: id.parse().unwrap(), subject: Subject::Hook, timeout_ms };
        let handler = Arc::clone(self) as Arc<dyn Handler>;
        Check { decl, by: Decider::Hook(VerifyHook { event, handler }) }
    }
}

#[async_trait]
impl Handler for Hand {
    async fn handle(
        &self,
        ctx: &CheckContext,
        event: &str,
        payload: Value,
    ) -> Result<Reply, Fault> {
        self.account.note(format!("call {event} {}", ctx.check));
        self.calls.lock().unwrap().push(Call {
            event: event.to_owned(),
            payload: payload.clone(),
            attempt: ctx.attempt,
            is_replay: ctx.is_replay,
        });
        let Value::Object(payload) = payload else { panic!("a payload is an object") };
        (self.act)(ctx.clone(), payload).await
    }
}

/// What the hooks of a run decided, in order.
pub(crate) async fn decisions(rig: &Rig) -> Vec<HookDecision> {
    let log = rig.log().await;
    let decision = |event: &Event| match event {
        Event::HookAnswered { decision, .. } => Some(decision.clone()),
        _ => None,
    };
    log.entries.iter().filter_map(|entry| decision(&entry.event)).collect()
}
