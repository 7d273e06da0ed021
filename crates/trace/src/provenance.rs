//! Provenance: every piece of evidence is the stated slice of the stated document, and what was
//! found for a question is what the corpus gives for it.
//!
//! A run without a corpus has no `provenance` folder, and says nothing of one.

mod chunk;
mod copy;
mod corpus;
mod index;
mod library;
mod line;
mod parameters;
mod result;
mod runtime;
mod search;

use std::collections::HashMap;

use probity_report::{Failures, Rule};

use crate::identity::Key;
use crate::model::{Body, Event, Evidence, Output};
use crate::scene::{Family, Scene};

use copy::Copies;
use library::Library;
use result::Question;

const CHECK: &str = "provenance";

static NOT_LISTED: Rule = Rule::error(
    "trace_evidence_not_listed",
    CHECK,
    "evidence that is no chunk of a document of the corpus",
)
.under("INV-EVD-001");

/// What is found of provenance, besides the shape of its documents.
pub(crate) static RULES: &[&Rule] = &[
    &NOT_LISTED,
    &copy::DIFFERS,
    &copy::ABSENT,
    &library::MISSING,
    &library::SHA256,
    &library::LIMIT,
    &line::TOO_LONG,
    &parameters::CONFIG,
    &parameters::CONSTRAINT,
    &corpus::EMPTY,
    &chunk::SLICE,
    &chunk::ORDER,
    &chunk::LEFT_OUT,
    &index::DIFFERS,
    &index::ABSENT,
    &result::RANKING,
    &result::FIELD,
    &result::COUNT,
    &runtime::CONFIG,
];

/// The most bytes of questions that are not answered yet: half of the longest line, as one of them is
/// a line itself.
const MAX_QUESTION_BYTES: usize = 64 << 20;

/// Corpus, index, chunks and what the trace says of them.
#[derive(Debug, Default)]
pub(crate) struct Provenance {
    /// `None` until the first event.
    ground: Option<Ground>,
    /// What was asked, by the id of the call; until it is answered.
    questions: HashMap<Key, Question>,
    /// The bytes of them all.
    question_bytes: usize,
}

/// What the run directory has.
#[derive(Debug)]
struct Ground {
    copies: Copies,
    /// `None` without a corpus, or where it cannot be read; that was told.
    library: Option<Library>,
}

impl Family for Provenance {
    fn event(&mut self, scene: &Scene, event: &Event, failures: &mut Failures) {
        let ground = self.ground.get_or_insert_with(|| Ground::read(scene, failures));
        match &event.body {
            Body::ToolCalled(call) if ground.library.is_some() => {
                let question = Question::of(call);
                self.question_bytes = self.question_bytes.saturating_add(question.bytes());
                if self.question_bytes > MAX_QUESTION_BYTES {
                    failures.add(&library::LIMIT, event.place("/call"), "too many open questions");
                    return;
                }
                self.questions.insert(Key::of(&call.id), question);
            }
            Body::ToolReturned(returned) => {
                ground.copies.result(event, returned, failures);
                let question = self.questions.remove(&Key::of(&returned.call_id));
                let bytes = question.as_ref().map_or(0, Question::bytes);
                self.question_bytes = self.question_bytes.saturating_sub(bytes);
                if let Some(library) = &mut ground.library {
                    result::check(library, question.as_ref(), event, returned, failures);
                }
            }
            Body::StepFinished(Output::Gather { retrieval_provenance, .. }) => {
                ground.copies.output(event, *retrieval_provenance, failures);
            }
            Body::EvidenceRegistered(evidence) => {
                if let Some(library) = &ground.library {
                    check_evidence(library, event, evidence, failures);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, scene: &Scene, failures: &mut Failures) {
        let ground = self.ground.get_or_insert_with(|| Ground::read(scene, failures));
        ground.copies.finish(failures);
        runtime::check(scene, ground.copies.declared(), failures);
    }
}

impl Ground {
    fn read(scene: &Scene, failures: &mut Failures) -> Self {
        let copies = Copies::read(scene, failures);
        let library =
            copies.declared().and_then(|declared| Library::read(scene, declared, failures));
        Self { copies, library }
    }
}

fn check_evidence(library: &Library, event: &Event, evidence: &Evidence, failures: &mut Failures) {
    let chunk = crate::identity::digest(&evidence.chunk_id)
        .and_then(|digest| library.find(digest, &evidence.uri));
    let is_listed = chunk.is_some_and(|chunk| chunk.span() == evidence.span);
    if !is_listed {
        let text = format!(
            "no chunk {} at {}-{} of {}",
            evidence.chunk_id, evidence.span.0, evidence.span.1, evidence.uri
        );
        failures.add(&NOT_LISTED, event.place("/evidence"), text);
    }
}
