//! What is offered, and by whom it is done.

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::progress::Progress;

/// Tools, and who does what they say.
#[async_trait]
pub trait Offer: Send + Sync + 'static {
    /// Who offers.
    fn about(&self) -> About;

    /// The tools as they are now.
    async fn tools(&self) -> Vec<Offered>;

    /// Does what is asked, and ends soon after `call.cancel`.
    async fn call(&self, call: Call) -> Answer;
}

/// Who offers tools.
#[derive(Debug, Clone)]
pub struct About {
    /// Name, for clients.
    pub name: &'static str,
    /// Name, for people.
    pub title: &'static str,
    /// Of the program.
    pub version: &'static str,
    /// What a model should know before it uses any of the tools.
    pub instructions: String,
}

/// One tool.
#[derive(Debug, Clone)]
pub struct Offered {
    /// What it is called by.
    pub name: &'static str,
    /// Name, for people.
    pub title: &'static str,
    /// What it does, for models.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input: Map<String, Value>,
    /// JSON Schema of what is structured in its answers.
    pub output: Map<String, Value>,
    /// Whether it changes nothing in the world.
    pub is_read_only: bool,
}

/// A tool is called.
#[derive(Debug)]
pub struct Call {
    /// Which.
    pub tool: String,
    /// With what.
    pub arguments: Map<String, Value>,
    /// The client, the end of the conversation or the time bound no longer wants an answer.
    pub cancel: CancellationToken,
    /// Told to the client, if it wants to know.
    pub progress: Progress,
}

/// What a tool says.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// For models and people.
    pub text: String,
    /// For programs: held to the tool's output schema.
    pub structured: Map<String, Value>,
    /// The tool could not do what was asked.
    pub is_error: bool,
}
