//! What is asked of a board over HTTP, and how it is told.

use std::collections::BTreeMap;

use probity_core::{Code, Outcome};
use probity_projection::{Counts, Ended, IndexedRun, Place, Wanted, Words, mark_of};
use serde_json::{Value, json};

use crate::call::Call;
use crate::error::Failure;
use crate::keys::DEFAULT_TENANT;
use crate::question::Question;
use crate::tenant;

/// Characters of a word, and of what is searched for.
const MAX_WORD_CHARS: usize = 64;
const MAX_TEXT_CHARS: usize = 200;

/// What every question can be narrowed by.
pub(super) const NARROW: [Question; 4] = [
    Question::text("delegate", "only those of that kind of delegate"),
    Question::whole(
        "since",
        0,
        u64::MAX,
        "only those opened since, in milliseconds since the Unix epoch",
    ),
    Question::whole(
        "until",
        0,
        u64::MAX,
        "only those opened before, in milliseconds since the Unix epoch",
    ),
    Question::like(
        "code",
        "^[a-z0-9_.-]{0,64}$",
        "only those that ended with that code, or of which a verdict carries it",
    ),
];

/// Every delegation of whoever asks.
pub(super) fn own(call: &Call) -> Result<Wanted, Failure> {
    let tenant = &call.caller()?.tenant;
    // A name of that tenant carries its mark; those of nobody are the tenant's `default`.
    let mut marks = vec![mark_of(&tenant::run_id(tenant, 0)).to_owned()];
    if tenant == DEFAULT_TENANT {
        marks.push(String::new());
    }
    Ok(Wanted { marks, ..Wanted::default() })
}

/// Those that the question is narrowed to.
pub(super) fn narrowed(call: &Call) -> Result<Wanted, Failure> {
    Ok(Wanted {
        delegate: word(call, "delegate")?,
        code: code_given(call)?,
        since_ms: call.query.whole("since", 0, u64::MAX)?,
        until_ms: call.query.whole("until", 0, u64::MAX)?,
        ..own(call)?
    })
}

/// Those that a list is to hold.
pub(super) fn listed(call: &Call) -> Result<Wanted, Failure> {
    let text = call.query.get("q").map(str::trim).filter(|text| !text.is_empty());
    if text.is_some_and(|text| text.chars().count() > MAX_TEXT_CHARS) {
        let what = format!("must be at most {MAX_TEXT_CHARS} characters");
        return Err(Failure::invalid("?q", what));
    }
    let is_waived = match call.query.get("waived") {
        None | Some("false" | "") => false,
        Some("true") => true,
        Some(_) => return Err(Failure::invalid("?waived", "must be `true` or `false`")),
    };
    Ok(Wanted {
        ended: ended(call)?,
        stage: word(call, "stage")?,
        is_waived,
        text: text.map(str::to_owned),
        ..narrowed(call)?
    })
}

fn ended(call: &Call) -> Result<Option<Ended>, Failure> {
    let Some(word) = given(call, "outcome") else { return Ok(None) };
    let outcome = || Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word);
    match word {
        "open" => Ok(Some(Ended::Open)),
        "not_verified" => Ok(Some(Ended::NotVerified)),
        _ => outcome().map(|outcome| Some(Ended::As(outcome))).ok_or_else(|| {
            let all = Outcome::ALL.map(Outcome::as_str).join(", ");
            let what = format!("must be `open`, `not_verified` or one of {all}");
            Failure::invalid("?outcome", what)
        }),
    }
}

fn code_given(call: &Call) -> Result<Option<String>, Failure> {
    let Some(text) = given(call, "code") else { return Ok(None) };
    let wrong = |_| Failure::invalid("?code", "is no code");
    text.parse::<Code>().map(|code| Some(code.to_string())).map_err(wrong)
}

fn word(call: &Call, name: &str) -> Result<Option<String>, Failure> {
    match given(call, name) {
        Some(text) if text.chars().count() > MAX_WORD_CHARS => {
            let what = format!("must be at most {MAX_WORD_CHARS} characters");
            Err(Failure::invalid(&format!("?{name}"), what))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

/// What stands behind the question mark, where anything does.
fn given<'a>(call: &'a Call, name: &str) -> Option<&'a str> {
    call.query.get(name).filter(|text| !text.is_empty())
}

/// Where a page begins: a time and a name.
pub(super) fn place(call: &Call) -> Result<Option<Place>, Failure> {
    let Some(text) = given(call, "cursor") else { return Ok(None) };
    let wrong = || Failure::invalid("?cursor", "must be the `nextCursor` of an answer");
    let (opened, run) = text.split_once('.').ok_or_else(wrong)?;
    let opened_at_ms = opened.parse().map_err(|_| wrong())?;
    let run_id = run.parse::<probity_core::RunId>().map_err(|_| wrong())?.to_string();
    Ok(Some(Place { opened_at_ms, run_id }))
}

pub(super) fn cursor(place: &Place) -> String {
    format!("{}.{}", place.opened_at_ms, place.run_id)
}

/// A run of a list. Its title is content.
pub(super) fn row(run: &IndexedRun, titles: &BTreeMap<String, String>) -> Value {
    let mut told = json!({
        "runId": run.run_id,
        "parentId": run.parent_id,
        "delegate": run.delegate,
        "stage": run.stage,
        "outcome": run.outcome,
        "code": run.code,
        "waived": run.waived,
        "isSealed": run.sealed,
        "attempts": run.attempts,
        "maxAttempts": run.max_attempts,
        "interruptions": run.interruptions,
        "tokens": run.tokens,
        "pool": run.pool,
        "worker": run.worker,
        "taskDigest": run.task_digest,
        "openedAtMs": run.opened_at_ms,
        "endedAtMs": run.ended_at_ms,
        "changedAtMs": run.changed_at_ms,
        "records": run.records,
    });
    let title = run.task_digest.as_ref().and_then(|task| titles.get(task));
    if let (Some(title), Some(members)) = (title, told.as_object_mut()) {
        members.insert("title".to_owned(), title.clone().into());
    }
    told
}

pub(super) fn counts(counts: &Counts) -> Value {
    let Counts { total, outcomes, waived, damaged, tokens } = counts;
    json!({
        "total": total,
        "outcomes": outcomes,
        "waived": waived,
        "damaged": damaged,
        "tokens": tokens,
    })
}

pub(super) fn words(words: &Words) -> Value {
    let Words { delegates, stages, codes } = words;
    json!({"delegates": delegates, "stages": stages, "codes": codes})
}
