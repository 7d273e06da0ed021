//! What a decision's schema cannot say.

use std::collections::BTreeSet;

use super::Decision;
use crate::schema::PolicyFinding;

pub(super) fn findings(decision: &Decision) -> Vec<PolicyFinding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for (at, action) in decision.actions.iter().enumerate() {
        if !seen.insert(&action.action_id) {
            let message =
                format!("two actions are called `{}`; give each its own name", action.action_id);
            let pointer = format!("/actions/{at}/actionId");
            findings.push(PolicyFinding::error("action_id_twice", pointer, message));
        }
    }
    findings
}
