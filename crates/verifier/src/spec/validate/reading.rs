//! Bounds of the two checks that read until it fits.

use super::super::effect::{InvariantCheckSpec, ReadAfterWriteSpec};
use super::super::error::excerpt;
use super::super::{Source, SpecError};
use super::{
    Checked, bad_target, excludes, inside, line, patterns, pointer, program, query, web_url,
};
use crate::compare::expects_nothing;
use crate::target::{ID, TYPE, names_target, unknown_part};

const READ_AFTER_WRITE: &str = "read_after_write";
const INVARIANT_CHECK: &str = "invariant_check";

pub(super) fn read_after_write(spec: &ReadAfterWriteSpec) -> Checked {
    let programs = [&spec.inputs, &spec.may_change, &spec.env].map(Vec::as_slice);
    source(READ_AFTER_WRITE, &spec.source, spec.query.as_deref(), programs)?;
    pointer(spec.pointer.as_deref())?;
    match &spec.expected {
        None => Err(SpecError::Missing { kind: READ_AFTER_WRITE, needs: "`expected`" }),
        Some(expected) if expects_nothing(expected) => Err(SpecError::Value {
            key: "expected",
            legal: "something to compare with, or anything would do; for an absent or empty value \
                    use `invariant_check` with `equals`"
                .to_owned(),
            value: excerpt(&expected.to_string()),
        }),
        Some(_) => Ok(()),
    }
}

pub(super) fn invariant_check(spec: &InvariantCheckSpec) -> Checked {
    let programs = [&spec.inputs, &spec.may_change, &spec.env].map(Vec::as_slice);
    source(INVARIANT_CHECK, &spec.source, spec.query.as_deref(), programs)?;
    pointer(spec.pointer.as_deref())?;
    patterns("matches", &spec.matches)?;
    if spec.status.is_some() && !matches!(spec.source, Source::Http(_)) {
        return Err(only("status", "an `http` source"));
    }
    let bounds = [("at_least", spec.at_least.is_some()), ("at_most", spec.at_most.is_some())];
    excludes("equals", spec.equals.is_some(), &bounds)?;
    if let (Some(least), Some(most)) = (&spec.at_least, &spec.at_most)
        && least.as_f64() > most.as_f64()
    {
        return Err(SpecError::Conflict { first: "at_least", second: "at_most" });
    }
    let has_condition = spec.equals.is_some()
        || spec.at_least.is_some()
        || spec.at_most.is_some()
        || !spec.matches.is_empty();
    if !has_condition && spec.pointer.is_some() {
        return Err(SpecError::Missing {
            kind: INVARIANT_CHECK,
            needs: "a condition beside `pointer`",
        });
    }
    if !has_condition && matches!(spec.source, Source::File(_) | Source::Sqlite(_)) {
        let needs = "`equals`, `at_least`, `at_most` or `matches`";
        return Err(SpecError::Missing { kind: INVARIANT_CHECK, needs });
    }
    Ok(())
}

/// The source itself, and the keys that only some sources have.
fn source(
    kind: &'static str,
    source: &Source,
    sql: Option<&str>,
    [inputs, may_change, env]: [&[String]; 3],
) -> Checked {
    let (_, rest) = source.parts();
    if unknown_part(rest) {
        let legal = "without `{target.` but for `{target.id}` and `{target.type}`";
        return Err(bad_target(kind, legal, rest));
    }
    let filled = filled(rest, "x");
    match source {
        Source::File(path) | Source::Sqlite(path) if !inside(&filled) => {
            let legal = "a source with a relative path below the workspace, without `..`";
            return Err(bad_target(kind, legal, path));
        }
        Source::Http(url) => http(kind, url)?,
        Source::Command(text) => line(kind, text)?,
        Source::File(_) | Source::Sqlite(_) => {}
    }
    match (source, sql) {
        (Source::Sqlite(_), _) => query(kind, sql)?,
        (_, Some(_)) => return Err(only("query", "a `sqlite` source")),
        (_, None) => {}
    }
    if let Some(sql) = sql.filter(|sql| sql.contains("{target.")) {
        return Err(SpecError::Value {
            key: "query",
            legal: "without `{target.`: write `?1` for the target's id".to_owned(),
            value: excerpt(sql),
        });
    }
    program(inputs, may_change, env)?;
    let lists = [("inputs", inputs), ("may_change", may_change), ("env", env)];
    match lists.iter().find(|(_, list)| !list.is_empty()) {
        Some((key, _)) if source.command_line().is_none() => Err(only(key, "a `command` source")),
        _ => Ok(()),
    }
}

/// A URL whose host does not depend on the target.
fn http(kind: &'static str, text: &str) -> Checked {
    let one = web_url(&filled(text, "x"));
    let url = one.ok_or_else(|| bad_target(kind, "a source with an http or https URL", text))?;
    let other = web_url(&filled(text, "y"));
    let place = |url: &url::Url| (url.origin(), url.username().to_owned());
    if names_target(text) && other.as_ref().map(place) != Some(place(&url)) {
        let legal = "a URL with `{target.id}` and `{target.type}` behind the host only";
        return Err(bad_target(kind, legal, text));
    }
    Ok(())
}

fn filled(text: &str, with: &str) -> String {
    text.replace(ID, with).replace(TYPE, with)
}

fn only(key: &'static str, with: &str) -> SpecError {
    SpecError::Value { key, legal: format!("left out, or used with {with}"), value: key.to_owned() }
}
