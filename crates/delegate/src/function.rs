//! A Rust closure as a delegate.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use tokio_util::task::AbortOnDropHandle;

use crate::delegate::{Answered, Conversation, Delegate, DelegateError, Request};

type Answer = Pin<Box<dyn Future<Output = Result<Answered, DelegateError>> + Send>>;

/// An async closure that does the work. It is stopped on cancel and timeout, and a panic in it is
/// the delegate's failure, not the caller's.
pub struct FunctionDelegate {
    name: String,
    conversation: Conversation,
    call: Box<dyn Fn(Request) -> Answer + Send + Sync>,
}

impl FunctionDelegate {
    /// A delegate called `name`. Every call gets the whole request; what the closure remembers
    /// between calls is its own affair, so the conversation counts as fresh.
    pub fn new<F, A>(name: impl Into<String>, function: F) -> Self
    where
        F: Fn(Request) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Answered, DelegateError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            conversation: Conversation::Fresh,
            call: Box::new(move |request| Box::pin(function(request))),
        }
    }

    /// Says that the closure remembers its earlier attempts.
    #[must_use]
    pub const fn same_conversation(mut self) -> Self {
        self.conversation = Conversation::Same;
        self
    }
}

impl fmt::Debug for FunctionDelegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionDelegate").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl Delegate for FunctionDelegate {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        if request.cancel.is_cancelled() {
            return Err(DelegateError::Cancelled);
        }
        let task = AbortOnDropHandle::new(tokio::spawn((self.call)(request.clone())));
        let answer = async {
            match request.timeout {
                None => Ok(task.await),
                Some(timeout) => tokio::time::timeout(timeout, task).await.map_err(|_| timeout),
            }
        };
        let joined = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(DelegateError::Cancelled),
            joined = answer => joined.map_err(|timeout| DelegateError::TimedOut {
                timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            })?,
        };
        joined.unwrap_or_else(|error| {
            Err(DelegateError::Failed { message: format!("`{}` panicked: {error}", self.name) })
        })
    }

    fn conversation(&self) -> Conversation {
        self.conversation
    }

    fn describe(&self) -> String {
        self.name.clone()
    }
}
