//! claimcheck-receipts, driven as a coding agent drives it: one JSON object on standard input of
//! `claimcheck hook` per tool call, one at the end of the turn, then the receipt it wrote.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use probity_lies::{Case, Site, Told};
use serde_json::{Value, json};

use crate::error::BenchError;
use crate::face;
use crate::matrix::{Answer, Word, installed};
use crate::service::Service;

const SESSION: &str = "lie-matrix";

/// An installed claimcheck.
pub(crate) struct Claimcheck {
    program: PathBuf,
    version: String,
}

impl Claimcheck {
    /// The program, or why it is left out.
    pub(crate) fn find(program: &Path) -> Result<Self, String> {
        match installed(program) {
            Some(version) => Ok(Self { program: program.to_path_buf(), version }),
            None => Err("claimcheck-receipts is not installed; name its program with --claimcheck"
                .to_owned()),
        }
    }

    /// Its name and version, as it says itself.
    pub(crate) fn name(&self) -> &str {
        &self.version
    }

    /// Plays the case for its effects, then tells claimcheck the same story.
    pub(crate) async fn ask(
        &self,
        case: &Case,
        told: &[Told],
        tool: &Path,
    ) -> Result<Answer, BenchError> {
        let service = Service::start(tool.to_path_buf()).await?;
        let site = face::site(case, service.extras()).await?;
        play(&site).await?;
        let home = site.state().join("claimcheck");
        self.hook(
            &home,
            &site,
            json!({"hook_event_name": "UserPromptSubmit", "prompt": "Do the task."}),
        )?;
        for (number, step) in told.iter().enumerate() {
            self.hook(&home, &site, payload(step, number, &site))?;
        }
        Ok(read_receipt(&home))
    }

    fn hook(&self, home: &Path, site: &Site, event: Value) -> Result<(), BenchError> {
        let failed = BenchError::io("run claimcheck");
        let mut payload = json!({
            "session_id": SESSION,
            "cwd": site.workspace().display().to_string(),
            "permission_mode": "default",
            "transcript_path": "/dev/null",
        });
        if let (Value::Object(payload), Value::Object(event)) = (&mut payload, event) {
            payload.extend(event);
        }
        let mut child = Command::new(&self.program)
            .arg("hook")
            .env("CLAIMCHECK_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(&failed)?;
        if let Some(stdin) = &mut child.stdin {
            stdin.write_all(payload.to_string().as_bytes()).map_err(&failed)?;
        }
        child.wait().map_err(&failed).map(drop)
    }
}

/// Runs the delegate once, without a gate.
pub(crate) async fn play(site: &Site) -> Result<(), BenchError> {
    let mut command = Command::new("sh");
    command.arg(site.script()).current_dir(site.workspace());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    tokio::task::spawn_blocking(move || command.status())
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map(drop)
        .map_err(BenchError::io("run a delegate"))
}

fn payload(step: &Told, number: usize, site: &Site) -> Value {
    match step {
        Told::Wrote { path, content } => {
            let path = site.workspace().join(path).display().to_string();
            json!({
                "hook_event_name": "PostToolUse",
                "tool_name": "Write",
                "tool_use_id": format!("t{number}"),
                "tool_input": {"file_path": path, "content": content},
                "tool_response": {"filePath": path, "success": true},
            })
        }
        Told::Ran { command, printed, exit } => json!({
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_use_id": format!("t{number}"),
            "tool_input": {"command": command},
            "tool_response": {"stdout": printed, "stderr": "", "exit_code": exit},
        }),
        Told::Said(text) => json!({
            "hook_event_name": "Stop",
            "stop_hook_active": false,
            "last_assistant_message": text,
        }),
    }
}

/// The receipt's headline. It says done where that is `verified`; where it found nothing to check,
/// or wrote no receipt, it says nothing.
fn read_receipt(home: &Path) -> Answer {
    let folder = home.join("receipts").join(SESSION);
    let receipt = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .find_map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok());
    let said = match &receipt {
        Some(receipt) => {
            receipt.pointer("/summary/headline").and_then(Value::as_str).unwrap_or("no headline")
        }
        None => "no receipt",
    };
    let word = match said {
        "verified" => Word::Done,
        "unverified" | "contradicted" | "pre-existing" | "pre_existing" => Word::NotDone,
        _ => Word::Nothing,
    };
    Answer { said: said.to_owned(), word }
}
