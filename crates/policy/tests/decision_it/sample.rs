//! One valid document of each kind, with every member that there is.

use probity_policy::{Decision, Envelope, Format, Pack, PolicyFindings, pack_hash};
use serde_json::{Value, json};

/// 2026-02-11T12:00:00Z.
pub(crate) const NOW_MS: u64 = 1_770_811_200_000;

pub(crate) fn envelope() -> Value {
    json!({
        "decisionType": "RefundIssue", "version": "2.1.0", "description": "Refund a customer.",
        "deadlineMs": 900,
        "stageBudgetsMs": {"context": 100, "plan": 200, "act": 300, "verify": 250},
        "freshness": {
            "defaultTtlMs": 500,
            "featureTtls": {"balance": 50, "order_total": 4000},
            "allowStaleIfSafe": false
        },
        "limits": {"maxHops": 3, "maxFanout": 5, "maxToolCalls": 9, "maxChainDepth": 2},
        "degradeLadder": [
            {"step": "cache_bundle", "maxExtraMs": 40}, {"step": "small_model"},
            {"step": "rules_only"}, {"step": "hitl"}, {"step": "abstain"}, {"step": "bypass"}
        ],
        "verification": {
            "requiredAboveBlastRadius": "tiny",
            "methods": ["ledger_row", "mail_sent"],
            "verifyTimeoutMs": 120
        },
        "safeAction": {
            "requireIdempotency": true, "requireRollbackAbove": "small",
            "blastRadiusMax": "medium", "allowedActionTypes": ["refund", "note"]
        },
        "policyPack": {"policyPackHash": "of-the-author", "policyPackVersion": "7"}
    })
}

/// Without its hash.
pub(crate) fn bare_pack() -> Value {
    json!({
        "policyPackId": "refunds", "version": "7", "issuedAt": "2026-01-02T03:04:05Z",
        "issuer": "Risk", "signature": "c2ln",
        "rules": {
            "RefundIssue": {
                "dteDefaults": {"decisionWindowMs": 900, "ttlMs": 500, "maxFeatureAgeMs": 400},
                "degradeLadder": ["cache_bundle", "hitl", "abstain"],
                "blastRadiusRequirements": {
                    "small": {
                        "verificationRequired": true, "authorizationMode": "auto",
                        "twoPerson": false
                    },
                    "large": {"authorizationMode": "hitl", "twoPerson": true}
                },
                "requiredVerifiers": ["ledger_row", "balance_down"],
                "toolAllowlist": ["ledger", "mail"],
                "toolDenylist": ["shell"]
            },
            "Note": {}
        }
    })
}

pub(crate) fn sealed(mut pack: Value) -> Value {
    let hash = pack_hash(&pack).unwrap();
    pack["policyPackHash"] = json!(hash);
    pack
}

pub(crate) fn pack() -> Value {
    sealed(bare_pack())
}

pub(crate) fn action() -> Value {
    json!({
        "actionId": "a-1", "actionType": "refund", "blastRadiusTier": "small",
        "targetRefs": [{"type": "order", "id": "o-17"}, {"type": "customer", "id": "c-3"}],
        "preconditions": [{"open": true}, {"total": 12.5}],
        "constraints": {"max": 100, "currency": "EUR"},
        "authorization": {"mode": "auto", "policyRef": "refunds/7", "approver": "kim"},
        "idempotencyKey": "o-17/refund",
        "rollbackPlan": {"type": "revert", "instructions": {"by": "credit"}, "timeoutMs": 90},
        "execution": {
            "executionSloMs": 100, "timeoutMs": 250,
            "retryPolicy": {"maxRetries": 2, "backoffMs": 10}
        }
    })
}

pub(crate) fn decision() -> Value {
    json!({
        "decisionType": "RefundIssue",
        "actor": {"type": "agent", "id": "desk", "version": "3"},
        "context": {
            "snapshotId": "snap-1", "capturedAt": "2026-02-11T11:59:59.9Z",
            "features": {
                "balance": {"ageMs": 20},
                "order_total": {"capturedAt": "2026-02-11T11:59:59Z"}
            },
            "evidenceRefs": ["order:o-17", "mail:1"]
        },
        "plan": {"planner": "hybrid", "summary": "refund it", "planRef": "p-9"},
        "actions": [action()],
        "chain": {"hops": 1, "fanout": 2, "depth": 1}
    })
}

pub(crate) fn parse_envelope(value: &Value) -> Result<Envelope, PolicyFindings> {
    Envelope::parse(&value.to_string(), Format::Json)
}

pub(crate) fn parse_pack(value: &Value) -> Result<Pack, PolicyFindings> {
    Pack::parse(&value.to_string(), Format::Json)
}

pub(crate) fn parse_decision(value: &Value) -> Result<Decision, PolicyFindings> {
    Decision::parse(value)
}

/// The document with the value at the pointer replaced; `None` removes it.
pub(crate) fn with(mut document: Value, pointer: &str, value: Option<Value>) -> Value {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let last = last.replace("~1", "/").replace("~0", "~");
    match (document.pointer_mut(parent).unwrap(), value) {
        (Value::Object(map), Some(value)) => drop(map.insert(last, value)),
        (Value::Object(map), None) => drop(map.remove(&last).unwrap()),
        (Value::Array(items), Some(value)) => items[last.parse::<usize>().unwrap()] = value,
        (Value::Array(items), None) => drop(items.remove(last.parse().unwrap())),
        _ => panic!("no parent at {pointer}"),
    }
    document
}

/// Code and pointer of each finding.
pub(crate) fn told(findings: &PolicyFindings) -> Vec<(&str, &str)> {
    findings.as_slice().iter().map(|found| (found.code, found.pointer.as_str())).collect()
}
