//! Which hooks were asked for which round.

use probity_core::{HookDecl, HookIndex, HookPoint, Turn};

pub(super) struct Hooks<'a> {
    decls: &'a [HookDecl],
    answered: Vec<Option<Turn>>,
}

impl<'a> Hooks<'a> {
    pub(super) fn new(decls: &'a [HookDecl]) -> Self {
        Self { decls, answered: vec![None; decls.len()] }
    }

    pub(super) fn point(&self, hook: HookIndex) -> Option<HookPoint> {
        self.decls.get(hook.as_usize()).map(|decl| decl.point)
    }

    pub(super) fn answered(&mut self, hook: HookIndex, turn: Turn) {
        if let Some(answered) = self.answered.get_mut(hook.as_usize()) {
            *answered = Some(turn);
        }
    }

    /// Whether a hook has answered for a round; one on the task answers once.
    pub(super) fn has_answered(&self, hook: HookIndex, turn: Turn) -> bool {
        let answered = self.answered.get(hook.as_usize()).copied().flatten();
        match self.point(hook) {
            Some(HookPoint::DelegationPre) => answered.is_some(),
            _ => answered == Some(turn),
        }
    }

    /// The first hook at a point that has not answered for a round.
    pub(super) fn unasked(&self, point: HookPoint, turn: Turn) -> Option<&'a HookDecl> {
        let mut hooks = self.decls.iter().zip((0..).map(HookIndex));
        let unasked =
            hooks.find(|(decl, hook)| decl.point == point && !self.has_answered(*hook, turn));
        unasked.map(|(decl, _)| decl)
    }

    /// Another delegate acts in a round: the hooks on the prompt are asked again.
    pub(super) fn another_acts(&mut self, turn: Turn) {
        for (answered, decl) in self.answered.iter_mut().zip(self.decls) {
            if decl.point == HookPoint::AttemptStart && *answered == Some(turn) {
                *answered = None;
            }
        }
    }
}
