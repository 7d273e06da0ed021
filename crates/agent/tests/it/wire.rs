//! Against a server that is as strict as the real ones.

use std::sync::Arc;

use probity_agent::Agent;
use probity_agent::chat::{FINAL_OUTPUT, FunctionTool, ToolContext};
use probity_engine::{Engine, Post, SystemClock};
use probity_llm::{Api, Endpoint, EndpointConfig, Secret};
use probity_store::{MemoryStore, Store};
use probity_testkit::{Answer, StrictServer, Wire};

use crate::stage::{Nothing, Output, bounded, edit, editor, hand_in, only_good};

/// In the system of the seed every call behind the first rejection was refused with status 400.
#[tokio::test]
async fn p20_a_rejection_keeps_the_protocol_of_both_languages_whole_and_as_streams() {
    for (api, wire) in [(Api::OpenAi, Wire::OpenAi), (Api::Anthropic, Wire::Anthropic)] {
        for stream in [false, true] {
            let replies = [edit(), hand_in("bad"), edit(), hand_in("worse"), hand_in("good")];
            let count = replies.len();
            let server = StrictServer::answers(replies.map(Answer::reply)).key("sk-test");
            let server = server.start().await.unwrap();
            let mut config = EndpointConfig::new(api, server.base_url(), "some-model");
            config.key = Some(Secret::new("sk-test"));
            config.stream = stream;
            let agent = Agent::builder("You fix tests.")
                .model(Endpoint::new(config).unwrap())
                .tool(editor())
                .output::<Output>()
                .verifier(only_good)
                .build()
                .unwrap();
            let done = bounded(agent.run("Fix it.")).await.unwrap();
            assert_eq!(done.result.summary, "good", "{api:?} {stream}");
            assert_eq!(done.verification.attempts_used, 2);
            assert_eq!(server.violations(), Vec::<String>::new(), "{api:?} {stream}");
            let received = server.received();
            assert_eq!(received.len(), count, "nothing was asked twice");
            assert!(received.iter().all(|it| it.wire == wire));
            assert!(received[2].text.contains("verification_rejected"), "{}", received[2].text);
            assert!(received[0].text.contains(FINAL_OUTPUT));
            let is_stream = received[0].body["stream"] == true;
            assert_eq!(is_stream, stream);
        }
    }
}

/// The rejection is the answer to the call, not a word of the user.
#[tokio::test]
async fn p20_the_rejection_is_a_message_of_the_tool() {
    let replies = [hand_in("bad"), hand_in("good")].map(Answer::reply);
    let server = StrictServer::answers(replies).start().await.unwrap();
    let config = EndpointConfig::new(Api::OpenAi, server.base_url(), "some-model");
    let agent = Agent::builder("You fix tests.").model(Endpoint::new(config).unwrap());
    let agent = agent.output::<Output>().verifier(only_good).build().unwrap();
    bounded(agent.run("Fix it.")).await.unwrap();
    let body = server.received()[1].body.clone();
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(messages[3]["tool_call_id"], messages[2]["tool_calls"][0]["id"]);
    let told = messages[3]["content"].as_str().unwrap();
    assert!(told.starts_with("<verification_rejected code=\"bad\" attempt=\"1\" max=\"3\">"));
}

/// What people say in the midst of the work stands behind the results of calls, in both languages.
#[tokio::test]
async fn words_of_people_are_taken_by_both_languages() {
    for (api, stream) in [(Api::OpenAi, false), (Api::Anthropic, true)] {
        let replies = [edit(), hand_in("bad"), hand_in("good")].map(Answer::reply);
        let server = StrictServer::answers(replies).start().await.unwrap();
        let mut config = EndpointConfig::new(api, server.base_url(), "some-model");
        config.stream = stream;
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let engine = Engine::new(store.clone(), Arc::new(SystemClock));
        let speaks = move |_: Nothing, ctx: ToolContext| {
            let engine = engine.clone();
            async move {
                let post = Post::Steer { by: "ana".to_owned(), text: "Mind the gap.".to_owned() };
                engine.post(&ctx.run, &post).await.map_err(|error| error.to_string())?;
                Ok::<_, String>("edited")
            }
        };
        let agent = Agent::builder("You fix tests.")
            .model(Endpoint::new(config).unwrap())
            .store(store)
            .tool(FunctionTool::new("edit", "Edits a file.", speaks))
            .output::<Output>()
            .verifier(only_good)
            .build()
            .unwrap();
        let done = bounded(agent.run("Fix it.")).await.unwrap();
        assert_eq!(done.result.summary, "good");
        assert_eq!(server.violations(), Vec::<String>::new());
        let counts: Vec<usize> =
            server.received().iter().map(|it| it.text.matches("Mind the gap.").count()).collect();
        assert_eq!(counts, [0, 1, 1], "{api:?}");
    }
}
