//! Where a run is, for whoever asks.

use super::Run;
use super::state::{End, Work};
use crate::event::Failure;
use crate::interrupt::{Interrupt, InterruptKind};
use crate::snapshot::{Snapshot, Status};

impl Run {
    pub(super) fn report(&self) -> Snapshot {
        let error = match &self.end {
            Some(End::Failed(error)) => Some(error.clone()),
            _ => None,
        };
        Snapshot {
            run: self.id.clone(),
            workflow: self.start.definition.id().to_owned(),
            owner: self.start.owner.clone(),
            origin: self.start.origin.clone(),
            status: self.status(),
            current_node: self.work.at().map(|at| self.node_id(at)),
            variables: self.variables.clone(),
            error,
            interrupts: self.interrupts(),
            supervisor: self.supervisor.clone(),
            success_criteria: self.success_criteria.clone(),
            withheld: self.standing.values().cloned().collect(),
            is_goal_satisfied: self.end.as_ref().map(|end| self.is_goal_satisfied(end)),
            started_ms: self.started_ms,
            changed_ms: self.now_ms,
            events: self.length,
        }
    }

    fn is_goal_satisfied(&self, end: &End) -> bool {
        let criteria = self.success_criteria.as_deref().unwrap_or_default();
        *end == End::Completed
            && self.standing.is_empty()
            && criteria.iter().all(|criterion| criterion.met)
    }

    fn interrupts(&self) -> Vec<(String, Interrupt)> {
        match &self.work {
            Work::Waiting(wait) => vec![(self.node_id(wait.at), wait.interrupt.clone())],
            _ => Vec::new(),
        }
    }

    fn status(&self) -> Status {
        match (&self.end, &self.work) {
            (Some(End::Completed), _) => Status::Completed,
            (Some(End::Failed(Failure { .. })), _) => Status::Failed,
            (Some(End::Cancelled), _) => Status::Cancelled,
            (None, _) if self.is_paused => Status::Paused,
            (None, Work::Waiting(wait)) => match wait.interrupt.kind {
                InterruptKind::Approval | InterruptKind::LowConfidence => Status::WaitingApproval,
                InterruptKind::Clarification => Status::WaitingInput,
                InterruptKind::ExternalEvent => Status::WaitingExternal,
            },
            (None, _) => Status::Running,
        }
    }
}
