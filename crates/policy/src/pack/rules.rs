//! What a pack's schema cannot say.

use super::{Pack, PackRules};
use crate::envelope::ladder_findings;
use crate::schema::{PolicyFinding, under};

pub(super) fn findings(pack: &Pack) -> Vec<PolicyFinding> {
    let mut findings = Vec::new();
    if pack.signature.is_some() {
        let message = "the signature is not checked; only the hash is";
        findings.push(PolicyFinding::warning("pack_signature_unchecked", "/signature", message));
    }
    for (decision_type, rules) in &pack.rules {
        of_type(rules, &under("/rules", decision_type), &mut findings);
    }
    findings
}

fn of_type(rules: &PackRules, place: &str, findings: &mut Vec<PolicyFinding>) {
    if !rules.degrade_ladder.is_empty() {
        let place = format!("{place}/degradeLadder");
        findings.extend(ladder_findings(rules.degrade_ladder.iter().copied(), &place));
    }
    for (at, tool) in rules.tool_denylist.iter().enumerate() {
        if rules.tool_allowlist.as_ref().is_some_and(|allowed| allowed.contains(tool)) {
            let message = format!("`{tool}` is allowed and denied; it is denied");
            let pointer = format!("{place}/toolDenylist/{at}");
            findings.push(PolicyFinding::warning("pack_tool_contradiction", pointer, message));
        }
    }
}

pub(super) fn unknown(pack: &Pack, decision_type: &str) -> PolicyFinding {
    let known: Vec<&str> = pack.rules.keys().take(5).map(String::as_str).collect();
    let message = format!(
        "the pack has no rules for the decision type `{decision_type}`; it has: {}",
        known.join(", ")
    );
    PolicyFinding::error("decision_type_unknown", "/rules", message)
}
