//! What somebody answered, checked against what was asked.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Run;
use super::state::{Ballot, Purpose, Wait, Work};
use crate::interrupt::InterruptKind;
use crate::refusal::Refusal;

/// Characters of the name of whoever answers.
const MAX_NAME_CHARS: usize = 256;
/// In front of the name of whoever made a token out, where its holder answers.
const TOKEN: &str = "token:";

/// An answer that fits.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// To an approval.
    Action { action: Action, edited: Option<Map<String, Value>>, value: Value },
    /// To questions.
    Answers { answers: Map<String, Value>, value: Value },
}

/// What may be done about what is to be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Accept,
    Reject,
    Refine,
    EditAccept,
}

/// What the votes come to.
pub(super) enum Ruling {
    Through(Action),
    Refused,
}

impl Run {
    /// The wait that an answer is for. Behind its time nobody answers it any more, though no timer came.
    pub(super) fn judge_wait(
        &self,
        now_ms: u64,
        node: &str,
        interrupt: Option<&str>,
    ) -> Result<&Wait, Refusal> {
        let Some(at) = self.start.definition.index(node) else {
            return Err(Refusal::NodeUnknown { node: node.to_owned() });
        };
        let wait = match &self.work {
            Work::Waiting(wait) if wait.at == at => wait,
            _ => return Err(Refusal::NotWaiting { node: node.to_owned() }),
        };
        if let Some(id) = interrupt.filter(|id| *id != wait.interrupt.id) {
            return Err(Refusal::Superseded { interrupt: id.to_owned() });
        }
        if wait.due_ms.is_some_and(|due_ms| now_ms >= due_ms) {
            return Err(Refusal::NotWaiting { node: node.to_owned() });
        }
        Ok(wait)
    }
}

/// An answer that fits what is asked.
pub(super) fn judge(wait: &Wait, value: &Value, by: &str) -> Result<Answer, Refusal> {
    if !(1..=MAX_NAME_CHARS).contains(&by.chars().count()) {
        return Err(unfit(format!("name whoever answers, in 1 to {MAX_NAME_CHARS} characters")));
    }
    match wait.interrupt.kind {
        InterruptKind::Clarification | InterruptKind::ExternalEvent => answers(wait, value),
        InterruptKind::Approval | InterruptKind::LowConfidence => action(wait, value, by),
    }
}

fn action(wait: &Wait, value: &Value, by: &str) -> Result<Answer, Refusal> {
    let ballot = &wait.ballot;
    let word = value.as_str().or_else(|| value.get("action").and_then(Value::as_str));
    let legal = word.filter(|word| ballot.actions.iter().any(|action| action == word));
    let Some(action) = legal.and_then(Action::of) else {
        return Err(unfit(format!("`action` must be one of {:?}", ballot.actions)));
    };
    if !ballot.approvers.is_empty() && !ballot.approvers.iter().any(|name| name == by) {
        return Err(Refusal::NotApprover { by: by.to_owned() });
    }
    if ballot.accepted.iter().chain(&ballot.rejected).any(|name| voter(name) == voter(by)) {
        return Err(unfit(format!("`{by}` has answered already: another approver is needed")));
    }
    if ballot.required > 1 && !matches!(action, Action::Accept | Action::Reject) {
        return Err(unfit("where several approve, each can only accept or reject".to_owned()));
    }
    let edited = ["editedArtifactData", "data"].iter().find_map(|key| value.get(key));
    let edited = edited.and_then(Value::as_object).cloned();
    let is_merge = matches!(wait.purpose, Purpose::Merge(_));
    if is_merge && action == Action::EditAccept && edited.is_none() {
        return Err(unfit("`editedArtifactData` must hold the outputs, as an object".to_owned()));
    }
    Ok(Answer::Action { action, edited, value: value.clone() })
}

/// Whose vote it is: that of a token is its owner's.
fn voter(by: &str) -> &str {
    by.strip_prefix(TOKEN).unwrap_or(by)
}

/// Answers by question: an object, a list of `{id, answer}`, or either under `answers`.
fn answers(wait: &Wait, value: &Value) -> Result<Answer, Refusal> {
    let questions = wait.interrupt.data.get("questions").and_then(Value::as_array);
    let ids: BTreeSet<&str> = questions
        .into_iter()
        .flatten()
        .filter_map(|question| question.get("id").and_then(Value::as_str))
        .collect();
    let given = value.get("answers").filter(|_| !ids.contains("answers")).unwrap_or(value);
    let answers = match given {
        Value::Object(answers) => answers.clone(),
        Value::Array(entries) => {
            let pair = |entry: &Value| {
                let id = entry.get("id")?.as_str()?.to_owned();
                Some((id, entry.get("answer")?.clone()))
            };
            let pairs: Option<Map<String, Value>> = entries.iter().map(pair).collect();
            pairs.ok_or_else(|| unfit("each entry needs `id` and `answer`".to_owned()))?
        }
        _ => return Err(unfit("give an object, question to answer".to_owned())),
    };
    let named: BTreeSet<&str> = answers.keys().map(String::as_str).collect();
    if named != ids || answers.values().any(Value::is_null) {
        return Err(unfit(format!("answer exactly these questions: {ids:?}")));
    }
    Ok(Answer::Answers { answers, value: value.clone() })
}

fn unfit(why: String) -> Refusal {
    Refusal::Answer { why }
}

impl Answer {
    pub(super) const fn value(&self) -> &Value {
        match self {
            Self::Action { value, .. } | Self::Answers { value, .. } => value,
        }
    }

    /// The words of one answer.
    pub(super) fn text(&self, question: &str) -> Option<String> {
        match self {
            Self::Answers { answers, .. } => {
                Some(answers.get(question)?.as_str()?.trim().to_owned())
            }
            Self::Action { .. } => None,
        }
    }

    pub(super) fn into_edited(self) -> Option<Map<String, Value>> {
        match self {
            Self::Action { edited, .. } => edited,
            Self::Answers { .. } => None,
        }
    }

    /// What a node leaves that waited for it.
    pub(super) fn into_outputs(self) -> Map<String, Value> {
        let mut outputs = Map::new();
        match self {
            Self::Answers { answers, .. } => {
                outputs.insert("answers".to_owned(), Value::Object(answers));
            }
            Self::Action { action, value, .. } => {
                if let Value::Object(value) = value {
                    outputs = value;
                }
                outputs.insert("action".to_owned(), Value::from(action.as_str()));
            }
        }
        outputs
    }
}

impl Action {
    fn of(word: &str) -> Option<Self> {
        [Self::Accept, Self::Reject, Self::Refine, Self::EditAccept]
            .into_iter()
            .find(|action| action.as_str() == word)
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Refine => "refine",
            Self::EditAccept => "edit-accept",
        }
    }
}

impl Ballot {
    /// One answer decides.
    pub(super) fn single(actions: &[&str]) -> Self {
        let actions = actions.iter().map(|action| (*action).to_owned()).collect();
        Self { actions, required: 1, ..Self::default() }
    }

    /// Counts a vote; `None` while more are needed.
    pub(super) fn cast(&mut self, action: Action, by: &str) -> Option<Ruling> {
        let count = |names: &[String]| u64::try_from(names.len()).unwrap_or(u64::MAX);
        if action != Action::Reject {
            self.accepted.push(by.to_owned());
            return (count(&self.accepted) >= self.required).then_some(Ruling::Through(action));
        }
        self.rejected.push(by.to_owned());
        let rejections = count(&self.rejected);
        let left = count(&self.approvers).saturating_sub(rejections);
        let is_hopeless = !self.approvers.is_empty() && left < self.required;
        let is_outvoted = rejections.saturating_mul(2) > self.required;
        (!self.is_majority || is_outvoted || is_hopeless).then_some(Ruling::Refused)
    }
}
