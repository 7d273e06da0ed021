//! Endpoints against a server that is as strict as the real ones, in both languages, whole and as
//! streams.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that breaks should say so at once")]

mod bound;
mod config;
mod failure;
mod reply;
mod request;

use probity_chat::{Message, Model, ModelError, ModelReply, ToolSpec};
use probity_llm::{Api, Endpoint, EndpointConfig, Secret};
use probity_testkit::{Answer, Asked, StrictServer};
use serde_json::json;

pub(crate) const KEY: &str = "sk-test-0123456789";

/// Both languages, whole and as streams.
pub(crate) const MODES: [(Api, bool); 4] =
    [(Api::OpenAi, false), (Api::OpenAi, true), (Api::Anthropic, false), (Api::Anthropic, true)];

pub(crate) async fn serve(answers: impl IntoIterator<Item = Answer>) -> StrictServer {
    StrictServer::answers(answers).key(KEY).model("some-model").start().await.unwrap()
}

pub(crate) fn config(server: &StrictServer, (api, stream): (Api, bool)) -> EndpointConfig {
    let mut config = EndpointConfig::new(api, server.base_url(), "some-model");
    config.key = Some(Secret::new(KEY));
    config.stream = stream;
    config
}

pub(crate) fn endpoint(server: &StrictServer, mode: (Api, bool)) -> Endpoint {
    Endpoint::new(config(server, mode)).unwrap()
}

pub(crate) fn user(content: &str) -> Message {
    Message::User { content: content.to_owned() }
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    ToolSpec { name: name.to_owned(), description: format!("Does {name}."), parameters }
}

/// A question with two tools.
pub(crate) fn question() -> Asked {
    let mut asked = Asked::new("run-1", [user("How is it in Bern?")]).unwrap();
    asked.tools = vec![tool("weather"), tool("web_search")];
    asked
}

/// What one answer of a server comes to.
pub(crate) async fn ask(mode: (Api, bool), answer: Answer) -> Result<ModelReply, ModelError> {
    let server = serve([answer]).await;
    let result = endpoint(&server, mode).complete(&question().request()).await;
    assert_eq!(server.violations(), [] as [&str; 0], "{mode:?}");
    result
}
