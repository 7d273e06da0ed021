//! The other side: tools of this process, offered to a client of the protocol.
//!
//! An [`Offer`] says which tools there are and does what is asked of them. A [`Desk`] stands between it
//! and the protocol: it bounds how much is done at a time and for how long, hands a client's cancel on,
//! tells of progress, and waits for what is under way before it ends.

mod bell;
mod desk;
mod face;
mod http;
mod intake;
mod offer;
mod progress;
mod stdio;

pub use desk::{Desk, DeskLimits};
pub use http::{Authorise, HttpConfig};
pub use offer::{About, Answer, Call, Offer, Offered};
pub use progress::Progress;

/// Bytes of one message of a client; one that is longer ends the conversation.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Where the protocol is spoken over HTTP.
pub const HTTP_PATH: &str = "/mcp";
