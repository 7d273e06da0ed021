//! What an episode says, read leniently: a member that is missing or of another kind says nothing.

use probity_core::{Step, Tier};
use time::OffsetDateTime;

use crate::document::Node;
use crate::shape::time;

/// An episode's members by path.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'n> {
    node: &'n Node<'n>,
}

/// One action.
#[derive(Clone, Copy)]
pub(crate) struct Action<'n> {
    /// 0-based place in the episode.
    pub(crate) index: usize,
    node: &'n Node<'n>,
}

impl<'n> Facts<'n> {
    pub(crate) const fn new(node: &'n Node<'n>) -> Self {
        Self { node }
    }

    pub(crate) fn at(&self, path: &[&str]) -> Option<&'n Node<'n>> {
        path.iter().try_fold(self.node, |node, step| node.get(step))
    }

    pub(crate) fn text(&self, path: &[&str]) -> Option<&'n str> {
        self.at(path).and_then(Node::text)
    }

    pub(crate) fn natural(&self, path: &[&str]) -> Option<u64> {
        self.at(path).and_then(Node::natural)
    }

    pub(crate) fn bool(&self, path: &[&str]) -> Option<bool> {
        self.at(path).and_then(Node::bool)
    }

    pub(crate) fn time(&self, path: &[&str]) -> Option<OffsetDateTime> {
        self.text(path).and_then(time)
    }

    pub(crate) fn decision_type(&self) -> Option<&'n str> {
        self.text(&["decisionType"])
    }

    /// `pass`, `fail`, `inconclusive`, `na`, or whatever else stands there.
    pub(crate) fn result(&self) -> Option<&'n str> {
        self.text(&["verification", "result"])
    }

    /// The verifiers that are named as having run.
    pub(crate) fn methods(&self) -> impl Iterator<Item = &'n str> {
        let method = self.text(&["verification", "method"]).unwrap_or_default();
        method.split('+').map(str::trim).filter(|name| !name.is_empty())
    }

    pub(crate) fn outcome(&self) -> Option<&'n str> {
        self.text(&["outcome", "code"])
    }

    pub(crate) fn stage(&self, stage: &str) -> Option<u64> {
        self.natural(&["telemetry", "stageMs", stage])
    }

    pub(crate) fn end_to_end(&self) -> Option<u64> {
        self.natural(&["telemetry", "endToEndMs"])
    }

    pub(crate) fn actions(&self) -> impl Iterator<Item = Action<'n>> {
        let items = self.at(&["actions"]).map_or(&[] as &[_], Node::items);
        items.iter().enumerate().map(|(index, node)| Action { index, node })
    }

    /// Whether anything was acted on: an action that was blocked was not.
    pub(crate) fn has_acted(&self) -> bool {
        self.actions().any(|action| action.authorization() != Some("blocked"))
    }

    /// The widest tier of all actions.
    pub(crate) fn tier(&self) -> Option<Tier> {
        self.actions().filter_map(|action| action.tier()).max()
    }

    /// The step that `degrade` names; `None` for `none`, for nothing, and for an unknown word.
    pub(crate) fn step(&self) -> Option<Step> {
        self.text(&["degrade", "step"]).and_then(step)
    }

    /// The step that the telemetry names.
    pub(crate) fn fallback_step(&self) -> Option<Step> {
        self.text(&["telemetry", "fallbackStep"]).and_then(step)
    }
}

impl<'n> Action<'n> {
    pub(crate) fn at(&self, path: &[&str]) -> Option<&'n Node<'n>> {
        path.iter().try_fold(self.node, |node, step| node.get(step))
    }

    pub(crate) fn text(&self, path: &[&str]) -> Option<&'n str> {
        self.at(path).and_then(Node::text)
    }

    pub(crate) fn tier(&self) -> Option<Tier> {
        let word = self.text(&["blastRadiusTier"])?;
        Tier::ALL.into_iter().find(|tier| tier.as_str() == word)
    }

    pub(crate) fn authorization(&self) -> Option<&'n str> {
        self.text(&["authorization", "mode"])
    }

    pub(crate) fn has_approver(&self) -> bool {
        self.text(&["authorization", "approver"]).is_some_and(|name| !name.trim().is_empty())
    }

    /// JSON pointer to a member.
    pub(crate) fn pointer(&self, member: &str) -> String {
        format!("/actions/{}{member}", self.index)
    }
}

/// The step of a word.
pub(crate) fn step(word: &str) -> Option<Step> {
    Step::ALL.into_iter().find(|step| step.as_str() == word)
}

/// Whether a word says that no step was taken.
pub(crate) fn is_no_step(word: &str) -> bool {
    matches!(word, "" | "none")
}
