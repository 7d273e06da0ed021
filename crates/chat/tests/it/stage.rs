//! A strict model, a notebook that can fail, and requests.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use probity_chat::{
    Call, ChatConfig, ChatDelegate, Conversation, FINAL_OUTPUT, FunctionTool, Message, Model,
    ModelError, ModelReply, ModelRequest, OutputSchema, TokenUsage, Tool, ToolChoice, Toolbox,
};
use probity_core::{RunId, Turn, Usage};
use probity_delegate::{
    Answered, Delegate, DelegateError, Kept, Note, NoteError, Notebook, Notes, Prompt, Request,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// One request to the model, as far as tests look at it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) number: u32,
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Vec<String>,
    pub(crate) choice: String,
}

impl Asked {
    pub(crate) fn last(&self) -> &Message {
        self.messages.last().unwrap()
    }

    /// The answer to a call that the model was given, and whether it is a failure.
    pub(crate) fn answer(&self, id: &str) -> (&str, bool) {
        let answers: Vec<_> = self
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Tool { call_id, content, is_error, .. } if call_id == id => {
                    Some((content.as_str(), *is_error))
                }
                _ => None,
            })
            .collect();
        assert_eq!(answers.len(), 1, "answers to {id}: {answers:?}");
        answers[0]
    }
}

type Script = Box<dyn Fn(&ModelRequest<'_>) -> Result<ModelReply, ModelError> + Send + Sync>;

/// Answers by a script, and refuses with 400 what a strict server refuses.
pub(crate) struct Strict {
    script: Script,
    asked: Mutex<Vec<Asked>>,
}

impl Strict {
    pub(crate) fn new(
        script: impl Fn(&ModelRequest<'_>) -> Result<ModelReply, ModelError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { script: Box::new(script), asked: Mutex::default() })
    }

    /// Answers the n-th recorded call of the run with the n-th of these.
    pub(crate) fn plays(replies: impl IntoIterator<Item = ModelReply>) -> Arc<Self> {
        let replies: Vec<ModelReply> = replies.into_iter().collect();
        Self::new(move |request| {
            let reply = replies.get(request.number as usize);
            Ok(reply.unwrap_or_else(|| panic!("no answer number {}", request.number)).clone())
        })
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for Strict {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        self.asked.lock().unwrap().push(Asked {
            number: request.number,
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            choice: match request.tool_choice {
                ToolChoice::Auto => "auto".to_owned(),
                ToolChoice::None => "none".to_owned(),
                ToolChoice::Required => "required".to_owned(),
                ToolChoice::Named(name) => name.to_owned(),
            },
        });
        if let Err(message) = check_protocol(request.messages) {
            return Err(ModelError::Refused { status: Some(400), message });
        }
        (self.script)(request)
    }

    fn identity(&self) -> String {
        "strict at home".to_owned()
    }
}

/// Every call is answered once, by the tool messages directly behind it; no other tool messages; the
/// system speaks first if at all; the last word is not the model's.
pub(crate) fn check_protocol(messages: &[Message]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if let Message::Tool { call_id, .. } = message {
            let Some(at) = open.iter().position(|id| id == call_id) else {
                return Err(format!("message {index} answers `{call_id}`, which is not open"));
            };
            open.remove(at);
            continue;
        }
        if !open.is_empty() {
            return Err(format!("message {index} comes before the answers to {open:?}"));
        }
        match message {
            Message::System { .. } if index != 0 => return Err("a late system message".into()),
            Message::Assistant { content, tool_calls } => {
                if content.is_empty() && tool_calls.is_empty() {
                    return Err(format!("message {index} says nothing"));
                }
                open.extend(tool_calls.iter().map(|call| call.id.as_str()));
            }
            _ => {}
        }
    }
    match messages.last() {
        Some(Message::User { .. } | Message::Tool { .. }) if open.is_empty() => Ok(()),
        last => Err(format!("the last message is {last:?}, open: {open:?}")),
    }
}

/// The notes of a run, which outlive delegates. Fails once it holds as many as it may.
#[derive(Clone, Default)]
pub(crate) struct Book {
    kept: Arc<Mutex<Vec<(Kept, Usage)>>>,
    max: Arc<Mutex<Option<usize>>>,
}

impl Book {
    pub(crate) fn fail_at(&self, max: Option<usize>) {
        *self.max.lock().unwrap() = max;
    }

    pub(crate) fn kept(&self) -> Vec<Kept> {
        self.kept.lock().unwrap().iter().map(|(kept, _)| kept.clone()).collect()
    }

    pub(crate) fn usage(&self) -> Usage {
        let kept = self.kept.lock().unwrap();
        kept.iter().fold(Usage::default(), |sum, (_, usage)| sum.plus(*usage))
    }

    pub(crate) fn conversation(&self) -> Conversation {
        Conversation::replay(&self.kept()).unwrap()
    }

    pub(crate) fn notes(&self, turn: Turn) -> Notes {
        Notes::new(Arc::new(Page { book: self.clone(), turn }))
    }

    fn write(&self, turn: Turn, note: Note) -> Result<(), NoteError> {
        let mut kept = self.kept.lock().unwrap();
        if self.max.lock().unwrap().is_some_and(|max| kept.len() >= max) {
            return Err(NoteError::Closed);
        }
        kept.push((Kept { turn, kind: note.kind, content: note.content }, note.usage));
        Ok(())
    }
}

struct Page {
    book: Book,
    turn: Turn,
}

#[async_trait]
impl Notebook for Page {
    async fn read(&self) -> Result<Vec<Kept>, NoteError> {
        Ok(self.book.kept())
    }

    async fn keep(&self, note: Note) -> Result<(), NoteError> {
        self.book.write(self.turn, note)
    }
}

pub(crate) fn run_id() -> RunId {
    "run-1".parse().unwrap()
}

/// The request of a 1-based attempt: from the second on with the correction `try again (k)`.
pub(crate) fn request(book: &Book, attempt: u32) -> Request {
    let turn = Turn { epoch: 0, number: attempt - 1 };
    let prompt = Prompt {
        task: "Count the files.".into(),
        correction: (attempt > 1).then(|| format!("try again ({attempt})").into()),
        ..Prompt::default()
    };
    let notes = book.notes(turn);
    Request { turn, attempt, notes, ..Request::first(run_id(), 10, prompt) }
}

/// One attempt, as an engine makes it: the notes of the answer become durable with the claim.
pub(crate) async fn attempt(
    delegate: &ChatDelegate,
    book: &Book,
    request: Request,
) -> Result<Answered, DelegateError> {
    let answered = delegate.attempt(&request).await?;
    for note in answered.notes.clone() {
        book.write(request.turn, note)?;
    }
    Ok(answered)
}

pub(crate) fn config() -> ChatConfig {
    ChatConfig::new(Arc::new(|| 1_000_000))
}

pub(crate) fn typed() -> ChatConfig {
    let schema = json!({
        "type": "object",
        "properties": { "count": { "type": "integer", "minimum": 0 }, "note": { "type": "string" } },
        "required": ["count"],
        "additionalProperties": false,
    });
    ChatConfig { output: Some(OutputSchema::new(schema).unwrap()), ..config() }
}

pub(crate) fn delegate(
    model: &Arc<Strict>,
    tools: Vec<Arc<dyn Tool>>,
    config: ChatConfig,
) -> ChatDelegate {
    let model: Arc<dyn Model> = model.clone();
    ChatDelegate::new(model, Toolbox::new(tools).unwrap(), config)
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Call {
    Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

pub(crate) fn submit(id: &str, arguments: &str) -> Call {
    call(id, FINAL_OUTPUT, arguments)
}

pub(crate) fn calls(calls: impl IntoIterator<Item = Call>) -> ModelReply {
    ModelReply::calls(calls)
}

pub(crate) fn costs(reply: ModelReply, tokens: u64) -> ModelReply {
    ModelReply { usage: TokenUsage { input: tokens - 1, output: 1 }, ..reply }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Echo {
    /// What to say.
    pub(crate) text: String,
}

/// Says back what it is told, which is what it was called with.
pub(crate) fn echo() -> Arc<dyn Tool> {
    Arc::new(FunctionTool::new("echo", "Says it back.", |echo: Echo, _| async move {
        Ok::<_, String>(echo.text)
    }))
}

pub(crate) fn say(id: &str, text: &str) -> Call {
    call(id, "echo", &json!({ "text": text }).to_string())
}
