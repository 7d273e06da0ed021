//! What came of the mutants of one check, counted.

use serde::Serialize;

use crate::operator::Operator;

/// Misses that are told with a suggestion.
const MAX_TOLD: usize = 3;

/// What a check made of one mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It did not pass.
    Caught,
    /// It passed.
    Missed,
    /// It broke, or could not tell: nobody knows.
    Fault,
}

/// One mutant that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// The kind of change.
    pub operator: Operator,
    /// Key of the file, or name of the ref.
    pub path: String,
    /// The line, counted from 1, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What was done, in words.
    pub what: String,
    /// What the check made of it.
    pub fate: Fate,
    /// Why, in one word; absent where it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What would have caught it; for misses.
    #[serde(skip)]
    pub suggestion: String,
}

/// A miss that says much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Miss {
    /// What still passes, as a sentence.
    pub sentence: String,
    /// What would have caught it.
    pub suggestion: String,
}

/// How far a check was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It passes as things are, and mutants were tried.
    Scored,
    /// It does not pass as things are, so that nothing can be told from its not passing.
    Red,
    /// It breaks as things are, or cannot tell.
    Broken,
    /// It did not pass where nothing was changed that it may react to: nothing can be told from its not passing.
    Unreliable,
    /// Every mutant broke it, or could not be made.
    Unscored,
    /// There was nothing that could be changed.
    NotTried,
}

/// What came of the mutants of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckQuality {
    /// Its name.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// How far it was tried.
    pub state: State,
    /// Why it was not scored, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in one word, where the check said one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Mutants that were tried.
    pub tried: usize,
    /// Those that it did not pass.
    pub caught: usize,
    /// Those that it passed.
    pub missed: usize,
    /// Those that broke it.
    pub faults: usize,
    /// Controls: nothing, or nothing that counts, was changed.
    pub controls: usize,
    /// Those of them that it did not pass.
    pub false_alarms: usize,
    /// Of 100 mutants that it judged, how many it caught; absent unless it was scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_percent: Option<u32>,
    /// It was scored, and caught nothing: it passes whatever is done.
    pub blind: bool,
    /// The most telling misses.
    pub misses: Vec<Miss>,
    /// Every mutant that was tried.
    pub mutants: Vec<Tried>,
    /// The controls that it did not pass.
    pub alarms: Vec<Tried>,
    /// Wall time.
    pub elapsed_ms: u64,
}

impl CheckQuality {
    /// A check that was not scored, and why.
    #[must_use]
    pub fn unscored(id: &str, kind: &str, state: State, reason: &str, code: Option<&str>) -> Self {
        Self {
            reason: Some(reason.to_owned()),
            code: code.map(str::to_owned),
            ..Self::empty(id, kind, state)
        }
    }

    /// A check whose mutants and controls were tried. What it made of the controls decides whether the rest
    /// says anything.
    #[must_use]
    pub fn of(id: &str, kind: &str, tried: Vec<Tried>) -> Self {
        let (controls, mutants): (Vec<Tried>, Vec<Tried>) =
            tried.into_iter().partition(|tried| tried.operator.is_control());
        let count = |fate| mutants.iter().filter(|tried| tried.fate == fate).count();
        let (caught, missed) = (count(Fate::Caught), count(Fate::Missed));
        let tried_controls = controls.len();
        let alarms: Vec<Tried> =
            controls.into_iter().filter(|it| it.fate != Fate::Missed).collect();
        let (state, reason) = if let Some(alarm) = alarms.first() {
            let what = &alarm.what;
            let reason =
                format!("{what} is no reason not to pass: the check is flaky, or too strict");
            (State::Unreliable, Some(reason))
        } else if mutants.is_empty() {
            (State::NotTried, Some("nothing could be changed".to_owned()))
        } else if caught == 0 && missed == 0 {
            (State::Unscored, Some("the check broke on every mutant".to_owned()))
        } else {
            (State::Scored, None)
        };
        let is_scored = state == State::Scored;
        Self {
            reason,
            tried: mutants.len(),
            caught,
            missed,
            faults: count(Fate::Fault),
            controls: tried_controls,
            false_alarms: alarms.len(),
            score_percent: is_scored.then(|| percent(caught, caught.saturating_add(missed))),
            blind: is_scored && caught == 0,
            misses: telling(&mutants),
            mutants,
            alarms,
            ..Self::empty(id, kind, state)
        }
    }

    /// Whether of 100 mutants that it judged it missed more than this many. None where it was not scored:
    /// nobody knows.
    #[must_use]
    pub fn misses_more_than(&self, percent: u32) -> Option<bool> {
        let judged = self
            .caught
            .saturating_add(self.missed)
            .saturating_mul(usize::from(u16::try_from(percent).unwrap_or(u16::MAX)));
        (self.state == State::Scored).then(|| self.missed.saturating_mul(100) > judged)
    }

    fn empty(id: &str, kind: &str, state: State) -> Self {
        Self {
            id: id.to_owned(),
            kind: kind.to_owned(),
            state,
            reason: None,
            code: None,
            tried: 0,
            caught: 0,
            missed: 0,
            faults: 0,
            controls: 0,
            false_alarms: 0,
            score_percent: None,
            blind: false,
            misses: Vec::new(),
            mutants: Vec::new(),
            alarms: Vec::new(),
            elapsed_ms: 0,
        }
    }
}

/// Rounded down: 100 is all of them.
fn percent(part: usize, whole: usize) -> u32 {
    let percent = part.saturating_mul(100).checked_div(whole).unwrap_or(0);
    u32::try_from(percent).unwrap_or(0)
}

/// The misses of the heaviest operators, one of each, as far as they go.
fn telling(mutants: &[Tried]) -> Vec<Miss> {
    let mut missed: Vec<&Tried> = mutants.iter().filter(|it| it.fate == Fate::Missed).collect();
    missed.sort_by_key(|it| it.operator);
    let mut told: Vec<&Tried> = Vec::new();
    for one in &missed {
        if told.iter().all(|other| other.operator != one.operator) {
            told.push(one);
        }
    }
    let more = missed.iter().filter(|it| !told.iter().any(|other| std::ptr::eq(*other, **it)));
    let more: Vec<&Tried> = more.copied().collect();
    told.into_iter()
        .chain(more)
        .take(MAX_TOLD)
        .map(|it| Miss {
            sentence: format!("{} still passes", it.what),
            suggestion: it.suggestion.clone(),
        })
        .collect()
}
