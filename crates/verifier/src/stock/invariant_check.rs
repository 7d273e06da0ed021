//! `invariant_check:SOURCE`: a condition on the state of a system, looked at again until it holds, or
//! the check's time is up. Seed 001's scaffold of that name.
//!
//! | Situation | Result |
//! |---|---|
//! | a read fulfils every key | pass `condition_true` |
//! | the last completed read does not; what is there is no file, no database, or reached through a new link | revise `condition_false` |
//! | the source lacks it: no file, no row, no table, status 404 or 410 where no `status` is asked for | inconclusive `missing_data` |
//! | the source was slow: no read was completed in time | inconclusive `verify_timeout` |
//! | no read was completed, because each failed | inconclusive `read_error` |
//! | the check names the target of a decision and there is none | fault `no_decision` |
//! | what the decision says of its target cannot stand there | fault `target_unusable` |
//! | host not allowed, path outside the workspace, a query that is not SQL or would write, a program that is not installed | fault with the code of the check of that source |
//!
//! With `status`, and without any key, every status of an `http` source is an answer, good or bad (2xx
//! where no other is named); so is every exit code of a `command` without any key, which must be 0.
//! Otherwise another ending is a read that failed. `equals` compares as `read_after_write` does in the
//! mode `exact`. Pauses and the run before the delegate are those of `read_after_write`.

use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Code, Fault, Verdict};
use probity_sandbox::Status;
use regex::bytes::Regex;
use serde_json::{Number, Value};

use super::poll::{Words, poll};
use super::read_after_write::at;
use super::source::{Ending, Reader, Reading, Wants};
use super::{Deps, RED_TIMEOUT, document, first_words, pattern};
use crate::compare::{Match, difference};
use crate::spec::{InvariantCheckSpec, SpecError, StatusSet};
use crate::{CheckContext, Verifier};

const WORDS: Words = Words { right: "condition_true", wrong: "condition_false" };

/// The check `invariant_check`.
#[derive(Debug)]
pub struct InvariantCheck {
    reader: Reader,
    spec: InvariantCheckSpec,
    status: StatusSet,
    matches: Vec<Regex>,
    wants: Wants,
}

impl InvariantCheck {
    /// The check of a spec, which must be valid.
    ///
    /// # Errors
    /// [`SpecError::Regex`] when a pattern does not compile.
    pub fn new(spec: InvariantCheckSpec, deps: &Deps) -> Result<Self, SpecError> {
        let compile = |text: &String| {
            pattern(text).map_err(|error| SpecError::Regex {
                key: "matches",
                detail: first_words(&error.to_string(), 200),
            })
        };
        let matches = spec.matches.iter().map(compile).collect::<Result<_, _>>()?;
        let value = spec.equals.is_some()
            || spec.at_least.is_some()
            || spec.at_most.is_some()
            || !spec.matches.is_empty();
        let fields = spec.pointer.is_some() || spec.equals.as_ref().is_some_and(Value::is_object);
        let wants = Wants { value, fields, ending: spec.status.is_some() || !value };
        let reader = Reader::new(&spec.source, spec.query.as_ref(), &spec.env, wants, deps);
        let status = spec.status.clone().unwrap_or_default();
        Ok(Self { reader, spec, status, matches, wants })
    }

    fn judge(&self, reading: &Reading) -> Result<(), String> {
        match reading.ending {
            Ending::Http(status) if !self.status.contains(status) => {
                return Err(format!("it answers with status {status}, expected {}", self.status));
            }
            Ending::Process(status) if status != Status::Code(0) => {
                return Err(format!("it ended with {status}, expected exit status 0"));
            }
            _ if !self.wants.value => return Ok(()),
            _ => {}
        }
        let pointer = self.spec.pointer.as_deref();
        let value = at(&reading.value, pointer)?;
        if let Some(expected) = &self.spec.equals
            && let Some(difference) = difference(expected, value, Match::Exact)
        {
            return Err(difference.to_string());
        }
        if let Some(least) = &self.spec.at_least {
            bounded(value, least, "at least", std::cmp::Ordering::is_ge)?;
        }
        if let Some(most) = &self.spec.at_most {
            bounded(value, most, "at most", std::cmp::Ordering::is_le)?;
        }
        let shown = match (pointer, value) {
            (None, _) => reading.text.clone(),
            (Some(_), Value::String(text)) => text.clone().into_bytes(),
            (Some(_), value) => value.to_string().into_bytes(),
        };
        match self.matches.iter().find(|regex| !regex.is_match(&shown)) {
            Some(regex) => Err(format!("it does not match `{}`", first_words(regex.as_str(), 120))),
            None => Ok(()),
        }
    }

    fn criteria(&self) -> Vec<Code> {
        let spec = &self.spec;
        let keys = [
            ("equals", spec.equals.is_some()),
            ("at_least", spec.at_least.is_some()),
            ("at_most", spec.at_most.is_some()),
            ("status", spec.status.is_some()),
            ("matches", !spec.matches.is_empty()),
        ];
        keys.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| Code::slug(key)).collect()
    }
}

#[async_trait]
impl Verifier for InvariantCheck {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let mut verdict = poll(&self.reader, ctx, WORDS, |reading| self.judge(reading)).await?;
        verdict.criteria = self.criteria();
        Ok(verdict)
    }

    fn red_timeout(&self, timeout: Duration) -> Duration {
        timeout.min(RED_TIMEOUT)
    }
}

fn bounded(
    value: &Value,
    bound: &Number,
    words: &str,
    holds: fn(std::cmp::Ordering) -> bool,
) -> Result<(), String> {
    let order = value.as_number().and_then(|number| document::order(number, bound));
    if order.is_some_and(holds) {
        return Ok(());
    }
    let shown = first_words(&value.to_string(), 80);
    Err(format!("the value read is {shown}, expected a number of {words} {bound}"))
}
