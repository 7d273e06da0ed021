//! Chat models behind an HTTP endpoint: OpenAI-compatible servers and Anthropic.
//!
//! An [`Endpoint`] is a [`probity_chat::Model`]. It sends the conversation as it is, reads the answer
//! whole or as a stream, and says of every failure whether asking again may help; asking again is
//! the caller's business.
//!
//! **Nothing is improved.** The arguments of a call keep the bytes that the model wrote, also where
//! they are not JSON, and go back to the model as it wrote them. Only what a server would refuse is
//! sent back in other letters: names that no tool can have, ids that are not the server's own. Text is not trimmed. A stream and a
//! whole answer of the same content are the same reply.
//!
//! **Nothing is unbounded.** A call ends after [`EndpointConfig::timeout_ms`]; what a server sends is
//! read up to [`EndpointConfig::max_reply_bytes`] and no further.
//!
//! **The key goes into one header.** It is not in the configuration that is read from a file, not in
//! any `Debug` text, and cut out of what a server says before that becomes an error.
//!
//! ```
//! use probity_chat::Model;
//! use probity_llm::{Api, Endpoint, EndpointConfig, Secret};
//!
//! let mut config = EndpointConfig::new(Api::OpenAi, "https://llm.example/v1", "some-model");
//! config.key = Some(Secret::new("sk-of-somebody"));
//! let model = Endpoint::new(config)?;
//! assert_eq!(model.identity(), "some-model at https://llm.example/v1/");
//! assert!(!format!("{model:?}").contains("sk-of-somebody"));
//! # Ok::<(), probity_llm::EndpointError>(())
//! ```

mod anthropic;
mod draft;
mod endpoint;
mod exchange;
mod name;
mod openai;
mod secret;
mod sse;
mod words;

pub use endpoint::{Api, Endpoint, EndpointConfig, EndpointError};
pub use secret::Secret;
