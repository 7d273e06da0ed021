//! Who does the work. A delegate is asked, and answers with a claim; nothing here judges it.

mod delegate;

pub use delegate::{Answered, Conversation, Delegate, DelegateError, Prompt, Request};
