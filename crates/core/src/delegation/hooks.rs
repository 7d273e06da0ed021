//! How far the hooks of a run are, as a fold over its events.

use crate::delegation::stage::Stage;
use crate::{Code, Digest, HookDecision, HookDecl, HookIndex, HookPoint, Outcome, Turn};

/// The declared hooks, and what the answered ones decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hooks {
    pub(crate) decls: Vec<HookDecl>,
    /// The round each hook was last answered for.
    answered: Vec<Option<Turn>>,
    /// Where the run goes on once the hook in flight has answered.
    pub(crate) behind: Stage,
    /// When the hook in flight was called, or the resumption that found it unanswered.
    pub(crate) called_ms: u64,
    pub(crate) rewritten: Rewritten,
}

/// What hooks put in the place of what they saw, as blobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    /// The task.
    pub(crate) task: Option<Digest>,
    /// The prompt of one round.
    pub(crate) prompt: Option<(Turn, Digest)>,
    /// The claim that is handed on, after it was verified.
    pub(crate) edited: Option<(Turn, Digest)>,
}

impl Hooks {
    pub(crate) fn new(decls: Vec<HookDecl>) -> Self {
        let answered = vec![None; decls.len()];
        let rewritten = Rewritten::default();
        Self { decls, answered, behind: Stage::Opened, called_ms: 0, rewritten }
    }

    /// The next hook to call at a point in a round.
    pub(crate) fn next(&self, point: HookPoint, turn: Turn) -> Option<HookIndex> {
        let is_due = |answered: Option<Turn>| match point {
            HookPoint::DelegationPre => answered.is_none(),
            HookPoint::AttemptStart | HookPoint::AttemptEnd | HookPoint::DelegationPost => {
                answered != Some(turn)
            }
        };
        let mut hooks = self.decls.iter().zip(&self.answered);
        hooks
            .position(|(decl, answered)| decl.point == point && is_due(*answered))
            .map(HookIndex::of)
    }

    pub(crate) fn decl(&self, hook: HookIndex) -> Option<&HookDecl> {
        self.decls.get(hook.as_usize())
    }

    pub(crate) fn point(&self, hook: HookIndex) -> Option<HookPoint> {
        self.decl(hook).map(|decl| decl.point)
    }

    pub(crate) fn called(&mut self, at_ms: u64, from: Stage) {
        self.called_ms = at_ms;
        self.behind = from;
    }

    /// Folds an answer in. What ends the run is given back.
    pub(crate) fn answered(
        &mut self,
        hook: HookIndex,
        turn: Turn,
        decision: &HookDecision,
    ) -> Option<(Outcome, Code)> {
        if let Some(answered) = self.answered.get_mut(hook.as_usize()) {
            *answered = Some(turn);
        }
        match decision {
            HookDecision::Allow | HookDecision::NotApplicable => None,
            HookDecision::Modify { to, .. } => {
                self.rewrite(hook, turn, *to);
                None
            }
            HookDecision::Block { .. } => Some((Outcome::Rejected, Code::slug("hook_blocked"))),
            HookDecision::Inconclusive { code, .. } => Some((Outcome::Inconclusive, code.clone())),
            HookDecision::Fault { code, .. } => Some((Outcome::Faulted, code.clone())),
        }
    }

    /// Another delegate acts in a round: what hooks made of the prompt was made for the one before. A
    /// step is taken once, so that this happens no more often than the ladder is long.
    pub(crate) fn another_acts(&mut self, turn: Turn) {
        self.rewritten.prompt = self.rewritten.prompt.filter(|(of, _)| *of != turn);
        let hooks = self.answered.iter_mut().zip(&self.decls);
        hooks
            .filter(|(answered, decl)| {
                decl.point == HookPoint::AttemptStart && **answered == Some(turn)
            })
            .for_each(|(answered, _)| *answered = None);
    }

    fn rewrite(&mut self, hook: HookIndex, turn: Turn, to: Digest) {
        match self.point(hook) {
            Some(HookPoint::DelegationPre) => self.rewritten.task = Some(to),
            Some(HookPoint::AttemptStart) => self.rewritten.prompt = Some((turn, to)),
            Some(HookPoint::DelegationPost) => self.rewritten.edited = Some((turn, to)),
            Some(HookPoint::AttemptEnd) | None => {}
        }
    }
}
