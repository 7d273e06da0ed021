//! Any command-line agent.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::Usage;
use probity_sandbox::{Ended, Finished, Launcher, MAX_STDIN_BYTES, SandboxError, Spawn, Status};

use crate::config::{CommandConfig, ConfigError, OnError};
use crate::cut::cut_middle;
use crate::delegate::{Answered, Conversation, Delegate, DelegateError, Request};

/// The system's bound on one argument, its closing NUL included.
const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 1;

/// How much standard error is kept, and how much of it an error quotes.
const MAX_STDERR_BYTES: usize = 64 * 1024;
const MAX_QUOTE_BYTES: usize = 2 * 1024;

/// Runs a command-line agent in the workspace, once per attempt.
///
/// It sees the caller's whole environment, which holds its credentials, and on top of it
/// `PROBITY_RUN_ID`, `PROBITY_ATTEMPT`, `PROBITY_MAX_ATTEMPTS` and `PROBITY_TURN`
/// (`<epoch>.<number>`, the same again when a turn is repeated after a crash). When it ends, by
/// itself or not, everything it has started is killed.
#[derive(Debug)]
pub struct CommandDelegate {
    config: CommandConfig,
    workspace: PathBuf,
    launcher: Launcher,
}

impl CommandDelegate {
    /// A delegate that runs `config` with `workspace` as its working directory.
    ///
    /// # Errors
    /// [`ConfigError`] when the configuration cannot work.
    pub fn new(
        config: CommandConfig,
        workspace: impl Into<PathBuf>,
        launcher: Launcher,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self { config, workspace: workspace.into(), launcher })
    }

    /// The template for this attempt, and whether it continues the conversation.
    fn template(&self, request: &Request) -> (&[String], Conversation) {
        let retry = request.prompt.correction.is_some();
        match &self.config.resume {
            Some(resume) if retry && (request.session.is_some() || !uses(resume, "{session}")) => {
                (resume, Conversation::Same)
            }
            _ => (&self.config.argv, Conversation::Fresh),
        }
    }

    fn spawn(
        &self,
        request: &Request,
        template: &[String],
        prompt: String,
        timeout: Duration,
    ) -> Result<Spawn, DelegateError> {
        let attempt = request.attempt.to_string();
        let values = [
            ("{prompt}", prompt.as_str()),
            ("{task}", &request.prompt.task),
            ("{session}", request.session.as_deref().unwrap_or_default()),
            ("{attempt}", &attempt),
            ("{run}", request.run.as_str()),
        ];
        let argv: Vec<String> = template.iter().map(|text| fill(text, &values)).collect();
        if let Some(bytes) = argv.iter().map(String::len).find(|&len| len > MAX_ARGUMENT_BYTES) {
            return Err(DelegateError::PromptTooLong {
                bytes,
                max_bytes: MAX_ARGUMENT_BYTES,
                way: "an argument",
                advice: "leave `{prompt}` out to pass it by standard input",
            });
        }
        let mut argv = argv.into_iter();
        let mut spawn = Spawn::new(argv.next().unwrap_or_default())
            .args(argv)
            .cwd(&self.workspace)
            .inherit_env()
            .env("PROBITY_RUN_ID", request.run.as_str())
            .env("PROBITY_ATTEMPT", attempt)
            .env("PROBITY_MAX_ATTEMPTS", request.max_attempts.to_string())
            .env("PROBITY_TURN", format!("{}.{}", request.turn.epoch, request.turn.number));
        for (name, value) in &self.config.env {
            spawn = spawn.env(name, value);
        }
        if !uses(template, "{prompt}") {
            if prompt.len() > MAX_STDIN_BYTES {
                return Err(DelegateError::PromptTooLong {
                    bytes: prompt.len(),
                    max_bytes: MAX_STDIN_BYTES,
                    way: "standard input",
                    advice: "put the material into a file of the workspace and name it",
                });
            }
            spawn = spawn.stdin(prompt);
        }
        Ok(spawn
            .timeout(timeout)
            .term_grace(Duration::from_millis(self.config.term_grace_ms))
            .max_output_bytes(self.config.max_output_bytes)
            .max_stderr_bytes(MAX_STDERR_BYTES)
            .cancel(request.cancel.clone()))
    }
}

#[async_trait]
impl Delegate for CommandDelegate {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        let own = Duration::from_millis(self.config.timeout_ms);
        let timeout = request.timeout.map_or(own, |timeout| timeout.min(own));
        let (template, conversation) = self.template(request);
        let prompt = request.say(conversation).await?;
        let spawn = self.spawn(request, template, prompt, timeout)?;
        let finished = spawn.run(&self.launcher).await.map_err(start_error)?;
        let status = match finished.ended {
            Ended::Exited(status) => status,
            Ended::Cancelled => return Err(DelegateError::Cancelled),
            Ended::TimedOut => {
                let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
                return Err(DelegateError::TimedOut { timeout_ms });
            }
        };
        if status != Status::Code(0) && self.config.on_error == OnError::Fail {
            return Err(exit_error(status, &finished));
        }
        let killed = matches!(status, Status::Signal(_));
        let reading = self.config.format.read(&finished.stdout, killed)?;
        if let (Some(message), OnError::Fail) = (&reading.error, self.config.on_error) {
            return Err(DelegateError::Failed {
                message: cut_middle(message, MAX_QUOTE_BYTES).into_owned(),
            });
        }
        let made = u64::try_from(reading.claim.tool_calls.len()).unwrap_or(u64::MAX);
        Ok(Answered {
            usage: Usage { tokens: reading.tokens, tool_calls: made.max(reading.tool_calls) },
            claim: reading.claim,
            session: reading.session.or_else(|| request.session.clone()),
            notes: Vec::new(),
        })
    }

    fn conversation(&self) -> Conversation {
        if self.config.resume.is_some() { Conversation::Same } else { Conversation::Fresh }
    }

    fn describe(&self) -> String {
        cut_middle(&self.config.argv.join(" "), 200).into_owned()
    }

    fn identity(&self) -> String {
        self.config.argv.join("\u{1f}")
    }
}

fn start_error(error: SandboxError) -> DelegateError {
    match error {
        SandboxError::Start { program, source } => DelegateError::Start { program, source },
        source => DelegateError::Sandbox { source },
    }
}

fn exit_error(status: Status, finished: &Finished) -> DelegateError {
    let stderr = finished.stderr.last_text(MAX_QUOTE_BYTES);
    let stderr_tail =
        if stderr.is_empty() { finished.stdout.last_text(MAX_QUOTE_BYTES) } else { stderr };
    DelegateError::Exit { status: status.to_string(), stderr_tail }
}

fn uses(template: &[String], name: &str) -> bool {
    template.iter().any(|text| text.contains(name))
}

/// Replaces every name by its value in one pass: a value is never searched again.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let hit = values.iter().find_map(|(name, value)| Some((value, from.strip_prefix(name)?)));
        match hit {
            Some((value, behind)) => {
                filled.push_str(value);
                rest = behind;
            }
            None => {
                filled.push('{');
                rest = from.strip_prefix('{').unwrap_or_default();
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_searched_for_names() {
        let values = [("{prompt}", "say {run} {"), ("{run}", "r1")];
        for (template, filled) in [
            ("", ""),
            ("plain", "plain"),
            ("{prompt}", "say {run} {"),
            ("a{run}b{run}", "ar1br1"),
            ("{{run}}", "{r1}"),
            ("{print $1} {unknown} {", "{print $1} {unknown} {"),
            ("ä{run}ü", "är1ü"),
        ] {
            assert_eq!(fill(template, &values), filled, "{template}");
        }
    }
}
