//! What a critic answers, and what is no answer.

use std::collections::BTreeMap;
use std::fmt;

use probity_core::{Claim, Code, VerdictKind};
use probity_record::canonical::parse_ijson;
use serde::Deserialize;
use serde_json::Value;

use super::CriticConfig;

/// The longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Opening braces that begin no object, until the rest is not looked at.
const MAX_FALSE_STARTS: usize = 1_000;

/// An answer that can be read.
#[derive(Debug)]
pub(super) struct Answer {
    /// Never `inconclusive`: a critic decides.
    pub(super) verdict: VerdictKind,
    /// Each declared criterion, in the order of declaration, and whether it is met.
    pub(super) criteria: Vec<(Code, bool)>,
    pub(super) confidence_bp: Option<u16>,
    pub(super) reason: String,
}

/// Why something is no answer. In words that are ours: they go back to the critic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    Nothing,
    TooLong,
    Several,
    Form(&'static str),
    Missing(Code),
    Unknown,
    Contradiction(Code),
}

/// The object as it is written.
#[derive(Deserialize)]
struct Written {
    verdict: Word,
    criteria: BTreeMap<String, bool>,
    #[serde(default)]
    confidence: Option<f64>,
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Pass,
    Revise,
    Fail,
}

impl Answer {
    /// The answer in what a critic said: its output, or the one object in its text that has a verdict.
    /// A text with several of them is none: one of them may be quoted from the claim. So is one in which
    /// an object that cannot be read may hold another verdict.
    pub(super) fn read(claim: &Claim, config: &CriticConfig) -> Result<Self, NoAnswer> {
        let value = match &claim.output {
            Some(output) => output.clone(),
            None => in_text(&claim.response)?,
        };
        let form = NoAnswer::Form(
            "`verdict` is one of pass, revise, fail; `criteria` is an object of true and false; \
             `confidence` is a number, `reason` a text",
        );
        let written: Written = serde_json::from_value(value).map_err(|_| form)?;
        written.checked(config)
    }
}

impl Written {
    fn checked(mut self, config: &CriticConfig) -> Result<Answer, NoAnswer> {
        let verdict = match self.verdict {
            Word::Pass => VerdictKind::Pass,
            Word::Revise => VerdictKind::Revise,
            Word::Fail => VerdictKind::Fail,
        };
        let mut criteria = Vec::with_capacity(config.criteria.len());
        for (key, _) in &config.criteria {
            match self.criteria.remove(key.as_str()) {
                None => return Err(NoAnswer::Missing(key.clone())),
                Some(false) if verdict == VerdictKind::Pass => {
                    return Err(NoAnswer::Contradiction(key.clone()));
                }
                Some(met) => criteria.push((key.clone(), met)),
            }
        }
        if !self.criteria.is_empty() {
            return Err(NoAnswer::Unknown);
        }
        let confidence_bp = match self.confidence {
            Some(sure) if (0.0..=1.0).contains(&sure) => Some(basis_points(sure)),
            Some(_) => return Err(NoAnswer::Form("`confidence` is a number from 0 to 1")),
            None if config.min_confidence_bp.is_some() => {
                return Err(NoAnswer::Form("`confidence` is missing"));
            }
            None => None,
        };
        if verdict != VerdictKind::Pass && self.reason.trim().is_empty() {
            return Err(NoAnswer::Form("`reason` is missing, which the agent is told"));
        }
        Ok(Answer { verdict, criteria, confidence_bp, reason: self.reason.trim().to_owned() })
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("there is no JSON object with a `verdict` in it"),
            Self::TooLong => write!(f, "it is longer than {MAX_ANSWER_BYTES} bytes"),
            Self::Several => f.write_str(
                "there are several JSON objects with a `verdict` in it, or parts of them",
            ),
            Self::Form(what) => f.write_str(what),
            Self::Missing(key) => write!(f, "the criterion `{key}` is missing"),
            Self::Unknown => f.write_str("it has a criterion that was not asked about"),
            Self::Contradiction(key) => write!(f, "it says pass, and that `{key}` is not met"),
        }
    }
}

/// The one object with a verdict in a text.
fn in_text(text: &str) -> Result<Value, NoAnswer> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(NoAnswer::TooLong);
    }
    let mut found = None;
    // Whether the word stands outside of objects, behind a brace that begins none.
    let mut is_doubtful = false;
    let (mut rest, mut false_starts) = (text, 0_usize);
    while let Some(from) = rest.find('{').and_then(|at| rest.get(at..)) {
        let mut values = serde_json::Deserializer::from_str(from).into_iter::<Value>();
        let end = match values.next() {
            Some(Ok(value)) => {
                let end = values.byte_offset();
                if value.get("verdict").is_some() {
                    if found.is_some() {
                        return Err(NoAnswer::Several);
                    }
                    found = from.get(..end);
                }
                end
            }
            _ => {
                false_starts = false_starts.saturating_add(1);
                if false_starts > MAX_FALSE_STARTS {
                    return Err(NoAnswer::Nothing);
                }
                1
            }
        };
        rest = from.get(end..).unwrap_or_default();
        let outside = rest.find('{').and_then(|at| rest.get(..at)).unwrap_or(rest);
        is_doubtful |= false_starts > 0 && outside.contains("verdict");
    }
    let object = found.ok_or(NoAnswer::Nothing)?;
    if is_doubtful {
        return Err(NoAnswer::Several);
    }
    // A second reading, which takes no key twice.
    parse_ijson(object.as_bytes()).map_err(|_| NoAnswer::Form("the JSON object has a key twice"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10000")]
fn basis_points(share: f64) -> u16 {
    (share.clamp(0.0, 1.0) * 10_000.0).round() as u16
}
