//! `read_after_write` and `invariant_check`: looking at the world until it is as it should be, or
//! time is up. The two scaffolds of seed 001: the reasons are its own words, the codes those of the
//! declared checks of the same names.

use std::time::{Duration, Instant};

use probity_core::{Digest, Evidence};
use probity_verifier::compare::{Match, difference, expects_nothing};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneOr;

use crate::data;
use crate::fault::{self, cut};
use crate::session::{Missed, Session, raise};

/// The pause after the first look; each next one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_millis(500);
/// The longest `timeout_ms`.
const MAX_TIMEOUT_MS: i32 = 3_600_000;
/// The longest `detail`, in bytes.
const MAX_DETAIL_BYTES: usize = 1024;

/// What a poll came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Match,
    Mismatch,
    ConditionTrue,
    ConditionFalse,
    /// Looks were completed, and none found anything to compare.
    MissingData,
    /// No look was completed: there was no answer in time.
    Timeout,
    /// No look was completed: each one failed.
    Error,
}

impl Reason {
    const fn code(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Mismatch => "mismatch",
            Self::ConditionTrue => "condition_true",
            Self::ConditionFalse => "condition_false",
            Self::MissingData => "missing_data",
            Self::Timeout => "verify_timeout",
            Self::Error => "read_error",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Error => "error",
            other => other.code(),
        }
    }

    const fn outcome(self) -> &'static str {
        match self {
            Self::Match | Self::ConditionTrue => "pass",
            Self::Mismatch | Self::ConditionFalse => "fail",
            Self::MissingData | Self::Timeout | Self::Error => "inconclusive",
        }
    }
}

/// One completed look.
enum Look {
    /// As it should be.
    Right(Json),
    /// Not so, and why.
    Wrong(Json, String),
    /// There was nothing to look at.
    Nothing,
}

/// What is known so far.
#[derive(Default)]
struct Seen {
    looks: u32,
    first: Option<Json>,
    last: Option<Json>,
    /// Why the last completed look was not right.
    wrong: Option<String>,
    is_right: bool,
    /// Whether a look was completed that found nothing.
    is_absent: bool,
    /// Why the last look that failed did, and the last that had no answer in time.
    failed: Option<String>,
    late: Option<String>,
    /// Time spent on looks that failed, and on those without an answer.
    failing: Duration,
    hanging: Duration,
}

impl Seen {
    fn take(&mut self, look: Look) {
        let value = match look {
            Look::Right(value) => {
                self.is_right = true;
                value
            }
            Look::Wrong(value, why) => {
                self.wrong = Some(why);
                value
            }
            Look::Nothing => {
                self.is_absent = true;
                return;
            }
        };
        self.first.get_or_insert_with(|| value.clone());
        self.last = Some(value);
    }

    /// A look that was not completed, and how long it took.
    fn miss(&mut self, missed: Missed, took: Duration) {
        if missed.is_late {
            self.hanging = self.hanging.saturating_add(took);
            self.late = Some(missed.reason);
        } else {
            self.failing = self.failing.saturating_add(took);
            self.failed = Some(missed.reason);
        }
    }

    /// The reason and a text for it. `right` and `wrong` are the words of the caller.
    fn result(&self, right: Reason, wrong: Reason) -> (Reason, String) {
        if self.is_right {
            return (right, String::new());
        }
        if let Some(why) = &self.wrong {
            return (wrong, why.clone());
        }
        if self.is_absent {
            return (Reason::MissingData, "read gave None: there was nothing there".into());
        }
        // A look that the end cut off among many that failed says nothing of its own.
        if let Some(why) = self.failed.as_ref().filter(|_| self.hanging <= self.failing) {
            return (Reason::Error, format!("no read was completed: {why}"));
        }
        let why = self.late.as_deref().unwrap_or_default();
        (Reason::Timeout, format!("no read was completed in time: {why}"))
    }
}

/// Looks, and looks again after a pause, until it is right or `timeout_ms` are over. The check's own
/// end comes first if it is earlier.
fn poll<'v>(
    look_at: Value<'v>,
    timeout_ms: NoneOr<i32>,
    session: &Session,
    eval: &mut Evaluator<'v, '_, '_>,
    mut judge: impl FnMut(Value<'v>, &mut Evaluator<'v, '_, '_>) -> starlark::Result<Look>,
) -> starlark::Result<Seen> {
    let timeout = match timeout_ms {
        NoneOr::None => None,
        NoneOr::Other(ms) if (1..=MAX_TIMEOUT_MS).contains(&ms) => {
            Some(Duration::from_millis(u64::from(ms.unsigned_abs())))
        }
        NoneOr::Other(_) => {
            return Err(raise(format!("`timeout_ms` must be 1 to {MAX_TIMEOUT_MS}")));
        }
    };
    let poll = session.start_poll(timeout);
    let mut seen = Seen::default();
    let mut pause = FIRST_PAUSE;
    loop {
        session.forget_middle(&poll, seen.looks);
        seen.looks = seen.looks.saturating_add(1);
        let begun = Instant::now();
        match eval.eval_function(look_at, &[], &[]) {
            Ok(value) => seen.take(judge(value, eval)?),
            Err(error) => seen.miss(session.recover().ok_or(error)?, begun.elapsed()),
        }
        let left = poll.end().saturating_duration_since(Instant::now());
        if seen.is_right || left.is_zero() || !session.wait(pause.min(left))? {
            return Ok(seen);
        }
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// The result as the script gets it, after it was noted as evidence.
fn report<'v>(
    name: &str,
    source: &str,
    (reason, detail): (Reason, String),
    seen: &Seen,
    started: Instant,
    session: &Session,
    eval: &Evaluator<'v, '_, '_>,
) -> Value<'v> {
    let (word, looks) = (reason.word(), seen.looks);
    let mut evidence = Evidence::new(source, format!("{word}, reads: {looks}"));
    if let Some(last) = &seen.last {
        let digest = Sha256::digest(last.to_string().as_bytes());
        evidence = evidence.with_digest(Digest::from_bytes(digest.into()));
    }
    session.observe(evidence);
    let detail = if detail.is_empty() { detail } else { format!("{name}: {detail}") };
    eval.heap().alloc(json!({
        "outcome": reason.outcome(),
        "reason": word,
        "code": reason.code(),
        "detail": cut(&detail, MAX_DETAIL_BYTES),
        "reads": looks,
        "first": seen.first,
        "last": seen.last,
        "elapsed_ms": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }))
}

#[starlark_module]
pub(super) fn members(builder: &mut GlobalsBuilder) {
    /// Calls `read` until it gives what is expected: a dict of `outcome`, `reason`, `code`,
    /// `detail`, `reads`, `first`, `last`, `elapsed_ms`.
    fn read_after_write<'v>(
        read: Value<'v>,
        expected: Value<'v>,
        #[starlark(default = "subset")] mode: &str,
        #[starlark(default = NoneOr::None)] timeout_ms: NoneOr<i32>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let started = Instant::now();
        let how = match mode {
            "subset" => Match::Subset,
            "exact" => Match::Exact,
            _ => return Err(raise("`mode` must be `subset` or `exact`")),
        };
        let expected = data::to_json(expected, eval.heap(), &session)?;
        if expects_nothing(&expected) {
            let message = "`expected` is empty, so that anything would do; \
                           to check that nothing is there use `invariant_check`";
            return Err(raise(message));
        }
        let seen = poll(read, timeout_ms, &session, eval, |value, eval| {
            if value.is_none() {
                return Ok(Look::Nothing);
            }
            let got = data::to_json(value, eval.heap(), &session)?;
            Ok(match difference(&expected, &got, how) {
                None => Look::Right(got),
                Some(difference) => Look::Wrong(got, difference.to_string()),
            })
        })?;
        let result = seen.result(Reason::Match, Reason::Mismatch);
        let name = "read_after_write";
        Ok(report(name, name, result, &seen, started, &session, eval))
    }

    /// Calls `condition` until it gives True: the same dict. Anything but a bool is a fault.
    fn invariant_check<'v>(
        condition: Value<'v>,
        #[starlark(default = NoneOr::None)] timeout_ms: NoneOr<i32>,
        #[starlark(default = "invariant")] name: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let started = Instant::now();
        let seen =
            poll(condition, timeout_ms, &session, eval, |value, _| match value.unpack_bool() {
                Some(true) => Ok(Look::Right(Json::Bool(true))),
                Some(false) => Ok(Look::Wrong(Json::Bool(false), "it does not hold".to_owned())),
                None => {
                    let got = value.get_type();
                    let message = format!("the condition `{name}` gave a value of type `{got}`");
                    Err(session.end(fault::CONDITION_TYPE, message))
                }
            })?;
        let result = seen.result(Reason::ConditionTrue, Reason::ConditionFalse);
        let source = format!("invariant_check:{name}");
        Ok(report(name, &source, result, &seen, started, &session, eval))
    }
}
