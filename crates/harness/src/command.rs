//! The command line that a tool calls, and how one that is found is read back.

use serde_json::{Value, json};

use crate::tool::{Role, Tool};

/// What becomes of a claim that could not be checked: a verifier broke, did not end in time, or found
/// nothing to read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unchecked {
    /// The agent may not stop, as often as a refused claim would not let it.
    #[default]
    Block,
    /// The agent stops, and the user is told that nothing was verified.
    Note,
}

/// How probity is called by a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wiring {
    /// By which.
    pub tool: Tool,
    /// The program: a name on `PATH`, or an absolute path.
    pub program: String,
    /// By when it answers, in milliseconds. The tool waits a little longer.
    pub deadline_ms: u64,
    /// What becomes of a claim that could not be checked.
    pub unchecked: Unchecked,
    /// Whether the agent is kept from writing the checks and these settings with its own tools.
    pub guards: bool,
}

/// How much longer the tool waits than we take.
const MARGIN_MS: u64 = 15_000;
/// How long the tool waits where nothing is checked.
const SHORT_MS: u64 = 30_000;

impl Wiring {
    /// By when it answers, unless told otherwise, in milliseconds.
    pub const DEFAULT_DEADLINE_MS: u64 = 300_000;
    /// The least time there must be, in milliseconds.
    pub const MIN_DEADLINE_MS: u64 = 1_000;
    /// The most, in milliseconds: 58 minutes, so that the tool's own bound stays below an hour.
    pub const MAX_DEADLINE_MS: u64 = 58 * 60_000;

    /// The usual wiring of a tool.
    #[must_use]
    pub fn new(tool: Tool, program: impl Into<String>) -> Self {
        Self {
            tool,
            program: program.into(),
            deadline_ms: Self::DEFAULT_DEADLINE_MS,
            unchecked: Unchecked::Block,
            guards: false,
        }
    }

    /// The command line for an event.
    #[must_use]
    pub fn command(&self, event: &str) -> String {
        let mut line = format!("{} hook run {} {event}", quoted(&self.program), self.tool);
        if self.deadline_ms != Self::DEFAULT_DEADLINE_MS {
            line.push_str(&format!(" --deadline {}ms", self.deadline_ms));
        }
        if self.unchecked == Unchecked::Note {
            line.push_str(" --unchecked note");
        }
        line
    }

    /// The events that are heard, each with what goes into the settings for it.
    pub(crate) fn groups(&self) -> Vec<(&'static str, Value)> {
        let events = self.tool.events().iter();
        let heard = events.filter(|(_, role)| *role != Role::Guard || self.guards);
        heard.map(|(event, role)| (*event, self.group(event, *role))).collect()
    }

    fn group(&self, event: &str, role: Role) -> Value {
        let wait_ms = if role.is_claim() { self.deadline_ms + MARGIN_MS } else { SHORT_MS };
        let timeout = match self.tool {
            Tool::ClaudeCode | Tool::Codex => wait_ms.div_ceil(1_000),
            Tool::Gemini => wait_ms,
        };
        let mut handler = json!({ "type": "command", "command": self.command(event) });
        let more = match self.tool {
            Tool::Gemini => json!({ "name": "probity", "timeout": timeout }),
            Tool::ClaudeCode | Tool::Codex => json!({ "timeout": timeout }),
        };
        if let (Value::Object(handler), Value::Object(more)) = (&mut handler, more) {
            handler.extend(more);
        }
        match role {
            Role::Guard => json!({ "matcher": self.tool.writers(), "hooks": [handler] }),
            _ => json!({ "hooks": [handler] }),
        }
    }

    /// Reads a command line back, whichever event it is for; `None` for one that is not ours.
    pub(crate) fn of_command(tool: Tool, line: &str) -> Option<Self> {
        let marker = format!(" hook run {tool}");
        let (program, rest) = line.split_once(&marker)?;
        // A line that does more than call us is its writer's, to be taken out by hand.
        let is_more = |c: char| ";&|<>$`()\n".contains(c);
        let is_whole = (rest.is_empty() || rest.starts_with(' ')) && !rest.contains(is_more);
        let is_word = quoted(&unquoted(program)) == program;
        let program = unquoted(program);
        let name = program.rsplit('/').next().unwrap_or_default();
        if !is_whole || !is_word || !name.starts_with("probity") {
            return None;
        }
        let mut wiring = Self::new(tool, program.clone());
        let mut words = rest.split_ascii_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--deadline" => {
                    let millis = words.next().and_then(|it| it.strip_suffix("ms")?.parse().ok());
                    wiring.deadline_ms = millis.unwrap_or_default();
                }
                "--unchecked" if words.next() == Some("note") => wiring.unchecked = Unchecked::Note,
                _ => {}
            }
        }
        Some(wiring)
    }
}

/// As a shell takes it for one word.
fn quoted(program: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    match !program.is_empty() && program.chars().all(is_plain) {
        true => program.to_owned(),
        false => format!("'{}'", program.replace('\'', r"'\''")),
    }
}

fn unquoted(word: &str) -> String {
    match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
        Some(inner) => inner.replace(r"'\''", "'"),
        None => word.to_owned(),
    }
}
