//! What was checked and did not pass is not taken over, and something is done about it.

use probity_core::Code;
use serde_json::{Value, json};

use super::Run;
use super::child::child_outputs;
use super::state::{Delivery, Errand, Owed, Purpose};
use super::supervisor::{GIVE_UP, NEXT, SKIP};
use crate::bounds::Bound;
use crate::event::{Event, Failure};
use crate::snapshot::Withheld;
use crate::verifier::OnFail;

impl Run {
    pub(super) fn withhold(
        &mut self,
        delivery: Delivery,
        is_revise: bool,
        code: Code,
        keys: Vec<Code>,
    ) {
        let at = delivery.errand.order.at;
        let withheld = Withheld {
            node: self.node_id(at),
            worker: delivery.errand.worker.clone(),
            code,
            criteria: keys,
        };
        self.standing.insert((at, delivery.errand.worker.clone()), withheld.clone());
        let policy =
            self.start.definition.verifier_at(at).map_or(OnFail::GiveUp, |spec| spec.on_fail);
        let on_fail = if is_revise && self.may_revise(at) { OnFail::Again } else { policy };
        if self.is_dispatch(at) {
            self.return_to_supervisor(delivery.errand, &withheld, on_fail);
        } else {
            self.retry_or_fail(delivery.errand, &withheld, on_fail);
        }
    }

    /// Whether a worker may be sent back once more before another way is gone.
    fn may_revise(&mut self, at: usize) -> bool {
        let max = self.start.terms.max_revisions;
        let supervisor = self.start.definition.graph().supervisor_of(at);
        let revisions = match supervisor {
            Some(supervisor) => Some(&mut self.supervision(supervisor).revisions),
            None => self.places.get_mut(at).map(|place| &mut place.revisions),
        };
        let Some(revisions) = revisions.filter(|revisions| **revisions < max) else { return false };
        *revisions = revisions.saturating_add(1);
        true
    }

    fn return_to_supervisor(&mut self, errand: Errand, withheld: &Withheld, on_fail: OnFail) {
        let at = errand.order.at;
        let mut outputs = child_outputs(&errand, "completed");
        outputs.insert("withheld".to_owned(), told(withheld));
        let mut workers = vec![errand.worker];
        workers.extend(errand.order.workers.iter().cloned());
        if let Some(supervisor) = self.start.definition.graph().supervisor_of(at) {
            self.supervision(supervisor).owed = Some(match on_fail {
                OnFail::Again => Owed::Again(workers),
                OnFail::AskUser => Owed::Ask(workers),
                OnFail::GiveUp => Owed::GiveUp,
            });
        }
        self.end_dispatch(errand.order, outputs);
    }

    /// A sub-workflow has no supervisor: it begins again itself, asks itself, or fails.
    fn retry_or_fail(&mut self, errand: Errand, withheld: &Withheld, on_fail: OnFail) {
        let at = errand.order.at;
        let details = told(withheld).as_object().cloned();
        let message = "what the child left was not verified".to_owned();
        let failure = Failure { code: withheld.code.to_string(), message, details };
        match on_fail {
            OnFail::Again => self.retry(at, failure),
            OnFail::GiveUp => self.absorb_or_fail(&errand, "completed", failure),
            OnFail::AskUser => {
                let text = format!(
                    "The work of `{}` was not verified. It is asked for again after any answer but \
                     `{SKIP}` and `{GIVE_UP}`, which leave it to the node to go on without it or to fail.",
                    errand.worker
                );
                let question = json!({"id": NEXT, "question": text, "schema": {"type": "string"}});
                self.ask(at, vec![question], None, Purpose::Withheld { errand, failure });
            }
        }
    }

    /// A sub-workflow begins again. The bound of turns holds for it as well.
    pub(super) fn retry(&mut self, at: usize, error: Failure) {
        self.emit(Some(at), None, Event::NodeFailed { error });
        let limit = self.start.bounds.max_loop_iterations;
        let observed = self.places.get(at).map_or(0, |place| place.starts).saturating_add(1);
        if observed > limit {
            self.breach(Some(at), Bound::LoopIterations, limit, observed);
        }
    }
}

fn told(withheld: &Withheld) -> Value {
    let criteria: Vec<&str> = withheld.criteria.iter().map(Code::as_str).collect();
    json!({"code": withheld.code.as_str(), "criteria": criteria})
}
