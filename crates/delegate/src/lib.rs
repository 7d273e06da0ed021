//! Who does the work. A delegate is asked, and answers with a claim; nothing here judges it.
//!
//! [`CommandDelegate`] runs any command-line agent and reads the JSON of the common ones;
//! [`FunctionDelegate`] is a Rust closure; [`ScriptedDelegate`] plays a part in tests and checks
//! that the driver keeps to the protocol.

mod command;
mod config;
mod cut;
mod delegate;
mod format;
mod function;
mod notes;
mod prompt;
mod saying;
mod scripted;
mod steering;

pub use command::CommandDelegate;
pub use config::{
    CommandConfig, ConfigError, DEFAULT_MAX_OUTPUT_BYTES, DEFAULT_TERM_GRACE_MS,
    DEFAULT_TIMEOUT_MS, OnError,
};
pub use cut::cut_middle;
pub use delegate::{
    Answer, Answered, Budget, Conversation, Delegate, DelegateError, Parked, Prompt, Request, Spent,
};
pub use format::Format;
pub use function::FunctionDelegate;
pub use notes::{Kept, Note, NoteError, Notebook, Notes};
pub use prompt::{MAX_CORRECTION_BYTES, MAX_LAST_RESPONSE_BYTES};
pub use saying::MAX_STEERING_BYTES;
pub use scripted::{ScriptedDelegate, Step};
pub use steering::{Said, Steering};
