//! What a run came to, as every report has it.

use probity_core::{Code, Evidence, Outcome, RunId};
use probity_engine::{CheckReport, EngineError, Report, SealReport, read_entries};
use probity_store::Store;

use super::super::CliError;
use super::super::present::{Beside, StoppedBy, block, count, why};
use super::place::{Place, Places};

/// Bytes of one reason that a report quotes; the whole of it is in the store.
const MAX_REASON_BYTES: usize = 8 * 1024;
/// Cases of one report.
const MAX_CASES: usize = 1000;

/// A run as reports have it. One that is not verified has a case that says so.
pub(super) struct Sheet {
    /// Its name, once it has one.
    pub(super) run: Option<RunId>,
    /// Whether the gate let its result through.
    pub(super) is_verified: bool,
    /// What came of it, in a line.
    pub(super) headline: String,
    /// Why, as clean lines.
    pub(super) why: Vec<String>,
    /// What else there is to know, each a clean line.
    pub(super) notes: Vec<String>,
    /// The checks of the last attempt, and the outcome where no check explains it.
    pub(super) cases: Vec<Case>,
    /// What each check said in each attempt.
    pub(super) rows: Vec<Row>,
    /// Its closing record.
    pub(super) seal: Option<SealReport>,
    /// When it began.
    pub(super) begun_ms: u64,
    /// From its first record to its last.
    pub(super) elapsed_ms: u64,
}

/// One thing that was checked, or was to be.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) state: State,
    /// `pass`, `revise`, `fail` and so on; of an outcome its name.
    pub(super) verdict: String,
    /// Why, as clean lines.
    pub(super) reason: Vec<String>,
    pub(super) code: Option<Code>,
    pub(super) elapsed_ms: u64,
    pub(super) evidence: Vec<Evidence>,
    pub(super) place: Option<Place>,
}

/// How a case is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It held.
    Passed,
    /// The delegate's work is not what was asked for.
    Failed,
    /// Nobody could tell.
    Broken,
    /// It was not looked at.
    Skipped,
}

/// One check in one attempt.
pub(super) struct Row {
    /// `attempt 2`.
    pub(super) attempt: String,
    pub(super) check: Option<Code>,
    pub(super) verdict: &'static str,
    pub(super) code: Option<Code>,
}

impl Sheet {
    /// Reads a run from its store.
    ///
    /// # Errors
    /// [`EngineError`] if its log, or what it names, cannot be read.
    pub(super) async fn read(
        store: &dyn Store,
        run: &RunId,
        places: &Places,
    ) -> Result<Self, EngineError> {
        let report = Report::read(store, run).await?;
        let stopped_by = StoppedBy::of(store, &report).await?;
        let why = why(&report, &Beside { stopped_by: stopped_by.as_ref(), ..Beside::default() });
        let entries = read_entries(store, run).await?;
        let at = |entry: Option<&probity_core::Entry>| entry.map_or(0, |entry| entry.at_ms);
        let begun_ms = at(entries.first());
        Ok(Self {
            begun_ms,
            elapsed_ms: at(entries.last()).saturating_sub(begun_ms),
            ..Self::of(&report, why, places)
        })
    }

    fn of(report: &Report, why: Vec<String>, places: &Places) -> Self {
        // Before the seal nothing counts: whoever drove it stopped between the decision and its record.
        let is_verified = report.outcome == Some(Outcome::Verified) && report.seal.is_some();
        let word = match report.outcome {
            None => "not finished".to_owned(),
            Some(Outcome::Verified) => "not sealed".to_owned(),
            Some(outcome) => outcome.as_str().replace('_', " "),
        };
        let waived = if report.waived { " (waived by a human)" } else { "" };
        let attempts = match report.attempts {
            0 => String::new(),
            attempts => format!(" after {}", count(attempts.into(), "attempt")),
        };
        let headline = match is_verified {
            true => format!("VERIFIED{attempts}"),
            false => format!("NOT VERIFIED: {word}{waived}{attempts}"),
        };
        let mut cases: Vec<Case> = report.checks.iter().map(|it| Case::of(it, places)).collect();
        if !is_verified && !is_explained(report.outcome, &cases) {
            let state = match report.outcome {
                Some(Outcome::Exhausted | Outcome::Rejected | Outcome::DelegateFailed) => {
                    State::Failed
                }
                _ => State::Broken,
            };
            let code = report.code.clone();
            cases.insert(0, Case::outcome(state, &word, cut(&why), code));
        } else if is_verified && cases.iter().all(|case| case.state != State::Passed) {
            cases.insert(0, Case::outcome(State::Broken, "unverified", nothing(), None));
        }
        Self {
            run: Some(report.run_id.clone()),
            is_verified,
            headline,
            why: cut(&why),
            notes: notes(report),
            cases: bounded(cases),
            rows: rows(report),
            seal: report.seal,
            begun_ms: 0,
            elapsed_ms: 0,
        }
    }

    /// Nothing has come of it yet.
    pub(super) fn pending(begun_ms: u64) -> Self {
        let why = vec!["nothing was checked: the run has not ended".to_owned()];
        Self::without_report(None, "not finished", why, None, begun_ms)
    }

    /// The run was not begun, or stopped on the way.
    pub(super) fn stopped(run: Option<&RunId>, error: &CliError, begun_ms: u64) -> Self {
        let mut why = cut(&block(&error.to_string()));
        why.push("nothing was verified".to_owned());
        let code = Code::slug(error.code());
        Self::without_report(run.cloned(), "stopped", why, Some(code), begun_ms)
    }

    fn without_report(
        run: Option<RunId>,
        word: &str,
        why: Vec<String>,
        code: Option<Code>,
        begun_ms: u64,
    ) -> Self {
        let cases = vec![Case::outcome(State::Broken, word, why.clone(), code)];
        Self {
            run,
            is_verified: false,
            headline: format!("NOT VERIFIED: {word}"),
            why,
            notes: Vec::new(),
            cases,
            rows: Vec::new(),
            seal: None,
            begun_ms,
            elapsed_ms: 0,
        }
    }

    /// Whether a check says already why the run ended as it did.
    pub(super) fn is_told_by_a_check(&self) -> bool {
        let is_told = |case: &Case| matches!(case.state, State::Failed | State::Broken);
        !self.cases.iter().any(|case| is_told(case) && case.reason == self.why)
            && self.cases.iter().any(is_told)
    }

    /// How many cases are told so.
    pub(super) fn count(&self, state: State) -> usize {
        self.cases.iter().filter(|case| case.state == state).count()
    }
}

impl Case {
    fn of(check: &CheckReport, places: &Places) -> Self {
        let state = match check.verdict {
            "pass" => State::Passed,
            "revise" | "fail" => State::Failed,
            "not_applicable" | "not_run" => State::Skipped,
            _ => State::Broken,
        };
        let is_told = matches!(state, State::Failed | State::Broken);
        Self {
            name: check.id.to_string(),
            state,
            verdict: check.verdict.replace('_', " "),
            reason: block(head(&check.reason)),
            code: check.code.clone(),
            elapsed_ms: check.elapsed_ms,
            evidence: check.evidence.clone(),
            place: is_told.then(|| places.find(check)).flatten(),
        }
    }

    fn outcome(state: State, word: &str, reason: Vec<String>, code: Option<Code>) -> Self {
        Self {
            name: "outcome of the run".to_owned(),
            state,
            verdict: word.to_owned(),
            reason,
            code,
            elapsed_ms: 0,
            evidence: Vec::new(),
            place: None,
        }
    }

    /// The first line of why, or the verdict where nothing was said.
    pub(super) fn said(&self) -> &str {
        self.reason.first().filter(|line| !line.is_empty()).unwrap_or(&self.verdict)
    }
}

/// Whether a case says already why the run ended as it did.
fn is_explained(outcome: Option<Outcome>, cases: &[Case]) -> bool {
    let has = |state: State| cases.iter().any(|case| case.state == state);
    match outcome {
        Some(Outcome::Exhausted | Outcome::Rejected) => has(State::Failed),
        Some(Outcome::Inconclusive | Outcome::Faulted) => has(State::Broken),
        _ => false,
    }
}

/// No report grows without bound; what is left out is told, and is not green.
fn bounded(mut cases: Vec<Case>) -> Vec<Case> {
    let left_out = cases.len().saturating_sub(MAX_CASES);
    if left_out > 0 {
        cases.sort_by_key(|case| matches!(case.state, State::Passed | State::Skipped));
        cases.truncate(MAX_CASES);
        let reason = vec![format!("{left_out} more; `probity log show` lists all of them")];
        cases.push(Case::outcome(State::Skipped, "not listed", reason, None));
    }
    cases
}

fn nothing() -> Vec<String> {
    vec!["nothing was checked".to_owned()]
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if report.edited {
        notes.push(
            "edited after verification by a hook: what was handed on is not what was verified"
                .to_owned(),
        );
    }
    let proves_nothing =
        |check: &&CheckReport| check.verdict == "pass" && check.discriminating == Some(false);
    for check in report.checks.iter().filter(proves_nothing).take(MAX_CASES) {
        notes.push(format!(
            "{} passed before the delegate started: its pass proves nothing",
            check.id
        ));
    }
    if report.interruptions > 0 {
        notes.push(format!("survived {}", count(report.interruptions.into(), "interruption")));
    }
    notes
}

fn rows(report: &Report) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut counted = 0_u32;
    for attempt in &report.history {
        counted = counted.saturating_add(attempt.counted.into());
        let label = match attempt.counted {
            true => format!("attempt {counted}"),
            false => format!("claim {} (not counted)", attempt.turn),
        };
        if attempt.checks.is_empty() {
            let verdict = attempt.verdict.as_str();
            let code = Some(attempt.code.clone());
            rows.push(Row { attempt: label.clone(), check: None, verdict, code });
        }
        for check in &attempt.checks {
            rows.push(Row {
                attempt: label.clone(),
                check: Some(check.id.clone()),
                verdict: check.verdict,
                code: check.code.clone().filter(|_| check.verdict != "pass"),
            });
        }
    }
    rows
}

/// The beginning of a text, as much as is quoted.
fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_REASON_BYTES)).unwrap_or_default()
}

fn cut(lines: &[String]) -> Vec<String> {
    block(head(&lines.join("\n")))
}
