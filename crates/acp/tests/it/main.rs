//! Agents, asked as the driver asks them; every agent is a real process.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its world fails"
)]

mod config;
mod ends;
mod permissions;
mod recorded;
mod sessions;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use probity_acp::{AcpConfig, AcpDelegate};
use probity_core::{NoteKind, Turn};
use probity_delegate::{
    Answered, Delegate, DelegateError, Kept, Note, NoteError, Notebook, Notes, Prompt, Request,
};
use probity_sandbox::Launcher;
use serde_json::Value;

/// Long enough for a loaded machine; no test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A workspace, an agent with a script, and the notes of a run.
struct World {
    dir: tempfile::TempDir,
    script: Value,
    book: Arc<Book>,
}

impl World {
    fn new(script: Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        Self { dir, script, book: Arc::default() }
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work").canonicalize().unwrap()
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn config(&self) -> AcpConfig {
        let mut config = AcpConfig::new([env!("CARGO_BIN_EXE_probity-acp-fake-agent")]);
        config.env.insert("FAKE_ACP".into(), self.script.to_string());
        config.env.insert("FAKE_ACP_STATE".into(), self.state().to_str().unwrap().into());
        config
    }

    fn delegate(&self) -> AcpDelegate {
        self.delegate_of(self.config())
    }

    fn delegate_of(&self, config: AcpConfig) -> AcpDelegate {
        AcpDelegate::new(config, self.work(), launcher()).unwrap()
    }

    /// Attempt `attempt` of 5: the first with the task alone, a later one with a correction. A new
    /// round for each.
    fn request(&self, attempt: u32) -> Request {
        let prompt = Prompt {
            task: "Write the file.".into(),
            correction: (attempt > 1).then(|| format!("No {attempt}.").into()),
            last_response: (attempt > 1).then(|| "Done!".into()),
            ..Prompt::default()
        };
        let turn = Turn { epoch: 0, number: attempt - 1 };
        *self.book.turn.lock().unwrap() = Some(turn);
        Request {
            turn,
            attempt,
            timeout: Some(PATIENCE),
            notes: Notes::new(self.book.clone()),
            ..Request::first("run-1".parse().unwrap(), 5, prompt)
        }
    }

    async fn attempt(&self, attempt: u32) -> Result<Answered, DelegateError> {
        self.delegate().attempt(&self.request(attempt)).await
    }

    /// What the agent was asked, method by method, over all its lives.
    fn methods(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.state().join("log")).unwrap();
        let messages = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages.filter_map(|message| Some(message["method"].as_str()?.to_owned())).collect()
    }

    /// The parameters of every message of one method.
    fn params(&self, method: &str) -> Vec<Value> {
        let log = std::fs::read_to_string(self.state().join("log")).unwrap();
        let messages = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages
            .filter(|message| message["method"] == method)
            .map(|message| message["params"].clone())
            .collect()
    }

    /// What was said to it, as `session: text`.
    fn prompts(&self) -> Vec<String> {
        let texts = self.params("session/prompt").into_iter().map(|params| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            format!("{}: {}", text(&params["sessionId"]), text(&params["prompt"][0]["text"]))
        });
        texts.collect()
    }

    /// The notes of one kind, as the delegate wrote them.
    fn notes(&self, kind: NoteKind) -> Vec<Value> {
        let kept = self.book.kept.lock().unwrap();
        let notes = kept.iter().filter(|kept| kept.kind == kind);
        notes.map(|kept| serde_json::from_slice(&kept.content).unwrap()).collect()
    }

    /// How often an agent was started.
    fn starts(&self) -> usize {
        self.methods().iter().filter(|method| *method == "initialize").count()
    }
}

/// The notes of one run, in memory.
#[derive(Default)]
struct Book {
    turn: Mutex<Option<Turn>>,
    kept: Mutex<Vec<Kept>>,
    is_closed: Mutex<bool>,
}

#[async_trait]
impl Notebook for Book {
    async fn read(&self) -> Result<Vec<Kept>, NoteError> {
        Ok(self.kept.lock().unwrap().clone())
    }

    async fn keep(&self, note: Note) -> Result<(), NoteError> {
        if *self.is_closed.lock().unwrap() {
            return Err(NoteError::Closed);
        }
        let turn = self.turn.lock().unwrap().unwrap();
        self.kept.lock().unwrap().push(Kept { turn, kind: note.kind, content: note.content });
        Ok(())
    }
}

fn launcher() -> Launcher {
    Launcher::helper(env!("CARGO_BIN_EXE_probity-acp-sandbox-exec"), ["sandbox-exec"])
}

/// Whether the process whose id is in `file` is there.
fn is_alive(file: &Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    // A process that is dead but not reaped has an empty command line.
    std::fs::read(format!("/proc/{}/cmdline", pid.trim())).is_ok_and(|line| !line.is_empty())
}
