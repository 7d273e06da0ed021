//! For tests of agents: models that follow a script, a chat server that is as strict as the real
//! ones, a clock that waits for the test, a store that dies at a chosen append.
//!
//! Nothing here sleeps in real time, asks the network or needs a key.
//!
//! # A model
//!
//! ```
//! use probity_chat::{Message, Model, ModelReply};
//! use probity_testkit::{Asked, ScriptedModel, call};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new()
//!     .reply(ModelReply::calls([call("", "weather", json!({ "city": "Bern" }))]))
//!     .with(|request| ModelReply::text(format!("after {} messages", request.messages.len())));
//!
//! let mut asked = Asked::new("run-1", [Message::User { content: "How is it?".to_owned() }])?;
//! let reply = model.complete(&asked.request()).await?;
//! assert_eq!(reply.tool_calls[0].id, "call_0_0");
//!
//! // The call is not answered: a provider would refuse the conversation, and so does the model.
//! asked.messages.push(Message::Assistant { content: String::new(), tool_calls: reply.tool_calls });
//! assert_eq!(model.complete(&asked.request()).await.unwrap_err().code(), "model_refused");
//! assert_eq!(model.violations().len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # A server
//!
//! ```
//! use probity_chat::ModelReply;
//! use probity_testkit::{Answer, StrictServer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = StrictServer::answers([
//!     Answer::status(429, "slow down").header("retry-after", "2"),
//!     Answer::reply(ModelReply::text("hello")),
//! ])
//! .key("sk-test")
//! .start()
//! .await?;
//! assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! // Point an agent at it, then look at what arrived.
//! assert_eq!(server.received().len(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! # A clock
//!
//! ```
//! use std::time::Duration;
//!
//! use probity_engine::Clock;
//! use probity_testkit::VirtualClock;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let clock = VirtualClock::at(1_700_000_000_000);
//! clock.advance(Duration::from_secs(3600)).await;
//! assert_eq!(clock.now_ms(), 1_700_003_600_000);
//! # }
//! ```
//!
//! # A crash
//!
//! ```
//! use std::sync::Arc;
//!
//! use probity_store::{Batch, MemoryStore, RunLog};
//! use probity_testkit::{CrashPoint, CrashStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let run = "run-1".parse()?;
//! let record = || Batch::of(vec![b"{}".to_vec()]);
//! for point in CrashPoint::all(1) {
//!     let behind = Arc::new(MemoryStore::new());
//!     let store = CrashStore::new(Arc::clone(&behind), point);
//!     assert!(store.append(&run, 0, record()).await.is_err());
//!     // The next life finds what was stored before the end of this one.
//!     let kept = behind.state(&run).await?.map_or(0, |state| state.len);
//!     assert_eq!(kept, u64::from(point == CrashPoint::After(0)));
//! }
//! # Ok(())
//! # }
//! ```

mod asked;
mod clock;
mod crash;
mod pairing;
mod reply;
mod scripted;
mod strict;

pub use asked::{Asked, Choice};
pub use clock::VirtualClock;
pub use crash::{CrashPoint, CrashStore};
pub use pairing::violation;
pub use reply::{call, final_output};
pub use scripted::ScriptedModel;
pub use strict::{Answer, Received, StrictServer, StrictServerBuilder, Wire};
