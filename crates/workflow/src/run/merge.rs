//! What a child left is taken over.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Run;
use super::child::child_outputs;
use super::content::too_large;
use super::state::{Delivery, Work};
use crate::definition::Kind;
use crate::event::{Event, Phase};

impl Run {
    /// Nothing holds it back but somebody who has to let it through.
    pub(super) fn clear(&mut self, delivery: Delivery) {
        let start = self.start();
        match start.definition.node(delivery.errand.order.at).map(|node| &node.kind) {
            Some(Kind::Sub(config)) if config.is_approval_required() && !delivery.is_approved => {
                let timeout_ms = config.output_attestation.as_ref().and_then(|at| at.timeout_ms);
                self.ask_to_merge(delivery, timeout_ms);
            }
            _ => self.merge(delivery),
        }
    }

    fn merge(&mut self, delivery: Delivery) {
        let start = Arc::clone(&self.start);
        let Delivery { errand, outputs, digest, completed, is_goal_satisfied, is_verified, .. } =
            delivery;
        let at = errand.order.at;
        let is_attested = match start.definition.node(at).map(|node| &node.kind) {
            Some(Kind::Sub(config)) => config.is_attested(),
            _ => false,
        };
        let mapping = self.mapping(at, &errand.worker, false).clone();
        let found = mapping.iter().filter_map(|(to, from)| Some((to, outputs.get(from)?)));
        let found: Vec<(&String, &Value)> = found.collect();
        if !self.may_take(found.iter().map(|(_, value)| *value)) {
            return self.fail_node(at, too_large());
        }
        if !mapping.is_empty() {
            let event = Event::Handoff {
                phase: Phase::Harvested,
                worker: errand.worker.clone(),
                child: Some(errand.child.clone()),
                harvested: Some(found.iter().map(|(name, _)| (*name).clone()).collect()),
                checksum: digest.clone().filter(|_| is_attested || is_verified),
                error: None,
            };
            let harvested = self.emit(Some(at), Some(completed), event);
            for (name, value) in found {
                self.set_variable(at, Some(harvested), name, value.clone());
            }
        }
        self.standing.remove(&(at, errand.worker.clone()));
        // A child that gave up leaves what it has. Only a critic of this run may say that it will do.
        if !is_goal_satisfied && !is_verified {
            self.note_withheld(&errand, "child_gave_up", "child-goal");
        }
        let mut left = child_outputs(&errand, "completed");
        if let Some(checksum) = digest.filter(|_| is_attested) {
            let attestation = json!({"checksum": checksum, "algorithm": "sha256"});
            left.insert("attestation".to_owned(), attestation);
        }
        let mut order = errand.order;
        if !self.is_dispatch(at) {
            self.complete_node(at, left);
        } else if order.workers.is_empty() {
            self.end_dispatch(order, left);
        } else {
            order.done.push(Value::Object(left));
            self.work = Work::ToStart(Box::new(order));
        }
    }
}
