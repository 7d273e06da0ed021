//! What a search gave: the chunks that the corpus gives for the question, in their order.

use probity_report::{Failures, Rule};
use sha2::{Digest as _, Sha256};

use crate::identity::quoted;
use crate::model::{Call, Event, Returned};
use crate::tape::{Kind, Value};

use super::chunk::Chunk;
use super::library::{LIMIT, Library};
use super::search::Hit;

pub(super) static RANKING: Rule = Rule::error(
    "trace_result_ranking",
    super::CHECK,
    "a search result that is not what the corpus gives for the question",
);
pub(super) static FIELD: Rule = Rule::error(
    "trace_result_field",
    super::CHECK,
    "a search result whose text or label is not that of its chunk",
);
pub(super) static COUNT: Rule =
    Rule::error("trace_result_count", super::CHECK, "more or fewer results than were asked for");

/// Results that are given without a number.
const DEFAULT_COUNT: u64 = 3;

/// The keys of one result.
const KEYS: [&str; 11] = [
    "chunk_id",
    "chunk_sha256",
    "chunk_span",
    "doc_id",
    "doc_sha256",
    "score",
    "source",
    "span",
    "text",
    "title",
    "uri",
];

/// What was asked. A question or a number that is none is not followed.
#[derive(Debug, Clone)]
pub(super) struct Question {
    query: Option<String>,
    count: Option<u64>,
}

impl Question {
    pub(super) fn of(call: &Call) -> Self {
        let query = match call.arguments.get("query") {
            None => Some(String::new()),
            Some(query) => query.text().map(|text| text.into_owned()),
        };
        let count = match call.arguments.get("top_k") {
            None => Some(DEFAULT_COUNT),
            Some(count) => count.integer().map(|count| u64::try_from(count).unwrap_or(0)),
        };
        Self { query, count }
    }

    /// How much it holds.
    pub(super) fn bytes(&self) -> usize {
        self.query.as_ref().map_or(0, String::len)
    }
}

/// Holds the result of a search against the library.
pub(super) fn check(
    library: &mut Library,
    question: Option<&Question>,
    event: &Event,
    returned: &Returned,
    failures: &mut Failures,
) {
    const AT: &str = "/result/result/evidences";
    let Some(evidences) = returned.result.get("evidences") else { return };
    let found = evidences.items().count() as u64;
    let all = library.chunks().len() as u64;
    if let Some(asked) = question.and_then(|question| question.count)
        && found != asked.min(all)
    {
        failures.differs(&COUNT, event.place(AT), asked.min(all), found);
    }
    let (k1, b) = (library.parameters().k1, library.parameters().b);
    let query = question.and_then(|question| question.query.as_deref());
    let mut hits: Vec<Hit> = Vec::new();
    let mut is_ranked = false;
    if let (Some(query), Some(postings)) = (query, library.postings.as_mut()) {
        let count = usize::try_from(found.min(all)).unwrap_or(usize::MAX);
        match postings.search(query, (k1, b), count) {
            Some(found) => (hits, is_ranked) = (found, true),
            None => failures.add(&LIMIT, event.place(AT), "more searches than are repeated"),
        }
    }
    for (at, item) in evidences.items().enumerate() {
        let place = format!("{AT}/{at}");
        let hit = hits.get(at).copied();
        let chunk = match hit {
            Some(hit) => library.chunk(hit.chunk),
            None => stated(library, item),
        };
        match chunk {
            Some(chunk) if hit.is_none() || is_of(library, chunk, item) => {
                check_item(library, event, item, &place, (chunk, hit), failures);
            }
            right => {
                if !failures.is_only_counted(&RANKING) {
                    let uri = |chunk| library.uri(chunk);
                    let right = right.map_or("no such chunk".to_owned(), uri);
                    let uri = item.get("uri").map_or("nothing", Value::raw);
                    failures.differs(&RANKING, event.place(&place), right, uri);
                }
                // Behind a wrong place all are; what it says of itself is checked none the less.
                if let Some(chunk) = stated(library, item).filter(|_| is_ranked) {
                    check_item(library, event, item, &place, (chunk, None), failures);
                }
            }
        }
    }
}

/// The chunk that a result says it is.
fn stated(library: &Library, item: Value) -> Option<Chunk> {
    let digest = crate::identity::digest(&item.get("chunk_id")?.text()?)?;
    library.find(digest, &item.get("uri")?.text()?)
}

fn is_of(library: &Library, chunk: Chunk, item: Value) -> bool {
    let id = item.get("chunk_id").and_then(Value::text);
    let uri = item.get("uri").and_then(Value::text);
    id.as_deref() == Some(&hex::encode(chunk.digest)) && uri.as_deref() == Some(&library.uri(chunk))
}

fn check_item(
    library: &Library,
    event: &Event,
    item: Value,
    place: &str,
    (chunk, hit): (Chunk, Option<Hit>),
    failures: &mut Failures,
) {
    for key in KEYS {
        let Some(found) = item.get(key) else {
            if failures.is_only_counted(&FIELD) {
                continue;
            }
            failures.add(&FIELD, event.place(place), format!("`{key}` is missing"));
            continue;
        };
        let right = match key {
            "source" | "title" => {
                // Not made into text: it can be as long as a line of the corpus.
                let label = library.labelled(chunk).and_then(|document| match key {
                    "source" => document.source.as_deref(),
                    _ => document.title.as_deref(),
                });
                let is_right = found.text().as_deref() == label;
                if (!is_right || label.is_none() != found.is_null())
                    && !failures.is_only_counted(&FIELD)
                {
                    let at = event.place(&format!("{place}/{key}"));
                    failures.differs(&FIELD, at, label.unwrap_or("null"), found.raw());
                }
                continue;
            }
            "score" => {
                let is_right = hit.is_none_or(|hit| found.number() == Some(hit.score));
                let is_right = is_right && found.kind() == Kind::Float;
                if !is_right && !failures.is_only_counted(&RANKING) {
                    let right = hit.map_or("a score".to_owned(), |hit| hit.score.to_string());
                    let at = event.place(&format!("{place}/{key}"));
                    failures.differs(&RANKING, at, right, found.raw());
                }
                continue;
            }
            "text" => {
                let text = found.text().unwrap_or_default();
                let of: [u8; 32] = Sha256::digest(text.as_bytes()).into();
                if of != chunk.digest && !failures.is_only_counted(&FIELD) {
                    let at = event.place(&format!("{place}/{key}"));
                    let right = format!("a text with SHA-256 {}", hex::encode(chunk.digest));
                    failures.differs(&FIELD, at, right, found.raw());
                }
                continue;
            }
            _ => spelled(library, chunk, key),
        };
        if found.raw() != right && !failures.is_only_counted(&FIELD) {
            let at = event.place(&format!("{place}/{key}"));
            failures.differs(&FIELD, at, right, found.raw());
        }
    }
    let count = item.members().count();
    if count != KEYS.len() && !failures.is_only_counted(&FIELD) {
        let text = format!("{count} keys, not {}", KEYS.len());
        failures.add(&FIELD, event.place(place), text);
    }
}

/// How a field that follows from the chunk alone is spelled.
fn spelled(library: &Library, chunk: Chunk, key: &str) -> String {
    let document = library.document(chunk);
    match key {
        "chunk_id" | "chunk_sha256" => quoted(&hex::encode(chunk.digest)),
        "doc_id" => quoted(document.map_or("", |document| &document.id)),
        "doc_sha256" => quoted(&hex::encode(document.map_or([0; 32], |document| document.sha256))),
        "uri" => quoted(&library.uri(chunk)),
        _ => format!("[{},{}]", chunk.start, chunk.end),
    }
}
