//! Rust closures as tools.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Interrupted, Tool, ToolContext, ToolError, ToolOutput, ToolReply, ToolSpec};

type Called<R> = Pin<Box<dyn Future<Output = Result<R, ToolError>> + Send>>;
type Assertion<A, R> = Box<dyn Fn(&A, &R) -> Result<(), String> + Send + Sync>;

/// An async closure as a tool: the schema of its arguments comes from their type.
pub struct FunctionTool<A, R> {
    spec: ToolSpec,
    call: Box<dyn Fn(A, ToolContext) -> Called<R> + Send + Sync>,
    read: fn(Value) -> Result<A, String>,
    write: fn(R) -> Result<ToolReply, String>,
    verify: Option<Assertion<A, R>>,
    interrupted: Interrupted,
}

impl<A, R> FunctionTool<A, R>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + Send + 'static,
{
    /// A tool of this closure. Its result is told to the model as JSON, a string as text; its error in
    /// the words of its `Display`, except that a [`ToolError`] is passed on as it is. Doc comments of
    /// `A` describe the arguments to the model.
    pub fn new<F, T, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        F: Fn(A, ToolContext) -> T + Send + Sync + 'static,
        T: Future<Output = Result<R, E>> + Send + 'static,
        E: fmt::Display + 'static,
    {
        let spec = ToolSpec {
            name: name.into(),
            description: description.into(),
            parameters: schema_of::<A>(),
        };
        Self {
            spec,
            call: Box::new(move |arguments, context| {
                let called = function(arguments, context);
                Box::pin(async move { called.await.map_err(failure) })
            }),
            read: |value| serde_json::from_value(value).map_err(|error| error.to_string()),
            write: |result| {
                let value = serde_json::to_value(result).map_err(|error| error.to_string())?;
                Ok(ToolReply::Done(ToolOutput::json(value)))
            },
            verify: None,
            interrupted: Interrupted::Tell,
        }
    }
}

impl FunctionTool<Value, ToolReply> {
    /// A tool of a closure that reads its own arguments, can wait, and can end the run.
    pub fn raw<F, T>(spec: ToolSpec, function: F) -> Self
    where
        F: Fn(Value, ToolContext) -> T + Send + Sync + 'static,
        T: Future<Output = Result<ToolReply, ToolError>> + Send + 'static,
    {
        Self {
            spec,
            call: Box::new(move |arguments, context| Box::pin(function(arguments, context))),
            read: Ok,
            write: Ok,
            verify: None,
            interrupted: Interrupted::Tell,
        }
    }
}

impl<A, R> FunctionTool<A, R> {
    /// Looks at every result before the model sees it. Its error goes back as the call's failure at
    /// once; no attempt is spent.
    #[must_use]
    pub fn verify(
        mut self,
        verify: impl Fn(&A, &R) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.verify = Some(Box::new(verify));
        self
    }

    /// Says that a call that a crash interrupted may simply be made again.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.interrupted = Interrupted::Repeat;
        self
    }
}

#[async_trait]
impl<A, R> Tool for FunctionTool<A, R>
where
    A: Send + 'static,
    R: Send + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolReply, ToolError> {
        // The closure takes its arguments; the assertion sees them again.
        let copy = self.verify.is_some().then(|| arguments.clone());
        let called = (self.call)((self.read)(arguments).map_err(failed)?, ctx.clone());
        let result = called.await?;
        if let (Some(verify), Some(copy)) = (&self.verify, copy) {
            let arguments = (self.read)(copy).map_err(failed)?;
            verify(&arguments, &result).map_err(failed)?;
        }
        (self.write)(result).map_err(failed)
    }

    fn interrupted(&self) -> Interrupted {
        self.interrupted
    }
}

impl<A, R> fmt::Debug for FunctionTool<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

fn failed(message: String) -> ToolError {
    ToolError::Failed { message }
}

fn failure<E: fmt::Display + 'static>(error: E) -> ToolError {
    match (&error as &dyn Any).downcast_ref::<ToolError>() {
        Some(error) => error.clone(),
        None => failed(error.to_string()),
    }
}

/// The schema as models know it: without the names that only a Rust program gives it.
fn schema_of<A: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(A).to_value();
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
        members.remove("title");
    }
    schema
}
