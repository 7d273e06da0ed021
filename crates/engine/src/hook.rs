//! Operator policy as the engine calls it: an event and its payload in, a reply out.

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{Code, Fault, HookDecl};
use probity_verifier::CheckContext;
use serde_json::{Map, Value};

/// Code that answers events.
///
/// The result is a reply or a fault, never both: a hook that breaks ends the run as faulted, whatever
/// the event. No caller may read a fault as "allow".
#[async_trait]
pub trait Handler: Send + Sync {
    /// Answers one event. The context gives the workspace, the time and the token.
    ///
    /// # Errors
    /// A [`Fault`] when the hook itself broke: it raises, exceeds its own limits, returns nothing or
    /// something that is no reply.
    async fn handle(&self, ctx: &CheckContext, event: &str, payload: Value)
    -> Result<Reply, Fault>;
}

/// What a hook says to an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Go on.
    Allow,
    /// Its condition did not match.
    NotApplicable,
    /// Do not go on.
    Block {
        /// Why, for the delegate and for people.
        reason: String,
    },
    /// Go on with this payload in place of the one the hook saw.
    Modify {
        /// The whole payload.
        payload: Map<String, Value>,
    },
    /// It could not reach what it wanted to look at.
    Inconclusive {
        /// Why, in one word.
        code: Code,
        /// Why, in words.
        reason: String,
    },
}

/// A hook that is called by itself: what the machine knows of it, and the code.
#[derive(Clone)]
pub struct Hook {
    /// Name, point, time.
    pub decl: HookDecl,
    /// The code.
    pub handler: Arc<dyn Handler>,
}

/// A verification hook: it runs as a check.
#[derive(Clone)]
pub struct VerifyHook {
    /// What it listens to.
    pub event: VerifyEvent,
    /// The code.
    pub handler: Arc<dyn Handler>,
}

/// The events that verification hooks listen to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyEvent {
    /// Once for every claim. May rewrite it.
    PostVerify,
    /// Once for every tool call that the delegate reports. The call was made already, so a block
    /// does not stop it: it refuses the claim.
    ToolPre,
    /// Once for every tool result that the delegate reports.
    ToolPost,
}

impl VerifyEvent {
    /// The event's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PostVerify => "delegation.post_verify",
            Self::ToolPre => "tool.pre",
            Self::ToolPost => "tool.post",
        }
    }
}
