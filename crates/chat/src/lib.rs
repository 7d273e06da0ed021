//! Chat models at work.
//!
//! A [`Model`] answers messages; a [`Tool`] does what it asks for; the loop between them is a state
//! that is a fold over recorded notes, so that a crash repeats no recorded model call.

mod attempt;
mod config;
mod conversation;
mod cut;
mod delegate;
mod event;
mod function;
mod message;
mod model;
mod note;
mod output;
mod schema;
mod tool;
mod toolbox;
mod wait;

pub use config::{ChatConfig, NowMs, OnEvent, OutagePolicy, RetryPolicy};
pub use conversation::Conversation;
pub use delegate::ChatDelegate;
pub use event::ChatEvent;
pub use function::FunctionTool;
pub use message::{Call, Message};
pub use model::{Model, ModelError, ModelReply, ModelRequest, Stop, TokenUsage, ToolChoice};
pub use note::{ChatNote, GivenAnswer};
pub use output::{OutputSchema, OutputSchemaError};
pub use tool::{
    Interrupted, Shared, Tool, ToolContext, ToolError, ToolOutput, ToolReply, ToolSpec, Wait,
};
pub use toolbox::{Toolbox, ToolboxError};

/// The name of the tool by which a typed agent hands in its output.
pub const FINAL_OUTPUT: &str = "final_output";
