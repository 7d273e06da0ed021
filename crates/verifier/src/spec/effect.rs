//! What each kind of check asks of the world: one struct per kind, its keys as fields.

use probity_core::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::agent::AgentSpec;
use super::source::Source;
use super::value::{Mode, StatusSet, one_or_many};
use crate::compare::Match;

/// The target of `text`, and of a `json` check of the claim.
pub(super) const RESPONSE: &str = "response";

/// The point in time that `newer_than` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Since {
    /// When the run started, by the snapshot and never by the file's own time.
    #[serde(rename = "run-start")]
    RunStart,
}

/// One effect: a kind, its target and what must hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// A regular file.
    File(FileSpec),
    /// A directory.
    Dir(DirSpec),
    /// The claim's response.
    Text(TextSpec),
    /// A JSON document: a file, or the claim.
    Json(JsonSpec),
    /// A command's exit and output.
    Command(CommandSpec),
    /// An HTTP resource.
    Http(HttpSpec),
    /// A Git repository.
    Git(GitSpec),
    /// A value in a SQLite database.
    Sqlite(SqliteSpec),
    /// A TCP port.
    Port(PortSpec),
    /// A running process.
    Process(ProcessSpec),
    /// The set of paths that the delegate may have touched.
    ChangesOnly(ChangesOnlySpec),
    /// A program that returns a verdict as JSON.
    External(ExternalSpec),
    /// A value that is read until it is as it was written.
    ReadAfterWrite(ReadAfterWriteSpec),
    /// A condition that is looked at until it holds.
    InvariantCheck(InvariantCheckSpec),
    /// An answer whose statements cite what they rest on.
    Citations(CitationsSpec),
    /// Another delegate that is asked.
    Agent(AgentSpec),
    /// A person who is asked.
    Human(HumanSpec),
}

/// Keys of `file:PATH`. With none of them: the file exists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileSpec {
    /// Path below the workspace.
    #[serde(rename = "target")]
    pub path: String,
    /// Absent before the run, present now.
    #[serde(skip_serializing_if = "is_false")]
    pub created: bool,
    /// Other content than before the run; a new file counts.
    #[serde(skip_serializing_if = "is_false")]
    pub changed: bool,
    /// Nothing has this path.
    #[serde(skip_serializing_if = "is_false")]
    pub absent: bool,
    /// Texts that all occur in the content.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub contains: Vec<String>,
    /// Regular expressions that all match somewhere in the content.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub matches: Vec<String>,
    /// Digest of the whole content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Smallest size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<u64>,
    /// Largest size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Exact permission bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Created or changed since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer_than: Option<Since>,
}

/// Keys of `dir:PATH`. With none of them: the directory exists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DirSpec {
    /// Path below the workspace; `.` is the workspace itself.
    #[serde(rename = "target")]
    pub path: String,
    /// Absent before the run, present now.
    #[serde(skip_serializing_if = "is_false")]
    pub created: bool,
    /// Something below it was created, changed or deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub changed: bool,
    /// Nothing has this path.
    #[serde(skip_serializing_if = "is_false")]
    pub absent: bool,
    /// Exact permission bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Created or changed since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer_than: Option<Since>,
    /// Exact number of entries directly inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Smallest number of entries directly inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_entries: Option<u64>,
}

/// Keys of `text:`, which looks at the claim's response. At least one is needed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TextSpec {
    /// The word `response`.
    #[serde(rename = "target")]
    pub target: String,
    /// Texts that all occur in it.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub contains: Vec<String>,
    /// Regular expressions that all match somewhere in it.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub matches: Vec<String>,
}

/// Keys of `json:PATH`. With none of them: the document is JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JsonSpec {
    /// Path below the workspace, or `-` for the claim: its output, or else its response.
    #[serde(rename = "target")]
    pub path: String,
    /// A JSON Schema that the document fulfils.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaSource>,
    /// RFC 6901 pointer of a value that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What the value at `pointer`, or the whole document, equals.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub equals: Option<Value>,
}

/// Where a JSON Schema comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SchemaSource {
    /// A file below the workspace.
    Path(String),
    /// The schema itself.
    Inline(Value),
}

/// Keys of `command:CMDLINE`, which runs `sh -c CMDLINE` in the workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommandSpec {
    /// The command line, for `sh`.
    #[serde(rename = "target")]
    pub line: String,
    /// Exit code; 0 where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
    /// Texts that all occur in standard output.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub stdout_contains: Vec<String>,
    /// Regular expressions that all match somewhere in standard output.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub stdout_matches: Vec<String>,
    /// Globs of files that decide the outcome and are sealed before the delegate starts.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub inputs: Vec<String>,
    /// Globs of files that are not sealed although `inputs` or the command line names them.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub may_change: Vec<String>,
    /// Names of environment variables that are handed on.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub env: Vec<String>,
}

/// Keys of `http:URL`. With none of them: a GET answers with a 2xx status.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSpec {
    /// An `http` or `https` URL.
    #[serde(rename = "target")]
    pub url: String,
    /// Legal status codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusSet>,
    /// Texts that all occur in the body.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub body_contains: Vec<String>,
    /// Regular expressions that all match somewhere in the body.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub body_matches: Vec<String>,
    /// RFC 6901 pointer of a value that exists in the body, read as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What the value at `pointer`, or the whole body as JSON, equals.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub equals: Option<Value>,
}

/// Keys of `git:REF`. With none of them: the ref or commit exists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GitSpec {
    /// A ref, or a commit id.
    #[serde(rename = "target")]
    pub reference: String,
    /// It resolves to a commit; every other key implies it.
    #[serde(skip_serializing_if = "is_false")]
    pub exists: bool,
    /// It resolves to a commit that it did not resolve to before the run.
    #[serde(skip_serializing_if = "is_false")]
    pub created: bool,
    /// Nothing uncommitted and nothing untracked in the working tree.
    #[serde(skip_serializing_if = "is_false")]
    pub clean: bool,
    /// Name of a remote that holds the commit under the name of the ref; a commit id may be under any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed: Option<String>,
    /// Paths that are in the commit's tree.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub contains_path: Vec<String>,
    /// A ref whose history holds the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reachable_from: Option<String>,
}

/// Keys of `sqlite:PATH`. `query` and one of the other two are needed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SqliteSpec {
    /// Path below the workspace.
    #[serde(rename = "target")]
    pub path: String,
    /// One statement that only reads; the first column of its first row is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// What the value equals.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub equals: Option<Value>,
    /// The smallest number that it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Number>,
}

/// Keys of `port:HOST:PORT`. With none of them: something accepts TCP connections.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PortSpec {
    /// `HOST:PORT`; an IPv6 address stands in brackets.
    #[serde(rename = "target")]
    pub address: String,
    /// Connections are refused.
    #[serde(skip_serializing_if = "is_false")]
    pub closed: bool,
}

/// Keys of `process:NAME`. With none of them: a process of that name runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessSpec {
    /// File name of the program.
    #[serde(rename = "target")]
    pub name: String,
    /// No such process runs.
    #[serde(skip_serializing_if = "is_false")]
    pub absent: bool,
}

/// `changes_only:GLOB[,GLOB]...`: every path that differs from before the run matches a glob.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangesOnlySpec {
    /// Globs; none of them means that nothing may have changed.
    #[serde(rename = "target", deserialize_with = "one_or_many")]
    pub globs: Vec<String>,
}

/// Keys of `external:CMDLINE`, which runs `sh -c CMDLINE` in the workspace and reads its verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExternalSpec {
    /// The command line, for `sh`.
    #[serde(rename = "target")]
    pub line: String,
    /// Handed to the program as `args`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub args: Option<Value>,
    /// Globs of files that decide the outcome and are sealed before the delegate starts.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub inputs: Vec<String>,
    /// Globs of files that are not sealed although `inputs` or the command line names them.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub may_change: Vec<String>,
    /// Names of environment variables that are handed on.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub env: Vec<String>,
}

/// Keys of `read_after_write:SOURCE`. `expected` is needed, and `query` with a `sqlite` source.
///
/// From seed 001: re-reads the target until the mutation is visible, within the check's time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadAfterWriteSpec {
    /// What is read.
    #[serde(rename = "target")]
    pub source: Source,
    /// What the value read must match; neither null nor an empty text, list or object.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub expected: Option<Value>,
    /// What counts as a match; a subset where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Match>,
    /// RFC 6901 pointer of the value, in what is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// One statement that only reads, for a `sqlite` source; `?1` in it is the target's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// With a `command` source: globs of files that decide the outcome and are sealed before the
    /// delegate starts.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub inputs: Vec<String>,
    /// With a `command` source: globs of files that are not sealed although `inputs` or the command
    /// line names them.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub may_change: Vec<String>,
    /// With a `command` source: names of environment variables that are handed on.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub env: Vec<String>,
}

/// Keys of `invariant_check:SOURCE`. With none of them, an `http` source answers with a 2xx status
/// and a `command` source ends with exit code 0; the other two need a condition.
///
/// From seed 001: a boolean condition on system state, looked at until it holds, within the check's
/// time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InvariantCheckSpec {
    /// What is read.
    #[serde(rename = "target")]
    pub source: Source,
    /// What the value read equals.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub equals: Option<Value>,
    /// The smallest number that the value may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Number>,
    /// The largest number that the value may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Number>,
    /// Legal status codes of an `http` source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusSet>,
    /// Regular expressions that all match somewhere in the value: the text that it is, or its JSON.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub matches: Vec<String>,
    /// RFC 6901 pointer of the value, in what is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// One statement that only reads, for a `sqlite` source; `?1` in it is the target's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// With a `command` source: globs of files that decide the outcome and are sealed before the
    /// delegate starts.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub inputs: Vec<String>,
    /// With a `command` source: globs of files that are not sealed although `inputs` or the command
    /// line names them.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub may_change: Vec<String>,
    /// With a `command` source: names of environment variables that are handed on.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub env: Vec<String>,
}

/// Keys of `citations:PATH`: every statement of the answer cites evidence that says so, to the byte.
/// The path `-` is the claim's response. `evidence` is needed.
///
/// From seed 002: span and hash grounding, failures named. Grounding is provenance, not truth.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CitationsSpec {
    /// Path of the answer below the workspace, or `-`.
    #[serde(rename = "target")]
    pub path: String,
    /// The folder below the workspace that holds the evidence. A file's id is its path in there, with
    /// or without `.txt`. All of it is sealed before the delegate starts.
    pub evidence: String,
    /// Distinct pieces of evidence behind each statement, at least; 1 where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_supports: Option<u64>,
    /// Whether the text before a marker must be what it cites; `exact` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotes: Option<QuoteRule>,
    /// Statements that are all marked insufficient are a legal answer.
    #[serde(skip_serializing_if = "is_false")]
    pub allow_marked_insufficient: bool,
    /// A fault in the answer is told to the delegate, which tries again; without this the claim is
    /// rejected at once.
    #[serde(skip_serializing_if = "is_false")]
    pub revise: bool,
    /// Globs of evidence that the delegate itself gathers, and that is therefore not sealed.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub may_change: Vec<String>,
}

/// Whether the text before a marker must be what the marker cites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuoteRule {
    /// To the byte.
    Exact,
    /// It may say so in other words; the cited bytes must still hash as the marker says.
    Any,
}

/// Keys of `human:WHO`, who is asked once every other check has passed. The run waits for the
/// answer, a day where no `timeout` is given, thirty at most.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HumanSpec {
    /// The name that an answer must carry, 1 to 128 characters.
    #[serde(rename = "target")]
    pub who: String,
    /// The question; without one it is whether the task is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Keeps `null` apart from an absent key.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
