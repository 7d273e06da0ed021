//! The other side: a desk, and clients of it.

mod http;
mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use probity_mcp::serve::{About, Answer, Call, Desk, DeskLimits, Offer, Offered};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Tools that do what a test asks for: `echo`, `wait` until it is cancelled, `panic`, `bare` of what its
/// schema asks for.
#[derive(Default)]
struct Fake {
    begun: Notify,
    ended: AtomicUsize,
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

#[async_trait]
impl Offer for Fake {
    fn about(&self) -> About {
        About { name: "fake", title: "Fake", version: "1", instructions: "Read this.".to_owned() }
    }

    async fn tools(&self) -> Vec<Offered> {
        let tool = |name| Offered {
            name,
            title: "A tool",
            description: "Does it.".to_owned(),
            input: object(json!({"type": "object"})),
            output: object(json!({"type": "object", "required": ["verified"]})),
            is_read_only: true,
        };
        ["echo", "wait", "panic", "bare"].map(tool).to_vec()
    }

    async fn call(&self, call: Call) -> Answer {
        let mut structured = object(json!({"verified": false}));
        match call.tool.as_str() {
            "wait" => {
                call.progress.step("waits");
                self.begun.notify_one();
                call.cancel.cancelled().await;
                self.ended.fetch_add(1, Ordering::SeqCst);
            }
            "panic" => panic!("as the test asked"),
            "bare" => structured.clear(),
            _ => drop(structured.insert("said".to_owned(), Value::Object(call.arguments))),
        }
        Answer { text: "NOT VERIFIED".to_owned(), structured, is_error: false }
    }
}

/// A desk of such tools, and what ends it.
fn desk(limits: DeskLimits) -> (Arc<Fake>, Desk, CancellationToken) {
    let (fake, stop) = (Arc::new(Fake::default()), CancellationToken::new());
    let desk = Desk::new(Arc::clone(&fake) as Arc<dyn Offer>, limits, stop.clone());
    (fake, desk, stop)
}
