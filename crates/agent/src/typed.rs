//! A verifier function as a check of the gate.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_chat::Shared;
use probity_core::{Code, Fault, Phase, Verdict, VerdictKind};
use probity_record::claim_candidate;
use probity_verifier::{CheckContext, Verifier};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::extract::Verification;
use crate::feed::Feed;
use crate::function::{Broken, Call, Called, Running, VerifierFn};
use crate::reject::{Kind, Refusal};
use crate::transcript::Transcript;

/// A call of a verifier function whose arguments are there.
type Start = dyn Fn(Value, &Verification) -> Result<Running, String> + Send + Sync;

/// A verifier function, whatever its type.
#[derive(Clone)]
pub(crate) struct Function {
    start: Arc<Start>,
    yields: bool,
}

/// A verifier function at work in one run.
pub(crate) struct TypedVerifier {
    pub(crate) function: Function,
    /// Wall time of one call.
    pub(crate) timeout: Duration,
    pub(crate) shared: Shared,
    pub(crate) transcript: Transcript,
    pub(crate) feed: Arc<Feed>,
    /// One call at a time: a blocking one that was given up still holds it.
    pub(crate) alive: Arc<Semaphore>,
}

impl Function {
    pub(crate) fn new<Args, O, F>(function: F) -> Self
    where
        F: VerifierFn<Args, O>,
        O: DeserializeOwned,
    {
        let start = move |output: Value, verification: &Verification| {
            let output = serde_json::from_value(output);
            let output =
                output.map_err(|error| format!("the output is not of its type: {error}"))?;
            function.start(output, verification)
        };
        Self { start: Arc::new(start), yields: F::YIELDS }
    }
}

#[async_trait]
impl Verifier for TypedVerifier {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let answer = self.call(ctx).await;
        match &answer {
            Ok(verdict) if verdict.kind == VerdictKind::Inconclusive => {
                self.feed.trouble(&verdict.reason);
            }
            Ok(_) => {}
            Err(fault) => self.feed.trouble(&fault.message),
        }
        answer
    }

    fn yields(&self) -> bool {
        self.function.yields
    }
}

impl TypedVerifier {
    async fn call(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        debug_assert_eq!(ctx.phase, Phase::After, "a claim's check takes no part in the red run");
        let output = ctx.claim.output.clone().ok_or_else(|| {
            Fault::new("verifier_argument", "the claim has no output; hand it in by `final_output`")
        })?;
        if let Err(message) = self.feed.catch_up().await {
            let message = format!("the run's log cannot be read: {message}");
            return Ok(Verdict::inconclusive("verifier_log", message));
        }
        let timeout = self.timeout.min(ctx.timeout);
        let permit = tokio::time::timeout(timeout, Arc::clone(&self.alive).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            let message = "an earlier call of the verifier is still running; make it heed `cancel`";
            return Ok(Verdict::inconclusive("verifier_busy", message));
        };
        let verification = self.verification(ctx, timeout);
        let running = (self.function.start)(output, &verification)
            .map_err(|message| Fault::new("verifier_argument", message))?;
        let called = match running.0 {
            Call::Async(future) => tokio::time::timeout(timeout, future).await,
            Call::Blocking(call) => {
                let call = tokio::task::spawn_blocking(move || {
                    let called = call();
                    drop(permit);
                    called
                });
                match tokio::time::timeout(timeout, call).await {
                    Ok(Ok(called)) => Ok(called),
                    Ok(Err(_)) => return Err(panicked()),
                    Err(late) => Err(late),
                }
            }
        };
        match called {
            Ok(called) => self.verdict(ctx, called),
            Err(_) => Ok(Verdict::inconclusive(
                "verifier_timeout",
                format!("the verifier did not answer within {} ms", timeout.as_millis()),
            )),
        }
    }

    fn verification(&self, ctx: &CheckContext, timeout: Duration) -> Verification {
        let mut check = ctx.clone();
        check.timeout = timeout;
        Verification {
            candidate: claim_candidate(&ctx.claim),
            check,
            run: self.feed.run().clone(),
            state: self.feed.state(),
            shared: self.shared.clone(),
            transcript: self.transcript.clone(),
        }
    }

    fn verdict(&self, ctx: &CheckContext, called: Called) -> Result<Verdict, Fault> {
        match called {
            Ok(result) => Ok(Verdict { output: Some(result), ..Verdict::pass() }),
            Err(Broken::Result(message)) => Err(Fault::new(
                "verifier_result",
                format!("the verifier's result has no JSON form: {message}"),
            )),
            Err(Broken::Said(kind)) => Ok(match *kind {
                Kind::Revise(refusal) => {
                    self.feed.remember(ctx.submission.as_ref(), &refusal);
                    refused(VerdictKind::Revise, "rejected", refusal)
                }
                Kind::Fatal(refusal) => refused(VerdictKind::Fail, "fatal", refusal),
                Kind::System { message } => Verdict::inconclusive("verifier_error", message),
            }),
        }
    }
}

fn refused(kind: VerdictKind, default: &str, refusal: Refusal) -> Verdict {
    let Refusal { message, code, metadata } = refusal;
    let code = code.unwrap_or_else(|| Code::slug(default));
    Verdict { metadata, ..Verdict::new(kind, code, message) }
}

fn panicked() -> Fault {
    Fault::new("verifier_panic", "the verifier panicked; report it to its author")
}
