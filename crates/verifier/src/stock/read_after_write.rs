//! `read_after_write:SOURCE`: a value is read again until it is as it was written, or the check's
//! time is up. Seed 001's scaffold of that name.
//!
//! | Situation | Result |
//! |---|---|
//! | a read matches `expected` | pass `match` |
//! | the last completed read does not; what is there is no file, no database, or reached through a new link | revise `mismatch` |
//! | the source lacks it: no file, no row, no table, status 404 or 410 | inconclusive `missing_data` |
//! | the source was slow: no read was completed in time | inconclusive `verify_timeout` |
//! | no read was completed, because each failed: no connection, another status than 2xx, another exit code than 0, no permission, a lock | inconclusive `read_error` |
//! | the check names the target of a decision and there is none | fault `no_decision` |
//! | what the decision says of its target cannot stand there | fault `target_unusable` |
//! | host not allowed, path outside the workspace, a query that is not SQL or would write, a program that is not installed | fault with the code of the check of that source |
//!
//! The comparison is typed: a missing key is not null, a bool is no number, text is no number, `1`
//! equals `1.0`. In the mode `subset` objects may hold more than is expected, at every depth; in the
//! mode `exact` nothing else may be there. Pauses between reads grow from 10 ms to 500 ms. Before the
//! delegate there is one read, of at most half a second.

use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Code, Fault, Verdict};
use serde_json::Value;

use super::poll::{Words, poll};
use super::source::{Reader, Reading, Wants};
use super::{Deps, RED_TIMEOUT};
use crate::compare::{Match, difference};
use crate::spec::ReadAfterWriteSpec;
use crate::{CheckContext, Verifier};

const WORDS: Words = Words { right: "match", wrong: "mismatch" };

/// The check `read_after_write`.
#[derive(Debug)]
pub struct ReadAfterWrite {
    reader: Reader,
    expected: Value,
    how: Match,
    pointer: Option<String>,
}

impl ReadAfterWrite {
    /// The check of a spec, which must be valid.
    #[must_use]
    pub fn new(spec: ReadAfterWriteSpec, deps: &Deps) -> Self {
        let expected = spec.expected.unwrap_or_default();
        let fields = expected.is_object() || spec.pointer.is_some();
        let wants = Wants { value: true, fields, ending: false };
        let reader = Reader::new(&spec.source, spec.query.as_ref(), &spec.env, wants, deps);
        Self { reader, expected, how: spec.mode.unwrap_or_default(), pointer: spec.pointer }
    }

    fn judge(&self, reading: &Reading) -> Result<(), String> {
        let got = at(&reading.value, self.pointer.as_deref())?;
        match difference(&self.expected, got, self.how) {
            None => Ok(()),
            Some(difference) => Err(difference.to_string()),
        }
    }
}

#[async_trait]
impl Verifier for ReadAfterWrite {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let mut verdict = poll(&self.reader, ctx, WORDS, |reading| self.judge(reading)).await?;
        verdict.criteria.extend(["expected"].map(Code::slug));
        Ok(verdict)
    }

    fn red_timeout(&self, timeout: Duration) -> Duration {
        timeout.min(RED_TIMEOUT)
    }
}

/// The value at the pointer, or why there is none.
pub(super) fn at<'a>(value: &'a Value, pointer: Option<&str>) -> Result<&'a Value, String> {
    let pointer = pointer.unwrap_or_default();
    value.pointer(pointer).ok_or_else(|| format!("there is no value at `{pointer}`"))
}
