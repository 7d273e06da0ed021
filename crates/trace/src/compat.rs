//! The verdict of bijux-canon-reason 0.3.8 on a run directory, gaps included.
//!
//! It reads as that system reads (CPython 3.11, pydantic 2): strings count as numbers, of keys that
//! stand twice the last counts, event order is not checked, the seal is never looked at. What it
//! accepts is [`probity_report::Verdict::AcceptedByCompat`], never valid.
//!
//! Where that system raises an exception the report says so; where it waits for ever (a pipe in the
//! place of a file) the report says that too. In one point its report differs from run to run: the
//! order of markers without support. They are sorted here.

mod canonical;
mod checks;
mod chunk;
mod directory;
mod evidence;
mod fields;
mod json;
mod lines;
mod marker;
mod model;
mod number;
mod outcome;
mod rule;
mod schema;
mod text;
mod unicode;

use probity_report::{Draft, Place, Reading, SubjectKind, VerificationReport};

use crate::{FileKind, RunFiles};

pub use chunk::MAX_TABLE_BYTES;
pub use directory::{LinkTarget, Links, NoLinks};
pub use evidence::{MAX_CITED_BYTES, MAX_EVIDENCE_BYTES};
pub use json::MAX_VALUES;
pub use outcome::MAX_MESSAGE_BYTES;
pub use rule::rules;

use directory::{Directory, Found};
use json::{JsonError, MAX_DEPTH, Value};
use lines::TextLines;
use model::{Plan, Trace};
use outcome::Outcome;
use schema::PlanError;

/// The ten checks, under the names that system gives them.
pub const CHECKS: [&str; 10] = [
    "core_invariants",
    "tool_linkage",
    "claim_justifications",
    "derived_claim_grounding",
    "reasoning_trace",
    "insufficient_reasoning",
    "finalize_present",
    "required_steps",
    "evidence_hashes",
    "support_spans",
];

/// The most bytes of a trace, all of which are held.
pub const MAX_TRACE_BYTES: u64 = 1 << 30;

/// The most bytes of a plan.
pub const MAX_PLAN_BYTES: u64 = 1 << 28;

const TRACE: &str = "trace.jsonl";
const PLAN: &str = "plan.json";
const CHUNKS: &str = "provenance/chunks.jsonl";

/// That system gives no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompatError {
    /// It raises an exception.
    #[error("the original raises {exception}")]
    Raised {
        /// The class of the exception.
        exception: &'static str,
    },
    /// A file is a pipe or a device, for which it waits, or a link that nobody followed.
    #[error("{path} is no regular file: {kind:?}")]
    NotRegular {
        /// Its path.
        path: String,
        /// What it is.
        kind: FileKind,
    },
    /// A link leads to a file outside the run directory, which it reads and we do not.
    #[error("{path} leads out of the run directory")]
    LinkOutside {
        /// The path of the link.
        path: String,
    },
    /// A file cannot be read.
    #[error("{path} cannot be read: {error}")]
    Io {
        /// Its path.
        path: String,
        /// What the system says.
        error: String,
    },
    /// A bound of ours was reached, where it has none.
    #[error("more than {max} {what}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        max: u64,
    },
}

/// Audits one run directory as that system's `verify` does. A link is not followed, and what lies
/// behind one not accepted.
#[must_use]
pub fn audit(files: &dyn RunFiles, source: &str) -> VerificationReport {
    audit_with_links(files, &NoLinks, source)
}

/// [`audit`], for a caller who can say where links lead: that system follows those that stay within
/// the run directory.
#[must_use]
pub fn audit_with_links(
    files: &dyn RunFiles,
    links: &dyn Links,
    source: &str,
) -> VerificationReport {
    let mut draft = Draft::new(SubjectKind::Trace, source, &CHECKS);
    draft.reading = Reading::Compat;
    match outcome(files, links) {
        Ok((outcome, id)) => {
            draft.binds.insert("original_report_id", id);
            for failure in outcome.failures() {
                let place = failure.place.clone();
                draft.failures.add(failure.rule, place, failure.message.lossy());
            }
        }
        Err(error) => {
            CHECKS.iter().for_each(|check| draft.skip(check));
            tell(&mut draft, &error);
        }
    }
    draft.finish()
}

/// The report of that system, as it prints it.
///
/// # Errors
/// [`CompatError`] where it gives none.
pub fn original_report(files: &dyn RunFiles) -> Result<serde_json::Value, CompatError> {
    original_report_with_links(files, &NoLinks)
}

/// [`original_report`], for a caller who can say where links lead.
///
/// # Errors
/// [`CompatError`] where that system gives none.
pub fn original_report_with_links(
    files: &dyn RunFiles,
    links: &dyn Links,
) -> Result<serde_json::Value, CompatError> {
    outcome(files, links).map(|(outcome, id)| outcome.report(&id))
}

/// What the checks come to, and the id of the original's report.
fn outcome(files: &dyn RunFiles, links: &dyn Links) -> Result<(Outcome, String), CompatError> {
    let directory = Directory::new(files, links);
    let trace = read_trace(&directory)?;
    let plan = read_plan(&directory)?;
    let mut outcome = Outcome::default();
    checks::run(&trace, &plan, &mut outcome)?;
    evidence::run(&trace, &directory, &mut outcome)?;
    let id = outcome.id()?;
    Ok((outcome, id))
}

fn tell(draft: &mut Draft, error: &CompatError) {
    let failures = &mut draft.failures;
    match error {
        CompatError::Raised { exception } => {
            failures.differs(&rule::UNREADABLE, Place::default(), "a report", exception);
        }
        CompatError::NotRegular { path, .. } | CompatError::LinkOutside { path } => {
            failures.add(&rule::NOT_REGULAR, Place::file(path), error.to_string());
        }
        CompatError::Io { path, .. } => {
            failures.add(&rule::UNREADABLE, Place::file(path), error.to_string());
        }
        CompatError::Limit { .. } => {
            failures.add(&rule::LIMIT, Place::default(), error.to_string());
        }
    }
}

fn read_trace(directory: &Directory<'_>) -> Result<Trace, CompatError> {
    let bytes = read_whole(directory, TRACE, MAX_TRACE_BYTES)?;
    let mut header = None;
    let mut events = Vec::new();
    for line in TextLines::of(&bytes) {
        let (number, text) = line.or_else(|_| raised("UnicodeDecodeError"))?;
        let record = json::read(text, MAX_DEPTH).map_err(JsonError::into_compat)?;
        let Some(object) = record.as_object() else { return raised("AttributeError") };
        let kind = if header.is_none() { "trace_header" } else { "trace_event" };
        let stated = object.get("record").and_then(Value::as_text);
        if !stated.is_some_and(|stated| fields::is(stated, kind)) {
            return raised("ValueError");
        }
        if header.is_none() {
            header = Some(object.clone());
            continue;
        }
        let Some(event) = object.get("event") else { return raised("KeyError") };
        events.push(schema::event(event, number).or_else(|_| raised("ValidationError"))?);
    }
    let Some(header) = header else { return raised("ValueError") };
    let trace = schema::header(&header).or_else(|_| raised("ValidationError"))?;
    Ok(Trace { events, ..trace })
}

fn read_plan(directory: &Directory<'_>) -> Result<Plan, CompatError> {
    let bytes = read_whole(directory, PLAN, MAX_PLAN_BYTES)?;
    let Ok(text) = std::str::from_utf8(&bytes) else { return raised("UnicodeDecodeError") };
    let document = json::read(text, MAX_DEPTH).map_err(JsonError::into_compat)?;
    let within = document
        .as_object()
        .filter(|object| object.get("canonical_version").is_some())
        .and_then(|object| object.get("data"));
    schema::plan(within.unwrap_or(&document)).or_else(|error| {
        raised(match error {
            PlanError::Refused => "ValidationError",
            PlanError::NodeType => "TypeError",
        })
    })
}

fn read_whole(
    directory: &Directory<'_>,
    path: &str,
    max_bytes: u64,
) -> Result<Vec<u8>, CompatError> {
    let mut bytes = Vec::new();
    match directory.read(path, max_bytes, &mut bytes)? {
        Found::File => Ok(bytes),
        Found::Nothing => raised("FileNotFoundError"),
        Found::Folder => raised("IsADirectoryError"),
        Found::Loop => raised("OSError"),
        Found::Outside => Err(CompatError::LinkOutside { path: path.to_owned() }),
    }
}

fn raised<T>(exception: &'static str) -> Result<T, CompatError> {
    Err(CompatError::Raised { exception })
}

impl JsonError {
    /// What becomes of a document that is not read.
    fn into_compat(self) -> CompatError {
        match self {
            Self::Syntax => CompatError::Raised { exception: "JSONDecodeError" },
            Self::Digits => CompatError::Raised { exception: "ValueError" },
            Self::Depth => CompatError::Raised { exception: "RecursionError" },
            Self::Values => {
                CompatError::Limit { what: "values of a document", max: MAX_VALUES as u64 }
            }
        }
    }
}
