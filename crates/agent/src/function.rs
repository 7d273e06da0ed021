//! Ordinary functions as verifiers.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Reject;
use crate::extract::{FromVerification, Requirement, Verification};
use crate::reject::Kind;

/// What a call of a verifier gives: the result as JSON, a refusal, or the verifier's own failure.
pub(crate) type Called = Result<Value, Broken>;

/// Why a call of a verifier gave no result.
pub(crate) enum Broken {
    /// The verifier said so.
    Said(Box<Kind>),
    /// The result has no JSON form.
    Result(String),
}

/// A verifier whose arguments are there.
pub struct Running(pub(crate) Call);

/// How it runs.
pub(crate) enum Call {
    /// It yields.
    Async(Pin<Box<dyn Future<Output = Called> + Send>>),
    /// It blocks its thread.
    Blocking(Box<dyn FnOnce() -> Called + Send>),
}

mod sealed {
    /// Marks an async function.
    #[derive(Debug)]
    pub enum Async {}
    /// Marks a function that blocks.
    #[derive(Debug)]
    pub enum Blocking {}
}

/// A function or closure, async or not, whose first argument is the output and whose further
/// arguments are extractors, up to six.
///
/// Implemented for every such function that returns `Result<R, E>`, where `R` is serialisable and `E` is
/// [`Reject`] or an error.
#[diagnostic::on_unimplemented(
    message = "this is no verifier of `{O}`",
    label = "not a verifier of `{O}`",
    note = "a verifier is an `async fn` or `fn` whose first argument is the output, `{O}`, by value",
    note = "its further arguments are extractors: `AgentContext`, `ExecutionContext`, `Changes`, \
            `Submission`, `State<T>`",
    note = "what it captures it must be able to use again: clone it before an `async move` block",
    note = "it returns `Result<R, Reject>`, or another error, where `R` implements `Serialize` and \
            `Deserialize`"
)]
pub trait VerifierFn<Args, O>: Clone + Send + Sync + 'static {
    /// What it returns when it lets the output through: the run's result.
    type Result;

    /// Whether it yields where it waits: an `async` function, which must not block its thread.
    const YIELDS: bool;

    /// What its arguments need of the agent.
    fn requirements() -> Vec<Requirement>;

    #[doc(hidden)]
    fn start(&self, output: O, verification: &Verification) -> Result<Running, String>;
}

fn finish<R: Serialize + DeserializeOwned, E: Into<Reject>>(returned: Result<R, E>) -> Called {
    match returned {
        Ok(result) => written(&result).map_err(|error| Broken::Result(error.to_string())),
        Err(error) => Err(Broken::Said(error.into().kind)),
    }
}

/// The result as JSON, once it can be read back: a number that is none becomes null, which would be
/// found out behind the pass.
fn written<R: Serialize + DeserializeOwned>(result: &R) -> Result<Value, serde_json::Error> {
    let value = serde_json::to_value(result)?;
    R::deserialize(&value)?;
    Ok(value)
}

macro_rules! verifier_fn {
    ($($Arg:ident $arg:ident),*) => {
        impl<F, O, R, E, Answer, $($Arg,)*> VerifierFn<(sealed::Async, $($Arg,)*), O> for F
        where
            F: Fn(O, $($Arg),*) -> Answer + Clone + Send + Sync + 'static,
            Answer: Future<Output = Result<R, E>> + Send + 'static,
            O: Send + 'static,
            R: Serialize + DeserializeOwned,
            E: Into<Reject>,
            $($Arg: FromVerification,)*
        {
            type Result = R;

            const YIELDS: bool = true;

            fn requirements() -> Vec<Requirement> {
                let required: &[Option<Requirement>] = &[$($Arg::requires(),)*];
                required.iter().flatten().cloned().collect()
            }

            fn start(&self, output: O, verification: &Verification) -> Result<Running, String> {
                let _ = verification;
                let answer = self(output, $($Arg::from_verification(verification)?),*);
                Ok(Running(Call::Async(Box::pin(async move { finish(answer.await) }))))
            }
        }

        impl<F, O, R, E, $($Arg,)*> VerifierFn<(sealed::Blocking, $($Arg,)*), O> for F
        where
            F: Fn(O, $($Arg),*) -> Result<R, E> + Clone + Send + Sync + 'static,
            O: Send + 'static,
            R: Serialize + DeserializeOwned,
            E: Into<Reject>,
            $($Arg: FromVerification + Send + 'static,)*
        {
            type Result = R;

            const YIELDS: bool = false;

            fn requirements() -> Vec<Requirement> {
                let required: &[Option<Requirement>] = &[$($Arg::requires(),)*];
                required.iter().flatten().cloned().collect()
            }

            fn start(&self, output: O, verification: &Verification) -> Result<Running, String> {
                let _ = verification;
                let function = self.clone();
                let arguments = ($($Arg::from_verification(verification)?,)*);
                Ok(Running(Call::Blocking(Box::new(move || {
                    let ($($arg,)*) = arguments;
                    finish(function(output, $($arg),*))
                }))))
            }
        }
    };
}

verifier_fn!();
verifier_fn!(A1 a1);
verifier_fn!(A1 a1, A2 a2);
verifier_fn!(A1 a1, A2 a2, A3 a3);
verifier_fn!(A1 a1, A2 a2, A3 a3, A4 a4);
verifier_fn!(A1 a1, A2 a2, A3 a3, A4 a4, A5 a5);
verifier_fn!(A1 a1, A2 a2, A3 a3, A4 a4, A5 a5, A6 a6);
