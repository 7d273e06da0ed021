//! Chat models at work.
//!
//! A [`Model`] answers messages; a [`Tool`] does what it asks for; the loop between them is a state
//! that is a fold over recorded notes, so that a crash repeats no recorded model call.

mod message;
mod model;
mod tool;

pub use message::{Call, Message};
pub use model::{Model, ModelError, ModelReply, ModelRequest, Stop, TokenUsage, ToolChoice};
pub use tool::{
    Interrupted, Shared, Tool, ToolContext, ToolError, ToolOutput, ToolReply, ToolSpec, Wait,
};

/// The name of the tool by which a typed agent hands in its output.
pub const FINAL_OUTPUT: &str = "final_output";
