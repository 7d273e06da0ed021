//! Checks as they are written down: on the command line, in request files, in the project's
//! configuration. One grammar for all three; [`KINDS`] is its table.
//!
//! In files a check is a map whose one kind key holds the target (`{file = "out.txt", created =
//! true}`), or the `--expect` text itself (`"file:out.txt,created"`).

mod agent;
mod effect;
mod error;
mod keys;
mod source;
mod validate;
mod value;
mod wire;

use probity_core::{CheckDecl, Code, Subject};
use std::collections::BTreeSet;

pub use agent::{AgentSpec, MAX_CRITERIA, MAX_CRITERION_BYTES, SELF_VERIFICATION};
pub use effect::{
    ChangesOnlySpec, CitationsSpec, CommandSpec, DirSpec, Effect, ExternalSpec, FileSpec, GitSpec,
    HttpSpec, HumanSpec, InvariantCheckSpec, JsonSpec, PortSpec, ProcessSpec, QuoteRule,
    ReadAfterWriteSpec, SchemaSource, Since, SqliteSpec, TextSpec,
};
pub use error::SpecError;
pub use keys::{COMMON, Form, KINDS, Key, Kind};
pub use source::{Source, SourceError};
pub(crate) use validate::split_address;
pub use validate::{MAX_LIST, MAX_TARGET_BYTES, MAX_TEXT_BYTES};
pub use value::{
    Mode, NotationError, StatusSet, format_duration_ms, parse_duration_ms, parse_long_duration_ms,
};
pub(crate) use wire::{from_parts, parts, unknown_key, unknown_kind};

/// Wall time of a check that reads the world and names no `timeout`, in milliseconds.
pub const DEFAULT_READ_MS: u64 = 10_000;
/// Wall time of a check that runs a program and names no `timeout`, in milliseconds.
pub const DEFAULT_RUN_MS: u64 = 120_000;
/// Wall time of a check that asks another delegate and names no `timeout`, in milliseconds: five
/// minutes, both tries together.
pub const DEFAULT_AGENT_MS: u64 = 300_000;
/// How long a person is waited for where no `timeout` is named, in milliseconds: a day.
pub const DEFAULT_HUMAN_MS: u64 = 24 * 3_600_000;

/// One declared check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckSpec {
    /// Its name in records; `None` derives one, see [`assign_ids`].
    pub id: Option<Code>,
    /// Wall time in milliseconds, 1 to one hour, for `human` 30 days; `None` takes the kind's default.
    pub timeout_ms: Option<u64>,
    /// What must hold.
    pub effect: Effect,
}

impl CheckSpec {
    /// A check with a derived id and the default timeout.
    #[must_use]
    pub const fn new(effect: Effect) -> Self {
        Self { id: None, timeout_ms: None, effect }
    }

    /// The kind's name: `file`, `command`, and so on.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.effect {
            Effect::File(_) => "file",
            Effect::Dir(_) => "dir",
            Effect::Text(_) => "text",
            Effect::Json(_) => "json",
            Effect::Command(_) => "command",
            Effect::Http(_) => "http",
            Effect::Git(_) => "git",
            Effect::Sqlite(_) => "sqlite",
            Effect::Port(_) => "port",
            Effect::Process(_) => "process",
            Effect::ChangesOnly(_) => "changes_only",
            Effect::External(_) => "external",
            Effect::ReadAfterWrite(_) => "read_after_write",
            Effect::InvariantCheck(_) => "invariant_check",
            Effect::Citations(_) => "citations",
            Effect::Agent(_) => "agent",
            Effect::Human(_) => "human",
        }
    }

    /// The target as it is written after the colon; of `agent` who is asked, in a few words.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.effect {
            Effect::File(spec) => spec.path.clone(),
            Effect::Dir(spec) => spec.path.clone(),
            Effect::Text(_) => String::new(),
            Effect::Json(spec) => spec.path.clone(),
            Effect::Command(spec) => spec.line.clone(),
            Effect::Http(spec) => spec.url.clone(),
            Effect::Git(spec) => spec.reference.clone(),
            Effect::Sqlite(spec) => spec.path.clone(),
            Effect::Port(spec) => spec.address.clone(),
            Effect::Process(spec) => spec.name.clone(),
            Effect::ChangesOnly(spec) => spec.globs.join(","),
            Effect::External(spec) => spec.line.clone(),
            Effect::ReadAfterWrite(spec) => spec.source.to_string(),
            Effect::InvariantCheck(spec) => spec.source.to_string(),
            Effect::Citations(spec) => spec.path.clone(),
            Effect::Agent(spec) => spec.who(),
            Effect::Human(spec) => spec.who.clone(),
        }
    }

    /// Whether the check looks at the world or at the claim, or asks a person. Only the first takes
    /// part in the red run.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match &self.effect {
            Effect::Text(_) | Effect::Citations(_) | Effect::Agent(_) => Subject::Claim,
            Effect::Json(spec) if spec.path == "-" => Subject::Claim,
            Effect::Human(_) => Subject::Human,
            _ => Subject::World,
        }
    }

    /// Wall time in milliseconds, all tries together.
    #[must_use]
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms.unwrap_or(match self.effect {
            Effect::Command(_) | Effect::External(_) => DEFAULT_RUN_MS,
            Effect::Agent(_) => DEFAULT_AGENT_MS,
            Effect::Human(_) => DEFAULT_HUMAN_MS,
            _ => DEFAULT_READ_MS,
        })
    }

    /// Globs of the files that decide the outcome and are sealed before the delegate starts: the
    /// `inputs`, and the path of a schema.
    #[must_use]
    pub fn inputs(&self) -> Vec<String> {
        match &self.effect {
            Effect::Command(spec) => spec.inputs.clone(),
            Effect::External(spec) => spec.inputs.clone(),
            Effect::ReadAfterWrite(spec) => spec.inputs.clone(),
            Effect::InvariantCheck(spec) => spec.inputs.clone(),
            Effect::Json(JsonSpec { schema: Some(SchemaSource::Path(path)), .. }) => {
                vec![literal_glob(path)]
            }
            Effect::Citations(spec) => vec![format!("{}/**", literal_glob(&spec.evidence))],
            _ => Vec::new(),
        }
    }

    /// The path whose change the check asks about: a snapshot records it even inside a folder that
    /// it leaves out.
    #[must_use]
    pub fn compared_path(&self) -> Option<&str> {
        match &self.effect {
            Effect::File(spec) if spec.created || spec.changed || spec.newer_than.is_some() => {
                Some(&spec.path)
            }
            Effect::Dir(spec) if spec.created || spec.changed || spec.newer_than.is_some() => {
                Some(&spec.path)
            }
            _ => None,
        }
    }

    /// Whether the check compares with the refs and remotes of before the run, see
    /// [`crate::stock::baseline`].
    #[must_use]
    pub const fn needs_git_baseline(&self) -> bool {
        match &self.effect {
            Effect::Git(spec) => spec.created || spec.pushed.is_some(),
            _ => false,
        }
    }

    /// Globs of files that are not sealed although `inputs` or the command line names them.
    #[must_use]
    pub fn may_change(&self) -> &[String] {
        match &self.effect {
            Effect::Command(spec) => &spec.may_change,
            Effect::External(spec) => &spec.may_change,
            Effect::ReadAfterWrite(spec) => &spec.may_change,
            Effect::InvariantCheck(spec) => &spec.may_change,
            Effect::Citations(spec) => &spec.may_change,
            _ => &[],
        }
    }

    /// The command line that the check runs, if it runs one.
    #[must_use]
    pub fn command_line(&self) -> Option<&str> {
        match &self.effect {
            Effect::Command(spec) => Some(&spec.line),
            Effect::External(spec) => Some(&spec.line),
            Effect::ReadAfterWrite(spec) => spec.source.command_line(),
            Effect::InvariantCheck(spec) => spec.source.command_line(),
            _ => None,
        }
    }

    /// The id that was given, or one derived from kind and target, such as `file_out.txt`. Who is
    /// asked stays out of it: an id stands in events, and a name is content.
    #[must_use]
    pub fn default_id(&self) -> Code {
        self.id.clone().unwrap_or_else(|| match (&self.effect, self.target().as_str()) {
            (Effect::Human(_) | Effect::Agent(_), _) | (_, "") => Code::slug(self.kind()),
            (_, target) => Code::slug(&format!("{}_{target}", self.kind())),
        })
    }

    /// What the machine needs to know of the check.
    #[must_use]
    pub fn declare(&self, id: Code) -> CheckDecl {
        CheckDecl { id, subject: self.subject(), timeout_ms: self.timeout_ms() }
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// [`SpecError`] naming the key and what is legal.
    pub fn validate(&self) -> Result<(), SpecError> {
        validate::validate(self)
    }
}

/// One id per check, in their order: the given one, or a derived one, made unique by a number.
///
/// # Errors
/// [`SpecError::DuplicateId`] if two checks were given the same id.
pub fn assign_ids(checks: &[CheckSpec]) -> Result<Vec<Code>, SpecError> {
    let mut taken = BTreeSet::new();
    for id in checks.iter().filter_map(|check| check.id.clone()) {
        if !taken.insert(id.clone()) {
            return Err(SpecError::DuplicateId { id: id.to_string() });
        }
    }
    let mut ids = Vec::with_capacity(checks.len());
    for check in checks {
        if let Some(id) = &check.id {
            ids.push(id.clone());
            continue;
        }
        let base = check.default_id();
        let mut id = base.clone();
        let mut number = 2_u32;
        while !taken.insert(id.clone()) {
            // The number is cut off last: a long id gives way to it.
            let keep: String = base.as_str().chars().take(56).collect();
            id = Code::slug(&format!("{keep}-{number}"));
            number = number.saturating_add(1);
        }
        ids.push(id);
    }
    Ok(ids)
}

/// The glob that matches this path alone.
fn literal_glob(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for c in path.chars() {
        if "\\*?[]{}!".contains(c) {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}
