//! What is said of the retrieval is said in four places: header, tool result, gather output, file.
//! All say the same.

use probity_report::{Failures, Place, Rule};

use crate::identity::canonical;
use crate::model::{Event, Returned, TRACE};
use crate::scene::Scene;
use crate::seal::document::{Desk, Form, text_of};
use crate::spec::Spec;
use crate::tape::{Kind, Tape, Value};
use crate::{FileError, RunFiles};

use super::library::{CHUNKS, CORPUS, INDEX, MISSING};

pub(super) const FILE: &str = "provenance/retrieval_provenance.json";
const MAX_BYTES: u64 = 1 << 20;

pub(super) static DIFFERS: Rule = Rule::error(
    "trace_provenance_differs",
    super::CHECK,
    "an account of the retrieval that is not the one in the header",
);
pub(super) static ABSENT: Rule = Rule::error(
    "trace_provenance_absent",
    super::CHECK,
    "an account of the retrieval that is only in some of its places",
);

/// The account of the retrieval.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Canonical text of an object: the header's, or the file's where the header has none.
    declared: Option<String>,
    /// Whether a result of a tool had it so far.
    is_returned: bool,
    /// Whether the problem asks for a search in a corpus.
    is_asked: bool,
}

impl Copies {
    /// Reads header and file.
    pub(super) fn read(scene: &Scene, failures: &mut Failures) -> Self {
        let mut tape = Tape::default();
        let metadata = &scene.header.metadata;
        let header = match tape.read(metadata) {
            Ok(_) => tape.root(metadata).get("retrieval_provenance").map(canonical),
            Err(_) => None,
        };
        let file = match header.is_some() || is_any_file(scene.files) {
            true => text_of(scene.files, FILE, MAX_BYTES, &MISSING, failures)
                .and_then(|text| read_file(&text, failures)),
            false => None,
        };
        match (&header, &file) {
            (Some(header), Some(file)) if header != file => {
                failures.differs(&DIFFERS, Place::file(FILE), header, file);
            }
            (None, Some(_)) => {
                failures.add(&ABSENT, in_header(), "the header has none, the file is there");
            }
            _ => {}
        }
        let is_asked = scene.spec.is_some_and(names_corpus);
        Self { declared: header.or(file), is_returned: false, is_asked }
    }

    /// Canonical text of the account, if there is one.
    pub(super) fn declared(&self) -> Option<&str> {
        self.declared.as_deref()
    }

    /// Holds a result against it.
    pub(super) fn result(&mut self, event: &Event, returned: &Returned, failures: &mut Failures) {
        let found = returned.result.get("provenance");
        self.is_returned |= found.is_some();
        let is_retrieval = returned.result.get("evidences").is_some();
        let place = || event.place("/result/result/provenance");
        match (&self.declared, found) {
            (Some(right), Some(found)) => compare(right, found, place, failures),
            (None, Some(_)) => failures.add(&ABSENT, place(), "the header has none"),
            (Some(_), None) if is_retrieval => {
                failures.add(&ABSENT, event.place("/result/result"), "the result has none");
            }
            (None, None) if is_retrieval && self.is_asked => {
                let text = "the problem names a corpus, and nothing tells of it";
                failures.add(&ABSENT, event.place("/result/result"), text);
            }
            _ => {}
        }
    }

    /// Holds the output of a gather step against it.
    pub(super) fn output(&self, event: &Event, found: Value, failures: &mut Failures) {
        let right = self.declared.as_deref().filter(|_| self.is_returned).unwrap_or("{}");
        compare(right, found, || event.place("/output/retrieval_provenance"), failures);
    }

    pub(super) fn finish(&self, failures: &mut Failures) {
        if self.declared.is_some() && !self.is_returned {
            failures.add(&ABSENT, in_header(), "no result of a tool has it");
        }
    }
}

fn compare(right: &str, found: Value, place: impl Fn() -> Place, failures: &mut Failures) {
    if found.raw() != right && canonical(found) != right {
        failures.differs(&DIFFERS, place(), right, found.raw());
    }
}

fn in_header() -> Place {
    Place::file(TRACE).line(1).pointer("/metadata/retrieval_provenance")
}

/// The account in the file: an object in canonical form.
fn read_file(text: &str, failures: &mut Failures) -> Option<String> {
    let mut tape = Tape::default();
    let mut desk = Desk::new(FILE, failures);
    let root = desk.read(&mut tape, text, Form::Line)?;
    desk.one_of(root, format_args!(""), &[Kind::Object])?;
    Some(canonical(root))
}

/// Whether the source system searches a corpus for a problem.
fn names_corpus(spec: &Spec) -> bool {
    let mut tape = Tape::default();
    if tape.read(&spec.constraints).is_err() {
        return false;
    }
    let constraints = tape.root(&spec.constraints);
    let is_needed = constraints.get("needs_retrieval").is_some_and(|needs| match needs.kind() {
        Kind::Bool => needs.bool() == Some(true),
        Kind::Integer | Kind::Float => needs.number() != Some(0.0),
        Kind::Text => needs.text().is_some_and(|text| !text.is_empty()),
        Kind::Null => false,
        Kind::List | Kind::Object => needs.raw().len() > 2,
    });
    let corpus = constraints.get("corpus_path").and_then(Value::text);
    is_needed && corpus.is_some_and(|path| !path.trim().is_empty())
}

/// Whether there is anything of a retrieval in the run directory.
fn is_any_file(files: &dyn RunFiles) -> bool {
    let is_there =
        |path: &&str| files.open(path).err().is_none_or(|error| error != FileError::Missing);
    [FILE, CORPUS, CHUNKS, INDEX].iter().any(is_there)
}
